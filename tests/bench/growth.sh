#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# make bench-growth: how the cost grows with the number of targets, inputs and crashes.
#
#   targets   a run of RUN_SECONDS over 100, 1,000 and 2,000 targets: its time beyond RUN_SECONDS,
#             discovery included; fuzzcell's own CPU time and memory; all pages
#   inputs    a merge of 10,000 and 100,000 inputs by two workers, against libFuzzer's own
#   crashes   with 100, 1,000 and 10,000 known crashes: the list, one crash, the triage of one more
#             artifact, the page of all crashes and the page of one crash
#
# usage: [B=build] tests/bench/growth.sh [PART...]      needs root, $B/fuzzcell, $B/targets
#        TARGETS="100 1000 2000" INPUTS="10000 100000" CRASHES="100 1000 10000" RUN_SECONDS=30
#        BUSY=1: another process keeps the disk busy meanwhile
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/bench/calc.sh
. tests/bench/calc.sh
B=$(realpath "${B:-build}")
seconds=${RUN_SECONDS:-30}
tmp=$(mktemp -d)
busy=
trap '[[ -z $busy ]] || kill "$busy"; rm -rf "$tmp"' EXIT
chmod 0755 "$tmp"

fresh_state() { # [DEFAULTS]
	rm -rf "$tmp/state"
	mkdir "$tmp/state"
	printf '{"run": {"disk_reserve": "64MiB", "workers": 2}, "defaults": {%s}}\n' "${1:-}" \
		>"$tmp/state/config.json"
}

seconds_of() { # COMMAND...: its output goes to $tmp/out
	local begin status=0
	begin=$(now)
	"$@" >"$tmp/out" 2>&1 || status=$?
	[[ $status == 0 || $status == 5 ]] || { # 5: some targets got no time to fuzz
		cat "$tmp/out" >&2
		exit 1
	}
	calc %.2f "$(now) - $begin"
}

# Writes files of 4 MiB, one after the other, each on disk before the next.
keep_disk_busy() {
	while :; do
		dd if=/dev/zero of="$tmp/busy" bs=1M count=4 conv=fsync 2>"$tmp/busy.log"
	done
}

targets() {
	local n took pages cpu mib
	echo "targets: a run of $seconds s on two workers"
	printf '   %8s %18s %14s %10s %14s\n' targets 'seconds beyond it' 'CPU, %' 'MiB' 'all pages, s'
	for n in ${TARGETS:-100 1000 2000}; do
		fresh_state
		rm -rf "$tmp/targets"
		mkdir "$tmp/targets"
		cp "$B/targets/healthy_fuzzer" "$tmp/binary"
		for ((i = 0; i < n; i++)); do ln "$tmp/binary" "$tmp/targets/g${i}_fuzzer"; done
		took=$(seconds_of "$B/fuzzcell" run --plain --state-dir "$tmp/state" \
			--targets "$tmp/targets" --max-total-time "${seconds}s")
		sed -n 's/.*fuzzcell itself: \([0-9.]*\)% of a CPU, \([0-9.]*\)MiB$/\1 \2/p' \
			"$tmp/out" >"$tmp/own"
		read -r cpu mib <"$tmp/own"
		rm -rf "$tmp/site"
		pages=$(seconds_of "$B/fuzzcell" serve --state-dir "$tmp/state" --export "$tmp/site")
		printf '   %8d %18s %14s %10s %14s\n' "$n" "$(calc %.2f "$took - $seconds")" \
			"$cpu" "$mib" "$pages"
	done
}

inputs() {
	local n
	echo 'inputs: a merge on two workers against libFuzzer in one process; inputs of up to 64 bytes'
	for n in ${INPUTS:-10000 100000}; do
		echo "   $n inputs"
		INPUTS=$n PAIRS=${PAIRS:-1} B=$B tests/bench/merge.sh 64 | sed 's/^/   /'
	done
}

# many N: makes N copies of the one known crash, each at another place.
many() {
	local line
	line=$(sed -n 's/^  "[0-9a-f]\{16\}": \({.*}\),\{0,1\}$/\1/p' "$tmp/one/known_crashes.json")
	LINE=$line awk -v n="$1" 'BEGIN {
		print "{"
		for (i = 0; i < n; i++) {
			sig = sprintf("%016x", i + 1)
			own = ENVIRON["LINE"]
			gsub(/alpha/, "function_" i, own)
			gsub(/crashes\/[0-9a-f]+\//, "crashes/" sig "/", own)
			sub(/"bug": "[0-9a-f]+"/, "\"bug\": \"" sig "\"", own)
			sub(/"raw_keys": \[[^]]*\]/, "\"raw_keys\": [\"twenty_fuzzer:" sig "\"]", own)
			printf "  \"%s\": %s%s\n", sig, own, i < n - 1 ? "," : ""
		}
		print "}"
	}' >"$tmp/state/known_crashes.json"
	mkdir -p "$tmp/state/crashes"
	for ((i = 1; i <= $1; i++)); do
		printf -v sig %016x "$i"
		mkdir "$tmp/state/crashes/$sig"
		ln "$tmp"/one/crashes/*/input "$tmp"/one/crashes/*/report.txt "$tmp/state/crashes/$sig/"
	done
}

artifact() { # STATE TEXT
	local sum
	sum=$(printf %s "$2" | sha1sum)
	mkdir -p "$1/triage/twenty_fuzzer"
	printf %s "$2" >"$1/triage/twenty_fuzzer/crash-${sum%% *}"
}

triage() { # STATE
	seconds_of "$B/fuzzcell" crash triage --state-dir "$1" --targets "$tmp/twenty"
}

crashes() {
	local n list show more pages
	mkdir "$tmp/twenty"
	cp "$B/targets/twenty_fuzzer" "$tmp/twenty/"
	fresh_state '"minimize_time": "off"'
	artifact "$tmp/state" 'BUGA x'
	triage "$tmp/state" >/dev/null
	mv "$tmp/state" "$tmp/one"
	echo 'crashes: seconds'
	printf '   %8s %8s %8s %14s %18s %8s\n' crashes list show 'triage of one' 'all pages' 'MiB'
	for n in ${CRASHES:-100 1000 10000}; do
		fresh_state '"minimize_time": "off"'
		many "$n"
		list=$(seconds_of "$B/fuzzcell" crash list --state-dir "$tmp/state")
		[[ $(grep -c function_ "$tmp/out") == "$n" ]] || { head "$tmp/out" >&2; exit 1; }
		show=$(seconds_of "$B/fuzzcell" crash show 0000000000000001 --state-dir "$tmp/state")
		artifact "$tmp/state" 'BUGB x'
		more=$(triage "$tmp/state")
		rm -rf "$tmp/site"
		pages=$(seconds_of "$B/fuzzcell" serve --state-dir "$tmp/state" --export "$tmp/site")
		printf '   %8d %8s %8s %14s %18s %8s\n' "$n" "$list" "$show" "$more" "$pages" \
			"$(du -sm "$tmp/state" | cut -f 1)"
	done
}

if [[ -n ${BUSY:-} ]]; then
	keep_disk_busy &
	busy=$!
fi
[[ $# -gt 0 ]] || set -- targets inputs crashes
for part in "$@"; do
	"$part"
done
