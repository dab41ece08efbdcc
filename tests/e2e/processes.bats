# SPDX-License-Identifier: Apache-2.0
# Processes, CPU and time.
load lib
setup() { e2e_setup; }
teardown() { e2e_teardown; }

# bats test_tags=slow
@test "a fork bomb ends at pids.max, and is a finding" {
	config '"pids": 32, "max_crashes": 1'
	fuzz forkbomb_fuzzer 60
	[ "$(value forks_refused)" -ge 1 ]
	[ "$(failures pids)" -ge 1 ]
}

@test "a thread bomb ends at pids.max, and is a finding" {
	config '"pids": 32, "max_crashes": 1'
	fuzz threadbomb_fuzzer 60
	[ "$(value forks_refused)" -ge 1 ]
	[ "$(failures pids)" -ge 1 ]
	[ "$(artifacts pids)" -ge 1 ]
	# The threads stay, and a later input may be saved: it need not reproduce.
	[ "$(ledger '.[].crash_type')" = Cell-process-limit ]
}

# bats test_tags=slow
@test "a CPU hog gets its one CPU and no more" {
	fuzz cpuhog_fuzzer 5
	wall=$(value wall_seconds) cpu=$(value cpu_seconds)
	echo "cpu $cpu of wall $wall"
	awk -v c="$cpu" -v w="$wall" 'BEGIN { exit !(c <= w * 1.1 + 0.5) }'
}

# lateness FILE: measures the machine's worst wakeup latency in us, while FILE.fifo exists.
lateness() {
	local before late worst=0

	mkfifo "$1.fifo"
	exec 8<>"$1.fifo" # without a writer, read -t is a pause without a process
	echo 0 >"$1"
	while [ -e "$1.fifo" ]; do # until the test removes it
		before=${EPOCHREALTIME/[.,]/}
		read -rt 0.05 -u 8 || :
		late=$((${EPOCHREALTIME/[.,]/} - before - 50000))
		if [ "$late" -gt "$worst" ]; then
			worst=$late
			echo "$worst" >"$1"
		fi
	done
}

# bats test_tags=slow
@test "a target that blocks every signal is gone within 2 s after deadline and grace" {
	config '"grace": "1s"'
	lateness "$WORK/late" 3>&- &
	meter=$!
	start=$(date +%s%N)
	fuzz hang_fuzzer 5
	kill "$meter"
	wait "$meter" || true
	took=$((($(date +%s%N) - start) / 1000000))
	[ "$(value reason)" = time-limit ]
	wall=$(value cell_seconds)
	echo "# hang: $wall s in its cell for a deadline of $((5 * TIMES)) s and a grace of 1 s; $took ms in all;" \
		"this machine is up to $(cat "$WORK/late") us late" >&3
	# The end needs about ten wakeups in sequence: of fuzzcell, its child processes, and the
	# cell.  The forced dump has longer when the cell had to wait for CPUs: 10 s at most.
	awk -v w="$wall" -v d="$((5 * TIMES))" -v s="$TIMES" -v late="$(cat "$WORK/late")" \
		-v waited="$(value starved_share)" \
		'BEGIN { exit !(w <= d + 1 + 2 * (s > 1 ? 3 : 1) + late / 100000 + (waited > 0.2 ? 9 : 0)) }'
}

# bats test_tags=host
@test "SIGINT ends politely: statistics, corpus and summary are there" {
	config '"grace": "30s"' # an oversubscribed machine needs this long
	fuzz_background healthy_fuzzer 600
	wait_until 60 fuzzing_began
	work=$STATE/work/$(basename "$(last_logs)")/healthy_fuzzer
	wait_until 60 eval '[ "$(ls "$work/corpus" | wc -l)" -ge 2 ]' # the first of them is whole
	kill -INT "$PID"
	wait_until 120 eval '! kill -0 $PID 2>/dev/null'
	LOGS=$(last_logs)
	[ "$(value reason)" = stopped ]
	grep -q 'stat::number_of_executed_units' "$LOGS/$TARGET.log"
	[ "$(value new_inputs)" -ge 1 ]
}

# Every signal that can be blocked is blocked in the target.
is_deaf() {
	local p
	for p in $(cell_processes); do
		! grep -q '^SigBlk:.*fffffffe' "/proc/$p/status" || return 0
	done
	return 1
}

# bats test_tags=host
@test "a second signal ends the run at once" {
	config '"grace": "600s"'
	fuzz_background hang_fuzzer 600
	wait_until 60 is_deaf
	kill -TERM "$PID"
	# Two signals at once count as one.
	wait_until 60 grep -q '"stopping"' "$(last_logs)/runner.log"
	kill -TERM "$PID"
	wait_until $((SLOW > 1 ? 30 : 60)) eval '! kill -0 $PID 2>/dev/null' # less than the grace
	grep -q '"killing"' "$(last_logs)/runner.log"
}

@test "pause frees the machine, and resume continues the run" {
	fuzz_background healthy_fuzzer 600
	wait_until 60 fuzzing_began
	kill -TSTP "$PID"
	is_stopped() { grep -q '^State:.*T' "/proc/$PID/status"; }
	wait_until 60 is_stopped
	[ -z "$(cell_processes)" ]
	kill -CONT "$PID"
	wait_until 60 eval '[ -n "$(cell_processes)" ]'
	kill -TERM "$PID"
	wait_until 60 eval '! kill -0 $PID 2>/dev/null'
	LOGS=$(last_logs)
	[ "$(value reason)" = stopped ]
}

# Counts cells with processes; on the hybrid layout a cell has a group in every hierarchy.
living() {
	local d
	for d in $(cell_groups); do
		[ -z "$(cat "$d/cgroup.procs" 2>/dev/null)" ] || echo "${d##*/}"
	done | sort -u | wc -l
}

# bats test_tags=host
@test "the number of workers changes during a run" {
	config '"merge_time": "off"' '"adapt": false'
	mkfifo "$WORK/workers"
	exec 9<>"$WORK/workers"
	fuzz_background '[hm][ea][ag][li][tc]*_fuzzer' 600 --workers 2 --workers-from 9
	exec 9>&-
	wait_until 60 eval '[ "$(living)" -eq 2 ]'
	echo 'workers 1' >"$WORK/workers"
	wait_until 60 eval '[ "$(living)" -eq 1 ]'
	wait_until 60 grep -q 'workers changed' "$(last_logs)/runner.log"
	# The cell is gone before its findings are collected.
	wait_until 60 grep -q '"requeued"' "$(last_logs)/runner.log"
	echo 'workers 2' >"$WORK/workers"
	wait_until 60 eval '[ "$(living)" -eq 2 ]'
	kill -TERM "$PID"
	wait_until 60 eval '! kill -0 $PID 2>/dev/null'
	[ "$(grep -c stopped "$WORK/out")" -ge 2 ]
}

# bats test_tags=host
@test "a number that is no open descriptor is refused" {
	run "$FUZZCELL" run --state-dir "$STATE" --targets "$TARGETS" --workers-from 99
	[ "$status" -eq 2 ]
	[[ $output == *"--workers-from: '99' is not an open file descriptor"* ]]
}
