#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the coverage report of 10,000 inputs by `fuzzcell coverage`, and runs the same inputs bare, in
# one process for each core, alternating.  The bare processes write their profiles, too.
#
# usage: [B=build] [PAIRS=3] [INPUTS=10000] tests/bench/coverage.sh [LENGTH...]
#        LENGTH: maximum size of inputs in bytes; default: 32768 1024
#        Needs $B/fuzzcell and $B/demo/targets (make examples).
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/bench/calc.sh
. tests/bench/calc.sh
# shellcheck source=tests/bench/variants.sh
. tests/bench/variants.sh
B=$(realpath "${B:-build}")
pairs=${PAIRS:-3}
inputs=${INPUTS:-10000}
name=libyaml_fuzzer
cores=$(nproc)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
chmod 0755 "$tmp"
mkdir -p "$tmp/found" "$tmp/state/corpus"
for dir in address coverage; do
	mkdir -p "$tmp/targets/$dir"
	cp "$B/demo/targets/$dir/$name" "$tmp/targets/$dir/"
done
echo '{"run": {"disk_reserve": "64MiB"}}' >"$tmp/state/config.json"

bare() { # CORPUS: all inputs, in one process for each core
	local i
	(cd "$1" && find . -type f | split -n "r/$cores" - "$tmp/part.")
	for i in "$tmp"/part.*; do
		(cd "$1" && LLVM_PROFILE_FILE=$i.raw xargs -a "$i" -n "$inputs" \
			"$tmp/targets/coverage/$name" >"$i.log" 2>&1) &
	done
	wait
	rm -f "$tmp"/part.*
}

ours() {
	"$B/fuzzcell" coverage --workers "$cores" --state-dir "$tmp/state" --targets "$tmp/targets" \
		--sources "$PWD" --all >"$tmp/out" 2>&1 || {
		cat "$tmp/out"
		exit 1
	}
}

compare() { # LENGTH
	local corpus=$tmp/state/corpus/$name i begin bare ours
	rm -rf "$corpus"
	mkdir "$corpus"
	variants "$tmp/found" "$corpus" "$inputs" "$1"
	echo "   $inputs inputs of up to $1 bytes, $(du -sh --apparent-size "$corpus" | cut -f1):"
	: >"$tmp/ratios"
	for i in $(seq "$pairs"); do
		begin=$(now)
		bare "$corpus"
		bare=$(calc %.3f "$(now) - $begin")
		begin=$(now)
		ours
		ours=$(calc %.3f "$(now) - $begin")
		calc '%.6f\n' "$ours / $bare" >>"$tmp/ratios"
		printf '     pair %d: bare %.2f s, fuzzcell %.2f s, %.2f times as long\n' \
			"$i" "$bare" "$ours" "$(calc %.3f "$ours / $bare")"
	done
	printf '     median: %.2f times as long\n' "$(median <"$tmp/ratios")"
}

"$B/demo/targets/address/$name" -max_total_time=15 -reduce_inputs=0 -seed=1 -rss_limit_mb=1024 \
	"$tmp/found" "examples/libyaml/${name}_seeds" >"$tmp/log" 2>&1 || {
	tail -n 5 "$tmp/log"
	exit 1
}
echo "   load average: $(cut -d ' ' -f 1-3 /proc/loadavg)"
for length in "${@:-32768}"; do
	compare "$length"
done
[[ $# -gt 0 ]] || compare 1024
