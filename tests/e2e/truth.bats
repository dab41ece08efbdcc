# SPDX-License-Identifier: Apache-2.0
# Never green when a target did not really fuzz.
load lib
setup() { e2e_setup; }
teardown() { e2e_teardown; }

@test "a target that exits at start: startup-failed, with its words, exit status 5" {
	fuzz startexit_fuzzer 20
	[ "$status" -eq 5 ]
	[ "$(value reason)" = startup-failed ]
	[ "$(value fuzzed)" = false ]
	[ -n "$(value note)" ]
	[[ $output == *"NOT FUZZED"* ]]
}

@test "a target that crashes at start does not count as fuzzed" {
	fuzz startcrash_fuzzer 60
	[ "$status" -eq 5 ]
	[ "$(value fuzzed)" = false ]
	[[ $output == *"NOT FUZZED"* ]]
}

@test "a target without instrumentation is said to be so" {
	fuzz noinstr_fuzzer 20
	[ "$status" -eq 5 ]
	[ "$(value reason)" = not-instrumented ]
}

@test "a target that exits quietly in the middle does not pass for finished" {
	fuzz quietexit_fuzzer 20
	[ "$(value reason)" != finished ] || [ "$(value failures_total)" -ge 1 ]
}

@test "a target that closes stderr is not taken for a fuzzed one" {
	fuzz silent_fuzzer 4
	[ "$status" -eq 5 ]
	[ "$(value fuzzed)" = false ]
}

@test "a target that cannot be executed" {
	mkdir "$WORK/out"
	cp "$TARGETS/healthy_fuzzer" "$WORK/out/broken_fuzzer"
	truncate -s 20000 "$WORK/out/broken_fuzzer"
	printf LLVMFuzzerTestOneInput >>"$WORK/out/broken_fuzzer"
	TARGETS=$WORK/out
	fuzz broken_fuzzer 10
	[ "$status" -eq 5 ]
	[ "$(value reason)" = startup-failed ]
}

@test "a binary that is gone when its turn comes" {
	mkdir "$WORK/out"
	cp "$TARGETS"/{healthy,forge}_fuzzer "$WORK/out"
	config '"max_time": "4s"'
	"$FUZZCELL" run --plain --state-dir "$STATE" --targets "$WORK/out" >"$WORK/log" 2>&1 3>&- &
	PID=$!
	wait_until 60 grep -q started "$WORK/log"
	first=$(sed -n 's/.*] \(.*_fuzzer\) started/\1/p' "$WORK/log" | head -n 1)
	for f in "$WORK/out"/*_fuzzer; do
		[ "$(basename "$f")" = "$first" ] || { rm "$f" && TARGET=$(basename "$f"); }
	done
	status=0
	wait "$PID" || status=$?
	cat "$WORK/log"
	[ "$status" -eq 5 ]
	LOGS=$(last_logs)
	[ "$(value reason)" = no-binary ]
}

@test "the lock: a second run is refused with 4, and the first goes on" {
	fuzz_background healthy_fuzzer 60
	wait_until 60 fuzzing_began
	run "$FUZZCELL" run --plain --state-dir "$STATE" --targets "$TARGETS" --filter healthy_fuzzer
	[ "$status" -eq 4 ]
	[[ $output == *"process $PID"* ]]
	kill "$PID"
	wait "$PID" || [ $? -le 5 ]
	grep -q '"reason": "stopped"' "$(last_logs)/healthy_fuzzer.stats"
}

@test "what this machine cannot keep is refused, and named" {
	config '"cpus": 1'
	sed -i 's/"memory": "256MiB"/"memory": "900GiB"/' "$STATE/config.json"
	fuzz healthy_fuzzer 5
	[ "$status" -eq 3 ]
	[[ $output == *memory* ]]
}

@test "a wrong configuration is refused with its line" {
	printf '{\n "defaults": {\n  "memry": "1GiB"\n }\n}\n' >"$STATE/config.json"
	fuzz healthy_fuzzer 5
	[ "$status" -eq 2 ]
	[[ $output == *"config.json:3"*memory* ]]
}
