#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# make bench-memory: the memory of fuzzcell itself in a run with many living cells.
#
# The targets fail, flood their logs, leak and fuzz, all at once, with their triage and merges.
# Fails with status 1 when the peak of fuzzcell's resident memory reaches 32 MiB.
#
# usage: [B=build] tests/bench/memory.sh [CELLS]    default: 64; needs root, $B/fuzzcell and
#        $B/targets (make targets)
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
B=$(realpath "${B:-build}")
cells=${1:-64}
most=32 # MiB
kinds=(crash_fuzzer flood_fuzzer healthy_fuzzer leak_fuzzer)

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 0755 "$dir"
mkdir "$dir/state" "$dir/targets"
for ((i = 0; i < cells; i++)); do
	cp "$B/targets/${kinds[i % ${#kinds[@]}]}" "$dir/targets/bench${i}_fuzzer"
done
cat >"$dir/state/config.json" <<END
{"run": {"workers": $cells, "disk_reserve": "64MiB", "adapt": false, "log_limit": "1MiB"},
 "defaults": {"memory": "256MiB", "scratch": "1MiB", "disk": "64MiB", "max_time": "20s"}}
END
status=0
"$B/fuzzcell" run --plain --state-dir "$dir/state" --targets "$dir/targets" >"$dir/out" || status=$?
[[ $status == 0 || $status == 5 ]] || { # 5: on few CPUs some targets get no time to fuzz
	cat "$dir/out"
	exit 1
}
took=$(sed -n 's/.*fuzzcell itself: .*, \([0-9]*\)\(\.[0-9]*\)\{0,1\}MiB$/\1/p' "$dir/out")
tail -n 2 "$dir/out" | head -n 1
echo "$cells cells at once: fuzzcell itself took $took MiB at most (aim: under $most)"
[[ -n $took && $took -lt $most ]]
