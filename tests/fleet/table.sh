#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the curves say, as the table of README.md: edges in all, inputs per CPU-second,
# edges reached after 1, 2 and 4 CPU-minutes, and the CPU-seconds at which half and nine
# tenths of what the record ends with were reached.  -: the record is shorter.
#
# usage: tests/fleet/table.sh [CURVE.tsv...]    default: all in curves/
set -eu

[ $# -gt 0 ] || set -- "$(dirname "$0")"/curves/*.tsv
awk -F '\t' '
	function show(last, half, most, i) {
		last = cov[n]
		for (i = n; i > 0; i--) {
			if (2 * cov[i] >= last) half = at[i]
			if (10 * cov[i] >= 9 * last) most = at[i]
		}
		for (i = 60; i <= 240; i *= 2)
			if (at[n] < i) after[i] = "-"
		printf "| %s | %s | %d | %d | %s | %s | %s | %.4g | %.4g |\n", name, source, edges,
			execs / at[n], after[60], after[120], after[240], half, most
	}
	FNR == 1 {
		if (n) show()
		n = 0
		split("", after)
		split($0, w, " ")
		for (i in w) {
			split(w[i], kv, "=")
			if (kv[1] == "target") name = kv[2]
			if (kv[1] == "source") source = kv[2]
			if (kv[1] == "edges") edges = kv[2]
		}
		next
	}
	{
		at[++n] = $1
		cov[n] = $2
		execs = $4
		for (t = 60; t <= 240; t *= 2)
			if ($1 <= 1.01 * t) after[t] = $2
	}
	END {
		if (n) show()
	}
	BEGIN {
		print "| target | source | edges | exec/CPU-s | 60 s | 120 s | 240 s | half at | 9/10 at |"
		print "|---|---|---|---|---|---|---|---|---|"
	}' "$@"
