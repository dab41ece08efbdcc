#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The records of past runs, and the commands that show them.

load lib.bash

setup() { e2e_setup; }
teardown() { e2e_teardown; }

fc() {
	run "$FUZZCELL" "$@" --state-dir "$STATE"
	echo "$output"
}

# Counts the complete points of the target's series.
points() {
	sed -n '/^\[.*\]$/p' "$LOGS/$TARGET.series" 2>/dev/null | wc -l
}

# bats test_tags=slow
@test "runs leave short lines and curves, which history and report show" {
	fuzz healthy_fuzzer 8
	[ "$status" -eq 0 ]
	fuzz healthy_fuzzer 4 --commit 0123abcd
	[ "$status" -eq 0 ]
	id=$(basename "$LOGS")

	[ "$(wc -l <"$STATE/stats/run_history.jsonl")" -eq 2 ]
	tail -n 1 "$STATE/stats/run_history.jsonl" | grep -q '"targets": 1, "fuzzed": 1'
	[ "$(wc -l <"$STATE/stats/targets/healthy_fuzzer.jsonl")" -eq 2 ]
	head -n 1 "$LOGS/healthy_fuzzer.series" | grep -q '"columns": \["t", "execs", "cov"'
	[ "$(points)" -ge 2 ]
	# The last point equals the statistics.
	[ "$(tail -n 1 "$LOGS/healthy_fuzzer.series" | cut -d, -f3)" -eq "$(value cov)" ]
	[ "$(tail -n 1 "$LOGS/healthy_fuzzer.series" | cut -d, -f2)" -eq "$(value execs)" ]

	fc history
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 3 ]
	[[ ${lines[2]} == "$id "*" 0123abcd "* ]]
	fc history healthy_fuzzer -n 1
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 2 ]
	[[ ${lines[1]} == "$id "*" 0123abcd "* ]]
	fc history healthy_fuzzer --json
	[ "${#lines[@]}" -eq 2 ]
	[[ ${lines[1]} == '{'*'"name": "healthy_fuzzer"'*'}' ]]

	fc report last
	[ "$status" -eq 0 ]
	[[ $output == *"# Run \`$id\`: \`done\`"* ]]
	[[ $output == *"| \`healthy_fuzzer\` | \`"*" ("[+-]*") |"* ]]
	[[ $output == *"Of commit \`0123abcd\`"* ]]
	fc report "$id" --json
	[ "$status" -eq 0 ]
	[[ $output == *'"run_before": "'* ]]
}

# bats test_tags=host
@test "a report names crashes, and targets that need attention" {
	config '"max_crashes": 1'
	fuzz crashloop_fuzzer 60
	signature=$("$FUZZCELL" crash list --json --state-dir "$STATE" |
		sed -n 's/^.*"signature": "\([^"]*\)".*$/\1/p' | head -n 1)
	fc report last
	[ "$status" -eq 0 ]
	[[ $output == *"\`fuzzcell crash show $signature\`"* ]]
	[[ $output == *"in \`crashloop_fuzzer\`"* ]]
	[[ $output == *"## Needs attention"*"\`crashloop_fuzzer\` "* ]]
}

# bats test_tags=slow
@test "a living run and a killed run have curves, too" {
	fuzz_background healthy_fuzzer 120
	# shellcheck disable=SC2317 # called by wait_until
	has_points() { LOGS=$(last_logs) && [ -n "$LOGS" ] && [ "$(points)" -ge 2 ]; }
	wait_until 60 has_points
	id=$(basename "$LOGS")
	fc report last
	[ "$status" -eq 0 ]
	[[ $output == *"# Run \`$id\`: \`unfinished\`"* ]]
	[[ $output == *"| \`healthy_fuzzer\` | \`unfinished\` |"* ]]
	kill -9 "$PID"
	wait "$PID" || true
	PID=
	printf '[7,' >>"$LOGS/healthy_fuzzer.series" # as if in the middle of a line
	fuzz healthy_fuzzer 2
	fc report "$id"
	[ "$status" -eq 0 ]
	[[ $output == *"# Run \`$id\`: \`lost\`"* ]]
	fc history
	[[ $output == *"$id "*" lost "* ]]
}

# bats test_tags=host
@test "lines of earlier versions are read; wrong names and numbers are refused" {
	mkdir -p "$STATE/stats"
	{
		printf '{"v": 1, "run": "20250101-000000", "status": "done", "commit": null, "targets": ['
		for i in {1..3000}; do
			printf '{"name": "t%d", "fuzzed": true, "execs": 2, "note": "%0300d"},' "$i" 7
		done
		printf '{"name": "\\u001b[2Jlast", "fuzzed": false}]}\n{"v": 2, "ru'
	} >"$STATE/stats/run_history.jsonl"
	fc history
	[ "$status" -eq 0 ]
	[[ $output == *"20250101-000000"*" 6.0k "*" 3001 "* ]]
	[[ $output == *"1 damaged lines"* ]]
	[[ $output != *$'\x1b'* ]]
	rm "$STATE/stats/run_history.jsonl"
	mkfifo "$STATE/stats/run_history.jsonl"
	fc history
	[ "$status" -eq 3 ]
	[[ $output == *"run_history.jsonl' is not a regular file"* ]]
	rm "$STATE/stats/run_history.jsonl"
	fc history ../x
	[ "$status" -eq 2 ]
	fc history -n many
	[ "$status" -eq 2 ]
	fc history nobody
	[ "$status" -eq 2 ]
	[[ $output == *"target 'nobody' has no history"* ]]
	fc report last
	[ "$status" -eq 2 ]
	fc report ../../etc
	[ "$status" -eq 2 ]
	fc report
	[ "$status" -eq 2 ]
}

# bats test_tags=host
@test "a printing command ends with 70 when its output fails" {
	mkdir -p "$STATE"
	for command in history 'crash list' 'crash parse --help' 'outbox list' 'corpus stats --json' --version; do
		what="$command"
		case $command in *--help | --*) ;; *) what="$command --state-dir $STATE" ;; esac
		status=0
		# shellcheck disable=SC2086 # words
		"$FUZZCELL" $what >/dev/full 2>"$WORK/err" || status=$?
		echo "$command: $status"
		[ "$status" -eq 70 ]
		grep -q 'standard output: No space left' "$WORK/err"
	done
}

@test "a reading command makes no state directory: the name may be mistyped" {
	STATE=$BATS_TEST_TMPDIR/mistyped
	for command in status stop doctor 'crash list' history 'report 1' 'corpus stats' 'outbox list' \
		"serve --export $BATS_TEST_TMPDIR/site"; do
		# shellcheck disable=SC2086
		fc $command
		[ "$status" -eq 2 ]
		[[ $output == *"no state directory: '$STATE'"* ]]
	done
	# Before the first run there is no state directory, but doctor reports findings all the
	# same.
	run env -u FUZZCELL_STATE_DIR HOME="$STATE" "$FUZZCELL" doctor
	[[ $output == *"machine: "*"no targets are known"* ]]
	[ ! -e "$STATE" ]
	# A fault in one of several state directories does not hide the others.
	run "$FUZZCELL" status --state-dir "$STATE" --state-dir "$BATS_TEST_TMPDIR"
	[ "$status" -eq 2 ]
	[[ $output == *"no state directory: '$STATE'"*"$BATS_TEST_TMPDIR: no run"* ]]
}
