#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Fuzzing strategies against none: real targets in real cells, with the same CPU time for both sides.
#
# A pair is a group of targets that read one format, and a seed.  With strategies, each target fuzzes
# until none of them pays any more, BUDGET CPU-seconds at most.  Without, it fuzzes in the engine's
# own way for as long as that took.  Both begin with the targets' own seeds and nothing else.  A target
# stands still when it found nothing for WINDOW CPU-seconds.  The edges are those that the program
# itself counts when it reads the corpus that each side saved.  The end is a table, edges with :
# without, and what each strategy found.
#
# usage: FUZZCELL=PROGRAM [VARIABLE=VALUE...] tests/bench/strategies.sh TARGETS_DIR OUT_DIR
#
#	BUDGET=120     CPU-seconds of a target on each side
#	WINDOW=10      CPU-seconds without a new edge
#	SEEDS='1 2 3'  repetitions
#	GROUPS_OF=...  groups, names joined by "+"; the default are those targets of tests/fleet/build.sh
#	               that stand still within two minutes
#	JOBS=2         pairs at once
set -euo pipefail

budget=${BUDGET:-120}
window=${WINDOW:-10}
seeds=${SEEDS:-1 2 3}
jobs=${JOBS:-2}
groups=${GROUPS_OF:-cjson_fuzzer+jansson_fuzzer brotli_fuzzer inflate_fuzzer lz4_fuzzer png_fuzzer
	lwip_fuzzer bunzip_fuzzer sevenzip_fuzzer xz_fuzzer}
if [[ $# -ne 2 || ! $budget =~ ^[1-9][0-9]{0,6}$ || ! $jobs =~ ^[1-9][0-9]?$ ]]; then
	echo 'usage: FUZZCELL=PROGRAM [VARIABLE=VALUE...] tests/bench/strategies.sh TARGETS_DIR OUT_DIR' >&2
	exit 2
fi
fuzzcell=$(realpath "${FUZZCELL:?the program}")
targets=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")

tmp=$(realpath "$(mktemp -d)")
chmod 0755 "$tmp" # the cells' users have to pass
trap 'wait; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

# config STRATEGIES SEED NAME CAP [NAME CAP]...
config() {
	local rule=none strategies=$1 seed=$2
	[[ $1 = false ]] || rule='cpu-silence'
	shift 2
	cat <<-END
		{"run": {"workers": 1, "total_time": "none", "adapt": false, "log_limit": "1GiB", "turn": "30s"},
		 "defaults": {"max_time": "365d", "seed": $seed, "max_crashes": 1000000, "strategies": $strategies,
		  "merge_time": "off", "triage_time": "off", "minimize_time": "off",
		  "plateau": {"rule": "$rule", "window": "${window}s"}},
		 "targets": {"*": {"enabled": false}
	END
	for (( ; $# > 0; )); do
		printf ' , "%s": {"enabled": true, "plateau": {"cap": "%s"}}\n' "$1" "$2"
		shift 2
	done
	echo '}}'
}

# Runs a side; its corpora stay in $tmp/GROUP.SEED.SIDE, its statistics in OUT_DIR.
side() { # SIDE GROUP SEED NAME CAP [NAME CAP]...
	local state=$tmp/$2.$3.$1 status=0 which=$1 group=$2 seed=$3
	shift 3
	mkdir -p "$state"
	config "$([[ $which = with ]] && echo true || echo false)" "$seed" "$@" >"$state.json"
	"$fuzzcell" run --plain --state-dir "$state" --config "$state.json" --targets "$targets" \
		>"$state.said" 2>&1 || status=$?
	if [[ $status -ne 0 && $status -ne 1 && $status -ne 5 ]]; then
		tail -n 20 "$state.said" >&2
		echo "strategies: $group: fuzzcell ended with status $status" >&2
		return 1
	fi
	mkdir -p "$out/$group.$seed.$which"
	cp "$state"/logs/*/*.stats "$state"/logs/*/*.log "$out/$group.$seed.$which/"
}

edges() { # NAME STATE
	(cd "$tmp" && ASAN_OPTIONS=detect_leaks=0 "$targets/$1" -runs=0 -rss_limit_mb=0 "$2/corpus/$1" 2>&1) |
		sed -n 's/.*INITED cov: \([0-9]*\) ft: .*/\1/p'
}

pair() { # GROUP SEED
	local name caps=() names
	local -A cpu
	IFS=+ read -ra names <<<"$1"
	for name in "${names[@]}"; do
		caps+=("$name" "${budget}s")
	done
	side with "$1" "$2" "${caps[@]}"
	caps=()
	for name in "${names[@]}"; do
		cpu[$name]=$(jq .effective_seconds "$out/$1.$2.with/$name.stats")
		caps+=("$name" "$(awk -v c="${cpu[$name]}" 'BEGIN { printf "%dms", c * 1000 }')")
	done
	side without "$1" "$2" "${caps[@]}"
	for name in "${names[@]}"; do
		printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$2" "${cpu[$name]}" \
			"$(edges "$name" "$tmp/$1.$2.with")" "$(edges "$name" "$tmp/$1.$2.without")"
	done >"$out/$1.$2.tsv.part"
	mv "$out/$1.$2.tsv.part" "$out/$1.$2.tsv"
	rm -rf "$tmp/$1.$2".*
}

for seed in $seeds; do
	for group in $groups; do
		[[ ! -s $out/$group.$seed.tsv ]] || continue
		while [[ $(jobs -rp | wc -l) -ge $jobs ]]; do
			wait -n
		done
		pair "$group" "$seed" &
	done
done
wait

cat "$out"/*.tsv | awk -F'\t' '
	function line(name, k, c, a, b, least) {
		printf "%-22s %5d %7.0f %8.0f %8.0f %7.3f %7.3f\n", name, k, c / k, a / k, b / k, a / b, least
	}
	{
		if (!n[$1]++) order[++all] = $1
		cpu[$1] += $3; with[$1] += $4; without[$1] += $5
		if (n[$1] == 1 || $4 / $5 < least[$1]) least[$1] = $4 / $5
	}
	END {
		printf "%-22s %5s %7s %8s %8s %7s %7s\n", "target", "pairs", "cpu-s", "with", "without", "ratio", "least"
		for (i = 1; i <= all; i++) {
			t = order[i]
			line(t, n[t], cpu[t], with[t], without[t], least[t])
			c += cpu[t] / n[t]; a += with[t] / n[t]; b += without[t] / n[t]
		}
		if (all) printf "%-22s %5s %7.0f %8.0f %8.0f %7.3f\n", "sum", "", c, a, b, a / b
	}'
echo
jq -r '.strategies | to_entries[] | [.key, .value.cpu_seconds, .value.edges] | @tsv' "$out"/*.with/*.stats |
	awk -F'\t' '
	{ if (!n[$1]++) order[++all] = $1; cpu[$1] += $2; edges[$1] += $3; paid[$1] += $3 > 0 }
	END {
		printf "%-22s %6s %8s %8s %6s\n", "strategy", "tried", "cpu-s", "edges", "found"
		for (i = 1; i <= all; i++) {
			s = order[i]
			printf "%-22s %6d %8.0f %8d %6d\n", s, n[s], cpu[s], edges[s], paid[s]
		}
	}'
