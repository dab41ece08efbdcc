# SPDX-License-Identifier: Apache-2.0
# What a cell guarantees, for targets of AFL++: its cells may make more system calls, and contain an
# engine, a fork server and a target.
load lib
load isolation
load afl

setup_file() {
	export TARGETS=$BATS_FILE_TMPDIR/targets
	chmod 0755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR"
	built "$TARGETS" healthy_fuzzer network_fuzzer escape_fuzzer syscall_fuzzer flood_fuzzer hang_fuzzer \
		forkbomb_fuzzer threadbomb_fuzzer cpuhog_fuzzer eatcorpus_fuzzer
}

setup() { e2e_setup; }
teardown() { e2e_teardown; }

# AFL++ drops what a target prints, unless it is told to show it.
SHOWN='"AFL_DEBUG_CHILD": "1"'

# bats test_tags=slow
@test "no network: no address can be reached" {
	reaches_no_network 4
}

# bats test_tags=slow
@test "no escape: files, privileges, kernel" {
	does_not_escape 6
}

# bats test_tags=slow
@test "a forbidden system call is refused and named" {
	fuzz syscall_fuzzer 6
	[[ $(value syscalls_refused) == *bpf* ]]
}

# bats test_tags=slow
@test "a target that forks without end ends its cell alone" {
	fuzz forkbomb_fuzzer 5
	[ "$(failures pids)" -ge 1 ]
	[ "$(value forks_refused)" -gt 0 ]
}

# bats test_tags=slow
@test "a target that makes threads without end ends its cell alone" {
	fuzz threadbomb_fuzzer 5
	[ "$(failures pids)" -ge 1 ]
	[ "$(value forks_refused)" -gt 0 ]
}

# bats test_tags=slow
@test "a CPU hog gets its one CPU and no more" {
	fuzz cpuhog_fuzzer 4
	echo "cpu $(value cpu_seconds) of wall $(value wall_seconds)"
	awk -v c="$(value cpu_seconds)" -v w="$(value wall_seconds)" 'BEGIN { exit !(c <= w * 1.1 + 0.5) }'
}

# bats test_tags=slow
@test "output without end: the log is bounded, and statistics are read" {
	config '"env": {'"$SHOWN"'}' '"log_limit": "1MiB"'
	fuzz flood_fuzzer 6
	[ "$(value execs)" -gt 0 ]
	[ "$(value log_bytes_dropped)" -gt 0 ]
	[ "$(stat -c %s "$LOGS/flood_fuzzer.log")" -lt 3000000 ]
}

# bats test_tags=slow
@test "a target that heeds no signal is a hang, and is gone after its time" {
	config '"timeout": "2s", "grace": "2s", "env": {'"$SHOWN"'}'
	local began=$SECONDS
	fuzz hang_fuzzer 8
	grep -aq '^planted: hang: deaf and spinning' "$LOGS/hang_fuzzer.log"
	[ $((SECONDS - began)) -lt $((90 * SLOW)) ]
	no_cells
}

# bats test_tags=slow
@test "a target that deletes its corpus damages only its own copy" {
	eats_only_its_copy 4
}

engines() { pgrep -x afl-fuzz | grep -Fx "$(cell_processes)" || true; }

two_engines() { [ "$(engines | wc -l)" -eq 2 ]; }

cpus_of_engines() { engines | xargs -n 1 taskset -cp | sed 's/.*: //' | sort | tr '\n' ' '; }

# bats test_tags=slow
@test "an engine and its target have one CPU, each cell another, unless they may use more" {
	[ "$(nproc)" -ge 2 ] || skip "this machine has one CPU"
	local all one='^[0-9]+ [0-9]+ $'
	all=$(taskset -cp $$ | sed 's/.*: //')
	mkdir "$WORK/two"
	cp "$TARGETS/healthy_fuzzer" "$WORK/two/a_fuzzer"
	cp "$TARGETS/healthy_fuzzer" "$WORK/two/b_fuzzer"
	TARGETS=$WORK/two
	fuzz_background '*' 120 --workers 2
	wait_until 60 two_engines
	cpus_of_engines
	[[ $(cpus_of_engines) =~ $one ]]
	[ "$(cpus_of_engines | tr ' ' '\n' | sort -u | grep -c .)" -eq 2 ]
	kill "$PID"
	wait "$PID" || true
	config '"cpus": 2'
	fuzz_background '*' 120 --workers 2
	wait_until 60 two_engines
	[ "$(cpus_of_engines)" = "$all $all " ]
	kill "$PID"
	wait "$PID" || true
	PID=
}

some_queued() {
	[ "$(find "$STATE"/work/*/healthy_fuzzer/artifacts/default/queue -type f 2>/dev/null | wc -l)" -gt 50 ]
}

# bats test_tags=slow
@test "after kill -9 no process runs, and the engine's inputs are recovered" {
	fuzz_background healthy_fuzzer 120
	kill_when some_queued
	fuzz healthy_fuzzer 3
	[ "$status" -eq 0 ]
	[[ $output == *recovered* ]]
	[ "$(find "$STATE/corpus/healthy_fuzzer" -type f | wc -l)" -gt 40 ]
}
