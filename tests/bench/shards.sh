#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Shards against one machine: real targets in real cells, with the same sum of CPU time.
#
#	shards    SHARDS shards fuzz for TIME each, in one round: plan, run, collect
#	rounds    the same time in three rounds
#	machine   one run on one machine, until its cells have used as much CPU time as the shards
#
# All begin with the targets' own seeds and nothing else.  A shard and the machine have one worker.
# The shards run one after the other.  The edges are those that the program counts when it reads the
# corpora that a side saved.  "duplicate" is the share of the collected inputs that the merges threw
# away, because others reach as much.
#
# usage: FUZZCELL=PROGRAM [VARIABLE=VALUE...] tests/bench/shards.sh TARGETS_DIR OUT_DIR
#        tests/bench/shards.sh --table OUT_DIR
#
#	SHARDS=4
#	TIME=240       seconds of a shard
#	REPEATS='1 2 3'
#	TARGETS=...    names; the default are eight targets of tests/fleet/build.sh that still grow
#	JOBS=2         repetitions at once
set -euo pipefail

shards=${SHARDS:-4}
seconds=${TIME:-240}
repeats=${REPEATS:-1 2 3}
jobs=${JOBS:-2}
names=${TARGETS:-brotli_fuzzer cmark_fuzzer expat_fuzzer freetype_fuzzer libyaml_fuzzer lua_fuzzer
	pcre2_fuzzer xml2_fuzzer}
if [[ $# -ne 2 || ! $seconds =~ ^[1-9][0-9]{0,6}$ || ! $shards =~ ^[1-9][0-9]{0,2}$ ||
	! $jobs =~ ^[1-9][0-9]?$ ]]; then
	echo 'usage: FUZZCELL=PROGRAM [VARIABLE=VALUE...] tests/bench/shards.sh TARGETS_DIR|--table OUT_DIR' >&2
	exit 2
fi
mkdir -p "$2"
out=$(realpath "$2")

# Lines of OUT_DIR/REPEAT.tsv: target, repetition, edges of the machine, the shards and the rounds;
# "#cpu" and "#duplicate": the same of all targets.
table() {
	sort "$out"/*.tsv | awk -F'\t' '
	function line(name, k, a, b, c) {
		printf "%-22s %7s %9.0f %9.0f %9.0f %11.3f %11.3f\n", name, k, a, b, c, b / a, c / a
	}
	/^#cpu/ { runs++; cpu[1] += $3; cpu[2] += $4; cpu[3] += $5; next }
	/^#duplicate/ { double[2] += $4; double[3] += $5; next }
	{
		if (!n[$1]++) order[++all] = $1
		one[$1] += $3; shards[$1] += $4; rounds[$1] += $5
	}
	END {
		printf "%-22s %7s %9s %9s %9s %11s %11s\n", "target", "repeats", "machine", "shards", "rounds",
			"shards : 1", "rounds : 1"
		for (i = 1; i <= all; i++) {
			t = order[i]
			line(t, n[t], one[t] / n[t], shards[t] / n[t], rounds[t] / n[t])
			a += one[t] / n[t]; b += shards[t] / n[t]; c += rounds[t] / n[t]
		}
		if (!runs) exit
		line("sum", "", a, b, c)
		line("CPU-seconds", runs, cpu[1] / runs, cpu[2] / runs, cpu[3] / runs)
		printf "%-22s %7s %9s %8.0f%% %8.0f%%\n", "duplicate", runs, "", double[2] / runs, double[3] / runs
	}'
}

if [[ $1 = --table ]]; then
	table
	exit
fi
fuzzcell=$(realpath "${FUZZCELL:?the program}")
targets=$(realpath "$1")
tmp=$(realpath "$(mktemp -d)")
chmod 0755 "$tmp" # the cells' users have to pass
trap 'wait; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
for name in $names; do
	[[ -x $targets/$name ]] || {
		echo "shards: '$targets/$name' is missing: build it with tests/fleet/build.sh" >&2
		exit 1
	}
done

config() {
	cat <<-END
		{"run": {"workers": 1, "adapt": false, "log_limit": "1GiB"},
		 "defaults": {"max_time": "365d", "max_crashes": 1000000, "triage_time": "off", "minimize_time": "off",
		  "plateau": {"rule": "none"}},
		 "targets": {"*": {"enabled": false}
	END
	# shellcheck disable=SC2086 # names
	printf ', "%s": {"enabled": true}\n' $names
	echo '}}'
}
config >"$tmp/config.json"

# call DIR COMMAND...: its messages go to DIR.said.  New crashes (1) and targets that did not fuzz
# (5) do not spoil the measurement.
call() {
	local said=$1.said status=0
	shift
	"$fuzzcell" "$@" >>"$said" 2>&1 || status=$?
	[[ $status -eq 0 || $status -eq 1 || $status -eq 5 ]] || {
		tail -n 20 "$said" >&2
		echo "shards: fuzzcell $1 ended with status $status" >&2
		return 1
	}
}

# The CPU time of all cells of all runs in these state directories, in seconds.
cpu_of() { # STATE...
	find "$@" -name '*.stats' -exec jq .cpu_seconds {} + | awk '{ s += $1 } END { printf "%.0f\n", s }'
}

round() { # STATE SECONDS
	local i common=(--config "$tmp/config.json" --targets "$targets")
	call "$1" plan --shards "$shards" --workers 1 --time "$2s" --state-dir "$1" "${common[@]}" -o "$1.plan"
	for ((i = 1; i <= shards; i++)); do
		call "$1" run --plain --plan "$1.plan" --shard "$i/$shards" --base "$1" --state-dir "$1.local/$i" \
			"${common[@]}" --deltas "$1.deltas"
	done
	"$fuzzcell" collect --remove --json --state-dir "$1" "${common[@]}" "$1.deltas" >>"$1.collected" 2>>"$1.said"
	cpu_of "$1.local" >>"$1.cpu"
	rm -rf "$1.local"
}

# Prints the CPU time and the share of duplicates.
rounds() { # STATE ROUNDS
	local i
	mkdir -p "$1" "$1.deltas"
	for ((i = 0; i < $2; i++)); do
		mkdir "$1.local"
		round "$1" $((seconds / $2))
	done
	awk '{ s += $1 } END { printf "%d ", s }' "$1.cpu"
	jq -rs '100 * (1 - (map(.kept) | add) / (map(.inputs) | add)) | round' "$1.collected"
}

# Where the run's group tells its CPU time, of cells that are gone, too.
group_of() { # STATE
	find /sys/fs/cgroup -type d -path "*/fuzzcell/s-$(printf %s "$1" | sha1sum | head -c 16)" -prune \
		-exec grep -qs usage_usec '{}/cpu.stat' \; -print -quit 2>/dev/null || true
}

# Runs until it has used its CPU time, and prints that of its cells.
machine() { # STATE CPU_SECONDS
	local pid group='' used=0
	mkdir -p "$1"
	call "$1" run --plain --state-dir "$1" --config "$tmp/config.json" --targets "$targets" \
		--max-total-time "$((seconds * shards * 5 / 4))s" &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		[[ -n $group ]] || group=$(group_of "$1")
		[[ -z $group ]] || used=$(sed -n 's/^usage_usec //p' "$group/cpu.stat" 2>/dev/null || true)
		[[ ${used:-0} -lt $(($2 * 1000000)) ]] || break
		sleep 0.5
	done
	[[ -z $group ]] || pkill -TERM -P "$pid" || true
	wait "$pid"
	cpu_of "$1"
}

edges() { # NAME STATE
	(cd "$tmp" && ASAN_OPTIONS=detect_leaks=0 "$targets/$1" -runs=0 -rss_limit_mb=0 "$2/corpus/$1" 2>&1) |
		sed -n 's/.*INITED cov: \([0-9]*\) ft: .*/\1/p'
}

repeat() { # NUMBER
	local at=$tmp/$1 name one many several
	rounds "$at.shards" 1 >"$at.many"
	rounds "$at.rounds" 3 >"$at.several"
	read -r -a many <"$at.many"
	read -r -a several <"$at.several"
	machine "$at.machine" "${many[0]}" >"$at.one"
	read -r one <"$at.one"
	{
		for name in $names; do
			printf '%s\t%s' "$name" "$1"
			printf '\t%s' "$(edges "$name" "$at.machine")" "$(edges "$name" "$at.shards")" \
				"$(edges "$name" "$at.rounds")"
			echo
		done
		printf '#cpu\t%s\t%s\t%s\t%s\n' "$1" "$one" "${many[0]}" "${several[0]}"
		printf '#duplicate\t%s\t\t%s\t%s\n' "$1" "${many[1]}" "${several[1]}"
	} >"$out/$1.part"
	cp "$at".*.said "$out/"
	mv "$out/$1.part" "$out/$1.tsv"
	rm -rf "${at:?}".*
}

for number in $repeats; do
	[[ ! -s $out/$number.tsv ]] || continue
	while [[ $(jobs -rp | wc -l) -ge $jobs ]]; do
		wait -n
	done
	repeat "$number" &
done
wait
for number in $repeats; do
	[[ -s $out/$number.tsv ]] || exit 1
done
table
