# SPDX-License-Identifier: Apache-2.0
# Several builds of one target: its new inputs run in those with other sanitizers, which see bugs
# that the main build passes.
load lib
load inputs

setup() {
	e2e_setup
	TARGETS=$(dirname "$TARGETS")/variants
}

teardown() {
	e2e_teardown
}

# Puts inputs into the target's corpus.
have() {
	local text sha1
	mkdir -p "$STATE/corpus/sanitizers_fuzzer"
	for text in "$@"; do
		sha1=$(printf %s "$text" | sha1sum | cut -d ' ' -f 1)
		printf %s "$text" >"$STATE/corpus/sanitizers_fuzzer/$sha1"
	done
}

# "target kind" of each crash.
found_by() {
	ledger '[.[] | .fuzzer + " " + .kind] | sort | join(", ")'
}

@test "the builds of a target are listed, and what is wrong with them" {
	run "$FUZZCELL" list --targets "$TARGETS"
	echo "$output"
	[[ $output == *'address coverage check:memory check:undefined'* ]]
	[[ $output != *warning* ]]
	mkdir "$WORK/out"
	cp -r "$TARGETS/." "$WORK/out"
	cp "$TARGETS/undefined/sanitizers_fuzzer" "$WORK/out/memory/"
	cp "$TARGETS/undefined/sanitizers_fuzzer" "$WORK/out/undefined/other_fuzzer"
	cp "$TARGETS/address/sanitizers_fuzzer" "$WORK/out/address/lone_fuzzer"
	run "$FUZZCELL" list --targets "$WORK/out/address"
	echo "$output"
	[[ $output == *'check:memory!'* ]]
	[[ $output == *'sanitizers_fuzzer@memory: it has no MemorySanitizer'* ]]
	[[ $output == *"lone_fuzzer has no build of the variant 'memory'"* ]]
	[[ $output == *"only the variant 'undefined' has a target 'other_fuzzer'"* ]]
	"$FUZZCELL" list --targets "$WORK/out/address" --json |
		jq -e '.targets[] | select(.name == "sanitizers_fuzzer").variants |
			map(.name + " " + .role) == ["sanitizers_fuzzer@coverage coverage",
				"sanitizers_fuzzer@memory check", "sanitizers_fuzzer@undefined check"]'
}

@test "bugs that one sanitizer sees are found by an ASan run, once each" {
	config '"minimize_time": "off"' '"check_share": 0.9'
	have UUx MMx plain
	fuzz sanitizers_fuzzer 6
	found_by
	[ "$(found_by)" = 'sanitizers_fuzzer asan, sanitizers_fuzzer@memory msan, sanitizers_fuzzer@undefined ubsan' ]
	grep -q 'checked [0-9]* inputs in other builds: [0-9]* failed' "$LOGS/sanitizers_fuzzer.log"
	[ "$(value crashes_new)" -eq 3 ]
	# What a build has run, it does not run again.
	[ "$(jq .left "$STATE/stats/checked/sanitizers_fuzzer@memory.json")" -eq 0 ]
	[ "$(wc -l <"$STATE/stats/checked/sanitizers_fuzzer@memory.ran")" -ge 3 ]
	run "$FUZZCELL" crash reproduce "$(ledger 'to_entries[] | select(.value.kind == "msan").key')" \
		--state-dir "$STATE" --targets "$TARGETS"
	echo "$output"
	[[ $output == *reproduces* ]]
	# Nothing new: nothing is run, and no crash is counted again.
	fuzz sanitizers_fuzzer 2 --commit abc
	[ "$(value crashes_new)" -eq 0 ]
	[ "$(ledger length)" -eq 3 ]
}

@test "crash triage works on the failures of each build" {
	local dir=$STATE/triage/sanitizers_fuzzer@memory
	mkdir -p "$dir"
	printf MMx >"$dir/crash-$(printf MMx | sha1sum | cut -d ' ' -f 1)"
	run "$FUZZCELL" crash triage --state-dir "$STATE" --targets "$TARGETS"
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(found_by)" = 'sanitizers_fuzzer@memory msan' ]
	[ -z "$(ls "$dir")" ]
}

crashes() {
	ledger '[.[] | select(.merged_into == null)] | length'
}

# An index out of an array, which two sanitizers see on one line.
@test "a bug that two sanitizers report is one crash with both reports" {
	local crash build
	queue sanitizers_fuzzer crash "an index of 16.."
	queue sanitizers_fuzzer@undefined crash "an index 0"
	run "$FUZZCELL" crash triage --state-dir "$STATE" --targets "$TARGETS"
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(ledger length)" -eq 2 ] # signatures
	[ "$(crashes)" -eq 1 ]
	crash=$(ledger 'to_entries[] | select(.value.merged_into == null).key')
	[ "$(ledger '.[] | select(.merged_into == null).found_by | length')" -eq 2 ]
	run "$FUZZCELL" crash show "$crash" --state-dir "$STATE"
	echo "$output"
	[[ $output == *'AddressSanitizer: global-buffer-overflow'* ]]
	[[ $output == *"runtime error: index 10 out of bounds for type 'int"* ]]
	run "$FUZZCELL" crash show "$crash" --target sanitizers_fuzzer --state-dir "$STATE"
	[[ $output != *'runtime error: index'* ]]
	"$FUZZCELL" crash show "$crash" --json --state-dir "$STATE" |
		jq -e '[.report.kind, .builds[].report.kind] | sort == ["asan", "ubsan"]'
	# A further input of each build is counted, and makes no crash.
	queue sanitizers_fuzzer crash "an index, and more"
	queue sanitizers_fuzzer@undefined crash "an index 11"
	"$FUZZCELL" crash triage --state-dir "$STATE" --targets "$TARGETS"
	[ "$(ledger length)" -eq 2 ]
	[ "$(ledger '.[] | select(.merged_into == null).count')" -eq 4 ]
	# Both reproduce, each in its own build.
	for build in sanitizers_fuzzer sanitizers_fuzzer@undefined; do
		run "$FUZZCELL" crash reproduce "$crash" --target "$build" --state-dir "$STATE" \
			--targets "$TARGETS"
		echo "$output"
		[[ $output == *reproduces* ]]
	done
}

@test "an input that fails in two builds with different bugs is two crashes" {
	queue sanitizers_fuzzer crash "two bugs"
	queue sanitizers_fuzzer@undefined crash "two bugs"
	run "$FUZZCELL" crash triage --state-dir "$STATE" --targets "$TARGETS"
	echo "$output"
	[ "$(found_by)" = 'sanitizers_fuzzer asan, sanitizers_fuzzer@undefined ubsan' ]
	[ "$(crashes)" -eq 2 ]
}

# bats test_tags=slow
@test "a run counts a bug that two sanitizers report once" {
	config '"minimize_time": "off"' '"check_share": 0.9'
	have "an index 0" plain
	queue sanitizers_fuzzer crash "an index of 16.."
	fuzz sanitizers_fuzzer 4
	[ "$(ledger '[.[] | select(.kind == "ubsan" and .merged_into != null)] | length')" -ge 1 ]
	[ "$(value crashes_new)" -eq "$(crashes)" ]
	local signatures
	signatures=$(jq '[.targets[].crashes[].signature]' "$LOGS/summary.json")
	jq -e 'length > 0 and length == (unique | length)' <<<"$signatures"
}

# own KIND: what is kept beside the queued failure of this kind.
own() {
	local dir=$STATE/triage/sanitizers_fuzzer@memory
	head -n 1 "$dir"/.report-"$1"-* | jq -r '.own + " " + .detail'
}

# The limits of the cell act on a check variant as on the main build.  One of the inputs takes longer than
# the time for all of them.
# bats test_tags=slow
@test "a failure that a check variant's cell caused is kept with its kind and cause" {
	config '"minimize_time": "off", "triage_time": "off", "pids": 64' '"check_share": 0.6'
	have syscalls "too many" plain
	for _ in $(seq 12); do # what has no time in a short run waits for the next one
		fuzz sanitizers_fuzzer 3
		[ "$(find "$STATE/triage/sanitizers_fuzzer@memory" -name '.report-[sp]*' | wc -l)" -lt 2 ] ||
			break
	done
	[ "$(own syscall)" = "syscall bpf" ]
	[ "$(own pids)" = "pids " ]
}

# regress OPTION...: prints "target passed failed" of each target that ran.
regress() {
	local ended=0
	"$FUZZCELL" regress --state-dir "$STATE" --targets "$TARGETS" --json "$@" \
		>"$WORK/json" 2>"$WORK/said" || ended=$?
	echo "$ended" >"$WORK/status"
	cat "$WORK/said" >&2
	jq -r '[.targets[] | "\(.target) \(.passed) \(.failed)"] | sort | join(", ")' "$WORK/json"
}

@test "regress runs known crashes in the builds that found them" {
	config '"minimize_time": "off"'
	have UUx plain
	queue sanitizers_fuzzer crash "an index of 16.."
	queue sanitizers_fuzzer@undefined crash "an index 0"
	"$FUZZCELL" crash triage --state-dir "$STATE" --targets "$TARGETS"
	mkdir -p "$STATE/regressions/sanitizers_fuzzer@memory"
	printf good >"$STATE/regressions/sanitizers_fuzzer@memory/good"
	# The corpus is run in the main build.
	[ "$(regress --allow-known)" = 'sanitizers_fuzzer 2 1, sanitizers_fuzzer@memory 1 0, sanitizers_fuzzer@undefined 0 1' ]
	[ "$(cat "$WORK/status")" -eq 0 ]
	[[ $(cat "$WORK/said") != *'not here'* ]]
	# With --all, in all builds: an input of it is a new failure.
	[ "$(regress --all --allow-known)" = 'sanitizers_fuzzer 2 1, sanitizers_fuzzer@memory 3 0, sanitizers_fuzzer@undefined 1 2' ]
	[ "$(cat "$WORK/status")" -eq 1 ]
	# The main build alone, with a crash of a build that is not here.
	mkdir "$WORK/alone"
	cp "$TARGETS/address/sanitizers_fuzzer" "$WORK/alone"
	TARGETS=$WORK/alone
	regress --allow-known
	[ "$(cat "$WORK/status")" -eq 5 ]
	grep '1 known crashes are of targets that are not here' "$WORK/said"
}

# A run is killed while it checks: what had run may run again, and no crash is counted twice.
# bats test_tags=slow
@test "a check that is killed is repeated by the next run" {
	config '"minimize_time": "off", "merge_time": "off"' '"check_share": 0.9'
	have UUx MMx
	fuzz_background sanitizers_fuzzer 4
	wait_until 60 [ -e "$STATE/stats/checked/sanitizers_fuzzer@memory.json" ]
	kill -9 "$PID"
	wait "$PID" || true
	wait_until 60 eval '! cell_runs'
	fuzz sanitizers_fuzzer 4
	[ "$(found_by)" = 'sanitizers_fuzzer asan, sanitizers_fuzzer@memory msan, sanitizers_fuzzer@undefined ubsan' ]
	[ "$(jq .left "$STATE/stats/checked/sanitizers_fuzzer@undefined.json")" -eq 0 ]
}

# bats test_tags=slow
@test "a variant that cannot run is named, and the others go on" {
	mkdir "$WORK/out"
	cp -r "$TARGETS/." "$WORK/out"
	printf '#!/bin/sh\n# LLVMFuzzerTestOneInput\nexit 3\n' >"$WORK/out/memory/sanitizers_fuzzer"
	config '"minimize_time": "off"' '"check_share": 0.9'
	have UUx MMx
	TARGETS=$WORK/out fuzz sanitizers_fuzzer 4
	[ "$(found_by)" = 'sanitizers_fuzzer asan, sanitizers_fuzzer@undefined ubsan' ]
	grep -q 'checked .* wait: sanitizers_fuzzer@memory: ' "$LOGS/sanitizers_fuzzer.log"
	[ "$(jq .left "$STATE/stats/checked/sanitizers_fuzzer@memory.json")" -gt 0 ]
	# The repaired build runs what waits.
	fuzz sanitizers_fuzzer 4
	[ "$(found_by)" = 'sanitizers_fuzzer asan, sanitizers_fuzzer@memory msan, sanitizers_fuzzer@undefined ubsan' ]
}

@test "a variant that is switched off runs nothing" {
	config '"minimize_time": "off"' '"check_share": 0.9'
	jq '.targets = {"*@memory": {"enabled": false}}' "$STATE/config.json" >"$WORK/c"
	mv "$WORK/c" "$STATE/config.json"
	have UUx MMx
	fuzz sanitizers_fuzzer 4
	[ "$(found_by)" = 'sanitizers_fuzzer asan, sanitizers_fuzzer@undefined ubsan' ]
	[ ! -e "$STATE/stats/checked/sanitizers_fuzzer@memory.json" ]
}

# project [KEY VALUE...]: a project with one build script, as OSS-Fuzz's are, and a source for its
# builds.  It writes its environment into WORK.  A file broken-NAME breaks that build.
project() {
	TREE=$WORK/src/project
	mkdir -p "$TREE"
	cp "$BATS_TEST_DIRNAME/../targets/"{sanitizers_variant.c,planted.h} "$TREE"
	cat >"$TREE/build.sh" <<-'END'
		#!/bin/sh -eu
		[ -z "$(ls "$WORK")" ]
		env >"$WORK/env"
		if [ -e "broken-$SANITIZER" ]; then
			echo "a.c:1: error: no $SANITIZER" >&2
			exit 1
		fi
		# As configure scripts do.
		echo 'int main(void) { return 0; }' >"$WORK/conftest.c"
		$CC $CFLAGS "$WORK/conftest.c" -o "$WORK/conftest"
		"$WORK/conftest"
		$CC $CFLAGS -D_GNU_SOURCE -c "$SRC/project/sanitizers_variant.c" -o "$WORK/target.o"
		$CXX $CXXFLAGS $LIB_FUZZING_ENGINE "$WORK/target.o" -o "$OUT/sanitizers_fuzzer"
	END
	chmod 0755 "$TREE/build.sh"
	jq --arg tree "$TREE" '.discovery = [{type: "directory", path: ($tree + "/out"), build: ["./build.sh"],
		build_dir: $tree, variants: ["address", "undefined", "memory", "coverage"]} + $more]' \
		--argjson more "$1" "$STATE/config.json" >"$WORK/c"
	mv "$WORK/c" "$STATE/config.json"
}

cell() { # COMMAND [OPTION...]
	run timeout $((300 * SLOW)) "$FUZZCELL" "$1" --state-dir "$STATE" "${@:2}" 3>&-
	echo "$output"
}

# bats test_tags=host,slow
@test "one command builds the variants, and a run uses all of them" {
	config '"minimize_time": "off"' '"check_share": 0.9'
	project '{"build_as_root": true}'
	have UUx MMx
	env -u CC -u CXX CFLAGS=-Dours timeout $((300 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" \
		--max-fuzzer-time "$((4 * TIMES))s" 3>&-
	[ "$(found_by)" = 'sanitizers_fuzzer asan, sanitizers_fuzzer@memory msan, sanitizers_fuzzer@undefined ubsan' ]
	cell list --all
	[ "$status" -eq 0 ]
	[[ $output == *'address coverage check:memory check:undefined'* ]]
	[[ $output == *'build   SANITIZER=address ./build.sh # with CC, CFLAGS, OUT'* ]]
	[[ $output != *warning* ]] # each program has its sanitizer, or the coverage mapping
	grep -qx "SRC=$WORK/src" "$TREE/out/.work/memory/env"
	grep -qx "OUT=$TREE/out/memory" "$TREE/out/.work/memory/env"
	grep -qx 'CC=clang' "$TREE/out/.work/memory/env"
	[ "$(grep -c Dours "$TREE/out/.work/memory/env")" -eq 0 ]
}

# bats test_tags=host,slow
@test "a variant that does not build is named, and the others are built and fuzzed" {
	project '{"build_as_root": true}'
	cell list
	[ "$status" -eq 2 ]
	[[ $output == *'out/address'*'(fuzzcell build makes it)'* ]]
	touch "$TREE/broken-memory"
	cell build
	[ "$status" -eq 5 ]
	[[ $output == *"build of $TREE/out/memory: SANITIZER=memory ./build.sh"*'error: no memory'* ]]
	[[ $output == *"$TREE/out/memory: the build of the variant 'memory' failed and made no target"* ]]
	[[ $output == *'1 target can be fuzzed'* ]]
	cell list
	[ "$status" -eq 0 ]
	[[ $output == *'address coverage check:undefined'* ]]
	[[ $output == *"the build of the variant 'memory' failed and made no target"* ]]
	cell run --plain --max-fuzzer-time 2s
	[ "$status" -eq 5 ]
	[[ $output == *"the build of the variant 'memory' failed"*'sanitizers_fuzzer started'* ]]
	[[ $output == *'0 not fuzzed; a build failed'* ]]
	# A program of an earlier build is not used.
	rm "$TREE/broken-memory"
	cell build
	[ "$status" -eq 0 ]
	touch "$TREE/broken-memory"
	sleep 0.2
	cell build
	[ "$status" -eq 5 ]
	cell list
	[[ $output == *'check:memory!'* ]]
	[[ $output == *'warning: sanitizers_fuzzer@memory: the build failed, and this is an older one'* ]]
}

# bats test_tags=host
@test "build cells make the variants" {
	project '{"build_isolation": "cell", "build_memory": "1GiB"}'
	chmod 0755 "$WORK/src"
	chown -R 4321:4321 "$TREE"
	cell build
	cat "$STATE"/logs/build-*.log
	[ "$status" -eq 0 ]
	[[ $output == *'1 target can be fuzzed'* ]]
	cell list
	[[ $output == *'address coverage check:memory check:undefined'* ]]
	[[ $output != *warning* ]]
	[ -z "$(find "$TREE" ! -user 4321 -print -quit)" ]
	grep -qx "WORK=$TREE/out/.work/memory" "$TREE/out/.work/memory/env"
}

# bats test_tags=host,slow
@test "a project of OSS-Fuzz is built with the sanitizers of its project.yaml" {
	project '{"build_isolation": "cell"}'
	mkdir "$WORK/oss"
	mv "$TREE/build.sh" "$WORK/oss"
	printf '%s\n' 'language: c' 'sanitizers:' '- memory:' '    experimental: True' '- address' \
		'fuzzing_engines: [libfuzzer, afl]' >"$WORK/oss/project.yaml"
	jq --arg oss "$WORK/oss" '.discovery = [.discovery[0] | del(.build, .variants) |
		.type = "oss-fuzz" | .path = $oss]' "$STATE/config.json" >"$WORK/c"
	mv "$WORK/c" "$STATE/config.json"
	chmod 0755 "$WORK/src"
	chown -R 4321:4321 "$TREE"
	cell config check
	[ "$status" -eq 0 ]
	[[ $output == *'project.yaml:6: fuzzing_engines: "afl" is ignored: fuzzcell runs libFuzzer'* ]]
	cell build
	cat "$STATE"/logs/build-*.log
	[ "$status" -eq 0 ]
	[[ $output == *'SANITIZER=address'*'SANITIZER=memory'*'1 target can be fuzzed'* ]]
	cell list
	[[ $output == *'address coverage check:memory'* ]]
	[[ $output != *warning* ]]
	[ -z "$(find "$TREE" ! -user 4321 -print -quit)" ]
	# A mistake names its place; a script that another user can change is not executed.
	echo 'language: go' >"$WORK/oss/project.yaml"
	cell build
	[ "$status" -eq 6 ]
	[[ $output == *"$WORK/oss/project.yaml:1: language: \"go\" is not supported"* ]]
	echo 'language: c' >"$WORK/oss/project.yaml"
	chown 4322 "$WORK/oss/build.sh"
	cell config check
	[ "$status" -eq 2 ]
	[[ $output == *"build.sh' is under the control of another user (4322)"* ]]
	cell build
	[ "$status" -eq 6 ]
}

# An input takes 50 ms in the build with MemorySanitizer, and no time in the others.
# bats test_tags=slow
@test "checks take no more than their share of the CPU time, and the rest waits" {
	config '"minimize_time": "off", "merge_time": "off"' '"check_share": 0.1'
	local i seconds
	for i in {1..400}; do
		have "a while.$i"
	done
	for seconds in 8 20 40; do # a busy machine gives it too little CPU time for a check in 8 s
		fuzz sanitizers_fuzzer "$seconds"
		awk -v c="$(value checks_cpu_seconds)" 'BEGIN { exit c > 0 }' || break
	done
	# A tenth of all CPU time is a ninth of the fuzzing's.  An input that began is finished.
	awk -v c="$(value checks_cpu_seconds)" -v f="$(value cpu_seconds)" \
		'BEGIN { exit !(c > 0 && c < f / 9 * 2 + 1) }'
	[ "$(value checks_left)" -gt 100 ]
	[ "$(value checks_behind_since)" -gt 0 ]
}

# An input sleeps for two seconds in the build with MemorySanitizer, which is more than all may take.
# bats test_tags=slow
@test "an input that takes longer than its share is run, and the rest waits" {
	config '"minimize_time": "off", "merge_time": "off"' '"check_share": 0.6'
	local i
	for i in {10..39}; do
		have "sleeping$i"
	done
	fuzz sanitizers_fuzzer 4
	[ "$(value checks_left)" -ge 20 ]
	fuzz sanitizers_fuzzer 4
	grep -q 'checked [1-9][0-9]* inputs in other builds' "$LOGS/sanitizers_fuzzer.log"
	[ "$(value checks_left)" -ge 20 ]
}

# bats test_tags=slow
@test "a failure that only several inputs together cause keeps its report" {
	config '"minimize_time": "off", "merge_time": "off"' '"check_share": 0.9'
	have "together 1" "together 2" "together 3"
	fuzz sanitizers_fuzzer 5
	# No replay repeats it: the report of the cell that ran them names it.
	local crash
	crash=$(ledger 'to_entries[] | select(.value.top_frame == "second_time").key')
	[ "$(ledger ".[\"$crash\"] | [.fuzzer, .state, .kind] | join(\" \")")" = \
		'sanitizers_fuzzer@memory flaky msan' ]
	run "$FUZZCELL" crash show "$crash" --state-dir "$STATE"
	echo "$output"
	[[ $output == *'MemorySanitizer: use-of-uninitialized-value'*'in second_time'* ]]
}

checked_all() {
	[ -e "$STATE/stats/checked/sanitizers_fuzzer@memory.json" ] || return 1
	[ "$(jq .left "$STATE/stats/checked/sanitizers_fuzzer@memory.json")" = 0 ] &&
		[ "$(jq -r .build "$STATE/stats/checked/sanitizers_fuzzer@memory.json")" = \
			"$(sha1sum <"$WORK/builds/memory/sanitizers_fuzzer" | cut -d ' ' -f 1)" ]
}

crashes_of_memory() {
	[ "$(ledger '[.[] | select(.fuzzer == "sanitizers_fuzzer@memory")] | length')" -eq "$1" ]
}

# bats test_tags=slow
@test "a variant that is rebuilt during a continuous run runs the corpus again" {
	mkdir "$WORK/builds"
	cp -r "$TARGETS/." "$WORK/builds"
	cp "$TARGETS/address/sanitizers_fuzzer" "$WORK/builds/address/other_fuzzer" # turns need two targets
	config '"minimize_time": "off"' '"check_share": 0.9, "turn": "2s"'
	have MMx plain
	"$FUZZCELL" run --plain --continuous --state-dir "$STATE" --targets "$WORK/builds" \
		>"$WORK/out" 2>&1 3>&- &
	PID=$!
	wait_until 120 checked_all
	cp "$WORK/builds/memory/sanitizers_fuzzer" "$WORK/new"
	printf x >>"$WORK/new" # another program with the same code
	mv "$WORK/new" "$WORK/builds/memory/sanitizers_fuzzer"
	run checked_all
	[ "$status" -ne 0 ]
	wait_until 120 checked_all
	# The crash may wait for its replays, behind those of the main builds.
	wait_until 120 crashes_of_memory 1
	"$FUZZCELL" stop --now --state-dir "$STATE"
	wait "$PID" || true
	PID=
	crashes_of_memory 1
}
