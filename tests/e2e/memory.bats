# SPDX-License-Identifier: Apache-2.0
# Memory: a cell never holds more than its limit, and the input that exceeds it is saved.
load lib
setup() { e2e_setup; }
teardown() { e2e_teardown; }

limit=$((256 * 1024 * 1024))

# bats test_tags=slow
@test "a slow memory bomb is caught below the limit, its input saved" {
	config '"max_crashes": 1'
	fuzz membomb_slow_fuzzer 120
	[ "$(value memory_peak_bytes)" -le "$limit" ]
	[ "$(artifacts oom)" -ge 1 ]
	[ "$(failures oom)" -ge 1 ]
}

# bombs N TARGET MEMORY THREADS [ENV]: runs the bomb N times and counts the inputs that were saved in
# SAVED.
bombs() {
	local n=$1 target=$2 memory=$3 threads=$4 killed=0 i file

	SAVED=0
	config '"max_crashes": 1, "triage_time": "off", "env": {"BOMB_THREADS": "'"$threads"'"'"${5:+, $5}"'}'
	sed -i "s/\"memory\": \"[^\"]*\"/\"memory\": \"$memory\"/" "$STATE/config.json"
	for i in $(seq "$n"); do
		rm -rf "$STATE/corpus" "$STATE/quarantine"
		fuzz "$target" 60 >"$WORK/log" || { cat "$WORK/log"; false; }
		[ "$(value memory_peak_bytes)" -le "$(value memory_limit_bytes)" ]
		file=$(find "$LOGS/crashes/$TARGET" -name 'oom-*' | head -n 1)
		if [ -n "$file" ] && [ "$(head -c 1 "$file")" = M ]; then # the guilty input
			SAVED=$((SAVED + 1))
		else
			ls -l "$LOGS/crashes/$TARGET" || true # there may be none
			tail -n 20 "$LOGS/$TARGET.log"
		fi
		# When only the kernel's kill was possible, the end says so.
		if [ "$(value kernel_oom_kills)" -gt 0 ]; then
			killed=$((killed + 1))
			[ "$(value reason)" = oom-killed ]
		fi
	done
	echo "# $(layout), $target${5:+ $5}, $memory, $threads threads: saved $SAVED of $n, killed by the kernel $killed" >&3
}

# At most one input may be lost, of up to 20.
enough() { # SAVED N
	[ $(($2 - $1)) -le $(($2 < 20 ? 1 : $2 / 20)) ]
}

@test "a fast memory bomb: never over the limit, the input saved" {
	bombs 5 membomb_fast_fuzzer 256MiB 1
	[ "$SAVED" -eq 5 ]
}

# FUZZCELL_TEST_BOMBS=20 runs the whole matrix, as `make bench-bombs` does, in a quarter of an hour.
# Otherwise each combination runs less often, and the sum is judged.
# bats test_tags=slow
@test "fast memory bombs, each number of threads, limit and sanitizer: the input saved" {
	local n all=0 runs=0 bad=0 target memory threads limits='512MiB 2GiB'

	[ "$SLOW" -eq 1 ] || limits=512MiB # an emulator is slow to touch pages
	for target in membomb_threads_fuzzer membomb_bare_fuzzer; do
		for memory in $limits; do
			for threads in 1 9 16; do
				n=1
				[ "$SLOW" -gt 1 ] || [ "$memory" = 2GiB ] || n=2
				n=${FUZZCELL_TEST_BOMBS:-$n}
				bombs "$n" "$target" "$memory" "$threads"
				all=$((all + SAVED))
				runs=$((runs + n))
				[ "$n" -lt 20 ] || enough "$SAVED" "$n" || bad=1
			done
		done
	done
	[ "$bad" -eq 0 ]
	enough "$all" "$runs"
}

# A thread cannot be frozen during its system call.  About one input in 15 is lost: a frozen thread
# holds a lock of the sanitizer's allocator, and when it is thawed, all threads are.
# bats test_tags=host,slow
@test "a memory bomb of 9 threads in large system calls: most inputs saved" {
	local n=${FUZZCELL_TEST_BOMBS:-4}
	bombs "$n" membomb_threads_fuzzer 512MiB 9 '"BOMB_POPULATE": "1"'
	[ $((SAVED * 2)) -ge "$n" ]
}

# At most one input in 20 may be lost; a way in which each input is lost fails here.
# bats test_tags=slow
@test "a memory bomb while the engine's thread waits in vfork, or has ended: the input saved" {
	local how n=${FUZZCELL_TEST_BOMBS:-2} lost=0 runs=0
	# The slow bomb reaches the mark while the watchdog's report waits for that thread.
	for how in '"BOMB_AWAY": "1"' '"BOMB_AWAY": "1", "BOMB_NAP": "10"' '"BOMB_AWAY": "2"'; do
		bombs "$n" membomb_away_fuzzer 256MiB 1 "$how"
		[ "$SAVED" -ge 1 ]
		lost=$((lost + n - SAVED))
		runs=$((runs + n))
	done
	[ "$lost" -le 1 ] || [ $((lost * 20)) -le "$runs" ]
}

# bats test_tags=slow
@test "a memory bomb while the watchdog begins its report: the input saved" {
	bombs 2 membomb_watchdog_fuzzer 256MiB 1
	[ "$SAVED" -eq 2 ]
	grep -q 'halted at the memory mark' "$LOGS/$TARGET.log"
}

# bats test_tags=slow
@test "a memory bomb that goes off when its cell was asked to stop: the input saved" {
	local saved=0 at_mark=0 file i
	config '"triage_time": "off", "merge_time": "off", "env": {"BOMB_WAIT": "'$((5000 * TIMES))'"}'
	for i in 1 2 3 4; do
		rm -rf "$STATE/corpus" "$STATE/quarantine"
		fuzz membomb_fast_fuzzer 5
		[ "$(value memory_peak_bytes)" -le "$limit" ]
		# On a slow machine the forced dump comes before the mark.
		file=$(find "$LOGS/crashes/membomb_fast_fuzzer" -name 'oom-*' -o -name 'slow-unit-*' | head -n 1)
		[ -z "$file" ] || [ "$(head -c 1 "$file")" != M ] || saved=$((saved + 1))
		at_mark=$((at_mark + $(artifacts oom)))
	done
	echo "# $(layout): saved $saved of 4, $at_mark at the mark" >&3
	[ "$saved" -ge 3 ]
	[ "$SLOW" -gt 1 ] || [ "$at_mark" -ge 1 ]
}

@test "memory that a child takes counts, and cannot pass the limit; the input is saved" {
	config '"max_crashes": 1, "triage_time": "off"'
	fuzz membomb_child_fuzzer 60
	[ "$(value memory_peak_bytes)" -le "$limit" ]
	# The child may come to the limit while the first process writes the input.
	[ $(($(failures oom) + $(failures oom-kill))) -ge 1 ]
	[ "$(artifacts oom)" -ge 1 ]
}

@test "memory files count, and the input is saved under the name of its cause" {
	config '"max_crashes": 1, "triage_time": "off", "timeout": "'$((2 * TIMES))'s"'
	fuzz membomb_memfd_fuzzer 120
	[ "$(value memory_peak_bytes)" -le "$limit" ]
	[ "$(failures oom)" -ge 1 ]
	[ "$(artifacts oom)" -ge 1 ]
	[ "$(artifacts timeout)" -eq 0 ]
}

@test "one huge malloc is an out-of-memory finding" {
	config '"max_crashes": 1'
	fuzz bigmalloc_fuzzer 60
	[ "$(failures oom)" -ge 1 ]
}
