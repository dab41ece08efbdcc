#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the fleet: the demo's real targets and those of libraries/, by the script that
# builds the demo (examples/build.sh, which libraries/build.sh is a link to).
#
# usage: tests/fleet/build.sh OUT_DIR          only what is missing or outdated
#        tests/fleet/build.sh --clean OUT_DIR  removes sources and objects; targets stay
# Sources, objects and logs are in OUT_DIR.work.  Compiles with as many processes as
# nproc says: taskset -c 0 in front of it makes that one.
set -eu

usage() {
	echo 'usage: tests/fleet/build.sh [--clean] OUT_DIR' >&2
	exit 2
}

here=$(cd "$(dirname "$0")" && pwd)
case ${1:-} in
--clean)
	[ $# -eq 2 ] || usage
	[ -d "$2" ] || usage
	rm -rf "${2%/}.work"
	exit
	;;
'' | -*) usage ;;
esac
[ $# -eq 1 ] || usage
"$here/../../examples/build.sh" "${1%/}"
"$here/libraries/build.sh" "${1%/}"
