#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# After boot1.bats and a reboot in the middle of a run.
load lib

@test "a reboot in the middle of a run lost no input" {
	[ -s /var/tmp/before ]
	kept /var/tmp/before
}

@test "the dashboard runs again" {
	wait_until 120 page /healthz
	page /targets.html | grep -q third_fuzzer
}

@test "the timer runs again, and the interrupted push is fuzzed" {
	run done_commit "$(head_commit)"
	[ "$status" -ne 0 ]
	config 30s
	# The run that began at boot has the long time: stop it.
	wait_until 240 active
	systemctl stop fuzzcell.service
	wait_until 600 done_commit "$(head_commit)"
	systemctl stop fuzzcell.timer
	wait_until 240 idle
	nothing_left
	kept /var/tmp/before
	tail -n 1 "$STATE/stats/run_history.jsonl"
}

@test "the package is purged while its services run: they stop, and state and configuration are kept" {
	systemctl start fuzzcell.timer
	page /healthz
	dpkg --purge fuzzcell
	[ ! -e "$SLICE" ] || [ -z "$(cat "$SLICE/cgroup.procs")" ]
	run page /healthz
	[ "$status" -ne 0 ]
	# The test's own service and disk have such names, too.
	run grep -v '^fuzzcell\(-test\.service\|\.mount\) ' \
		<(systemctl list-units --state=active,activating,deactivating --plain --no-legend 'fuzzcell*')
	echo "$output"
	[ "$output" = '' ]
	run find /etc /usr /var/lib/systemd /var/lib/dpkg/info -name '*fuzzcell*'
	echo "$output"
	[ "$(sort <<<"$output")" = "$(printf '%s\n' /etc/fuzzcell /etc/systemd/system/fuzzcell.timer.d)" ]
	[ "$(find /etc/fuzzcell -type f | sort)" = "$(printf '%s\n' /etc/fuzzcell/config.json /etc/fuzzcell/secrets/github-token)" ]
	[ -n "$(find "$STATE/corpus" -type f -print -quit)" ]
}
