# SPDX-License-Identifier: Apache-2.0
# Post-fuzzing work in small: cheap enough for an emulator, so that replays and merges run in the
# cells of both cgroup layouts.
load lib
load inputs
setup() {
	e2e_setup
	config '"minimize_time": "off"'
}
teardown() { e2e_teardown; }

limit=$((256 * 1024 * 1024))

triage() {
	run timeout $((100 * SLOW)) "$FUZZCELL" crash triage --state-dir "$STATE" --targets "$TARGETS"
	echo "$output"
}

triage_background() {
	"$FUZZCELL" crash triage --state-dir "$STATE" --targets "$TARGETS" >"$WORK/out" 2>&1 3>&- &
	PID=$!
}

# Succeeds if a cell lives and has its limits.  Reads them in one pass.
limited() {
	local group memory='' pids='' swap=''
	while read -r group; do
		[ ! -e "$group/memory.max" ] || read -r memory <"$group/memory.max"
		[ ! -e "$group/memory.limit_in_bytes" ] || read -r memory <"$group/memory.limit_in_bytes"
		[ ! -e "$group/pids.max" ] || read -r pids <"$group/pids.max"
		[ ! -e "$group/memory.swap.max" ] || read -r swap <"$group/memory.swap.max"
	done < <(find /sys/fs/cgroup -type d -path "*/fuzzcell/$INSTANCE/*" 2>/dev/null)
	[ "${memory:-max}" != max ] && [ "$memory" -le "$limit" ] && [ "$pids" -eq 65 ] &&
		{ [ "$LAYOUT" = hybrid ] || [ "$swap" -eq 0 ]; }
} 2>/dev/null

# bats test_tags=host,slow
@test "queued artifacts are triaged, and get into the ledger" {
	# A small limit: the fast bomb reaches the mark in each replay.
	config '"minimize_time": "off", "symbolizer_memory": "96MiB"'
	queue membomb_slow_fuzzer oom M
	queue membomb_fast_fuzzer oom M # reaches the mark before the engine's watchdog checks
	queue uaf_fuzzer crash UA1 UA2
	triage
	[ "$status" -eq 0 ]
	[[ $'\n'$output$'\n' == *$'\n4 artifacts triaged, 3 new crashes, 0 still wait\n'* ]]
	[ "$(queued)" -eq 0 ]
	[ "$(ledger '[.[] | select(.state == "new") | .fuzzer] | sort | join(" ")')" = \
		'membomb_fast_fuzzer membomb_slow_fuzzer uaf_fuzzer' ]
	for i in fast slow; do
		[[ $(ledger '.[] | select(.fuzzer == "membomb_'$i'_fuzzer").crash_type') == *Out-of-memory* ]]
	done
	[[ $(ledger '.[] | select(.fuzzer == "uaf_fuzzer").crash_type') == *Heap-use-after-free* ]]
	[ "$(ledger '.[] | select(.fuzzer == "uaf_fuzzer").count')" -eq 2 ]
	for i in $(ledger 'keys[]'); do
		[ -s "$STATE/crashes/$i/input" ]
		[ -s "$STATE/crashes/$i/report.txt" ]
	done
}

@test "at the end of a run its findings are in the ledger" {
	config '"minimize_time": "off", "merge_time": "off", "max_crashes": 1'
	fuzz crash_fuzzer 60 --fail-on-crash
	[ "$status" -eq 1 ]
	[ "$(value crashes_new)" -eq 1 ]
	[ "$(queued)" -eq 0 ]
	[ "$(ledger '.[] | .state + " " + .fuzzer')" = 'new crash_fuzzer' ]
	[[ $(ledger '.[].crash_type') == *Heap-buffer-overflow* ]]
}

# bats test_tags=slow
@test "kill -9 in a replay: the cell had its limits and is gone, and the next triage finishes the work" {
	# A replay that lasts until the test has seen its cell.
	config '"minimize_time": "off", "timeout": "1h"'
	queue timeout_fuzzer timeout T
	INSTANCE=$(instance)
	LAYOUT=$(layout)
	triage_background
	wait_until 60 limited
	wait_until 60 cell_runs
	kill -9 "$PID"
	wait "$PID" 2>/dev/null || true
	wait_until 60 eval '! cell_runs'
	wait_until 60 let_go
	[ "$(queued)" -eq 1 ]
	config '"minimize_time": "off", "timeout": "2s"'
	triage
	[ "$status" -eq 0 ]
	[ "$(queued)" -eq 0 ]
	[[ $(ledger '.[].crash_type') == *Timeout* ]]
}

# bats test_tags=host
@test "a merge quarantines a memory bomb, a crash and a leak, and keeps the rest" {
	inputs 30
	bad C1 L1 M1
	plant merge_fuzzer
	minimize merge_fuzzer
	[ "$status" -eq 0 ]
	[ "$(last verdict)" = replaced ]
	[ "$(last bad)" = 3 ]
	has "triage/$TARGET/crash-" C1
	has "triage/$TARGET/leak-" L1
	has "triage/$TARGET/oom-" M1
	[ "$(files "$STATE/quarantine/$TARGET")" -eq 3 ]
	[ "$(files "$STATE/corpus/$TARGET")" -lt 30 ]
	nothing_lost
}

@test "regress: the failing input is named; without it all inputs pass" {
	mkdir "$WORK/tree" "$WORK/out"
	cp "$TARGETS/uaf_fuzzer" "$WORK/out"
	config '"seeds": ["'"$WORK/tree"'"]'
	printf fine >"$WORK/tree/fine"
	printf good >"$WORK/tree/good"
	printf 'UA bad' >"$WORK/tree/bad"
	run "$FUZZCELL" regress --state-dir "$STATE" --targets "$WORK/out"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *"3 inputs: 2 passed, 1 failed"* ]]
	[[ $output == *"new        $WORK/tree/bad"*"Heap-use-after-free"* ]]
	rm "$WORK/tree/bad"
	run "$FUZZCELL" regress --state-dir "$STATE" --targets "$WORK/out"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"2 inputs: 2 passed, 0 failed"* ]]
}
