#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# make bench: what cells cost, against a bare baseline in the same run.
#
#   1. throughput: the same target, seed and -runs, bare and in a cell, alternating
#   2. start: from "decided to start" to the first line, against bare `crun run`
#   3. fuzzcell's own CPU and memory while 2, 16 and 64 cells run
#   4. triage: a thousand artifacts of twenty bugs, against a plain loop that runs each once
#   5. merge: ten thousand inputs on two workers, against libFuzzer's own merge
#
# usage: [B=build] [PAIRS=5] [RUNS=2000000] [SECONDS_EACH=30] [ONLY=4] ci/bench.sh
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
B=$(realpath "${B:-build}")
pairs=${PAIRS:-5}
runs=${RUNS:-2000000}
each=${SECONDS_EACH:-30}
warm=${WARM:-15}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
chmod 0755 "$tmp"

# One target without seeds or dictionary: the same inputs in the same order.
mkdir "$tmp/targets"
cp "$B/targets/healthy_fuzzer" "$tmp/targets/"

state() { # DEFAULTS [RUN]: a fresh state directory
	rm -rf "$tmp/state"
	mkdir "$tmp/state"
	# What comes after fuzzing has parts of its own here.
	printf '{"run": {"disk_reserve": "64MiB"%s}, "defaults": {"merge_time": "off", %s}}\n' \
		"${2:+, $2}" "$1" >"$tmp/state/config.json"
}

run() {
	"$B/fuzzcell" run --plain --state-dir "$tmp/state" "$@" >"$tmp/out" || {
		cat "$tmp/out"
		exit 1
	}
	logs=$(echo "$tmp"/state/logs/*)
}

value() { # KEY FILE
	sed -n 's/^ *"'"$1"'": \([^,]*\),\{0,1\}$/\1/p' "$2" | head -n 1
}

now() { date +%s.%N; }
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
calc() { awk "BEGIN { printf \"$1\", $2 }"; }
median() { sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

in_cell() {
	state "\"memory\": \"512MiB\", \"seed\": 1, \"runs\": $runs, \"max_time\": \"20m\", \"plateau\": \"none\""
	run --targets "$tmp/targets"
	value cell_seconds "$logs/healthy_fuzzer.stats"
}

# The command line that the cell had, with the host's paths.
bare() {
	local command start
	mkdir -p "$tmp/bare/corpus" "$tmp/bare/artifacts" "$tmp/bare/seeds"
	command=$(sed -n 's/^\[fuzzcell\] command: //p' "$tmp/command" | head -n 1 |
		sed "s#/target/#$tmp/targets/#; s#/work/corpus#$tmp/bare/corpus#g;
			s#/work/artifacts#$tmp/bare/artifacts#g; s#/seeds/0#$tmp/bare/seeds#g")
	start=$(now)
	# shellcheck disable=SC2086 # a command line, as it was noted
	env -i $command >"$tmp/bare.log" 2>&1
	calc %.6f "$(now) - $start"
	rm -rf "$tmp/bare"
}

throughput() {
	local b c i
	echo "1. throughput: healthy_fuzzer, -seed=1 -runs=$runs, $pairs pairs"
	in_cell >/dev/null # warm caches; its log has the command
	cp "$logs/healthy_fuzzer.log" "$tmp/command"
	: >"$tmp/ratios"
	for i in $(seq "$pairs"); do
		b=$(bare)
		c=$(in_cell)
		calc "   pair $i: bare %.0f exec/s, " "$runs / $b"
		calc 'cell %.0f exec/s, ' "$runs / $c"
		calc 'ratio %.3f\n' "$b / $c"
		calc '%.6f\n' "$b / $c" >>"$tmp/ratios"
	done
	printf '   cell : bare, median of %d pairs: %.3f (aim: 0.98 or better)\n' "$pairs" "$(median <"$tmp/ratios")"
}

start() {
	echo '2. start, from "decided to start" to the first line'
	"$B/bench/start" 15 "$B/targets/healthy_fuzzer"
}

idle() {
	local n i sep pid before after
	echo "3. fuzzcell itself, while cells run for $each s"
	for n in 2 16 64; do
		{
			printf '{"targets": ['
			for i in $(seq "$n"); do
				printf '%s{"name": "copy%d", "binary": "targets/healthy_fuzzer"}' "${sep:-}" "$i"
				sep=,
			done
			printf ']}'
			sep=
		} >"$tmp/manifest.json"
		state '"memory": "256MiB", "plateau": "none"'
		"$B/fuzzcell" run --plain --state-dir "$tmp/state" --targets "$tmp/manifest.json" \
			--workers "$n" --max-total-time "$(((warm + each + 3) * 10 / 9 + 1))s" >"$tmp/out" 2>&1 &
		pid=$!
		# Once all have started: starting 64 cells at once is another matter.
		sleep "$warm"
		before=$(ticks "$pid")
		sleep "$each"
		after=$(ticks "$pid")
		wait "$pid" || true # a cell that got no CPU at all is not fuzzed: not the question here
		printf '   %2d cells: %.2f %% of one core, peak %.1f MiB\n' "$n" \
			"$(calc %.6f "($after - $before) * 100 / $(getconf CLK_TCK) / $each")" \
			"$(calc %.6f "$(value own_peak_rss_bytes "$tmp"/state/logs/*/summary.json) / 1048576")"
	done
	echo '   (aim: under 1 % of one core for 16 cells, under 20 MiB)'
}

# As if a fuzzer had written them: fifty inputs of each bug.
artifacts() { # DIR
	local letter i text sum
	for letter in A B C D E F G H I J K L M N O P Q R S T; do
		for i in $(seq 50); do
			printf -v text 'BUG%s %*s' "$letter" $((i * 3)) x
			sum=$(printf %s "$text" | sha1sum)
			printf %s "$text" >"$1/crash-${sum%% *}"
		done
	done
}

plain_loop() { # ASAN_OPTIONS
	local begin input
	begin=$(now)
	for input in "$tmp"/state/triage/twenty_fuzzer/*; do
		ASAN_OPTIONS=$1 "$B/targets/twenty_fuzzer" "$input" >/dev/null 2>&1 || true
	done
	calc %.1f "$(now) - $begin"
}

triage() {
	local plain begin took
	echo '4. triage: 1000 artifacts of 20 bugs'
	mkdir "$tmp/twenty"
	cp "$B/targets/twenty_fuzzer" "$tmp/twenty/"
	state '"memory": "512MiB", "minimize_time": "off"'
	mkdir -p "$tmp/state/triage/twenty_fuzzer"
	artifacts "$tmp/state/triage/twenty_fuzzer"
	plain=$(plain_loop symbolize=0)
	begin=$(now)
	"$B/fuzzcell" crash triage --state-dir "$tmp/state" --targets "$tmp/twenty" >"$tmp/out"
	took=$(calc %.1f "$(now) - $begin")
	printf '   %d crashes in %s s; a plain loop that runs each artifact once, without names: %s s; ratio %s\n' \
		"$(jq length "$tmp/state/known_crashes.json")" "$took" "$plain" \
		"$(calc %.2f "$took / $plain")"
	rm -rf "$tmp/state/known_crashes.json" "$tmp/state/crashes"
}

merge() {
	echo '5. merge: libFuzzer in one process, bare, against two cells (aim: faster, and nothing lost)'
	B=$B tests/bench/merge.sh
}

for part in throughput start idle triage merge; do
	n=$((${n:-0} + 1))
	[[ ${ONLY:-$n} != "$n" ]] || "$part"
done
