#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests the systemd units as an administrator uses them: checks them here (tests/vm/install.bats,
# package.bats), then installs the package and uses it in a Debian under QEMU (tests/vm/systemd),
# which boots twice.  Prints one TAP.
#
# usage: [B=build] ci/vm-systemd.sh [host|vm]     default: both
set -euo pipefail

TOP=$(cd "$(dirname "$0")/.." && pwd)
B=${B:-$TOP/build}
make=${MAKE:-make}
unset MAKEFLAGS MFLAGS MAKELEVEL
stage=$(mktemp -d "${TMPDIR:-/tmp}/fuzzcell-stage.XXXXXX")
trap 'rm -rf "$stage"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

host() {
	B=$B bats --tap "$TOP/tests/vm/install.bats" "$TOP/tests/vm/package.bats"
}

# The guest has no compiler: it installs the package.
vm() {
	local deb

	mkdir "$stage/targets"
	deb=$("$make" -s -C "$TOP" B="$B" deb | tail -n 1)
	mv "$deb" "$stage/fuzzcell.deb"
	cp "$B/targets/healthy_fuzzer" "$B/targets/membomb_fast_fuzzer" "$stage/targets/"
	"$TOP/ci/vm.sh" --binary "$B/fuzzcell" --targets "$stage/targets" --tests "$TOP/tests/vm/systemd" \
		--add "$stage/fuzzcell.deb" --add "$TOP/docker" --boots 2 --timeout 1800 -- bash tests/e2e/run.sh
}

# Joins several TAPs to one, with one plan and new numbers.
join() {
	local n=0 planned=0 line

	while IFS= read -r line; do
		if [[ $line =~ ^1\.\.([0-9]+) ]]; then
			planned=$((planned + BASH_REMATCH[1]))
			continue
		fi
		[[ ! $line =~ ^(not )?ok\ [0-9]+(.*) ]] ||
			line="${BASH_REMATCH[1]}ok $((++n))${BASH_REMATCH[2]}"
		printf '%s\n' "$line"
	done
	echo "1..$planned"
}

cd "$TOP"
status=0
{
	case ${1:-all} in
	host) host ;;
	vm) vm ;;
	all) host && vm ;;
	*)
		echo 'usage: ci/vm-systemd.sh [host|vm]' >&2
		exit 2
		;;
	esac
} | join || status=$?
exit "$status"
