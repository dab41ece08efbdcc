# SPDX-License-Identifier: Apache-2.0
# Memory: a cell never holds more than its limit, and what blew it is saved.
load lib
setup() { e2e_setup; }
teardown() { e2e_teardown; }

limit=$((256 * 1024 * 1024))

@test "a slow memory bomb is caught below the limit, its input saved" {
	config '"max_crashes": 1'
	fuzz membomb_slow_fuzzer 120
	[ "$(value memory_peak_bytes)" -le "$limit" ]
	[ "$(artifacts oom)" -ge 1 ]
	[ "$(failures oom)" -ge 1 ]
}

# bombs N TARGET MEMORY THREADS: runs the bomb N times; all but one in 20 save its input.
bombs() {
	local n=$1 target=$2 memory=$3 threads=$4 saved=0 killed=0 i file

	config '"max_crashes": 1, "triage_time": "off", "env": {"BOMB_THREADS": "'"$threads"'"}'
	sed -i "s/\"memory\": \"[^\"]*\"/\"memory\": \"$memory\"/" "$STATE/config.json"
	for i in $(seq "$n"); do
		rm -rf "$STATE/corpus" "$STATE/quarantine"
		fuzz "$target" 60 >"$WORK/log" || { cat "$WORK/log"; false; }
		[ "$(value memory_peak_bytes)" -le "$(value memory_limit_bytes)" ]
		file=$(find "$LOGS/crashes/$TARGET" -name 'oom-*' | head -n 1)
		if [ -n "$file" ]; then
			[ "$(head -c 1 "$file")" = M ] # the guilty one
			saved=$((saved + 1))
		else
			tail -n 20 "$LOGS/$TARGET.log"
		fi
		# Where only the kernel's kill was possible, the end says so.
		if [ "$(value kernel_oom_kills)" -gt 0 ]; then
			killed=$((killed + 1))
			[ "$(value reason)" = oom-killed ]
		fi
	done
	echo "# $(layout), $target, $memory, $threads threads: saved $saved of $n, killed by the kernel $killed" >&3
	[ "$((saved * 20))" -ge "$((n * 19))" ]
}

@test "a fast memory bomb: never over the limit, the input saved" {
	bombs $((SLOW > 1 ? 5 : 20)) membomb_fast_fuzzer 256MiB 1
}

@test "a fast memory bomb of 9 threads: the input saved" {
	bombs $((SLOW > 1 ? 2 : 20)) membomb_threads_fuzzer 512MiB 9
}

@test "a fast memory bomb of 16 threads: the input saved" {
	bombs $((SLOW > 1 ? 5 : 20)) membomb_threads_fuzzer 512MiB 16
}

# bats test_tags=host
@test "fast memory bombs of a large cell, and without a sanitizer: the input saved" {
	bombs 5 membomb_threads_fuzzer 2GiB 16
	bombs 5 membomb_bare_fuzzer 512MiB 9
	bombs 5 membomb_bare_fuzzer 2GiB 16
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
