#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# After boot1.bats and a reboot in the middle of a run.
load lib

@test "a reboot in the middle of a run lost no input" {
	[ -s /var/tmp/before ]
	kept /var/tmp/before
}

@test "the dashboard is there again" {
	wait_until 120 page /healthz
	page /targets.html | grep -q third_fuzzer
}

@test "the timer is there again, and the push that was being fuzzed is fuzzed" {
	run done_commit "$(head_commit)"
	[ "$status" -ne 0 ]
	config 30s
	# The run that began at boot has the long time: it may be told to stop.
	wait_until 240 active
	systemctl stop fuzzcell.service
	wait_until 600 done_commit "$(head_commit)"
	systemctl stop fuzzcell.timer
	wait_until 240 idle
	nothing_left
	kept /var/tmp/before
	tail -n 1 "$STATE/stats/run_history.jsonl"
}

@test "disabled and uninstalled, nothing runs and the state is kept" {
	systemctl disable --now fuzzcell.timer fuzzcell-serve.service
	systemctl stop fuzzcell.service
	[ ! -e "$SLICE" ] || [ -z "$(cat "$SLICE/cgroup.procs")" ]
	[ -n "$(find "$STATE/corpus" -type f -print -quit)" ]
}
