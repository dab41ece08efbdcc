#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs tests/docker/*.bats with its own Docker daemon, which has its own data, socket and groups.
# The daemon is always ended and removed at the end.
#
# usage: FUZZCELL=PROGRAM TARGETS=DIR ci/docker.sh [BATS_OPTION...]
#
# No registry is used: mmdebstrap makes the base image once from the machine's own apt sources.  It
# is kept in ${XDG_CACHE_HOME:-~/.cache}/fuzzcell/docker.
set -euo pipefail

TOP=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/vm/need.sh
. "$TOP/tests/vm/need.sh"

work=
daemon=

# The daemon ends its containers and its containerd.  We remove its mounts and groups.
cleanup() {
	if [[ -n $daemon ]]; then
		kill "$daemon" 2>/dev/null || true
		wait "$daemon" || true
	fi
	[[ -n $work ]] || return 0
	awk -v dir="$work/" 'index($5, dir) == 1 { print $5 }' /proc/self/mountinfo | sort -r |
		xargs -r umount -l
	find /sys/fs/cgroup -depth -type d -path "*/$group*" -exec rmdir {} + 2>/dev/null || true
	rm -rf --one-file-system "$work"
}

# Makes the cached base image, which is almost debian:bookworm-slim.
base_image() {
	local cache=${XDG_CACHE_HOME:-$HOME/.cache}/fuzzcell/docker
	local file sources

	file=$cache/bookworm-$(date +%Y%m).tar # a new image each month, for security updates
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock 9
	if [[ ! -e $file ]]; then
		mapfile -t sources < <(compgen -G '/etc/apt/sources.list.d/*.sources' ||
			compgen -G '/etc/apt/sources.list')
		rm -f "$cache"/*.tar "$cache"/*.tar.new
		mmdebstrap --quiet --variant=minbase --format=tar --dpkgopt='path-exclude=/usr/share/doc/*' \
			--dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/man/*' \
			--customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*' \
			bookworm "$file.new" "${sources[@]}" >&2
		mv "$file.new" "$file"
	fi
	exec 9>&-
	echo "$file"
}

start_daemon() {
	local end=$((SECONDS + 60))

	mkdir "$work/docker"
	setpriv --pdeathsig TERM dockerd --data-root "$work/docker/data" --exec-root "$work/docker/exec" \
		--pidfile "$work/docker/pid" -H "unix://$work/docker/sock" --cgroup-parent "/$group" \
		--bridge=none --iptables=false --ip-forward=false >"$work/docker/log" 2>&1 </dev/null &
	daemon=$!
	until docker info >/dev/null 2>&1; do
		if [[ $SECONDS -ge $end ]] || ! kill -0 "$daemon"; then
			tail -n 20 "$work/docker/log" >&2
			echo 'docker: the daemon did not start' >&2
			exit 2
		fi
		sleep 0.2
	done
}

: "${FUZZCELL:?the program under test}" "${TARGETS:?the planted targets}"
[[ $EUID -eq 0 ]] || { echo 'docker: a daemon needs root' >&2 && exit 2; }
need docker.io docker-compose iptables mmdebstrap git jq bats
base=$(base_image)
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
work=$(mktemp -d "${TMPDIR:-/tmp}/fuzzcell-docker.XXXXXX")
chmod 755 "$work"
group=fuzzcell-docker-$$
export WORK=$work GROUP=$group TOP FUZZCELL TARGETS DOCKER_HOST=unix://$work/docker/sock DOCKER_BUILDKIT=0 \
	COMPOSE_PROJECT_NAME=fuzzcelltest
start_daemon
# The name exists in no registry.
export FUZZCELL_BASE=fuzzcell-base
docker import "$base" "$FUZZCELL_BASE" >/dev/null
# bats reports on fd 3: a daemon's child must not keep it open.
bats --tap "$@" "$TOP/tests/docker"
