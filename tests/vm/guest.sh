#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs inside the guest, started by vm-run.service (image.sh).  Runs the command that ci/vm.sh wrote
# on the payload disk, as a service of its own with a delegated cgroup.  Passes its output and its
# exit status to the host through three virtio-serial ports.  Then switches the machine off, or
# reboots it if the command wants a reboot (ci/vm.sh, --boots).
set -u

PORTS=/dev/virtio-ports
GRACE=30 # s that a process that outlived the service may keep its output open

say() {
	echo "vm-run: $*" >/dev/console
}

# relay NAME: copies a FIFO to the port of that name.  A port can be opened by
# one process at a time and is no pipe: the command should not see it.
relay() {
	mkfifo "/run/vm.$1"
	cat "/run/vm.$1" >"$PORTS/$1" &
	relays+=("$!")
}

run() {
	local argv environment setenv=() pair

	mapfile -d '' -t argv </fuzzcell/.vm/argv
	mapfile -d '' -t environment </fuzzcell/.vm/environment
	for pair in "${environment[@]}"; do
		setenv+=("--setenv=$pair")
	done
	setenv+=("--setenv=FUZZCELL_TEST_BOOT=${FUZZCELL_TEST_BOOT:-1}")
	systemd-run --quiet --wait --pipe --collect --unit=fuzzcell-test \
		--service-type=exec --working-directory=/fuzzcell \
		--property=Delegate=yes --property=TasksMax=infinity \
		--property=TimeoutStopSec="$GRACE" "${setenv[@]}" \
		-- "${argv[@]}" </dev/null >/run/vm.stdout 2>/run/vm.stderr
}

main() {
	local relays=() status

	say "booted in $(cut -d ' ' -f 1 /proc/uptime) s"
	# Writing to a port that does not exist yet would create a file.
	until [[ -c $PORTS/stdout && -c $PORTS/stderr && -c $PORTS/status || $SECONDS -gt 300 ]]; do
		sleep 0.1
	done
	relay stdout
	relay stderr
	run
	status=$?
	say "command ended with status $status after $(cut -d ' ' -f 1 /proc/uptime) s"
	(sleep "$GRACE" && kill "${relays[@]}") 2>/dev/null &
	wait "${relays[@]}"
	if [[ $status -eq 0 && -e /fuzzcell/.vm/reboot ]]; then
		rm /fuzzcell/.vm/reboot
		systemctl reboot
		return
	fi
	echo "$status" >"$PORTS/status"
	systemctl poweroff --force --force
}

main
