# SPDX-License-Identifier: Apache-2.0
# From sources to targets: building fuzzcell itself, and the recipes of docs/harness.md.
# bats file_tags=host
load lib

setup() {
	e2e_setup
	ROOT=$BATS_TEST_DIRNAME/../..
	unset MAKEFLAGS MFLAGS MAKELEVEL CC CFLAGS
}

teardown() { e2e_teardown; }

@test "make names the missing packages, and how to install them" {
	mkdir "$WORK/known"
	ln -s "$(pkg-config --variable=pcfiledir expat)/expat.pc" "$WORK/known"
	PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$WORK/known run make -C "$ROOT" -j2 B="$WORK/build"
	echo "$output"
	[ "$status" -eq 2 ]
	[[ $output == *"not installed: libsystemd jansson "*'"make deps" installs'* ]]
	[[ $output != *expat* && $output != *'No such file'* ]]
	run make -C "$ROOT" B="$WORK/build" CC=no-such-cc
	[ "$status" -eq 2 ]
	[[ $output == *"not installed: no-such-cc with the C library. \"make deps\" installs"* ]]
	# Other goals need no package.
	PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$WORK/known run make -C "$ROOT" -n B="$WORK/build" deps clean
	[ "$status" -eq 0 ]
}

# page HEADING: prints the commands below this heading of the page, up to the next heading.
page() {
	awk -v h="$1" '/^```sh$/ { on = found; next } /^```/ { on = 0 } on
		/^##/ { found = $0 == h }' "$ROOT/docs/harness.md"
}

# Copies the recipes as the page does, as an ordinary user.
recipes() {
	id nobody >/dev/null || skip 'no user nobody'
	mkdir "$WORK/bin"
	ln -s "$FUZZCELL" "$WORK/bin/fuzzcell"
	PATH=$WORK/bin:$PATH
	export FUZZCELL_STATE_DIR=$STATE
	rm "$STATE/config.json"
	ln -s "$ROOT/examples" "$WORK/examples"
	cd "$WORK" || return
	eval "$(page '## Recipes')"
	[ "$PWD" = "$WORK/record" ]
	chown -R nobody .
}

# fuzzes HEADING: its commands find the planted bug; both targets are fuzzed.
fuzzes() {
	local commands
	commands=$(page "$1")
	[[ $commands == 'fuzzcell run --config '*.json* ]]
	while IFS= read -r line; do
		echo "\$ $line"
		status=0
		output=$(eval "$line --plain" </dev/null 2>&1 3>&-) || status=$?
		echo "$output"
		[ "$status" -eq 0 ]
	done <<<"$commands"
	[ -z "$(find . -user root -print -quit)" ]
	[[ $output == *' 2 targets in '*' 0 given up, 0 not fuzzed'* ]]
	fuzzcell crash list --json | jq -e '[.[].fuzzer] == ["name_fuzzer"]'
}

# names CONFIG TEXT PATTERN: a harness with this text does not build: it is named, and the other
# harness is built.
names() {
	printf '%s\n' "$2" >fuzz/count_fuzzer.c
	run timeout $((300 * SLOW)) fuzzcell build --config "$1" 3>&-
	echo "$output"
	[ "$status" -eq 5 ]
	[[ $output == *$3* ]]
	[[ $output == *$'\n  failed  '*count_fuzzer:* ]]
	[[ $output == *$'\n1 target can be fuzzed, 1 can not'* ]]
}

NO_C='int LLVMFuzzerTestOneInput(void) { return 1 + ; }'
NO_LINK='int misspelt(void); int LLVMFuzzerTestOneInput(void) { return misspelt(); }'

@test "a harness built by gcc runs the files that it is given" {
	ln -s "$ROOT/examples" "$WORK/examples"
	cd "$WORK"
	eval "$(page '## Flags')"
	printf 'R0%048d' 0 >input
	run ./name_replay input
	[ "$status" -ne 0 ]
	[[ $output == *'AddressSanitizer: stack-buffer-overflow'* ]]
}

# bats test_tags=slow
@test "Make: the recipe finds its bug, and names a harness that does not build" {
	recipes
	fuzzes '### Make'
	names make.json "$NO_C" 'count_fuzzer.c:1:47: error: expected expression; failed: obj/fuzz/count_fuzzer.o'
	names make.json "$NO_LINK" 'count_fuzzer.c:1: undefined reference to `misspelt*; failed: out/count_fuzzer'
	run timeout $((300 * SLOW)) fuzzcell run --plain --no-build --config make.json --max-total-time 2s
	echo "$output"
	[ "$status" -eq 5 ]
	[[ $output == *'name_fuzzer ended: run-deadline'* ]]
	[[ $output == *'count_fuzzer was NOT FUZZED (no-binary): the build failed and did not make it'* ]]
}

# bats test_tags=slow
@test "CMake: the recipe finds its bug, and names a harness that does not build" {
	recipes
	fuzzes '### CMake'
	names cmake.json "$NO_C" 'count_fuzzer.c:1:47: error: expected expression; failed: '*count_fuzzer.c.o
	names cmake.json "$NO_LINK" 'undefined reference to `misspelt*; failed: fuzz/count_fuzzer'
}

# bats test_tags=slow
@test "Meson: the recipe finds its bug, and names a harness that does not build" {
	command -v meson >/dev/null || skip 'no meson here'
	recipes
	fuzzes '### Meson'
	names meson.json "$NO_C" 'count_fuzzer.c:1:47: error: expected expression; failed: '*count_fuzzer.c.o
	names meson.json "$NO_LINK" 'undefined reference to `misspelt*; failed: fuzz/count_fuzzer'
}

# bats test_tags=slow
@test "Bazel: the recipe finds its bug, and names a harness that does not build" {
	command -v bazel >/dev/null || skip 'no bazel here'
	recipes
	# Nothing can be downloaded here, and the user has no home.
	cp -r "$ROOT/tests/bazel/stubs" "$WORK/stubs"
	mkdir "$WORK/bazel"
	chown nobody "$WORK/bazel"
	cat >>.bazelrc <<-END
		startup --output_user_root=$WORK/bazel --host_jvm_args=-XX:TieredStopAtLevel=1 --host_jvm_args=-XX:+UseSerialGC
		common --override_repository=rules_cc=$WORK/stubs/rules_cc --override_repository=rules_java=$WORK/stubs/rules_java
		build --jobs=2 --spawn_strategy=local
	END
	fuzzes '### Bazel'
	names bazel.json "$NO_LINK" 'failed  //:count_fuzzer: '
}

# bats test_tags=slow
@test "cargo-fuzz: the recipe's configuration finds the built targets, and names the failed ones" {
	recipes
	# No crates here: this builds the C harnesses where cargo-fuzz would, and fails as cargo does.
	cat >"$WORK/bin/cargo" <<-END
		#!/bin/sh
		[ "\$1" = fuzz ] && [ -e fuzz/Cargo.toml ] || exit 9
		case \$2 in
		list) sed -n 's/^name = "\(.*_fuzzer\)"/\1/p' fuzz/Cargo.toml ;;
		build)
			grep -q 'fuzz_target!' "fuzz/fuzz_targets/\$3.rs" || {
				echo "error: could not compile \\\`record-fuzz\\\` (bin \\"\$3\\") due to 1 previous error" >&2
				exit 1
			}
			to=fuzz/target/x86_64-unknown-linux-gnu/release
			mkdir -p "\$to/deps"
			clang -I.. -fsanitize=fuzzer,address -o "\$to/\$3" "../fuzz/\$3.c" ../record.c
			echo "\$to/\$3: fuzz" >"\$to/\$3.d"
			;;
		esac
	END
	chmod +x "$WORK/bin/cargo"
	eval "$(page '### cargo-fuzz' | head -n 1)"
	[ "$PWD" = "$WORK/record/cargo-fuzz" ]
	output=$(eval "$(page '### cargo-fuzz' | tail -n +2) --plain" 3>&-)
	echo "$output"
	[[ $output == *' 2 targets in '*' 0 not fuzzed'* ]]
	[[ $output == *'name_fuzzer failed: AddressSanitizer: '* ]]
	echo 'pub fn f() {' >fuzz/fuzz_targets/count_fuzzer.rs
	run fuzzcell build --config cargo-fuzz.json
	echo "$output"
	[ "$status" -eq 5 ]
	[[ $output == *'(bin "count_fuzzer")'* ]]
	[[ $output == *$'\n1 target can be fuzzed, 1 can not'* ]]
}

# bats test_tags=slow
@test "few edges: doctor tells an uninstrumented library from a small one" {
	local out=$WORK/out cover=-fsanitize=fuzzer-no-link
	mkdir "$out"
	cd "$WORK"
	cat >library.c <<-'E'
		int parse(const unsigned char *data, unsigned long n) { return n > 2 && data[0] == 'a' && data[1] == 'b'; }
	E
	cat >harness.cc <<-'E'
		#include <cstddef>
		#include <fuzzer/FuzzedDataProvider.h>
		#include <string>
		extern "C" int parse(const unsigned char *data, size_t n);
		static bool is_long(const std::string &s) { return s.size() > 3; }
		extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
		{
			FuzzedDataProvider provider(data, n);
			std::string s = provider.ConsumeRandomLengthString(9);
			return is_long(s) && parse(data, n) ? 0 : 0;
		}
	E
	clang -g -c library.c -o bare.o
	clang -g "$cover" -c library.c -o whole.o
	clang -g "$cover" -fvisibility=hidden -c library.c -o hidden.o
	clang -g "$cover" -fPIC -shared -Wl,-soname,libshared.so library.c -o "$out/libshared.so"
	for name in bare whole hidden; do
		clang++ -g -fsanitize=fuzzer harness.cc "$name.o" -o "$out/${name}_fuzzer"
	done
	clang++ -g -fsanitize=fuzzer harness.cc "$out/libshared.so" "-Wl,-rpath,\$ORIGIN" -o "$out/shared_fuzzer"
	clang++ -g -no-pie -fsanitize=fuzzer harness.cc whole.o -o "$out/fixed_fuzzer"
	cp "$out/whole_fuzzer" "$out/stripped_fuzzer"
	strip "$out/stripped_fuzzer"
	config ''
	run timeout 600 "$FUZZCELL" run --plain --state-dir "$STATE" --targets "$out" --max-total-time $((18 * TIMES))s
	echo "$output"
	[ "$status" -eq 0 ]
	"$FUZZCELL" doctor --json --state-dir "$STATE" --targets "$out" >"$WORK/json" || true
	[ "$(cat "$STATE"/logs/*/*.stats | jq -s 'map(select(.edges > 0)) | length')" -eq 6 ]
	[ "$(jq -r '[.targets[] | select(any(.findings[]; .code == "few-edges")).name] | join(" ")' "$WORK/json")" = \
		'bare_fuzzer stripped_fuzzer' ]
}

# The page says five minutes for its reader; the bug is found in seconds.
# bats test_tags=slow
@test "the commands of docs/tutorial.md lead to a crash that is fixed" {
	local line want count=0
	mkdir "$WORK/bin"
	ln -s "$FUZZCELL" "$WORK/bin/fuzzcell"
	ln -s "$ROOT/examples" "$WORK/examples"
	PATH=$WORK/bin:$PATH
	export FUZZCELL_STATE_DIR=$STATE
	config '"timeout": "2s"' # a run shorter than four timeouts does not check known crashes
	cd "$WORK"
	while IFS= read -r line; do
		line=${line/5m/$((20 * SLOW))s}
		echo "\$ $line"
		status=0
		eval "$line" </dev/null 3>&- || status=$?
		echo "status $status"
		[ "$status" -eq 0 ]
		count=$((count + 1))
		[[ $line != 'fuzzcell crash reproduce'* ]] || fuzzcell crash list --json | jq -e 'map(.state) == ["new"]'
	done < <(awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' "$ROOT/docs/tutorial.md")
	[ "$count" -eq 13 ]
	fuzzcell crash list --json | jq -e 'map(.state) == ["fixed"]'
}
