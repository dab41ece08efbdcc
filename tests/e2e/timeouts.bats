# SPDX-License-Identifier: Apache-2.0
# A timeout is an input that takes too long by itself, not an input without a CPU.  To the target it
# makes no difference whether other processes take the CPU or the cell's limit throttles it, so the
# tests use the limit.
load lib
setup() { e2e_setup; }
teardown() { e2e_teardown; }

# its_seed TARGET CHARACTER: makes the first input of the target.
its_seed() {
	mkdir -p "$STATE/corpus/$1"
	printf '%s' "$2" >"$STATE/corpus/$1/$(printf '%s' "$2" | sha1sum | cut -d' ' -f1)"
}

# bats test_tags=slow
@test "an input that is slow only without a CPU is replayed with more time, and is no crash" {
	config '"timeout": "1s", "max_crashes": 1, "merge_time": "off", "cpus": 0.25'
	its_seed slowunit_fuzzer S
	fuzz slowunit_fuzzer 60
	[ "$(failures timeout)" -eq 1 ]
	[ "$(value timeouts_dismissed)" -eq 1 ]
	[ "$(value crashes_new)" -eq 0 ]
	[ -z "$(ls "$STATE/triage/slowunit_fuzzer" 2>/dev/null)" ]
}

# bats test_tags=slow
@test "an input that hangs is a crash, also in a throttled cell without time for more replays" {
	config '"timeout": "1s", "max_crashes": 1, "merge_time": "off", "cpus": 0.1, "triage_time": "5s"'
	its_seed timeout_fuzzer T
	fuzz timeout_fuzzer 60
	[ "$(failures timeout)" -eq 1 ]
	[ "$(value timeouts_dismissed)" -eq 0 ]
	[ "$(value crashes_new)" -eq 1 ]
}

# A known hang must not take its full time at each execution: the target's other bugs would wait.
# bats test_tags=slow
@test "a known hang costs less time, and stays one crash" {
	config '"timeout": "8s", "merge_time": "off", "minimize_time": "off"'
	fuzz timeout_fuzzer $((25 * TIMES))
	grep -q -- ' -timeout=8 ' "$LOGS/timeout_fuzzer.log"
	grep -q -- ' -timeout=2 ' "$LOGS/timeout_fuzzer.log"
	[ "$(failures timeout)" -ge 3 ]
	[ "$(jq length "$STATE/known_crashes.json")" -eq 1 ]
	[ "$(value crashes_new)" -eq 1 ]
}

# bats test_tags=slow
@test "an input that hangs and ignores the engine's alarm is a timeout" {
	config '"timeout": "1s", "grace": "500ms", "merge_time": "off", "minimize_time": "off"'
	fuzz deaf_fuzzer 3 --fail-on-crash
	[ "$status" -eq 1 ]
	[ "$(value reason)" = time-limit ]
	[ "$(artifacts slow-unit)" -eq 1 ]
	[ "$(failures timeout)" -eq 1 ]
	run "$FUZZCELL" crash list --json --state-dir "$STATE"
	[ "$(jq -r '.[] | "\(.crash_type) \(.fuzzer)"' <<<"$output")" = 'Timeout deaf_fuzzer' ]
	[ "$(head -c 1 "$STATE/$(jq -r '.[].crash_file' <<<"$output")")" = D ]
	[ "$(queued)" -eq 0 ]
}

# bats test_tags=slow
@test "the current input of a target that does not stop at once is no failure" {
	config '"timeout": "30s", "grace": "100ms", "merge_time": "off"'
	fuzz nap_fuzzer 3 --fail-on-crash
	[ "$status" -eq 0 ]
	[ "$(artifacts slow-unit)" -eq 1 ]
	[ "$(value failures_total)" -eq 0 ]
	[ "$(queued)" -eq 0 ]
}

# One replay of the hang takes twice the timeout, and more under CPU pressure.
# bats test_tags=slow
@test "a run ends at its deadline, whatever waits, and fuzzes first" {
	config '"timeout": "30s", "max_crashes": 1'
	queue timeout_fuzzer timeout T
	local began=$SECONDS
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" --targets "$TARGETS" \
		--filter timeout_fuzzer --max-total-time "$((20 * TIMES))s"
	echo "$output"
	[ $((SECONDS - began)) -le $((20 * TIMES + 15 * SLOW)) ]
	[ "$(queued)" -ge 1 ] # undecided, left for the next run
	LOGS=$(last_logs)
	TARGET=timeout_fuzzer
	[ "$(value execs)" -gt 0 ]
}
