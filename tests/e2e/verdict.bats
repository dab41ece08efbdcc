# SPDX-License-Identifier: Apache-2.0
# The verdict on each end of a target: exit status, summary and doctor agree.
load lib
setup() {
	e2e_setup
	OUT=$WORK/out
	mkdir "$OUT"
}
teardown() { e2e_teardown; }

# leave WAY...: makes targets that end their process in these ways.
leave() {
	local way
	for way; do
		cp "$TARGETS/leave_fuzzer" "$OUT/leave_${way}_fuzzer"
	done
}

# given_up REASON STATUS [OPTION...]: the only target in OUT is given up for this reason.
given_up() {
	local reason=$1 want=$2
	shift 2
	TARGETS=$OUT fuzz "$TARGET" 60 "$@"
	[ "$status" -eq "$want" ]
	[ "$(value reason)" = "$reason" ]
	[ "$(value fuzzed)" = true ]
	[ "$(value given_up)" = true ]
	[[ $output == *"$TARGET was GIVEN UP ($reason)"* ]]
	[[ $output == *", 1 given up, 0 not fuzzed"* ]]
	[ "$(jq -c '[.given_up, .not_fuzzed]' "$LOGS/summary.json")" = '[1,0]' ]
	run timeout 60 "$FUZZCELL" doctor --json --state-dir "$STATE" --targets "$OUT" "$TARGET"
	[ "$status" -eq 5 ]
	jq -e '.targets[0].severity == "error"' <<<"$output"
}

# merge_one_bad TARGET: the merge removes only the input that begins with L from the corpus.
merge_one_bad() {
	local target=$1 i
	printf 'L too' >"$WORK/input"
	mkdir -p "$STATE/corpus/$target"
	cp "$WORK/input" "$STATE/corpus/$target/$(sha1sum <"$WORK/input" | cut -c 1-40)"
	for i in {1..20}; do
		printf 'fine %s' "$i" >"$WORK/input"
		cp "$WORK/input" "$STATE/corpus/$target/$(sha1sum <"$WORK/input" | cut -c 1-40)"
	done
	run timeout $((300 * SLOW)) "$FUZZCELL" corpus minimize --state-dir "$STATE" --targets "$OUT"
	echo "$output"
	[ "$(ls "$STATE/quarantine/$target")" = "$(printf 'L too' | sha1sum | cut -c 1-40)" ]
	[ "$(ls "$STATE/triage/$target")" = "crash-$(printf 'L too' | sha1sum | cut -c 1-40)" ]
}

@test "a target that ends without an artifact has failed, whatever it prints" {
	local ways=(term int usr1 forged 'done' silent exec again daemon sigkill sighup reset)
	leave "${ways[@]}"
	config '"max_crashes": 2, "merge_time": "off", "minimize_time": "off"'
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" --targets "$OUT" \
		--workers 2 --max-fuzzer-time "$((60 * TIMES))s" --fail-on-crash
	echo "$output"
	LOGS=$(last_logs)
	[ "$status" -eq 1 ]
	[ "$(jq -c '[.given_up, .not_fuzzed, .failures, .new_crashes]' "$LOGS/summary.json")" = '[12,0,24,12]' ]
	[ "$(jq -c '[.targets[].reason] | unique' "$LOGS/summary.json")" = '["crash-loop"]' ]
	# The ledger has each end, by name, with the target's last output.
	run "$FUZZCELL" crash list --json --state-dir "$STATE"
	[ "$(jq -r '.[] | "\(.fuzzer) \(.crash_type) \(.count)"' <<<"$output" | sort)" = "$(
		cat <<-'END'
			leave_again_fuzzer Unexpected-exit 2
			leave_daemon_fuzzer Unexpected-exit 2
			leave_done_fuzzer Unexpected-exit 2
			leave_exec_fuzzer Unexpected-exit 2
			leave_forged_fuzzer Self-interrupt 2
			leave_int_fuzzer Self-interrupt 2
			leave_reset_fuzzer Fatal-signal 2
			leave_sighup_fuzzer Fatal-signal 2
			leave_sigkill_fuzzer Fatal-signal 2
			leave_silent_fuzzer Unexpected-exit 2
			leave_term_fuzzer Self-interrupt 2
			leave_usr1_fuzzer Unexpected-exit 2
		END
	)" ]
	sig=$(jq -r '.[] | select(.fuzzer == "leave_term_fuzzer").signature' <<<"$output")
	grep -q 'run interrupted' "$STATE/crashes/$sig/report.txt"
	[ -z "$(find "$STATE/triage" -type f)" ]
	# In a second run the crashes are known, but the run fails all the same.
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" --targets "$OUT" \
		--filter 'leave_t*' --max-fuzzer-time "$((60 * TIMES))s"
	echo "$output"
	[ "$status" -eq 5 ]
	[[ $output == *"$sig  known "* ]]
	[[ $output == *", 2 failures, 0 new crashes, 1 given up, 0 not fuzzed"* ]]
}

# Ten seconds pass until the end is noticed.  On a fast machine the target's CPU time is under a
# hundredth of this, so it does not count as fuzzed.
# bats test_tags=slow
@test "a target has failed, also if the kernel reports its end to another process" {
	leave seized
	config '"max_crashes": 2, "merge_time": "off", "minimize_time": "off"'
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" --targets "$OUT" \
		--max-fuzzer-time "$((60 * TIMES))s" --fail-on-crash
	echo "$output"
	LOGS=$(last_logs)
	[ "$status" -eq 1 ] || [ "$status" -eq 5 ]
	[ "$(jq -c '[.given_up + .not_fuzzed, .failures, .new_crashes]' "$LOGS/summary.json")" = '[1,2,1]' ]
	run "$FUZZCELL" crash list --json --state-dir "$STATE"
	[ "$(jq -r '.[] | "\(.fuzzer) \(.crash_type) \(.count)"' <<<"$output")" = \
		'leave_seized_fuzzer Fatal-signal 2' ]
}

@test "crash-loop: 5, and 1 with --fail-on-crash" {
	TARGET=leave_term_fuzzer
	leave term
	config '"max_crashes": 1, "merge_time": "off", "triage_time": "off"'
	given_up crash-loop 5
	given_up crash-loop 1 --fail-on-crash
	run "$FUZZCELL" report last --state-dir "$STATE"
	[[ $output == *"1 given up, 0 not fuzzed; at its end 1 failure, 0 new crashes"* ]]
	run "$FUZZCELL" history --state-dir "$STATE"
	[ "$(awk 'NR == 2 { print $7, $8, $9 }' <<<"$output")" = '1 1 0' ]
}

@test "disk-limit: 5, and 1 with --fail-on-crash" {
	TARGET=leave_disk_fuzzer
	leave disk
	config '"merge_time": "off", "triage_time": "off"'
	given_up disk-limit 5
	rm -r "$STATE/corpus" # its input would fill the disk before fuzzing begins
	given_up disk-limit 1 --fail-on-crash
}

@test "pids-limit: 5, and 1 with --fail-on-crash" {
	TARGET=forkbomb_fuzzer
	cp "$TARGETS/forkbomb_fuzzer" "$OUT"
	config '"pids": 16, "max_crashes": 1, "merge_time": "off", "triage_time": "off"'
	given_up pids-limit 5
	given_up pids-limit 1 --fail-on-crash
}

@test "out of memory without a saved input: a crash all the same, and given up" {
	leave memory
	config '"max_crashes": 1, "merge_time": "off"'
	TARGETS=$OUT fuzz leave_memory_fuzzer 60 --fail-on-crash
	[ "$status" -eq 1 ]
	[ "$(artifacts oom)" -eq 0 ]
	[ "$(value given_up)" = true ]
	# Either the kernel or fuzzcell kills first, by chance.
	[[ $(value reason) == @(oom-killed|crash-loop) ]]
	run "$FUZZCELL" crash list --json --state-dir "$STATE"
	[ "$(jq -r '.[] | "\(.fuzzer) \(.crash_type) \(.crash_file)"' <<<"$output")" = \
		'leave_memory_fuzzer Cell-memory-limit ' ]
}

@test "an input that uses up all descriptors is saved from the engine's output" {
	config '"max_crashes": 1, "merge_time": "off", "minimize_time": "off"'
	fuzz nofile_fuzzer 60 --fail-on-crash
	[ "$status" -eq 1 ]
	[ "$(artifacts crash)" -eq 1 ]
	[ "$(head -c 1 "$LOGS"/crashes/nofile_fuzzer/crash-*)" = F ]
	run "$FUZZCELL" crash list --json --state-dir "$STATE"
	[ "$(jq -r '.[] | "\(.reproduction.hits) of \(.reproduction.tries)"' <<<"$output")" = '3 of 3' ]
}

@test "an input that sends SIGINT fails in a replay, a merge and regress, too" {
	leave term
	TARGET=leave_term_fuzzer
	config '"minimize_time": "off"'
	queue leave_term_fuzzer crash 'L and more'
	run timeout $((300 * SLOW)) "$FUZZCELL" crash triage --state-dir "$STATE" --targets "$OUT"
	echo "$output"
	run "$FUZZCELL" crash list --json --state-dir "$STATE"
	[ "$(jq -r '.[] | "\(.crash_type) \(.reproduction.hits) \(.reproduction.tries)"' <<<"$output")" = \
		'Self-interrupt 3 3' ]
	run timeout $((300 * SLOW)) "$FUZZCELL" regress --state-dir "$STATE" --targets "$OUT"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *"1 input: 0 passed, 1 failed"*Self-interrupt* ]]
	merge_one_bad leave_term_fuzzer
}

@test "an input that executes its target fails in a replay, too, and leaves its name" {
	leave again
	config '"max_crashes": 1, "minimize_time": "off"'
	TARGETS=$OUT fuzz leave_again_fuzzer 60 --fail-on-crash
	[ "$status" -eq 1 ]
	[ "$(value reason)" = crash-loop ]
	[ "$(artifacts crash)" -eq 0 ]
	queue leave_again_fuzzer crash 'L and more'
	run timeout $((300 * SLOW)) "$FUZZCELL" crash triage --state-dir "$STATE" --targets "$OUT"
	echo "$output"
	# One crash: the failures with the lost input and with the replayed input have the same
	# name.
	run "$FUZZCELL" crash list --json --state-dir "$STATE"
	echo "$output"
	[ "$(jq -r '.[] | "\(.crash_type): \(.crash_state[0]): \(.count)"' <<<"$output")" = \
		'Unexpected-exit: executed itself: 2' ]
	# The replayed input is now the crash's input.
	[ "$(jq -r '.[] | "\(.reproduction.hits) of \(.reproduction.tries)"' <<<"$output")" = '3 of 3' ]
	[ "$(cat "$STATE/$(jq -r '.[].crash_file' <<<"$output")")" = 'L and more' ]
	merge_one_bad leave_again_fuzzer
}

@test "signals to its parent or children do not end a target, or are a failure" {
	leave kill
	config '"max_crashes": 1, "merge_time": "off"'
	TARGETS=$OUT fuzz leave_kill_fuzzer 60 --fail-on-crash
	[ "$status" -eq 1 ]
	run "$FUZZCELL" crash list --json --state-dir "$STATE"
	[ "$(jq -r '.[] | "\(.fuzzer) \(.crash_type)"' <<<"$output")" = 'leave_kill_fuzzer Fatal-signal' ]
}

# bats test_tags=slow
@test "a report of a child that the harness survives is a failure, and a crash" {
	local input
	config '"merge_time": "off", "minimize_time": "off"'
	printf 'F1' >"$WORK/input"
	input=$(sha1sum <"$WORK/input" | cut -c 1-40)
	mkdir -p "$STATE/corpus/forkeach_fuzzer"
	cp "$WORK/input" "$STATE/corpus/forkeach_fuzzer/$input"
	fuzz forkeach_fuzzer 5 --fail-on-crash
	[ "$status" -eq 1 ]
	[ "$(value failures_total)" -ge 1 ]
	run "$FUZZCELL" crash list --json --state-dir "$STATE"
	[ "$(jq -r '.[0] | "\(.crash_type) \(.top_frame) \(.reproduction.hits)"' <<<"$output")" = \
		$'Heap-use-after-free\nREAD 1 used_after_free 3' ]
}
