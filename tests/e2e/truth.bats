# SPDX-License-Identifier: Apache-2.0
# A run never succeeds when a target was not really fuzzed.
load lib
setup() { e2e_setup; }
teardown() { e2e_teardown; }

@test "a target that exits at start: startup-failed, with its output, exit status 5" {
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

@test "a target without instrumentation is reported as such" {
	fuzz noinstr_fuzzer 20
	[ "$status" -eq 5 ]
	[ "$(value reason)" = not-instrumented ]
}

# bats test_tags=slow
@test "a target that exits quietly in the middle does not count as finished" {
	fuzz quietexit_fuzzer 20
	[ "$(value reason)" != finished ] || [ "$(value failures_total)" -ge 1 ]
}

@test "a target that closes stderr does not count as fuzzed" {
	fuzz silent_fuzzer 4
	[ "$status" -eq 5 ]
	[ "$(value fuzzed)" = false ]
	run timeout 60 "$FUZZCELL" doctor --json --state-dir "$STATE" silent_fuzzer
	echo "$output"
	jq -e '.targets[0].findings[] | select(.code == "not-fuzzed" and .severity == "error")' <<<"$output"
}

@test "a target that cannot be executed does not count as fuzzed" {
	mkdir "$WORK/out"
	cp "$TARGETS/healthy_fuzzer" "$WORK/out/broken_fuzzer"
	truncate -s 20000 "$WORK/out/broken_fuzzer"
	printf LLVMFuzzerTestOneInput >>"$WORK/out/broken_fuzzer"
	TARGETS=$WORK/out
	fuzz broken_fuzzer 10
	[ "$status" -eq 5 ]
	[ "$(value reason)" = startup-failed ]
}

@test "a binary that is gone at its turn does not count as fuzzed" {
	mkdir "$WORK/out"
	cp "$TARGETS"/{healthy,forge}_fuzzer "$WORK/out"
	config '"max_time": "4s"'
	"$FUZZCELL" run --plain --state-dir "$STATE" --targets "$WORK/out" >"$WORK/log" 2>&1 3>&- &
	PID=$!
	wait_until 60 grep -q started "$WORK/log"
	kill -STOP "$PID" # the other target waits until its binary is gone
	first=$(sed -n 's/.*] \(.*_fuzzer\) started/\1/p' "$WORK/log" | head -n 1)
	for f in "$WORK/out"/*_fuzzer; do
		[ "$(basename "$f")" = "$first" ] || { rm "$f" && TARGET=$(basename "$f"); }
	done
	kill -CONT "$PID"
	status=0
	wait "$PID" || status=$?
	cat "$WORK/log"
	[ "$status" -eq 5 ]
	LOGS=$(last_logs)
	[ "$(value reason)" = no-binary ]
}

@test "the lock: a second run is refused with 4, and the first continues" {
	fuzz_background healthy_fuzzer 600
	wait_until 60 fuzzing_began
	run "$FUZZCELL" run --plain --state-dir "$STATE" --targets "$TARGETS" --filter healthy_fuzzer
	[ "$status" -eq 4 ]
	[[ $output == *"process $PID"* ]]
	kill "$PID"
	wait "$PID" || [ $? -le 5 ]
	grep -q '"reason": "stopped"' "$(last_logs)/healthy_fuzzer.stats"
}

@test "a limit that this machine cannot keep is refused, and named" {
	config '"cpus": 1'
	sed -i 's/"memory": "256MiB"/"memory": "900GiB"/' "$STATE/config.json"
	fuzz healthy_fuzzer 5
	[ "$status" -eq 3 ]
	[[ $output == *memory* ]]
}

@test "an invalid configuration is refused with its line" {
	printf '{\n "defaults": {\n  "memry": "1GiB"\n }\n}\n' >"$STATE/config.json"
	fuzz healthy_fuzzer 5
	[ "$status" -eq 2 ]
	[[ $output == *"config.json:3"*memory* ]]
}

@test "a full disk at the end: no input is lost, and the error is reported" {
	mkdir "$WORK/small"
	mount -t tmpfs -o size=16m tmpfs "$WORK/small"
	cp "$STATE/config.json" "$WORK/config.json"
	sed -i 's/"disk_reserve": "64MiB"/"disk_reserve": "none"/' "$WORK/config.json"
	STATE=$WORK/small/state
	fuzz_background healthy_fuzzer 600 --config "$WORK/config.json"
	wait_until 60 fuzzing_began
	work=$STATE/work/$(basename "$(last_logs)")/healthy_fuzzer/corpus
	wait_until 60 eval '[ "$(ls "$work" | wc -l)" -ge 10 ]'
	dd if=/dev/zero of="$WORK/small/fill" bs=4k 2>/dev/null || true
	kill -INT "$PID"
	ended=0
	wait "$PID" || ended=$?
	cat "$WORK/out"
	# Inputs were moved into the corpus, which takes no space, or are still in the cell's
	# directory.
	found=$(find "$STATE/work" "$STATE/corpus" -type f | wc -l)
	rm "$WORK/small/fill"
	fuzz healthy_fuzzer 1 --config "$WORK/config.json"
	saved=$(find "$STATE/corpus/healthy_fuzzer" -type f | wc -l)
	wait_until 60 umount "$WORK/small"
	STATE=$WORK/state
	[ "$ended" -eq 70 ]
	[ "$found" -ge 10 ]
	[ "$saved" -ge 10 ]
}

@test "a closed output pipe does not end the run" {
	"$FUZZCELL" run --plain --state-dir "$STATE" --targets "$TARGETS" --filter healthy_fuzzer \
		--max-fuzzer-time 3s | head -n 1
	LOGS=$(last_logs)
	[ -s "$LOGS/summary.json" ]
	[ -s "$STATE/stats/run_history.jsonl" ]
}

@test "run, too, warns of a file that looks like a forgotten target" {
	mkdir "$WORK/out"
	cp "$TARGETS"/{healthy,forge}_fuzzer "$WORK/out"
	chmod -x "$WORK/out/forge_fuzzer"
	TARGETS=$WORK/out
	fuzz healthy_fuzzer 2
	[[ $output == *"warning: "*forge_fuzzer* ]]
}

# bats test_tags=slow
@test "a target that does nothing for all its time was not fuzzed" {
	mkdir "$WORK/out"
	cat >"$WORK/out/idle_fuzzer" <<-'END'
		#!/bin/sh
		# LLVMFuzzerTestOneInput
		echo '#5	INITED cov: 5 ft: 5 corp: 1/1b exec/s: 0 rss: 30Mb' >&2
		sleep 1000
	END
	chmod 0755 "$WORK/out/idle_fuzzer"
	TARGETS=$WORK/out
	config '"timeout": "2s"'
	fuzz idle_fuzzer 25
	# On a slow machine, where the start of a shell takes a second, the target counts as stuck.
	[ "$(failures stuck)" -ge 1 ]
	[ "$SLOW" -gt 1 ] || [ "$status" -eq 5 ]
	run "$FUZZCELL" doctor --json --state-dir "$STATE" --targets "$TARGETS"
	[ "$SLOW" -gt 1 ] || jq -e '.targets[].findings[] | select(.code == "idle")' <<<"$output"
}
