# SPDX-License-Identifier: Apache-2.0
# A timeout is what takes too long by itself, not what did not get a CPU.  That others take it
# and that the cell may not have it is the same to the target, so the cell's own limit serves.
load lib
setup() { e2e_setup; }
teardown() { e2e_teardown; }

# its_seed TARGET CHARACTER: the first input that is tried.
its_seed() {
	mkdir -p "$STATE/corpus/$1"
	printf '%s' "$2" >"$STATE/corpus/$1/$(printf '%s' "$2" | sha1sum | cut -d' ' -f1)"
}

@test "an input that is only slow for want of a CPU is tried with its time, and is no crash" {
	config '"timeout": "1s", "max_crashes": 1, "merge_time": "off", "cpus": 0.25'
	its_seed slowunit_fuzzer S
	fuzz slowunit_fuzzer 60
	[ "$(failures timeout)" -eq 1 ]
	[ "$(value timeouts_dismissed)" -eq 1 ]
	[ "$(value crashes_new)" -eq 0 ]
	[ -z "$(ls "$STATE/triage/slowunit_fuzzer" 2>/dev/null)" ]
}

@test "an input that hangs is a crash, also for want of a CPU" {
	config '"timeout": "1s", "max_crashes": 1, "merge_time": "off", "cpus": 0.5'
	its_seed timeout_fuzzer T
	fuzz timeout_fuzzer 60
	[ "$(failures timeout)" -eq 1 ]
	[ "$(value timeouts_dismissed)" -eq 0 ]
	[ "$(value crashes_new)" -eq 1 ]
}
