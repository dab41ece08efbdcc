#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The cost of fuzzing past a known crash: the CPU time until a deep bug is found, with and without
# an easy bug in front of it (tests/targets/behind.h).  The easy bug is a signed overflow, after
# which the program can continue, or a write beyond a block, after which it cannot.  For comparison,
# a plain loop restarts the engine after each failure.
#
# usage: B=build tests/bench/behind.sh
#
# RUNS=5     of each; the median counts.  Each run has other random numbers.
# STAGES=8   bytes in front of the deep bug
set -euo pipefail

B=${B:-build}
runs=${RUNS:-5}
clang=${CLANG:-clang}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
chmod 755 "$tmp"

build() { # EASY
	mkdir -p "$tmp/$1"
	printf '#define BEHIND_EASY BEHIND_%s\n#include "behind.h"\nint LLVMFuzzerTestOneInput(%s)\n{\n\treturn %s;\n}\n' \
		"$1" 'const uint8_t *data, size_t size' 'behind(data, size)' >"$tmp/behind.c"
	"$clang" -std=c11 -D_GNU_SOURCE -g -O1 -fno-omit-frame-pointer -fsanitize=fuzzer,address,undefined \
		-DBEHIND_STAGES="${STAGES:-8}" -I tests/targets "$tmp/behind.c" -o "$tmp/$1/behind_fuzzer"
}

is_known() { [[ -e $tmp/state/known_crashes.json ]] && grep -q behind_deep "$tmp/state/known_crashes.json"; }

# Prints the CPU seconds and the number of failures.
in_cells() { # EASY
	local pid
	rm -rf "$tmp/state"
	mkdir "$tmp/state"
	echo '{"run": {"workers": 1, "disk_reserve": "64MiB"}, "defaults": {"minimize_time": "off", "merge_time": "off",
		"auto_dictionary": "off", "plateau": {"rule": "none"}}}' >"$tmp/state/config.json"
	"$B/fuzzcell" run --plain --state-dir "$tmp/state" --targets "$tmp/$1" --max-total-time 10m >"$tmp/log" 2>&1 &
	pid=$!
	until is_known || ! kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
	is_known || { cat "$tmp/log" >&2; exit 1; }
	kill -INT "$pid"
	wait "$pid" || true
	jq -r '.targets[0] | "\(.cpu_seconds) \(.failures_total)"' "$tmp"/state/logs/2*/summary.json
}

# The same without cells, and without triage of failures.
in_a_loop() { # EASY
	local n=0 before after
	rm -rf "$tmp/corpus" "$tmp/artifacts"
	mkdir "$tmp/corpus" "$tmp/artifacts"
	before=$(cpu)
	until grep -q use-after-free "$tmp/log"; do
		n=$((n + 1))
		(cd "$tmp/artifacts" && ASAN_OPTIONS=symbolize=0 UBSAN_OPTIONS=symbolize=0:halt_on_error=1 \
			"$tmp/$1/behind_fuzzer" -reload=0 "$tmp/corpus" >"$tmp/log" 2>&1) || true
	done
	after=$(cpu)
	awk -v a="$before" -v b="$after" -v n="$n" 'BEGIN { print b - a, n }'
}

# CPU seconds of this shell's children that have ended.
cpu() { awk -v hz="$(getconf CLK_TCK)" '{ print ($16 + $17) / hz }' "/proc/$$/stat"; }

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

base=
printf '%-10s %-8s %12s %8s %10s\n' 'easy bug' 'how' 'CPU seconds' 'ratio' 'failures'
for easy in NOTHING OVERFLOW WRITE; do
	build "$easy"
	for how in in_cells in_a_loop; do
		: >"$tmp/log"
		: >"$tmp/times"
		for ((i = 0; i < runs; i++)); do "$how" "$easy" >>"$tmp/times"; : >"$tmp/log"; done
		cpu=$(cut -d ' ' -f 1 "$tmp/times" | median)
		base=${base:-$cpu}
		printf '%-10s %-8s %12.1f %8.2f %10s\n' "${easy,,}" "${how##*_}" "$cpu" \
			"$(awk -v a="$cpu" -v b="$base" 'BEGIN { print a / b }')" "$(cut -d ' ' -f 2 "$tmp/times" | median)"
	done
done
