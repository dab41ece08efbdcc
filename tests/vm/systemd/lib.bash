# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Functions of the tests of both boots: as root in a Debian with systemd, on persistent disks.
STATE=/var/lib/fuzzcell
SRV=/srv/fuzz
SLICE=/sys/fs/cgroup/fuzzcell.slice
SERVICE=$SLICE/fuzzcell.service
OWNER=4321 # of the work tree
SECRET=ghp_secret$((1234567 * 7654321))
export GIT_CONFIG_GLOBAL=/root/gitconfig GIT_CONFIG_NOSYSTEM=1

push() { # MESSAGE
	git -C "$SRV/push" -c user.name=a -c user.email=a@b commit -q --allow-empty -m "$1"
	git -C "$SRV/push" push -q origin main
	chown -R "$OWNER:$OWNER" "$SRV/origin.git"
}

head_commit() {
	git -C "$SRV/push" rev-parse HEAD
}

# Renames the complete file into place: a tick may be reading it.
config() { # TIME of each target
	cat >/etc/fuzzcell/config.new <<-END
		{
		 "state_dir": "$STATE",
		 "run": {"workers": 1, "disk_reserve": "64MiB", "total_time": "20m"},
		 "discovery": [{"type": "directory", "path": "$SRV/out"}],
		 "defaults": {"memory": "256MiB", "scratch": "32MiB", "disk": "64MiB", "max_time": "$1",
		              "max_crashes": 1, "minimize_time": "off", "triage_time": "off", "grace": "20s",
		              "flags": ["-reduce_inputs=0"]},
		 "trigger": {"repository": "$SRV/project", "interval": "1s"}
		}
	END
	mv /etc/fuzzcell/config.new /etc/fuzzcell/config.json
}

# wait_until SECONDS COMMAND...: at the deadline prints the service's output.
wait_until() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		if [ "$SECONDS" -ge "$end" ]; then
			journalctl -q --no-pager -n 30 -u fuzzcell.service
			systemctl status --no-pager fuzzcell.service fuzzcell.timer
			return 1
		fi
		sleep 1
	done
}

page() { # PATH of the dashboard
	bash /fuzzcell/docker/dashboard-health.sh 8089 "$1"
}

active() {
	[ "$(systemctl show -P ActiveState fuzzcell.service)" = activating ]
}

# Only without the timer: a tick may take longer than the timer's interval.
idle() {
	! active
}

# Prints the number of ticks that had nothing to do.
ticks() {
	journalctl -q --no-pager -u fuzzcell.service | grep -c 'nothing to do' || true
}

ticked() { # SINCE, of ticks
	[ "$(ticks)" -gt "$1" ]
}

done_commit() { # COMMIT
	[ "$(cat "$STATE/last_run_commit" 2>/dev/null)" = "$1" ]
}

# Reads MEMORY, SWAP, PIDS and CPU of a fuzzing cell in one pass: the cell may be gone at the next.
# A cell without a process has no limits yet.  A cell's name begins with the run's name, a date.
# git has a group beside it, and -x marks a replay cell.
look() {
	local cell

	cell=$(find "$SERVICE/fuzzcell" -mindepth 2 -maxdepth 2 -type d -name '2*' \
		! -name '*-x[0-9]*' | head -n 1)
	[ -n "$cell" ] && MEMORY=$(cat "$cell/memory.max") && SWAP=$(cat "$cell/memory.swap.max") &&
		PIDS=$(cat "$cell/pids.max") && CPU=$(cat "$cell/cpu.max") &&
		[ -n "$(cat "$cell/cgroup.procs")" ]
} 2>/dev/null

service_group_gone() {
	[ ! -e "$SERVICE" ]
}

# fresh NAME TIME: makes a target without any history the only target.
fresh() {
	rm -f "$SRV"/out/*
	cp /fuzzcell/build/targets/healthy_fuzzer "$SRV/out/$1_fuzzer"
	config "$2"
}

# The names (hashes) of the inputs that a living cell has written.  The cell removes none of them
# (-reduce_inputs=0).
working() {
	find "$STATE"/work/*/*_fuzzer/corpus -type f -printf '%f\n' 2>/dev/null | sort
}

works_well() {
	[ "$(working | wc -l)" -ge 20 ]
}

# kept FILE: succeeds if every input that FILE names is in the state, wherever a merge has put it.
kept() {
	find "$STATE/corpus" "$STATE/generations" -type f -printf '%f\n' | sort -u |
		comm -23 "$1" - >/tmp/lost
	cat /tmp/lost
	[ ! -s /tmp/lost ]
}

nothing_left() {
	[ -z "$(find "$STATE/work" -mindepth 1 -print -quit 2>/dev/null)" ]
}
