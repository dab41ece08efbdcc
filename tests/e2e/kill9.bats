# SPDX-License-Identifier: Apache-2.0
# kill -9 of fuzzcell at any moment: nothing keeps running, nothing is lost.
load lib
setup() { e2e_setup; }
teardown() { e2e_teardown; }

gone() { ! cell_runs; }

ENOUGH=$((SLOW > 1 ? 10 : 2)) # an emulator that is short of CPU takes ten seconds to start a target

# A zombie counts as ended: its new parent reaps it later.
ended() { # PROCESS
	! grep -qs '^State:.[^ZX]' "/proc/$1/status"
}

@test "after kill -9 the cells are gone at once" {
	fuzz_background hang_fuzzer 600
	wait_until 60 fuzzing_began
	[ -n "$(cell_processes)" ]
	kill -9 "$PID"
	wait "$PID" || true
	wait_until 60 gone
	wait_until 60 let_go
	# The bundle on a tmpfs is what remains, until any next start.
	fuzz healthy_fuzzer 1 --dry-run
	[ "$status" -eq 0 ]
}

# bats test_tags=slow
@test "after kill -9 of fuzzcell and its keeper the next start kills the remaining processes" {
	fuzz_background hang_fuzzer 600
	wait_until 60 fuzzing_began
	keeper=$(pgrep -P "$PID" -x fuzzcell-keeper)
	old=$(cell_processes)
	# shellcheck disable=SC2086 # process numbers
	kill -STOP $old # else process 1 of the cell sees it, and the cell ends
	kill -9 "$keeper" "$PID"
	wait "$PID" || true
	[ -n "$(cell_processes)" ]
	wait_until 60 let_go
	fuzz healthy_fuzzer "$ENOUGH"
	[ "$status" -eq 0 ]
	for p in $old; do
		wait_until 60 ended "$p"
	done
}

# bats test_tags=host,slow
@test "kill -9 in the middle loses no input and no artifact" {
	fuzz_background healthy_fuzzer 600
	wait_until 60 fuzzing_began
	work=$STATE/work/$(basename "$(last_logs)")/healthy_fuzzer
	wait_until 60 eval '[ "$(ls "$work/corpus" | wc -l)" -ge 10 ]'
	kill -9 "$PID"
	wait "$PID" || true
	wait_until 60 gone
	# (A file that was cut before its first byte is no input.)
	find "$work/corpus" -type f -size +0 -exec sha1sum {} + >"$WORK/before"
	hash=$(printf crash | sha1sum | cut -d' ' -f1)
	printf crash >"$work/artifacts/crash-$hash"
	lost=$(basename "$(last_logs)")
	wait_until 60 let_go
	run "$FUZZCELL" status --state-dir "$STATE"
	[[ $output == *": no run; $lost was killed, the next start saves its results"* ]]
	fuzz healthy_fuzzer "$ENOUGH"
	[[ $output == *recovered* ]]
	# By content: a file that was cut while it was written has another name.  Inputs that the
	# second run's merge did not need are in the previous generation.
	while read -r hash _; do
		kept=$(find "$STATE/corpus" "$STATE/generations" -name "$hash" | head -n 1)
		[ -n "$kept" ]
		[ "$(sha1sum <"$kept" | cut -d' ' -f1)" = "$hash" ]
	done <"$WORK/before"
	hash=$(printf crash | sha1sum | cut -d' ' -f1)
	[ "$(cat "$STATE/logs/$lost/crashes/healthy_fuzzer/crash-$hash")" = crash ]
	grep -q '"status": "lost"' "$STATE/stats/run_history.jsonl"
	[ ! -e "$work" ]
}

# An engine deletes an input that it replaces by a smaller one; here it may not, so that each
# input that was seen must be found again.
@test "kill -9 of the keeper, then of fuzzcell, loses no input" {
	config '"flags": ["-reduce_inputs=0"], "merge_time": "off"'
	fuzz_background healthy_fuzzer 600
	wait_until 60 fuzzing_began
	work=$STATE/work/$(basename "$(last_logs)")/healthy_fuzzer
	wait_until 60 eval '[ "$(ls "$work/corpus" | wc -l)" -ge 10 ]'
	kill -9 "$(pgrep -P "$PID" -x fuzzcell-keeper)"
	kill -9 "$PID"
	status=0
	wait "$PID" || status=$?
	[ "$status" -eq 137 ]
	wait_until 60 eval '[ -z "$(cell_processes)" ]' # process 1 of each saw it
	(cd "$work/corpus" && find . -type f -size +0 -exec sha1sum {} +) |
		sed -n 's/^\([0-9a-f]*\)  .*\/\1$/\1/p' >"$WORK/seen" # whole files
	[ "$(wc -l <"$WORK/seen")" -ge 9 ]
	wait_until 60 let_go
	fuzz healthy_fuzzer "$ENOUGH"
	[[ $output == *recovered* ]]
	while read -r hash; do
		[ -s "$STATE/corpus/healthy_fuzzer/$hash" ]
	done <"$WORK/seen"
}

# bats test_tags=host,slow
@test "kill -9 at twenty moments: the next start always works and leaves nothing" {
	for i in $(seq 20); do
		fuzz_background crash_fuzzer 600
		sleep "0.$((i * 5 % 100 / 10))$((i % 10))"
		kill -9 "$PID" # succeeds only if fuzzcell lives, so the start succeeded
		wait "$PID" 2>/dev/null || true
		# Whole files only: the kill may have cut the file that was being written.
		find "$STATE"/work/*/*/artifacts -type f -name 'crash-*' -exec sha1sum {} + 2>/dev/null |
			sed -n 's/^\([0-9a-f]*\)  .*crash-\1$/\1/p' >>"$WORK/seen" || true
	done
	wait_until 60 let_go
	fuzz healthy_fuzzer "$ENOUGH"
	[ "$status" -eq 0 ]
	[ -z "$(ls "$STATE/work")" ]
	while read -r hash; do
		ls "$STATE"/logs/*/crashes/crash_fuzzer/crash-"$hash"
	done <"$WORK/seen"
}
