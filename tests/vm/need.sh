# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the scripts of the VM test bench.

# need PKG...: installs the missing Debian packages, and prints their names.  Needs root only when a
# package is missing.
need() {
	local pkg state
	local missing=()

	for pkg in "$@"; do
		state=$(dpkg-query -W -f '${Status}' "$pkg" 2>/dev/null) || state=
		[[ $state == *' installed' ]] || missing+=("$pkg")
	done
	[[ ${#missing[@]} -gt 0 ]] || return 0
	echo "vm: installing ${missing[*]}" >&2
	export DEBIAN_FRONTEND=noninteractive
	apt-get -q -y install --no-install-recommends "${missing[@]}" >&2 && return 0
	# The lists may be missing or older than the archive.
	apt-get -q update >&2
	apt-get -q -y install --no-install-recommends "${missing[@]}" >&2
}
