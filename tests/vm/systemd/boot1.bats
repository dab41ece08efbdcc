#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# An administrator installs the package, enables the timer, and pushes.  The machine stops in the
# middle of a run; boot2.bats has the tests after it.  The tests build on each other.
load lib

setup_file() {
	dpkg -i /fuzzcell/fuzzcell.deb
	mkdir -p "$SRV/out"
	cp /fuzzcell/build/targets/* "$SRV/out/"
	git config -f "$GIT_CONFIG_GLOBAL" safe.directory '*'
	git init -q --bare -b main "$SRV/origin.git"
	git init -q -b main "$SRV/push"
	git -C "$SRV/push" remote add origin "$SRV/origin.git"
	push first
	git clone -q "$SRV/origin.git" "$SRV/project"
	chown -R "$OWNER:$OWNER" "$SRV/project"
	(umask 077 && printf '%s' "$SECRET" >/etc/fuzzcell/secrets/github-token)
	mkdir -p /etc/systemd/system/fuzzcell.timer.d
	printf '[Timer]\nOnCalendar=\nOnCalendar=*:*:0/30\nRandomizedDelaySec=0\n' \
		>/etc/systemd/system/fuzzcell.timer.d/often.conf
	systemctl daemon-reload
}

@test "systemd accepts the package's units" {
	run systemd-analyze verify --man=no fuzzcell.service fuzzcell.timer fuzzcell.slice fuzzcell-serve.service
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output != *fuzzcell* ]]
	run systemd-analyze security --threshold=75 fuzzcell.service
	echo "$output" | tail -n 1
	[ "$status" -eq 0 ]
	run systemd-analyze security --threshold=15 fuzzcell-serve.service
	echo "$output" | tail -n 1
	[ "$status" -eq 0 ]
}

@test "the installation starts and enables nothing" {
	for unit in fuzzcell.service fuzzcell.timer fuzzcell-serve.service; do
		[ "$(systemctl show -P ActiveState "$unit")" = inactive ]
	done
	[ "$(systemctl is-enabled fuzzcell.timer)" = disabled ]
	[ "$(systemctl is-enabled fuzzcell-serve.service)" = disabled ]
}

@test "without a configuration a tick fails, and names the missing file" {
	run systemctl start fuzzcell.service
	[ "$status" -ne 0 ]
	wait_until 120 sh -c 'journalctl -u fuzzcell.service | grep -q /etc/fuzzcell/config.json'
	systemctl reset-failed fuzzcell.service
	# The dashboard prints the same, and restarts until there is a state to show.
	systemctl enable --now fuzzcell-serve.service
	wait_until 120 sh -c 'journalctl -u fuzzcell-serve.service | grep -q /etc/fuzzcell/config.json'
}

@test "the timer starts a run, and its cells have their limits below the delegated group" {
	config 40s
	systemctl enable --now fuzzcell.timer
	wait_until 300 look
	[ "$MEMORY" -eq $((256 << 20)) ]
	[ "$SWAP" -eq 0 ]
	[ "$PIDS" -eq 65 ] # and process 1
	[ "${CPU% *}" -eq "${CPU#* }" ]
	# and all cells together have the slice's limit
	total=$(($(awk '/MemTotal/ { print $2 }' /proc/meminfo) * 1024))
	[ "$(cat "$SLICE/memory.max")" -lt "$total" ]
	[ "$(cat "$SLICE/cpu.weight")" -eq 20 ]
	[ "$(cat "$SLICE/pids.max")" != max ]
	# Only the service can read the secret.
	[ "$(stat -c %a:%u /run/credentials/fuzzcell.service/secret_github-token)" = 400:0 ]
}

@test "the run leaves a report" {
	wait_until 600 done_commit "$(head_commit)"
	systemctl stop fuzzcell.timer
	wait_until 240 idle
	logs=$(find "$STATE/logs" -mindepth 1 -maxdepth 1 -type d | sort | tail -n 1)
	cat "$logs"/*.stats
	[ "$(jq -r .reason "$logs/healthy_fuzzer.stats")" = time-limit ]
	[ "$(jq -r '(.failures.oom // 0) + (.failures["oom-kill"] // 0)' "$logs/membomb_fast_fuzzer.stats")" -ge 1 ]
	[ -s "$logs/summary.json" ]
	# After a given-up target the status is 5, unless another tick came since.  A tick without a
	# push succeeds.
	[[ $(systemctl show -P ExecMainStatus fuzzcell.service) == [05] ]]
	systemctl start fuzzcell.service
	[ "$(systemctl show -P Result fuzzcell.service)" = success ]
	[ "$(find "$STATE" -maxdepth 0 -printf %m)" = 750 ]
	nothing_left
}

# field NAME MATCH...: prints the field's values in our matching journal entries.
field() {
	journalctl -q --no-pager -o json -u fuzzcell.service "${@:2}" | jq -r ".$1 // empty" | sort -u
}

@test "the journal has the subject and the priority of each event" {
	[ "$(field SYSLOG_IDENTIFIER FUZZCELL_EVENT=job)" = fuzzcell ]
	field FUZZCELL_TARGET FUZZCELL_EVENT=job | grep -qx healthy_fuzzer
	[ "$(field FUZZCELL_REASON FUZZCELL_WHAT=ended FUZZCELL_TARGET=healthy_fuzzer)" = time-limit ]
	[ -d "$STATE/logs/$(field FUZZCELL_RUN FUZZCELL_WHAT=ended FUZZCELL_TARGET=healthy_fuzzer)" ]
	# the tick without a configuration
	[ "$(field PRIORITY FUZZCELL_EVENT=failed FUZZCELL_STATUS=2)" = 3 ]
	field MESSAGE FUZZCELL_EVENT=failed | grep -q /etc/fuzzcell/config.json
	# a trigger's message is in the journal unchanged, and once
	field MESSAGE FUZZCELL_EVENT=trigger | grep -q .
	run field MESSAGE _TRANSPORT=stdout
	[[ $output != *"warning: "* ]]
}

@test "without a push no second run starts" {
	n=$(wc -l <"$STATE/stats/run_history.jsonl")
	before=$(ticks)
	systemctl start fuzzcell.timer
	wait_until 240 ticked "$before"
	[ "$(wc -l <"$STATE/stats/run_history.jsonl")" -eq "$n" ]
}

@test "a service that is stopped in a run saves all inputs and leaves no process" {
	fresh second 10m
	push second
	wait_until 480 works_well
	working >/tmp/before
	systemctl stop fuzzcell.timer fuzzcell.service
	[ "$(systemctl show -P Result fuzzcell.service)" = success ]
	kept /tmp/before
	nothing_left
	wait_until 60 service_group_gone
	run done_commit "$(head_commit)"
	[ "$status" -ne 0 ]
}

@test "the container's entry point divides a group that is mounted read-only, as in Docker" {
	mkdir -p /run/fuzzcell
	run systemd-run --quiet --wait --pipe --property=Delegate=yes --setenv=HOME=/root \
		unshare --cgroup --mount --propagation private sh -c '
			umount -l /sys/fs/cgroup && mount -t cgroup2 -o ro cgroup2 /sys/fs/cgroup &&
			exec /fuzzcell/docker/entrypoint.sh run --plain --state-dir /root/state \
				--config /etc/fuzzcell/config.json --max-fuzzer-time 20s'
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"unified cgroups at /sys/fs/cgroup/fuzzcell/"*"kept: memory no-swap memory-mark cpu pids"* ]]
}

@test "no secret in the state, the journal or a process's arguments" {
	fresh third 10m
	systemctl start fuzzcell.timer
	wait_until 480 works_well
	secret=/etc/fuzzcell/secrets/github-token # read from its file: this test's arguments are checked, too
	run grep -rqFf "$secret" "$STATE" /var/log
	[ "$status" -ne 0 ]
	cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' >/run/arguments
	journalctl -q --no-pager >/run/journal
	run grep -qFf "$secret" /run/arguments /run/journal
	[ "$status" -eq 1 ]
}

page_has_run() {
	page /api/v1/overview.json | jq -e '.live.run'
}

@test "the dashboard shows the run, on loopback only, as a user without privileges" {
	active
	wait_until 120 page /healthz
	wait_until 60 page_has_run # it may query the run over its socket
	page /metrics | grep -qx 'fuzzcell_up 1'
	page /targets.html | grep -q third_fuzzer
	[ "$(ss -Hltn 'sport = :8089' | awk '{ print $4 }')" = 127.0.0.1:8089 ]
	pid=$(systemctl show -P MainPID fuzzcell-serve.service)
	[ "$(stat -c %u "/proc/$pid")" -ge 61184 ] # of a dynamic user
	[ "$(sed -n 's/^Cap\(Prm\|Eff\|Bnd\|Amb\):\t//p' "/proc/$pid/status" | sort -u)" = 0000000000000000 ]
	[ "$(stat -c %u:%a "$STATE")" = 0:750 ] # the dashboard did not change the owner
}

@test "a run is in progress when the machine reboots" {
	active
	working >/var/tmp/before
	[ "$(wc -l </var/tmp/before)" -ge 20 ]
	sync
}
