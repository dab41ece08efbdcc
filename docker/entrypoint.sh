#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# First process of the container: makes its own control groups writable, so that
# cells get groups below the container's (what limits the container limits them
# all), and becomes fuzzcell.  Docker mounts the groups read-only and has no option
# for less than all privileges that changes it; CAP_SYS_ADMIN can.
#
# usage: entrypoint.sh FUZZCELL_ARGUMENT...
set -eu

root=/sys/fs/cgroup

# Where groups are mounted: "MOUNT_POINT TYPE", outermost first.
mounts() {
	awk '{ for (i = 7; $i != "-"; i++) ; if ($5 ~ /^\/sys\/fs\/cgroup(\/|$)/) print $5, $(i + 1) }' \
		/proc/self/mountinfo
}

writable() {
	mounts | while read -r point _; do
		mount -o remount,bind,rw "$point" || return 1
		# In a namespace of its own the v2 tree as a whole is mounted read-only.
		[ -w "$point" ] || mount -o remount,rw "$point" || return 1
	done
}

# Only root of our own namespace has no process of ours: a group with processes cannot be divided.
# `docker exec` then starts its processes in the group of the first one, too.
leave_root() {
	mkdir -p "$root/init"
	while read -r pid; do
		echo "$pid" >"$root/init/cgroup.procs" 2>/dev/null || true # it ended
	done <"$root/cgroup.procs"
}

# Beside v1 controllers Docker joins the v2 tree but does not mount it: our part of it.
mount_v2() {
	own=$(sed -n 's/^0:://p' /proc/self/cgroup)
	mkdir -p "$root/unified" /run/fuzzcell-v2
	mount -t cgroup2 cgroup2 /run/fuzzcell-v2
	mount --bind "/run/fuzzcell-v2$own" "$root/unified"
	umount /run/fuzzcell-v2
	rmdir /run/fuzzcell-v2
}

# Docker covers parts of /proc.  They are this container's own mounts: they can go.
uncover() {
	awk '$5 ~ /^\/proc\/./ { print $5 }' /proc/self/mountinfo | sort -r |
		while read -r point; do
			umount "$point" || return 1
		done
}

prepare() {
	writable && uncover || return 1
	if [ -e "$root/cgroup.controllers" ]; then
		# The root of the machine's own tree has no type, and may keep its processes.
		[ ! -e "$root/cgroup.type" ] || leave_root
	elif ! mounts | grep -q ' cgroup2$'; then
		mount_v2
	fi
}

case ${1:-} in
'' | help | version | config | list | outbox | serve | history | report) ;; # need no cells
*)
	if ! said=$(prepare 2>&1); then
		printf '%s\n' "$said" >&2
		echo 'fuzzcell: cells need the privileges that compose.yaml asks for:' \
			'the capabilities, and --security-opt' \
			'seccomp=unconfined, apparmor=unconfined' >&2
		exit 3
	fi
	;;
esac
exec fuzzcell "$@"
