#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Merges a corpus of 10,000 inputs by libFuzzer in one bare process and by `fuzzcell corpus minimize
# --workers 2`, alternating.  Then it measures the coverage of both results in cells, as a merge
# does.
#
# usage: [B=build] [PAIRS=3] [INPUTS=10000] tests/bench/merge.sh [LENGTH...]
#        LENGTH: maximum size of inputs in bytes; default: 32768 1024
#        Needs $B/fuzz/libfuzzer_line_fuzzer (make fuzz-targets).
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/bench/calc.sh
. tests/bench/calc.sh
# shellcheck source=tests/bench/variants.sh
. tests/bench/variants.sh
B=$(realpath "${B:-build}")
pairs=${PAIRS:-3}
inputs=${INPUTS:-10000}
name=libfuzzer_line_fuzzer
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
chmod 0755 "$tmp"
mkdir "$tmp/targets" "$tmp/found"
cp "$B/fuzz/$name" "$tmp/targets/"

state() { # DIR: a fresh state directory with this corpus
	rm -rf "$tmp/state"
	mkdir -p "$tmp/state/corpus"
	cp -r "$1" "$tmp/state/corpus/$name"
	echo '{"run": {"disk_reserve": "64MiB"}, "defaults": {"merge_time": "1h"}}' >"$tmp/state/config.json"
}

minimize() { # [OPTION...]
	"$B/fuzzcell" corpus minimize --workers 2 --state-dir "$tmp/state" --targets "$tmp/targets" "$@" \
		>"$tmp/out" || {
		cat "$tmp/out"
		exit 1
	}
}

reach() { # DIR: "EDGES FEATURES"
	state "$1"
	minimize --dry-run
	sed -n 's/.*, \([0-9]*\) edges, \([0-9]*\) features.*/\1 \2/p' "$tmp/out"
}

one_pair() { # CORPUS: sets bare and ours
	local begin
	rm -rf "$tmp/own"
	mkdir "$tmp/own"
	begin=$(now)
	"$tmp/targets/$name" -merge=1 -rss_limit_mb=2048 "$tmp/own" "$1" >"$tmp/own.log" 2>&1
	bare=$(calc %.3f "$(now) - $begin")
	state "$1"
	begin=$(now)
	minimize
	ours=$(calc %.3f "$(now) - $begin")
}

compare() { # LENGTH
	local corpus=$tmp/corpus-$1 i all own got
	mkdir "$corpus"
	variants "$tmp/found" "$corpus" "$inputs" "$1"
	echo "   $inputs inputs of up to $1 bytes, $(du -sh --apparent-size "$corpus" | cut -f1):"
	: >"$tmp/ratios"
	for i in $(seq "$pairs"); do
		one_pair "$corpus"
		calc '%.6f\n' "$bare / $ours" >>"$tmp/ratios"
		printf '     pair %d: libFuzzer %.1f s (%.2f ms an input), fuzzcell %.1f s, %.2f times as fast\n' \
			"$i" "$bare" "$(calc %.3f "$bare * 1000 / $inputs")" "$ours" "$(calc %.3f "$bare / $ours")"
	done
	cp -r "$tmp/state/corpus/$name" "$tmp/ours"
	all=$(reach "$corpus")
	own=$(reach "$tmp/own")
	got=$(reach "$tmp/ours")
	printf '     median: %.2f times as fast\n' "$(median <"$tmp/ratios")"
	printf '     edges and features: all %s; libFuzzer %s in %d files; fuzzcell %s in %d files\n' \
		"$all" "$own" "$(find "$tmp/own" -type f | wc -l)" "$got" "$(find "$tmp/ours" -type f | wc -l)"
	rm -rf "$tmp/ours" "$corpus"
	[[ ${got% *} -ge ${all% *} && ${got#* } -ge ${all#* } && ${got% *} -ge ${own% *} && ${got#* } -ge ${own#* } ]] || {
		echo '     something was lost'
		exit 1
	}
}

"$tmp/targets/$name" -max_total_time=15 -reduce_inputs=0 -use_value_profile=1 -seed=1 -rss_limit_mb=1024 \
	"$tmp/found" tests/corpus/libfuzzer_line >"$tmp/log" 2>&1 || {
	tail -n 5 "$tmp/log"
	exit 1
}
# On a busy machine all cells together get the share of one process.
echo "   load average: $(cut -d ' ' -f 1-3 /proc/loadavg)"
for length in "${@:-32768}"; do
	compare "$length"
done
[[ $# -gt 0 ]] || compare 1024
