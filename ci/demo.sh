#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# make demo: installs what is missing, builds fuzzcell, real targets (jansson,
# expat and libyaml from the distribution's sources, and fuzzcell's own parsers)
# and one planted bug, and fuzzes all of them in cells for about two minutes.
#
# usage: [B=build] [DEMO_TIME=2m] ci/demo.sh
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
B=${B:-build}
time=${DEMO_TIME:-2m}
make=${MAKE:-make}
unset MAKEFLAGS MFLAGS MAKELEVEL

say() { printf '\n==> %s\n' "$*"; }

[[ $(id -u) -eq 0 ]] || {
	echo 'demo: cells need root (cgroups, user namespaces): sudo make demo' >&2
	exit 3
}
say 'packages'
ci/deps.sh demo
say 'fuzzcell'
"$make" -s -j"$(nproc)" B="$B" all
say 'targets: jansson, expat, libyaml'
"$make" -s B="$B" examples
say "targets: fuzzcell's own parsers"
"$make" -s -j"$(nproc)" B="$B" fuzz-targets
say 'target: a planted bug'
"$make" -s B="$B" "$B/targets/crash_fuzzer"
mkdir -p "$B/demo/planted" "$B/demo/state"
cp "$B/targets/crash_fuzzer" "$B/demo/planted/planted_bug_fuzzer"
cp examples/demo.json "$B/demo/state/config.json"

say "fuzzing in cells for $time"
status=0
"$B/fuzzcell" run --state-dir "$B/demo/state" --max-total-time "$time" || status=$?
logs=$(find "$B/demo/state/logs" -mindepth 1 -maxdepth 1 -type d | sort | tail -n 1)
say 'what the corpora reach in the source text'
"$B/fuzzcell" coverage --state-dir "$B/demo/state" jansson_fuzzer libyaml_fuzzer
# The planted bug must be found; only its target may end as given up.
if [[ $status -eq 5 ]] && grep -qx '  "not_fuzzed": 0,' "$logs/summary.json" &&
	grep -qx '  "given_up": 1,' "$logs/summary.json" &&
	grep -qx '  "given_up": true,' "$logs/planted_bug_fuzzer.stats"; then
	say 'the planted bug was found, and its target was given up, as it should be'
	status=0
fi
case $status in
0) say 'done: every target was really fuzzed' ;;
5) say 'a target was NOT fuzzed, or was given up: see above' ;;
esac
exit "$status"
