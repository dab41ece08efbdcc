# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Time and numbers for the measuring scripts.

now() { date +%s.%N; }

# calc FORMAT EXPRESSIONS: one number or several, as awk prints them.
calc() { awk "BEGIN { printf \"$1\", $2 }"; }

# quantile SHARE: of the numbers on standard input, one per line; interpolates between two numbers.
quantile() {
	sort -n | awk -v share="$1" '{ v[NR] = $1 } END {
		at = 1 + (NR - 1) * share
		i = int(at)
		print v[i] + (i < NR ? (at - i) * (v[i + 1] - v[i]) : 0)
	}'
}

median() { quantile 0.5; }
