# SPDX-License-Identifier: Apache-2.0
# What a cell guarantees, for targets of AFL++: its cells may make more system calls, and contain an
# engine, a fork server and a target.
load lib
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
shown='"AFL_DEBUG_CHILD": "1"'

successes() { grep -a '^planted: .*SUCCEEDED' "$LOGS/$TARGET.log" || true; }

# bats test_tags=slow
@test "no network: no address can be reached" {
	config '"env": {'"$shown"'}'
	fuzz network_fuzzer 4
	[ "$(value fuzzed)" = true ]
	grep -aq '^planted: ' "$LOGS/$TARGET.log"
	[ "$(successes | grep -vc 'socket AF_UNIX')" -eq 0 ]
}

# bats test_tags=slow
@test "no escape: files, privileges, kernel" {
	sleep 300 3>&- &
	local outside=$!
	config '"env": {'"$shown"', "PLANTED_PID": "'$outside'"}'
	fuzz escape_fuzzer 6
	kill "$outside"
	grep -aq '^planted: escape: all tried' "$LOGS/$TARGET.log"
	successes
	[ -z "$(successes)" ]
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
	config '"env": {'"$shown"'}' '"log_limit": "1MiB"'
	fuzz flood_fuzzer 6
	[ "$(value execs)" -gt 0 ]
	[ "$(stat -c %s "$LOGS/flood_fuzzer.log")" -lt 3000000 ]
}

# bats test_tags=slow
@test "a target that heeds no signal is a hang, and is gone after its time" {
	config '"timeout": "2s", "grace": "2s"'
	local began=$SECONDS
	fuzz hang_fuzzer 8
	[ $((SECONDS - began)) -lt $((90 * SLOW)) ]
	[ -z "$(cell_groups)" ]
}

# bats test_tags=slow
@test "a target that deletes its corpus damages only its own copy" {
	local before
	mkdir -p "$STATE/corpus/eatcorpus_fuzzer"
	for i in 1 2 3 4 5; do
		printf 'seed %d' "$i" >"$WORK/s"
		cp "$WORK/s" "$STATE/corpus/eatcorpus_fuzzer/$(sha1sum <"$WORK/s" | cut -d' ' -f1)"
	done
	before=$(cd "$STATE/corpus/eatcorpus_fuzzer" && sha1sum -- *)
	fuzz eatcorpus_fuzzer 4
	[ "$(value execs)" -gt 0 ]
	(cd "$STATE/corpus/eatcorpus_fuzzer" && echo "$before" | sha1sum -c --quiet)
}

no_cells() { [ -z "$(cell_groups)" ]; }

some_queued() {
	[ "$(find "$STATE"/work/*/healthy_fuzzer/artifacts/default/queue -type f 2>/dev/null | wc -l)" -gt 50 ]
}

# bats test_tags=slow
@test "after kill -9 no process runs, and the engine's inputs are recovered" {
	fuzz_background healthy_fuzzer 120
	wait_until 60 some_queued
	kill -9 "$PID"
	wait "$PID" || true
	PID=
	wait_until 60 no_cells
	fuzz healthy_fuzzer 3
	[ "$status" -eq 0 ]
	[[ $output == *recovered* ]]
	[ "$(find "$STATE/corpus/healthy_fuzzer" -type f | wc -l)" -gt 40 ]
}
