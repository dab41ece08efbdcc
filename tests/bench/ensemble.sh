#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Two engines under one budget against each of them alone: real targets in real cells, with the same
# CPU time for every side.
#
# The sides are libFuzzer alone, AFL++ (with CMPLOG) alone, and both: the libFuzzer build is the main
# build and AFL++'s takes turns with it.  All begin with the target's own seeds and nothing else, and
# are stopped after BUDGET CPU-seconds of their run's group.  The edges are those that the libFuzzer
# build counts when it reads the corpora that a side saved.
#
# usage: FUZZCELL=PROGRAM [VARIABLE=VALUE...] tests/bench/ensemble.sh TARGETS_DIR OUT_DIR
#        FUZZCELL=PROGRAM tests/bench/ensemble.sh --table OUT_DIR
#
#	TARGETS_DIR    address/NAME, afl/NAME and afl/NAME.cmplog for each target; if it does not exist,
#	               the fleet is built there, which takes half an hour
#	BUDGET=120     CPU-seconds of a side
#	SEEDS='1 2 3'  repetitions
#	TARGETS=...    names; the default are all programs in TARGETS_DIR/address
#	JOBS=2         sides at once
set -euo pipefail

usage() {
	echo 'usage: FUZZCELL=PROGRAM [VARIABLE=VALUE...] tests/bench/ensemble.sh TARGETS_DIR|--table OUT_DIR' >&2
	exit 2
}

budget=${BUDGET:-120}
seeds=${SEEDS:-1 2 3}
jobs=${JOBS:-2}
[[ $# -eq 2 && $budget =~ ^[1-9][0-9]{0,6}$ && $jobs =~ ^[1-9][0-9]?$ ]] || usage
mkdir -p "$2"
out=$(realpath "$2")

table() {
	sort "$out"/*.tsv | awk -F'\t' '
	function line(name, k, a, b, c, best) {
		best = a > b ? a : b
		printf "%-22s %6s %10.0f %8.0f %8.0f %8.3f %10.3f\n", name, k, a, b, c, c / best, c / a
	}
	{
		if (!n[$1]++) order[++all] = $1
		lf[$1] += $4; af[$1] += $5; both[$1] += $6
	}
	END {
		printf "%-22s %6s %10s %8s %8s %8s %10s\n", "target", "seeds", "libFuzzer", "AFL++", "both",
			": better", ": libFuzzer"
		for (i = 1; i <= all; i++) {
			t = order[i]
			line(t, n[t], lf[t] / n[t], af[t] / n[t], both[t] / n[t])
			a += lf[t] / n[t]; b += af[t] / n[t]; c += both[t] / n[t]
			m += (lf[t] > af[t] ? lf[t] : af[t]) / n[t]
		}
		if (!all) exit
		printf "%-22s %6s %10.0f %8.0f %8.0f %8.3f %10.3f\n", "sum", "", a, b, c, c / m, c / a
	}'
}

if [[ $1 = --table ]]; then
	table
	exit
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
fuzzcell=$(realpath "${FUZZCELL:?the program}")

# Builds all real targets three times: for libFuzzer, for AFL++, and for its CMPLOG.
build() { # TARGETS_DIR
	local lib file
	for lib in "$here/../../examples" "$here/../fleet/libraries"; do
		"$lib/build.sh" "$1.libfuzzer" address
		FUZZCC=afl-clang-fast "$lib/build.sh" "$1.afl" address
		AFL_LLVM_CMPLOG=1 FUZZCC=afl-clang-fast "$lib/build.sh" "$1.cmplog" address
	done
	mkdir -p "$1"
	cp -R "$1.libfuzzer/address" "$1/address"
	cp -R "$1.afl/address" "$1/afl"
	for file in "$1.cmplog"/address/*_fuzzer; do
		cp "$file" "$1/afl/${file##*/}.cmplog"
	done
}

[[ -d $1 ]] || build "$1"
targets=$(realpath "$1")
tmp=$(realpath "$(mktemp -d)")
chmod 0755 "$tmp" # the cells' users have to pass
trap 'wait; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

config() { # SEED
	cat <<-END
		{"run": {"workers": 1, "total_time": "none", "adapt": false, "log_limit": "1GiB", "turn": "20s"},
		 "defaults": {"max_time": "365d", "seed": $1, "max_crashes": 1000000, "strategies": false,
		  "merge_time": "off", "triage_time": "off", "minimize_time": "off",
		  "plateau": {"rule": "none"}}}
	END
}

# Where the run's group tells its CPU time, of cells that are gone, too.
group_of() { # STATE
	find /sys/fs/cgroup -type d -path "*/fuzzcell/s-$(printf %s "$1" | sha1sum | head -c 16)" -prune \
		-exec grep -qs usage_usec '{}/cpu.stat' \; -print -quit 2>/dev/null || true
}

cpu_of() { # GROUP
	sed -n 's/^usage_usec //p' "$1/cpu.stat" 2>/dev/null || true
}

# Runs a side until it has used its CPU time, which it prints in seconds.
side() { # SIDE NAME SEED
	local state=$tmp/$2.$3.$1 pid cpu=0 now group='' status=0
	mkdir -p "$state" "$state.out"
	case $1 in
	libfuzzer) ln "$targets/address/$2"* "$state.out/" ;;
	afl) ln "$targets/afl/$2"* "$state.out/" ;;
	both)
		mkdir "$state.out/address" "$state.out/afl"
		ln "$targets/address/$2"* "$state.out/address/"
		ln "$targets/afl/$2"* "$state.out/afl/"
		;;
	esac
	config "$3" >"$state.json"
	setpriv --pdeathsig TERM "$fuzzcell" run --plain --state-dir "$state" --config "$state.json" \
		--targets "$state.out" >"$state.said" 2>&1 &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		[[ -n $group ]] || group=$(group_of "$state")
		now=$([[ -z $group ]] || cpu_of "$group")
		cpu=${now:-$cpu}
		[[ $cpu -lt $((budget * 1000000)) ]] || break
		sleep 0.5
	done
	kill -TERM "$pid" 2>/dev/null || true
	wait "$pid" || status=$?
	if [[ $status -ne 0 && $status -ne 1 && $status -ne 5 ]]; then
		tail -n 20 "$state.said" >&2
		echo "ensemble: $2: fuzzcell ended with status $status" >&2
		return 1
	fi
	mkdir -p "$out/$2.$3.$1"
	cp "$state"/logs/*/*.stats "$out/$2.$3.$1/"
	awk -v c="$cpu" 'BEGIN { printf "%.0f", c / 1000000 }'
}

edges() { # NAME STATE
	(cd "$tmp" && ASAN_OPTIONS=detect_leaks=0 "$targets/address/$1" -runs=0 -rss_limit_mb=0 "$2"/corpus/*/ 2>&1) |
		sed -n 's/.*INITED cov: \([0-9]*\) ft: .*/\1/p'
}

three() { # NAME SEED
	local which found='' cpu=''
	for which in libfuzzer afl both; do
		cpu+=" $(side "$which" "$1" "$2")"
		found+=$'\t'$(edges "$1" "$tmp/$1.$2.$which")
		rm -rf "$tmp/$1.$2.$which" "$tmp/$1.$2.$which".*
	done
	printf '%s\t%s\t%s%s\n' "$1" "$2" "${cpu# }" "$found" >"$out/$1.$2.tsv.part"
	mv "$out/$1.$2.tsv.part" "$out/$1.$2.tsv"
}

names=${TARGETS:-$(cd "$targets/address" && find . -maxdepth 1 -name '*_fuzzer' -printf '%f\n' | sort)}
for seed in $seeds; do
	for name in $names; do
		[[ ! -s $out/$name.$seed.tsv ]] || continue
		while [[ $(jobs -rp | wc -l) -ge $jobs ]]; do
			wait -n
		done
		three "$name" "$seed" &
	done
done
wait
table
