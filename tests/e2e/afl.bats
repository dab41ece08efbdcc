# SPDX-License-Identifier: Apache-2.0
# Targets of AFL++: planted bugs, its corpus, and turns with a main build.
load lib
load afl

setup_file() {
	export AFL=$BATS_FILE_TMPDIR/afl
	chmod 0755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR"
	built "$AFL/planted" healthy_fuzzer crash_fuzzer uaf_fuzzer timeout_fuzzer membomb_fast_fuzzer
	built "$AFL/healthy" healthy_fuzzer
	cp "$BATS_TEST_DIRNAME/../targets/healthy_fuzzer.dict" "$AFL/healthy"
	AFL_LLVM_CMPLOG=1 built "$AFL/cmplog" healthy_fuzzer
	cp "$AFL/cmplog/healthy_fuzzer" "$AFL/healthy/healthy_fuzzer.cmplog"
	printf 'fun:nothing\n' >"$AFL/nothing"
	AFL_LLVM_ALLOWLIST="$AFL/nothing" built "$AFL/blind" healthy_fuzzer
}

setup() { e2e_setup; }
teardown() { e2e_teardown; }

# run_afl DIRECTORY SECONDS [OPTION...]
run_afl() {
	local dir=$1 time=$2
	shift 2
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" --targets "$dir" \
		--max-fuzzer-time "$((time * TIMES))s" "$@"
	echo "$output"
	LOGS=$(last_logs)
	tail -n 5 "$LOGS"/*_fuzzer.log || true
}

# seed TARGET TEXT: an input from which a bug is one byte away.
seed() {
	mkdir -p "$STATE/corpus/$1"
	printf '%s' "$2" >"$STATE/corpus/$1/$(printf '%s' "$2" | sha1sum | cut -d ' ' -f 1)"
}

ledger() { jq -r "$1" "$STATE/known_crashes.json"; }

# crash_of TARGET: its crashes' types and top frames.
crash_of() {
	ledger "[.[] | select(.fuzzer == \"$1\") | (.crash_type | split(\"\n\")[0]) + \" \" + .top_frame] | sort | join(\", \")"
}

# shortest TARGET: the bytes of its crash's shortest input.
shortest() {
	local crash
	crash=$STATE/crashes/$(ledger "to_entries[] | select(.value.fuzzer == \"$1\").key")
	find "$crash" \( -name input -o -name minimized \) -printf '%s\n' | sort -n | head -n 1
}

# bats test_tags=slow
@test "planted bugs are found, named and minimised, and inputs are kept" {
	config '"timeout": "3s"'
	# On a busy machine, using up the memory takes longer than that.
	jq '.targets = {"membomb_fast_fuzzer": {"timeout": "15s"}}' "$STATE/config.json" >"$STATE/config.new"
	mv "$STATE/config.new" "$STATE/config.json"
	seed crash_fuzzer F0
	seed uaf_fuzzer U0
	run_afl "$AFL/planted" 12 --workers 2
	[ "$status" -eq 0 ]
	[ "$(crash_of crash_fuzzer)" = 'Heap-buffer-overflow LLVMFuzzerTestOneInput' ]
	[ "$(crash_of uaf_fuzzer)" = 'Heap-use-after-free session_is_open' ]
	[[ $(crash_of timeout_fuzzer) == 'Timeout '* ]]
	[[ $(crash_of membomb_fast_fuzzer) == 'Cell-memory-limit '* ]]
	[ "$(crash_of healthy_fuzzer)" = '' ]
	[ "$(shortest crash_fuzzer)" -eq 2 ]
	TARGET=healthy_fuzzer
	[ "$(value reason)" = time-limit ]
	[ "$(value execs)" -gt 1000 ]
	[ "$(value cov)" -gt 50 ]
	[ "$(value new_inputs)" -gt 50 ]
	[ "$(value failures_total)" -eq 0 ]
	TARGET=crash_fuzzer
	[ "$(failures crash)" -ge 1 ]
	[ "$(value restarts)" -eq 0 ] # the engine goes on
	TARGET=membomb_fast_fuzzer
	[ "$(failures oom)" -ge 1 ]
	[ "$(artifacts oom)" -ge 1 ]
	# Nothing of the engine's own files is in the corpus.
	local kept
	kept=$(find "$STATE/corpus/healthy_fuzzer" -type f | wc -l)
	[ "$kept" -gt 50 ]
	[ -z "$(find "$STATE/corpus/healthy_fuzzer" -type f -name 'id:*')" ]
	# A later run begins with the corpus; nothing merges it.
	run_afl "$AFL/planted" 5 --filter healthy_fuzzer
	TARGET=healthy_fuzzer
	[ "$(value seeds)" -eq "$kept" ]
	run "$FUZZCELL" corpus minimize --state-dir "$STATE" --targets "$AFL/planted" --filter healthy_fuzzer
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *'afl does not measure inputs: the corpus stays as it is'* ]]
	[ "$(find "$STATE/corpus/healthy_fuzzer" -type f | wc -l)" -ge "$kept" ]
	# The known crashes are run again, and one by hand.
	run "$FUZZCELL" regress --state-dir "$STATE" --targets "$AFL/planted" --filter crash_fuzzer
	echo "$output"
	[ "$status" -eq 1 ]
	run "$FUZZCELL" crash reproduce "$(ledger 'to_entries[] | select(.value.fuzzer == "crash_fuzzer").key')" \
		--state-dir "$STATE" --targets "$AFL/planted"
	echo "$output"
	[[ $output == *'heap-buffer-overflow'* ]]
}

# bats test_tags=slow
@test "a dictionary, a CMPLOG build and a flag reach afl-fuzz" {
	config '"flags": ["-p=rare"]'
	run_afl "$AFL/healthy" 6
	[ "$status" -eq 0 ]
	grep -q 'command: .* -x /seeds/dictionary .*-c /target/healthy_fuzzer.cmplog -p rare -- ' \
		"$LOGS/healthy_fuzzer.log"
	TARGET=healthy_fuzzer
	[ "$(value execs)" -gt 500 ]
	run "$FUZZCELL" list --targets "$AFL/healthy" --state-dir "$STATE"
	[[ $output != *cmplog* ]]
	[[ $output == *'healthy_fuzzer '*' afl '* ]]
}

# bats test_tags=slow
@test "what cannot be fuzzed ends with its reason" {
	run_afl "$AFL/blind" 6
	TARGET=healthy_fuzzer
	[ "$(value reason)" = not-instrumented ]
	[ "$status" -ne 0 ]
	mkdir "$WORK/out" # each seed fails
	printf '%s\n' '#include <stdlib.h>' 'int LLVMFuzzerTestOneInput(void *data, size_t size) { abort(); }' \
		>"$WORK/always.c"
	AFL_QUIET=1 afl-clang-fast -w -fsanitize=fuzzer -o "$WORK/out/healthy_fuzzer" "$WORK/always.c"
	run_afl "$WORK/out" 6
	[ "$(value reason)" = startup-failed ]
	[[ $(value note) == 'afl-fuzz: '* ]]
	config '"env": {"PATH": "/nowhere"}' # afl-fuzz is not installed
	run_afl "$AFL/healthy" 6
	[ "$(value reason)" = startup-failed ]
	[[ $(value note) == *"execute 'afl-fuzz'"*'No such file'* ]]
}

# bats test_tags=slow
@test "forged statistics are refused" {
	mkdir "$WORK/out"
	cat >"$WORK/forge.c" <<-'END'
		#include <stdint.h>
		#include <stdio.h>
		#include <stddef.h>
		int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
			static int n;
			FILE *f = n++ % 256 == 50 ? fopen("/work/artifacts/default/new", "w") : NULL;
			if (f) {
				fprintf(f, "execs_done        : 9007199254740000\n");
				fprintf(f, "edges_found       : %d\n", 900000000);
				fclose(f);
				rename("/work/artifacts/default/new", "/work/artifacts/default/fuzzer_stats");
			}
			return size > 1 && data[0] == 'a' && data[1] == 'b';
		}
	END
	AFL_QUIET=1 afl-clang-fast -fsanitize=fuzzer -o "$WORK/out/forge_fuzzer" "$WORK/forge.c"
	run_afl "$WORK/out" 8
	TARGET=forge_fuzzer
	[[ $(value forged) == *'900000000 edges'* || $(value forged) == *'executions'* ]]
	[ "$(value cov)" -lt 1000 ]
	[ "$(value execs)" -lt 1000000000 ]
}

# bats test_tags=slow
@test "a main build of another engine gets the inputs, and each build has its turns" {
	mkdir "$WORK/project"
	cat >"$WORK/project/build.sh" <<-END
		#!/bin/sh -eu
		for t in healthy crash; do
			\$CC -std=c11 -D_GNU_SOURCE \$CFLAGS -I "$BATS_TEST_DIRNAME/../targets" -o "\$OUT/\${t}_fuzzer" \\
				"$BATS_TEST_DIRNAME/../targets/\${t}_fuzzer.c" \$LIB_FUZZING_ENGINE
		done
	END
	chmod +x "$WORK/project/build.sh"
	config '"strategies": true' '"turn": "3s"'
	jq --arg dir "$WORK/project" '.discovery = [{type: "directory", path: ($dir + "/out"), build_dir: $dir,
		build: ["./build.sh"], variants: ["address", "afl"], build_as_root: true}]' \
		"$STATE/config.json" >"$STATE/config.new"
	mv "$STATE/config.new" "$STATE/config.json"
	run "$FUZZCELL" build --state-dir "$STATE"
	echo "$output"
	[ "$status" -eq 0 ]
	run "$FUZZCELL" list --state-dir "$STATE"
	[[ $output == *'libfuzzer '*'address fuzz:afl'* ]]
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" \
		--workers 2 --max-total-time "$((30 * TIMES))s"
	echo "$output"
	[ "$status" -eq 0 ]
	LOGS=$(last_logs)
	[ "$(jq .execs "$LOGS/healthy_fuzzer@afl.stats")" -gt 1000 ]
	[ "$(jq .execs "$LOGS/healthy_fuzzer.stats")" -gt 1000 ]
	jq -e '.strategies["build:afl"]' "$LOGS/healthy_fuzzer.stats"
	# Both find the bug: it is one crash.
	[ "$(ledger '[.[] | select(.crash_type | startswith("Heap-buffer-overflow"))] | length')" -eq 1 ]
}
