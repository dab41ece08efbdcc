# SPDX-License-Identifier: Apache-2.0
# fuzzcell ci: changes of a small project with two targets, built by clang as OSS-Fuzz does.
load lib

# The project, fuzzed for some seconds at its first commit, with coverage reports.
setup_file() {
	local src
	[ "$(id -u)" -eq 0 ] || return 0
	command -v clang >/dev/null || return 0
	FUZZCELL_CI_BASE=$(mktemp -d)
	export FUZZCELL_CI_BASE
	chmod 0755 "$FUZZCELL_CI_BASE" # the build's user is another one
	src=$FUZZCELL_CI_BASE/repo
	mkdir -p "$src/src" "$FUZZCELL_CI_BASE/state"
	cat >"$src/src/lib.h" <<-'END'
		#include <stddef.h>
		#include <stdint.h>
		int parse(const uint8_t *data, size_t size);
		int count(const uint8_t *data, size_t size);
	END
	cat >"$src/src/parse.c" <<-'END'
		#include "lib.h"
		#include <string.h>

		int parse(const uint8_t *data, size_t size)
		{
			char name[8];
			size_t n;

			if (size < 2 || data[0] != 'P')
				return 0;
			n = data[1] & 7;
			memcpy(name, data + 2, n < size - 2 ? n : size - 2);
			return name[0] == 'x';
		}
	END
	cat >"$src/src/count.c" <<-'END'
		#include "lib.h"

		int count(const uint8_t *data, size_t size)
		{
			int n = 0;

			for (size_t i = 0; i < size; i++)
				n += data[i] == 'c';
			return n;
		}
	END
	printf '#include "lib.h"\nint LLVMFuzzerTestOneInput(const uint8_t *d, size_t n)\n{\n\treturn %s(d, n), 0;\n}\n' \
		parse >"$src/src/parse_fuzzer.c"
	sed 's/parse(/count(/' "$src/src/parse_fuzzer.c" >"$src/src/count_fuzzer.c"
	cat >"$src/build.sh" <<-'END'
		#!/bin/sh
		set -eu
		mkdir -p "$OUT"
		for t in parse count; do
			$CC $CFLAGS -g -o "$OUT/${t}_fuzzer" "src/${t}_fuzzer.c" src/parse.c src/count.c $LIB_FUZZING_ENGINE
		done
	END
	chmod +x "$src/build.sh"
	echo out >"$src/.gitignore"
	echo text >"$src/README"
	git -C "$src" init -q -b main
	git -C "$src" add .
	git -C "$src" -c user.name=A -c user.email=a@b commit -q -m base
	here "$FUZZCELL_CI_BASE"
	"$FUZZCELL" run --plain --state-dir "$FUZZCELL_CI_BASE/state" --max-total-time 6s
	"$FUZZCELL" coverage --all --state-dir "$FUZZCELL_CI_BASE/state" >/dev/null
}

teardown_file() {
	[ -z "${FUZZCELL_CI_BASE:-}" ] || rm -rf "$FUZZCELL_CI_BASE"
}

# here DIR: writes the configuration for DIR/repo and DIR/state.
here() {
	chown -R 4321 "$1/repo"
	jq -n --arg repo "$1/repo" '{run: {workers: 2, disk_reserve: "64MiB"}, source_dir: $repo,
		discovery: [{type: "directory", path: ($repo + "/out"), build: ["./build.sh"],
			build_dir: $repo, variants: ["address", "coverage"]}],
		defaults: {memory: "512MiB", minimize_time: "2s"}}' >"$1/state/config.json"
}

setup() {
	[ "$(id -u)" -eq 0 ] || skip 'not root'
	command -v clang >/dev/null || skip 'no clang'
	e2e_setup
	rm -r "$STATE"
	cp -a "$FUZZCELL_CI_BASE/repo" "$FUZZCELL_CI_BASE/state" "$WORK"
	here "$WORK"
}
teardown() { e2e_teardown; }

git_() {
	git -c safe.directory='*' -c user.name=A -c user.email=a@b -C "$WORK/repo" "$@"
}

# change SED FILE: a commit.
change() {
	sed -i "$1" "$WORK/repo/$2"
	git_ commit -q -a -m "$1"
	chown -R 4321 "$WORK/repo"
}

# judge [OPTION...]: of HEAD~1 to HEAD.  is() asks its answer.
judge() {
	status=0
	timeout $((300 * SLOW)) "$FUZZCELL" ci --json --state-dir "$STATE" --base "$(git_ rev-parse HEAD~1)" \
		--time $((4 * TIMES))s --sarif "$WORK/sarif" --junit "$WORK/junit" --quality "$WORK/quality" \
		--summary "$WORK/summary" --artifacts "$WORK/artifacts" "$@" >"$WORK/answer" || status=$?
	echo "status $status"
	jq -r '.status, .verdict' "$WORK/answer"
}

is() {
	jq -e "$1" "$WORK/answer" >/dev/null || { jq . "$WORK/answer"; false; }
}

bug='s/char name\[8\]/char name[4]/'

# bats test_tags=slow
@test "a change that adds a bug is red, and its reports name it" {
	change "$bug" src/parse.c
	judge
	[ "$status" -eq 1 ]
	is '.status == "red" and ([.crashes[] | .status] == ["new"])'
	is '.crashes[0] | .target == "parse_fuzzer" and .path == "src/parse.c" and .line == 12 and
		.base == "the base passes"'
	is '[.targets[] | select(.affected) | .name] == ["parse_fuzzer"]'
	[ "$(find "$WORK/artifacts" -name 'parse_fuzzer-*.input' | wc -l)" -eq 1 ]
	[ "$(jq -r '.version, .runs[0].results[0].level, .runs[0].results[0].ruleId' "$WORK/sarif" | tr '\n' ' ')" \
		= '2.1.0 error Stack-buffer-overflow ' ]
	jq -e '.[0].location == {path: "src/parse.c", lines: {begin: 12}}' "$WORK/quality"
	grep -q 'failures="1" errors="0"' "$WORK/junit"
	grep -q '### New crashes' "$WORK/summary"

	# A head that cannot be asked makes no crash new.
	change 's/data\[1\] & 7/dat[1] \& 7/' src/parse.c
	judge
	[ "$status" -eq 6 ]
	is '.status == "not-built" and ([.crashes[] | .status] == ["old"]) and
		(.crashes[0].base | startswith("the head could not be asked"))'
}

# bats test_tags=slow
@test "a change that moves code with an old crash is green and lists it; its fix is green" {
	change "$bug" src/parse.c
	# No state knows the crash: the base is asked.
	change 's/int parse(/static int other(void)\n{\n\treturn 1;\n}\n\nint parse(/; s/return name\[0\]/return other() + name[0]/' \
		src/parse.c
	judge
	[ "$status" -eq 0 ]
	is '.status == "green" and ([.crashes[] | .status] == ["old"])'
	is '.crashes[0].base == "the base fails, too"'
	jq -e '.runs[0].results[0] | .level == "note" and .baselineState == "unchanged"' "$WORK/sarif"

	# Another name in the stack is no new crash.
	change 's/\bparse(/parse_it(/' src/parse.c
	sed -i 's/\bparse(/parse_it(/' "$WORK/repo/src/lib.h" "$WORK/repo/src/parse_fuzzer.c"
	git_ commit -q -a --amend --no-edit
	chown -R 4321 "$WORK/repo"
	judge
	[ "$status" -eq 0 ]
	is '.status == "green" and ([.crashes[] | .status] | unique == ["old"])'

	change 's/char name\[4\]/char name[8]/' src/parse.c
	judge
	[ "$status" -eq 0 ]
	is '.status == "green" and ([.crashes[] | .status] | unique == ["fixed"])'
}

# bats test_tags=slow
@test "a change of no target is green in less than a minute; what is not built is never green" {
	local began=$SECONDS
	change 's/text/words/' README
	judge --time 10m
	[ "$status" -eq 0 ]
	is '.status == "green" and .crashes == [] and ([.targets[] | .why] | unique ==
		["one of the smallest; none is affected"])'
	((SECONDS - began < 60 * SLOW))

	change 's/int n = 0/int n = zero/' src/count.c
	judge
	[ "$status" -eq 6 ]
	is '.status == "not-built" and (.verdict | contains("zero"))'
	grep -q 'errors="[1-9]' "$WORK/junit"
	jq -e '.runs[0].invocations[0].executionSuccessful == false' "$WORK/sarif"
}

# bats test_tags=slow
@test "without coverage reports, the builds that fuzz say what a change affects" {
	rm -r "$STATE/coverage"
	jq '.discovery[0].variants = ["address"]' "$STATE/config.json" >"$WORK/config"
	cp "$WORK/config" "$STATE/config.json"

	# Lines moved, and a function that only the other target reaches has grown.
	change 's/int n = 0;/int n = 0;\n\n\t(void)data;/' src/count.c
	judge
	[ "$status" -eq 0 ]
	is '[.targets[] | select(.affected) | {name, why}] ==
		[{name: "count_fuzzer", why: "its corpus reaches changed lines"}]'
	is '[.targets[] | select(.why == "not affected") | .name] == ["parse_fuzzer"]'

	# A new file with a function that one target calls.
	printf '#include "lib.h"\nint twice(int n)\n{\n\treturn n > 9 ? n : 2 * n;\n}\n' >"$WORK/repo/src/twice.c"
	git_ add src/twice.c
	sed -i 's/src\/count.c/src\/count.c src\/twice.c/' "$WORK/repo/build.sh"
	change 's/^int count/int twice(int n);\n&/; s/return n;/return twice(n);/' src/count.c
	judge
	[ "$status" -eq 0 ]
	is '[.targets[] | select(.affected) | .name] == ["count_fuzzer"]'

	# No code: the smallest are fuzzed, but for what is switched off.
	jq '.targets.count_fuzzer.enabled = false' "$WORK/config" >"$STATE/config.json"
	change 's/text/words/' README
	judge
	[ "$status" -eq 0 ]
	is '.status == "green" and ([.targets[] | .name, .affected] == ["parse_fuzzer", false])'
	cp "$WORK/config" "$STATE/config.json"

	# Without debug information nothing is known: all are fuzzed.
	sed -i 's/ -g / -g0 /' "$WORK/repo/build.sh"
	change 's/n > 9/n > 8/' src/twice.c
	judge
	is '[.targets[] | select(.affected) | .why] | unique ==
		["no coverage of it is known: the program has no debug information"]'
}

@test "wrong commits, changed files and no base are refused" {
	local fuzzcell=("$FUZZCELL" ci --state-dir "$STATE")
	change 's/text/words/' README
	run "${fuzzcell[@]}"
	[ "$status" -eq 2 ]
	[[ $output == *'give --base COMMIT'* ]]
	run "${fuzzcell[@]}" --base nothing
	[ "$status" -eq 2 ]
	[[ $output == *"no commit 'nothing'"* ]]
	run "${fuzzcell[@]}" --base HEAD --head HEAD~1
	[ "$status" -eq 2 ]
	[[ $output == *'check '*' out first'* ]]
	echo more >>"$WORK/repo/README"
	run "${fuzzcell[@]}" --base HEAD~1
	[ "$status" -eq 2 ]
	[[ $output == *'has changes that no commit has'* ]]
	# As GitHub and GitLab say.
	git_ checkout -q -f
	chown -R 4321 "$WORK/repo"
	jq -n --arg sha "$(git_ rev-parse HEAD~1)" '{pull_request: {base: {sha: $sha}}}' >"$WORK/event"
	run env GITHUB_EVENT_PATH="$WORK/event" "${fuzzcell[@]}" --seed x
	[ "$status" -eq 2 ]
	[[ $output == *"--seed: 'x' is not"* ]]
	run env CI_MERGE_REQUEST_DIFF_BASE_SHA="$(git_ rev-parse HEAD~1)" "${fuzzcell[@]}" --seed 0
	[ "$status" -eq 2 ]
}
