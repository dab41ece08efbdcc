# SPDX-License-Identifier: Apache-2.0
# fuzzcell itself is stopped or suspended: the limits of its cells hold all the same.
load lib
setup() { e2e_setup; }
teardown() {
	# fuzzcell may have ended.
	[ -z "${PID:-}" ] || kill -CONT "$PID" 2>/dev/null || true
	e2e_teardown
}

gone() { ! cell_runs; }
ended() { # PROCESS
	! grep -qs '^State:.[^ZX]' "/proc/$1/status"
}

# bats test_tags=slow
@test "a cell of a stopped fuzzcell is killed after its deadline and grace, and nothing is lost" {
	config '"grace": "1s"'
	fuzz_background healthy_fuzzer 4
	began=$SECONDS
	wait_until 60 fuzzing_began
	work=$STATE/work/$(basename "$(last_logs)")/healthy_fuzzer
	wait_until 60 eval '[ "$(ls "$work/corpus" | wc -l)" -ge 10 ]'
	keeper=$(pgrep -P "$PID" -x fuzzcell-keeper)
	kill -STOP "$PID"
	wait_until 60 grep -q '^State:.T' "/proc/$PID/status"
	wait_until 30 gone
	took=$((SECONDS - began))
	echo "gone after $took s"
	# The target's time, its grace period, a second for the dump and one in reserve, and a
	# second of rounding.
	[ "$took" -le $((4 * TIMES + 1 + 2 + 1 + 3 * SLOW)) ]
	grep -q '^State:.T' "/proc/$PID/status"
	find "$work/corpus" -type f -size +0 -exec sha1sum {} + | cut -d ' ' -f 1 |
		sort -u >"$WORK/inputs"
	[ "$(wc -l <"$WORK/inputs")" -ge 10 ]
	kill -CONT "$PID"
	status=0
	wait "$PID" || status=$?
	cat "$WORK/out"
	[ "$status" -eq 0 ]
	LOGS=$(last_logs)
	cat "$LOGS/healthy_fuzzer.stats"
	[ "$(value reason)" = time-limit ]
	[[ $(value note) == *"fuzzcell was suspended for "*" s"* ]]
	[ "$(value failures_total)" = 0 ] || [ -z "$(value failures_total)" ]
	[ "$(failures exit)" -eq 0 ]
	[ "$(failures stuck)" -eq 0 ]
	[ "$(artifacts crash)" -eq 0 ]
	# The merge may remove some inputs, but keeps their content in a generation.
	while read -r sum; do
		[ -e "$STATE/corpus/healthy_fuzzer/$sum" ] ||
			find "$STATE/generations/healthy_fuzzer" -name "$sum" | grep -q .
	done <"$WORK/inputs"
	wait_until 60 ended "$keeper"
}
