#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# First process of the container: makes its own control groups writable, and executes fuzzcell.
# Cells get groups below the container's group, so the container's limits apply to all of them.
# Docker mounts the groups read-only; without --privileged it has no option to change this, but
# CAP_SYS_ADMIN is sufficient.
#
# usage: entrypoint.sh FUZZCELL_ARGUMENT...
set -eu

root=/sys/fs/cgroup

# Prints the mounts of control groups: "MOUNT_POINT TYPE", outermost first.
mounts() {
	awk '{ for (i = 7; $i != "-"; i++) ; if ($5 ~ /^\/sys\/fs\/cgroup(\/|$)/) print $5, $(i + 1) }' \
		/proc/self/mountinfo
}

writable() {
	mounts | while read -r point _; do
		mount -o remount,bind,rw "$point" || return 1
		# In its own cgroup namespace the file system itself is read-only, too.
		[ -w "$point" ] || mount -o remount,rw "$point" || return 1
	done
}

# Moves our processes out of our namespace's root group, because a group with processes cannot be
# divided.  `docker exec` then also starts its processes in the group of the first process.
leave_root() {
	mkdir -p "$root/init"
	while read -r pid; do
		echo "$pid" >"$root/init/cgroup.procs" 2>/dev/null || true # it has ended
	done <"$root/cgroup.procs"
}

# Mounts our part of the v2 tree.  With v1 controllers Docker uses the v2 tree but does not mount
# it.
mount_v2() {
	own=$(sed -n 's/^0:://p' /proc/self/cgroup)
	mkdir -p "$root/unified" /run/fuzzcell-v2
	mount -t cgroup2 cgroup2 /run/fuzzcell-v2
	mount --bind "/run/fuzzcell-v2$own" "$root/unified"
	umount /run/fuzzcell-v2
	rmdir /run/fuzzcell-v2
}

# Docker covers parts of /proc with mounts of this container.  Removes these mounts.
uncover() {
	awk '$5 ~ /^\/proc\/./ { print $5 }' /proc/self/mountinfo | sort -r |
		while read -r point; do
			umount "$point" || return 1
		done
}

prepare() {
	writable && uncover || return 1
	if [ -e "$root/cgroup.controllers" ]; then
		# The root of the machine's own tree has no cgroup.type, and may keep its processes.
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
