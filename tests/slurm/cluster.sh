#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A Slurm of its own on this machine: munged, slurmctld, and four slurmd as the nodes n1 to n4, of four
# CPUs each, whatever the machine has.  It needs root, and the packages slurmctld, slurmd,
# slurm-client and munge.
#
# usage: tests/slurm/cluster.sh start DIR       then SLURM_CONF=DIR/slurm.conf
#        tests/slurm/cluster.sh stop DIR        ends what start began
#        tests/slurm/cluster.sh kill DIR NODE   the node dies: kill -9 of all of its processes
set -eu -o pipefail

what=${1:?start, stop or kill}
dir=$(realpath -m "${2:?a directory}")
export SLURM_CONF=$dir/slurm.conf

# wait_until SECONDS COMMAND...
wait_until() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[[ $SECONDS -lt $end ]] || { echo "cluster: not within the time: $*" >&2; return 1; }
		sleep 0.2
	done
}

# Ports that no one listens on, for the controller and four nodes.
free_ports() {
	local base

	for _ in {1..50}; do
		base=$((20000 + RANDOM % 10000))
		ss -Htln | awk -v b="$base" '{ n = split($4, p, ":"); if (p[n] >= b && p[n] < b + 8) f = 1 }
			END { exit f }' && { echo "$base"; return; }
	done
	return 1
}

configure() {
	local host base

	host=$(hostname -s)
	base=$(free_ports)
	mkdir -p "$dir/state"
	head -c 1024 /dev/urandom >"$dir/munge.key"
	chmod 400 "$dir/munge.key"
	cat >"$SLURM_CONF" <<-END
		ClusterName=fuzzcell
		SlurmctldHost=$host(127.0.0.1)
		SlurmctldPort=$base
		CommunicationParameters=NoInAddrAny
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/munge
		AuthInfo=socket=$dir/munge.socket
		StateSaveLocation=$dir/state
		SlurmdSpoolDir=$dir/%n
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmdPidFile=$dir/%n.pid
		SlurmctldLogFile=$dir/slurmctld.log
		SlurmdLogFile=$dir/%n.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU_Memory,CR_LLN
		SlurmdParameters=config_overrides
		SchedulerParameters=batch_sched_delay=0,sched_interval=2
		SlurmdTimeout=8
		KillWait=20
		MinJobAge=600
		ReturnToService=2
		MpiDefault=none
		NodeName=n[1-4] NodeHostname=$host NodeAddr=127.0.0.1 Port=$((base + 1))-$((base + 4)) CPUs=4 RealMemory=16000 State=UNKNOWN
		PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
	END
}

idle() { # NODES
	[[ $(sinfo -h -N -t idle -o %N | wc -l) -ge $1 ]]
}

start() {
	configure
	munged --force --socket="$dir/munge.socket" --key-file="$dir/munge.key" --pid-file="$dir/munge.pid" \
		--log-file="$dir/munge.log" --seed-file="$dir/munge.seed"
	slurmctld -f "$SLURM_CONF"
	for n in n1 n2 n3 n4; do
		mkdir "$dir/$n"
		slurmd -f "$SLURM_CONF" -N "$n"
	done
	wait_until 60 idle 4
}

ended() { # PROCESS
	! kill -0 "$1" 2>/dev/null
}

end_of() { # PIDFILE
	local p

	p=$(cat "$1" 2>/dev/null) || return 0
	kill "$p" 2>/dev/null || return 0
	wait_until 60 ended "$p"
}

stop() {
	scancel --me 2>/dev/null || true
	wait_until 60 eval '[[ -z $(squeue -h 2>/dev/null) ]]' || true
	for n in n1 n2 n3 n4 slurmctld munge; do
		end_of "$dir/$n.pid"
	done
}

# The node's slurmd, and everything in its jobs.  The parents of the jobs come first: they would
# report that a job failed, which a dead node does not.
processes_of() { # NODE
	local p text

	cat "$dir/$1.pid" 2>/dev/null
	for p in $(jobs_of "$1"); do
		text=$(awk '/^PPid:/ { print $2 }' "/proc/$p/status" 2>/dev/null) || continue
		! grep -qs '^slurmstepd' "/proc/$text/comm" || echo "$text"
	done
	jobs_of "$1"
}

jobs_of() { # NODE
	local p text

	for p in /proc/[0-9]*; do
		text=$({ tr '\0' '\n' <"$p/environ"; } 2>/dev/null) || continue
		if grep -qx "SLURMD_NODENAME=$1" <<<"$text" && grep -qx "SLURM_CONF=$SLURM_CONF" <<<"$text"; then
			echo "${p#/proc/}"
		fi
	done
}

case $what in
start) start ;;
stop) stop ;;
kill)
	for p in $(processes_of "$3"); do
		kill -9 "$p" 2>/dev/null || true
	done
	;;
*) exit 2 ;;
esac
