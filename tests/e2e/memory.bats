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

@test "a fast memory bomb: 20 runs, never over the limit, the input saved" {
	config '"max_crashes": 1, "triage_time": "off"'
	saved=0 killed=0
	for i in $(seq 20); do
		rm -rf "$STATE/corpus" "$STATE/quarantine"
		fuzz membomb_fast_fuzzer 60 >"$WORK/log" || { cat "$WORK/log"; false; }
		[ "$(value memory_peak_bytes)" -le "$limit" ]
		[ "$(artifacts oom)" -eq 0 ] || saved=$((saved + 1))
		# Where only the kernel's kill was possible, the end says so.
		if [ "$(value kernel_oom_kills)" -gt 0 ]; then
			killed=$((killed + 1))
			[ "$(value reason)" = oom-killed ]
		fi
	done
	echo "# layout $(layout): fast memory bomb saved in $saved of 20 runs, killed by the kernel in $killed" >&3
	[ "$saved" -ge 19 ]
}

@test "memory that a child takes counts, and cannot pass the limit; the input is saved" {
	config '"max_crashes": 1, "triage_time": "off"'
	fuzz membomb_child_fuzzer 60
	[ "$(value memory_peak_bytes)" -le "$limit" ]
	# The child may come to the limit while the first process writes the input.
	[ $(($(failures oom) + $(failures oom-kill))) -ge 1 ]
	[ "$(artifacts oom)" -ge 1 ]
}

@test "one huge malloc is an out-of-memory finding" {
	config '"max_crashes": 1'
	fuzz bigmalloc_fuzzer 60
	[ "$(failures oom)" -ge 1 ]
}
