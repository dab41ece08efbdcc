#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# make bench: the cost of cells, compared with a bare baseline in the same run.
#
#   1. throughput: the same target, seed and -runs, bare and in a cell, in many short
#      pairs; by the clock, and by CPU time
#   2. start: from "decided to start" to the first line, against bare `crun run`
#   3. fuzzcell's own CPU and memory while 2, 16 and 64 cells run
#   4. triage: a thousand artifacts of twenty bugs, against a plain loop that runs each once
#   5. merge: ten thousand inputs on two workers, against libFuzzer's own merge
#   6. dashboard: its pages on 1,000 runs of 100 targets
#   7. live view: its cost for a run of 64 cells, and for the viewer
#   8. memory: fuzzcell's own, while 64 cells fail, flood their logs and fuzz
#   9. parser: its speed for real crash reports
#  10. coverage: the report of ten thousand inputs, against running them bare
#  11. engines: as 1, for AFL++ and Go where they are installed
#  12. shards: a plan for many, and collecting what they give, against unpacking it
#
# usage: [B=build] [PAIRS=21] [RUNS=400000] [SECONDS_EACH=30] [ONLY=4] ci/bench.sh
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tests/bench/calc.sh
. tests/bench/calc.sh
B=$(realpath "${B:-build}")
pairs=${PAIRS:-21}
runs=${RUNS:-400000} # about a second
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
	# The steps after fuzzing are measured in other parts.
	printf '{"run": {"disk_reserve": "64MiB"%s}, "defaults": {"merge_time": "off", "auto_dictionary": "off", %s}}\n' \
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

ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

# in_cell RUNS, bare RUNS: "SECONDS CPU_SECONDS" of one process.
in_cell() {
	state "\"memory\": \"512MiB\", \"seed\": 1, \"runs\": $1, \"max_time\": \"20m\", \"plateau\": \"none\""
	run --targets "$tmp/targets"
	echo "$(value cell_seconds "$logs/healthy_fuzzer.stats") $(value cpu_seconds "$logs/healthy_fuzzer.stats")"
}

# Runs the cell's command line with the host's paths.
bare() {
	local command TIMEFORMAT='%R %U %S'
	mkdir -p "$tmp/bare/corpus" "$tmp/bare/artifacts" "$tmp/bare/seeds"
	command=$(sed -n 's/^\[fuzzcell\] command: //p' "$tmp/command" | head -n 1 |
		sed "s#/target/#$tmp/targets/#; s#/work/corpus#$tmp/bare/corpus#g; s#-runs=[0-9]*#-runs=$1#
			s#/work/artifacts#$tmp/bare/artifacts#g; s#/seeds/0#$tmp/bare/seeds#g")
	# shellcheck disable=SC2086 # a recorded command line
	{ time env -i $command >"$tmp/bare.log" 2>&1; } 2>"$tmp/time"
	awk '{ print $1, $2 + $3 }' "$tmp/time"
	rm -rf "$tmp/bare"
}

# pairs NUMBER RUNS: "bare SECONDS CPU cell SECONDS CPU" lines.  Disturbances by the host affect
# both runs of a pair; the order alternates.
pairs() {
	local i b c
	for i in $(seq "$1"); do
		[[ $((i % 2)) = 0 ]] || b=$(bare "$2")
		c=$(in_cell "$2")
		[[ $((i % 2)) = 1 ]] || b=$(bare "$2")
		echo "bare $b cell $c"
	done
}

column() { awk -v n="$1" '{ print $n }' "$2"; } # N FILE

# cells N BARE CELL: the ratio cell : bare of the pairs, by columns N and N + 3, less the starts.
cells() {
	awk -v n="$1" -v bare="$2" -v cell="$3" '{ print ($n - bare) / ($(n + 3) - cell) }' "$tmp/pairs" >"$tmp/ratios"
	printf '%.3f (quartiles %.3f and %.3f)' "$(median <"$tmp/ratios")" \
		"$(quantile 0.25 <"$tmp/ratios")" "$(quantile 0.75 <"$tmp/ratios")"
}

throughput() {
	local n less=()
	echo "1. throughput: healthy_fuzzer, -seed=1 -runs=$runs, $pairs pairs"
	in_cell 1 >/dev/null # its log has the command
	cp "$logs/healthy_fuzzer.log" "$tmp/command"
	pairs 5 1 >"$tmp/starts"
	for n in 2 3 5 6; do
		less+=("$(column "$n" "$tmp/starts" | median)")
	done
	printf '   starts: bare %.3f s, %.3f s of CPU; cell %.3f s, %.3f s of CPU\n' "${less[@]}"
	pairs "$pairs" "$runs" >"$tmp/pairs"
	awk '{ printf "   pair %2d: bare %.2f s, %.2f s of CPU; cell %.2f s, %.2f s of CPU\n", NR, $2, $3, $5, $6 }' "$tmp/pairs"
	echo '   cell : bare, without their starts, which are part 2 (aim: 0.98 or better)'
	echo "     pair by pair, by the clock: median $(cells 2 "${less[0]}" "${less[2]}")"
	echo "     pair by pair, by CPU time:  median $(cells 3 "${less[1]}" "${less[3]}")"
	# Other load on a shared host makes both slower, never faster.
	printf '     fastest quarter of each, by CPU time: %.3f\n' "$(calc %.6f \
		"($(column 3 "$tmp/pairs" | quantile 0.25) - ${less[1]}) / ($(column 6 "$tmp/pairs" | quantile 0.25) - ${less[3]})")"
}

start() {
	echo '2. start, from "decided to start" to the first line'
	"$B/bench/start" 15 "$B/targets/healthy_fuzzer"
}

# copies NUMBER: prints a manifest with NUMBER targets.
copies() {
	local i sep=
	printf '{"targets": ['
	for i in $(seq "$1"); do
		printf '%s{"name": "copy%d", "binary": "targets/healthy_fuzzer"}' "$sep" "$i"
		sep=,
	done
	printf ']}'
}

idle() {
	local n pid before after
	echo "3. fuzzcell itself, while cells run for $each s"
	for n in 2 16 64; do
		copies "$n" >"$tmp/manifest.json"
		state '"memory": "256MiB", "plateau": "none"'
		"$B/fuzzcell" run --plain --state-dir "$tmp/state" --targets "$tmp/manifest.json" \
			--workers "$n" --max-total-time "$(((warm + each + 3) * 10 / 9 + 1))s" >"$tmp/out" 2>&1 &
		pid=$!
		# Measures after all have started: starting 64 cells at once is not part of it.
		sleep "$warm"
		before=$(ticks "$pid")
		sleep "$each"
		after=$(ticks "$pid")
		wait "$pid" || true # the run fails if a cell got no CPU time; this is not measured here
		printf '   %2d cells: %.2f %% of one core, peak %.1f MiB\n' "$n" \
			"$(calc %.6f "($after - $before) * 100 / $(getconf CLK_TCK) / $each")" \
			"$(calc %.6f "$(value own_peak_rss_bytes "$tmp"/state/logs/*/summary.json) / 1048576")"
	done
	echo '   (aim: under 1 % of one core for 16 cells, under 20 MiB)'
}

# Makes artifacts like an engine: fifty inputs for each bug.
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

dashboard() {
	echo '6. dashboard'
	mkdir "$tmp/site"
	"$B/bench/serve" "$tmp/site" | sed 's/^/   /'
}

# A process's CPU time in nanoseconds: ticks are too coarse.
spent() { awk '{ print $1 }' "/proc/$1/schedstat"; }

# look PID SECONDS: "RUN VIEWER", CPU seconds of both while a live view runs for SECONDS.
look() {
	local viewer before seen
	"$B/fuzzcell" status --watch --state-dir "$tmp/state" >"$tmp/watched" &
	viewer=$!
	sleep 1 # the viewer's start does not count
	before=$(spent "$1")
	seen=$(spent "$viewer")
	sleep "$2"
	seen=$(calc %.6f "($(spent "$viewer") - $seen) / 1e9")
	echo "$(calc %.6f "($(spent "$1") - $before) / 1e9") $seen"
	kill "$viewer"
	wait "$viewer" || true
}

# The same without a live view.
leave() {
	local before
	before=$(spent "$1")
	sleep "$2"
	calc '%.6f 0' "($(spent "$1") - $before) / 1e9"
}

# Cells use less CPU time later in a run, so measurements without and with a view come in the order
# without, with, with, without, ...  Each is longer than the periods of a run's periodic work.
live() {
	local pid who last=$each
	echo "7. live view of 64 cells, eight times $last s"
	copies 64 >"$tmp/manifest.json"
	state '"memory": "256MiB", "plateau": "none"'
	"$B/fuzzcell" run --plain --state-dir "$tmp/state" --targets "$tmp/manifest.json" --workers 64 \
		--max-total-time "$(((warm + 9 * last + 40) * 10 / 9 + 1))s" >"$tmp/out" 2>&1 &
	pid=$!
	sleep "$warm"
	for who in leave look look leave leave look look leave; do
		echo "$who $("$who" "$pid" "$last")"
	done >"$tmp/looks"
	"$B/fuzzcell" stop --now --state-dir "$tmp/state" >"$tmp/stopped"
	wait "$pid" || true # as above
	printf '   the run: %.2f %% of a core, %.2f %% with a live view; the viewer: %.2f %%\n' \
		"$(share leave 2 "$last")" "$(share look 2 "$last")" "$(share look 3 "$last")"
	printf '   a live view costs %.2f %% of a core (aim: under 1 %%)\n' "$(calc %.6f \
		"$(share look 2 "$last") - $(share leave 2 "$last") + $(share look 3 "$last")")"
}

# share KIND COLUMN SECONDS: per cent of a core.  The median, because a cell that starts or ends
# meanwhile costs more than the view.
share() { calc %.6f "$(awk -v who="$1" -v n="$2" '$1 == who { print $n }' "$tmp/looks" | median) * 100 / $3"; }

memory() {
	echo '8. memory'
	B=$B tests/bench/memory.sh
}

# Uses reports of planted bugs made here, and those of `make agree` if they exist.
parser() {
	local reports=${REPORTS:-../shared/testdata/crash-reports}
	echo '9. parser, by CPU time'
	CASES='^c[|](address|undefined|none)[|](heap|stack|use|null|wild|shift|assert)' \
		tests/reports/generate.sh "$tmp/reports" "${REPORT_CLANG:-14}" >"$tmp/out" 2>&1 || {
		cat "$tmp/out"
		exit 1
	}
	rm -rf "$tmp/reports/bin"
	"$B/bench/parse" "$tmp"/reports/*/*.{file,seed}
	[[ ! -d $reports ]] || "$B/bench/parse" "$reports"/*.txt
}

coverage() {
	echo '10. coverage: the report of 10,000 inputs, against running them bare in one process for each core (aim: 1.3 times as long)'
	B=$B tests/bench/coverage.sh
}

engines() {
	echo '11. engines (aim: 0.97)'
	B=$B tests/bench/engines.sh
}

# timed COMMAND...: its seconds; what it prints goes to $tmp/out.
timed() {
	local begin
	begin=$(now)
	"$@" >"$tmp/out" || {
		cat "$tmp/out"
		exit 1
	}
	calc %.1f "$(now) - $begin"
}

# Unpacks a sixteenth of the deltas: removing the files of all takes minutes on some disks.
unpack() {
	local delta
	for delta in "$tmp"/deltas/*0.delta.tar.gz; do
		mkdir "$tmp/unpacked/${delta##*/}"
		tar xzf "$delta" -C "$tmp/unpacked/${delta##*/}"
	done
}

shards() {
	local i deltas=${DELTAS:-512} bare took
	echo '12. shards (aims: a plan in 1 s, collecting in 600 s)'
	copies 3000 >"$tmp/manifest.json"
	state '"memory": "256MiB"'
	printf '   a plan of 3000 targets for 512 shards: %s s\n' "$(timed "$B/fuzzcell" plan --shards 512 \
		--state-dir "$tmp/state" --targets "$tmp/manifest.json" -o "$tmp/plan.json")"
	mkdir "$tmp/deltas" "$tmp/unpacked" "$tmp/thirty"
	"$B/bench/deltas" "$tmp/deltas" "$deltas" 1000 30
	for i in {0..29}; do
		ln "$tmp/targets/healthy_fuzzer" "$tmp/thirty/t${i}_fuzzer"
	done
	bare=$(calc %.1f "16 * $(timed unpack)")
	state '"memory": "512MiB"'
	took=$(timed "$B/fuzzcell" collect --no-merge --state-dir "$tmp/state" "$tmp/deltas")
	printf '   collecting %d deltas of 1000 new inputs: %s s; tar would unpack them in %s s; ratio %s\n' \
		"$deltas" "$took" "$bare" "$(calc %.2f "$took / $bare")"
	printf '   collecting them again: %s s\n' \
		"$(timed "$B/fuzzcell" collect --no-merge --state-dir "$tmp/state" "$tmp/deltas")"
	printf '   merging the corpora of 30 targets: %s s\n' \
		"$(timed "$B/fuzzcell" corpus minimize --time 1h --state-dir "$tmp/state" --targets "$tmp/thirty")"
}

for part in throughput start idle triage merge dashboard live memory parser coverage engines shards; do
	n=$((${n:-0} + 1))
	[[ ${ONLY:-$n} != "$n" ]] || "$part"
done
