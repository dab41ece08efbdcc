#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# make bench-contention: the effect of CPU pressure on the decision that a target is done.
#
#   1. contention: a real target with spinning neighbours on its core ends at the same point as
#      alone, and never ends as finished before; compared with the wall rule
#   2. accounting: the time in a cell is its CPU time plus its waiting for a CPU
#   3. gate: a target with a gate that opens after a minute of CPU time gets a quarter of a CPU.
#      It is fuzzed until the gate opens; compared with the wall rule
#
# Each figure is from real cells, and is compared with a quiet run of the same call.  The price
# scales down the rules' times (docs/scheduling.md), and the wall rule's by the same factor.  Status
# 1: a claim does not hold.  Status 2: the machine was too busy to measure.
#
# usage: [B=build] [CORE=n] [RUNS=20] [NEIGHBOURS=7] [TARGET=jansson_fuzzer] [PRICE=15]
#        [GATE_PRICE=0.25] [GATE_CPU=60] tests/bench/contention.sh [contention|accounting|gate...]
#        Needs root, $B/fuzzcell, $B/demo/targets (make examples), $B/targets (make targets).
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/bench/calc.sh
. tests/bench/calc.sh
B=$(realpath "${B:-build}")
core=${CORE:-$(($(nproc) - 1))}
runs=${RUNS:-20}
neighbours=${NEIGHBOURS:-7}
target=${TARGET:-jansson_fuzzer}
price=${PRICE:-15} # with a much higher price it ends before the curve has enough points
gate_price=${GATE_PRICE:-0.25}
gate_cpu=${GATE_CPU:-60} # CPU-seconds
disturbed=${DISTURBED:-0.03} # a quiet run waits for less than this share of its time
quiet_runs=10 # each has its own engine seed; the other runs use the same seeds
within=0.05      # of the quiet run
clearly=0.80     # of its CPU time: a run with less was stopped early
unaccounted=0.02 # of the time in cells
gate_least=100   # edges that only an open gate has

tmp=$(mktemp -d)
pids=() # the neighbours
running= # fuzzcell
seed=1
status=0

# Waits for fuzzcell, which ends its cells.
# shellcheck disable=SC2317 # the trap's
finish() {
	local pid
	for pid in "${pids[@]}" $running; do
		kill "$pid" 2>/dev/null || true
	done
	wait
	rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 1' INT TERM
chmod 0755 "$tmp"

# They end with this shell at the latest.  Each has its own session: in one session the kernel would
# schedule them as one group (sched(7), autogroup).
spin() {
	for _ in $(seq "$neighbours"); do
		setsid setpriv --pdeathsig KILL taskset -c "$core" sh -c 'while :; do :; done' &
		pids+=($!)
	done
}

calm() {
	local pid
	for pid in "${pids[@]}"; do
		kill -KILL "$pid"
		wait "$pid" 2>/dev/null || true
	done
	pids=()
}

verdict() { # WHAT CONDITION: in awk's words
	if awk "BEGIN { exit !($2) }"; then
		printf '     holds: %s\n' "$1"
	else
		printf '     DOES NOT HOLD: %s\n' "$1"
		status=1
	fi
}

state() { # RUN DEFAULTS [TARGETS]: a fresh state directory; $seed is the engine's
	rm -rf "$tmp/state"
	mkdir "$tmp/state"
	printf '{"run": {"disk_reserve": "64MiB", "adapt": false, "hold": "1s", %s},
		"defaults": {"memory": "512MiB", "seed": %d, "merge_time": "off", "triage_time": "off",
		 "auto_dictionary": "off", "strategies": false, %s},
		"targets": {%s}}\n' "$1" "$seed" "$2" "${3:-}" >"$tmp/state/config.json"
}

# The steal time of the core in seconds: when this machine is a guest, its host used the core.
taken() { awk -v core="cpu$core" -v hz="$(getconf CLK_TCK)" '$1 == core { print $9 / hz }' /proc/stat; }

fuzzcell() { # DIR OPTION...: all its processes on the core; sets stolen, the steal time in seconds
	local dir=$1 code=0 before
	shift
	before=$(taken)
	taskset -c "$core" "$B/fuzzcell" run --plain --state-dir "$tmp/state" --targets "$dir" "$@" \
		>"$tmp/out" 2>&1 &
	running=$!
	wait "$running" || code=$?
	running=
	stolen=$(calc %.2f "$(taken) - $before")
	if [[ $code -ne 0 ]]; then
		cat "$tmp/out" >&2
		exit 1
	fi
	logs=$(echo "$tmp"/state/logs/*)
}

value() { # KEY [TARGET]: of the last run
	sed -n 's/^ *"'"$1"'": "\{0,1\}\([^",]*\)"\{0,1\},\{0,1\}$/\1/p' "$logs/${2:-$target}.stats" | head -n 1
}

# one PLATEAU [OPTION...]: the real target under that rule; a line of
# "REASON CPU COV RATE WAITED CELL WALL": CPU-seconds of fuzzing, edges, expected new edges per
# CPU-second, share of time spent waiting, seconds in cells, and the accounted part of them.
one() {
	local plateau=$1
	shift
	state '"workers": 1, "turn": "1s"' "\"max_len\": 128, \"plateau\": {$plateau}"
	fuzzcell "$tmp/targets" "$@"
	echo "$(value reason) $(value cpu_seconds_of_build) $(value cov) $(value edges_per_cpu_second)" \
		"$(value starved_share) $(value cell_seconds) $(value cpu_seconds)" >"$tmp/one"
}

# quiet PLATEAU [OPTION...]: the same; tries again until no other process wanted the core.
quiet() {
	for _ in $(seq 12); do
		one "$@"
		awk -v most="$disturbed" '{ exit !($5 < most) }' "$tmp/one" && return 0
	done
	echo "bench-contention: core $core is not quiet: $(cut -d ' ' -f 5 "$tmp/one") of the time a cell alone waits" >&2
	exit 2
}

column() { cut -d ' ' -f "$1" "$2"; }

# row WHAT FILE CPU COV: medians, also as ratios to the quiet runs.
row() {
	local cpu cov
	cpu=$(column 2 "$2" | median)
	cov=$(column 3 "$2" | median)
	printf '     %-22s %4d %10s %9.2f %7.2f %6.0f %6.3f %7.0f%%   %s\n' "$1" "$(wc -l <"$2")" \
		"$(column 6 "$2" | median | cut -c 1-6) s" "$cpu" "$(calc %.4f "$cpu / $3")" "$cov" \
		"$(calc %.4f "$cov / $4")" "$(calc %.2f "100 * $(column 5 "$2" | median)")" \
		"$(column 1 "$2" | sort | uniq -c | awk '{ printf "%s%s %s", s, $1, $2; s = ", " }')"
}

# Sets window: the wall rule with this window ends a quiet run closest to the price's end.
wall_window() { # CPU
	local w cpu off best=
	for w in 1 2 3 4; do
		quiet "\"rule\": \"wall\", \"window\": \"${w}s\"" --max-fuzzer-time 1m
		cpu=$(column 2 "$tmp/one")
		off=$(calc %.3f "($cpu > $1 ? $cpu / $1 : $1 / $cpu)")
		if [[ -z $best ]] || awk "BEGIN { exit !($off < $best) }"; then
			best=$off
			window=$w
			cp "$tmp/one" "$tmp/wall"
		fi
		! awk "BEGIN { exit !($cpu > $1) }" || break
	done
}

# several N FILE COMMAND...: writes the lines of N runs to FILE.
several() {
	local n=$1 file=$2 i
	shift 2
	: >"$file"
	for i in $(seq "$n"); do
		seed=$(((i - 1) % quiet_runs + 1))
		"$@"
		cat "$tmp/one" >>"$file"
	done
	seed=1
}

contention() {
	local cpu cov

	printf '1. %s, price %s, core %s, %s neighbours\n' "$target" "$price" "$core" "$neighbours"
	printf '     %-22s %4s %10s %9s %7s %6s %6s %8s   %s\n' '(medians)' runs 'in cells' CPU-s ratio edges \
		ratio waited 'ended as'
	several "$quiet_runs" "$tmp/quiet" quiet "\"price\": $price" --max-fuzzer-time 10m
	cpu=$(column 2 "$tmp/quiet" | median)
	cov=$(column 3 "$tmp/quiet" | median)
	row 'price, quiet' "$tmp/quiet" "$cpu" "$cov"
	several "$quiet_runs" "$tmp/again" quiet "\"price\": $price" --max-fuzzer-time 10m
	row 'price, quiet again' "$tmp/again" "$cpu" "$cov"
	wall_window "$cpu"
	row "wall ${window} s, quiet" "$tmp/wall" "$cpu" "$cov"
	spin
	several "$runs" "$tmp/busy" one "\"price\": $price" --max-fuzzer-time 10m
	row 'price, neighbours' "$tmp/busy" "$cpu" "$cov"
	several "$quiet_runs" "$tmp/wallbusy" one "\"rule\": \"wall\", \"window\": \"${window}s\"" --max-fuzzer-time 10m
	calm
	row "wall ${window} s, neighbours" "$tmp/wallbusy" "$cpu" "$cov"
	contention_verdicts
}

# "REASON CPU COV" of each run of FILE; CPU time and edges are ratios to the quiet run of that seed.
paired() { # FILE
	awk 'NR == FNR { n++; cpu[n] = $2; cov[n] = $3; next }
		{ i = (FNR - 1) % n + 1; print $1, $2 / cpu[i], $3 / cov[i] }' "$tmp/quiet" "$1"
}

# "mean 1.000, from 0.900 to 1.100": of a column of FILE.
spread() { # COLUMN FILE
	printf 'mean %.3f, from %.3f to %.3f' "$(column "$1" "$2" | awk '{ s += $1 } END { print s / NR }')" \
		"$(column "$1" "$2" | quantile 0)" "$(column "$1" "$2" | quantile 1)"
}

# Even the time of quiet runs varies by some per cent, as "quiet again" shows.  So a single run
# fails only with clearly less CPU time, and the mean must equal that of the quiet runs.
contention_verdicts() {
	local early wall_early mean low high

	paired "$tmp/again" >"$tmp/pairs_again"
	paired "$tmp/busy" >"$tmp/pairs"
	early=$(awk -v low="$clearly" '$1 == "plateau" && $2 < low { n++ } END { print n + 0 }' "$tmp/pairs")
	wall_early=$(paired "$tmp/wallbusy" | awk -v low="$clearly" '$2 < low { n++ } END { print n + 0 }')
	mean=$(awk '{ s += $2 } END { printf "%.3f", s / NR }' "$tmp/pairs")
	low=$(column 3 "$tmp/pairs" | quantile 0)
	high=$(column 3 "$tmp/pairs" | quantile 1)
	printf '     called finished before its time: price %d of %d, wall %d of %d\n' "$early" "$runs" "$wall_early" "$quiet_runs"
	printf '     over the quiet run of the same seed     CPU time                             edges\n'
	printf '     %-26s %s   %s\n' 'quiet again' "$(spread 2 "$tmp/pairs_again")" "$(spread 3 "$tmp/pairs_again")" \
		"$neighbours neighbours" "$(spread 2 "$tmp/pairs")" "$(spread 3 "$tmp/pairs")"
	verdict "false plateaus by price: $early of $runs" "$early == 0"
	verdict "CPU time at the stop, mean, within 5 %: $mean of the quiet run" "($mean - 1) ^ 2 <= $within ^ 2"
	verdict "coverage within 5 %, in each run: from $(calc %.3f "$low") to $(calc %.3f "$high")" \
		"$low >= 1 - $within && $high <= 1 + $within"
}

# The unaccounted share of a cell's time: without CPU time, waiting and steal time.
balance() { # WHAT
	local off
	# Of neighbours, too, is taken: of the cell its share.
	off=$(awk -v stolen="$stolen" '{ print ($6 - $7 - $5 * $6 - stolen * (1 - $5)) / $6 }' "$tmp/one")
	awk -v what="$1" -v off="$off" -v stolen="$stolen" '{
		printf "     %-22s %6.2f s in the cell = %.2f s CPU time + %.2f s waiting + %.2f s taken by the host + %.2f s (%.2f %%)\n",
		what, $6, $7, $5 * $6, stolen * (1 - $5), off * $6, 100 * off }' "$tmp/one"
	verdict "$1: less than 2 % not accounted for" "($off) ^ 2 < $unaccounted ^ 2"
}

accounting() {
	printf '2. where the time of a cell goes: %s\n' "$target"
	quiet '"rule": "none"' --max-fuzzer-time 20s
	balance quiet
	spin
	one '"rule": "none"' --max-fuzzer-time 30s
	calm
	balance "$neighbours neighbours"
}

# Sets salt and below for a gate that opens after about INPUTS inputs, and opens: the exact input.
find_gate() { # INPUTS
	local out=$tmp/look
	mkdir -p "$tmp/empty"
	GATE_LOOK=$(($1 * 5 / 6)) taskset -c "$core" "$B/targets/gate_fuzzer" -seed=1 -reload=0 -max_len=64 \
		-rss_limit_mb=1024 -runs=$(($1 * 7 / 6)) "$tmp/empty" 2>&1 | grep '^gate: ' >"$out" || true
	read -r salt below opens < <(tr -d : <"$out" | awk -v want="$1" '{
		off = $4 > want ? $4 - want : want - $4
		if (least == "" || off < least) { least = off; best = $2 " " $3 " " $4 }
	} END { print best }')
	[[ -n $opens ]] || {
		echo 'bench-contention: no gate opens near enough' >&2
		exit 1
	}
}

opened() {
	[[ -n $(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$tmp"/state/logs/*/gate_fuzzer.log 2>/dev/null |
		awk -v least="$gate_least" '$1 >= least { print; exit }') ]]
}

# The run ends by itself, or is ended after its gate has opened.
run_gate() {
	local code=0
	taskset -c "$core" "$B/fuzzcell" run --plain --state-dir "$tmp/state" --targets "$tmp/gate" \
		--max-fuzzer-time 20m >"$tmp/out" 2>&1 &
	running=$!
	while kill -0 "$running" 2>/dev/null && ! opened; do
		sleep 0.5
	done
	kill -TERM "$running" 2>/dev/null || true
	wait "$running" || code=$?
	running=
	logs=$(echo "$tmp"/state/logs/*)
	[[ -e $logs/gate_fuzzer.stats && -e $logs/gate_wall_fuzzer.stats ]] || {
		echo "fuzzcell ended with $code"
		cat "$tmp/out"
		exit 1
	} >&2
}

gate_row() { # WHAT TARGET
	printf '     %-22s %8.1f s %8.1f %6d of %d   %s\n' "$1" "$(value cell_seconds "$2")" "$(value cpu_seconds "$2")" \
		"$(value cov "$2")" "$(value edges "$2")" "$(value reason "$2")"
}

gate() {
	local scale rate salt below opens wall

	scale=$(calc %.6f "0.05 / $gate_price")
	wall=$(calc %.0f "600 * $scale")
	rm -rf "$tmp/gate"
	mkdir "$tmp/gate"
	cp "$B/targets/gate_fuzzer" "$tmp/gate/"
	state '"workers": 1' '"max_len": 64, "plateau": "none"'
	fuzzcell "$tmp/gate" --max-fuzzer-time 5s
	rate=$(value execs_per_cpu_second gate_fuzzer)
	find_gate $((rate * gate_cpu))
	cp "$B/targets/gate_fuzzer" "$tmp/gate/gate_wall_fuzzer"
	printf '3. a gate that opens at input %d, after some %d CPU-s; 0.25 CPUs, times %.3g of the default\n' "$opens" \
		$((opens / rate)) "$scale"
	state "\"workers\": 2, \"turn\": \"$(calc %.0f "300 * $scale")s\"" "\"max_len\": 64, \"cpus\": 0.25,
		\"env\": {\"GATE_SALT\": \"$salt\", \"GATE_BELOW\": \"$below\"}, \"plateau\": {\"price\": $gate_price}" \
		"\"gate_wall_fuzzer\": {\"plateau\": {\"rule\": \"wall\", \"window\": \"${wall}s\"}}"
	run_gate
	printf '     %-22s %10s %8s %13s   %s\n' rule 'in cells' CPU-s edges 'ended as'
	gate_row "price $gate_price" gate_fuzzer
	gate_row "wall $wall s" gate_wall_fuzzer
	verdict "by price it was fuzzed until its gate opened" "$(value cov gate_fuzzer) >= $gate_least"
}

[[ $# -gt 0 ]] || set -- contention accounting gate
mkdir "$tmp/targets"
cp "$B/demo/targets/address/$target"* "$tmp/targets/"
echo "   load average: $(cut -d ' ' -f 1-3 /proc/loadavg)"
for part; do
	case $part in
	contention) contention ;;
	accounting) accounting ;;
	gate) gate ;;
	*)
		sed -n 's/^# \{0,1\}//; /^usage/,/^ *Needs/p' "${BASH_SOURCE[0]}" >&2
		exit 2
		;;
	esac
done
exit "$status"
