#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a cell costs an engine: executions for each CPU-second in a cell : bare, in pairs.  The
# target is the planted healthy one, of AFL++ and of Go; each side fuzzes it from the same seeds for
# SECONDS_EACH.  A cell has one CPU; bare, the engine has one, and then all.  An engine that is not
# installed is left out, and said.
#
# usage: B=build [PAIRS=9] [SECONDS_EACH=8] tests/bench/engines.sh [afl] [go]
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/bench/calc.sh
. tests/bench/calc.sh
B=$(realpath "${B:-build}")
pairs=${PAIRS:-9}
each=${SECONDS_EACH:-8}
core=$(taskset -cp $$ | sed 's/.*[^0-9]//') # the last one
tmp=$(realpath "$(mktemp -d)")
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
chmod 0755 "$tmp"

# Runs a command in $tmp/bare; prints its CPU-seconds.
timed() {
	rm -rf "$tmp/bare"
	mkdir -p "$tmp/bare/seeds"
	printf 0 >"$tmp/bare/seeds/0"
	(
		cd "$tmp/bare"
		"$B/bench/whole" sh -c 'exec "$@" 2>&1' sh "$@" 2>cpu >said
		cat cpu
	)
}

build_afl() {
	command -v afl-clang-fast >/dev/null || return 1
	AFL_QUIET=1 afl-clang-fast -std=c11 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer -I tests/targets \
		-o "$tmp/afl/healthy_fuzzer" tests/targets/healthy_fuzzer.c
}

bare_afl() { # PREFIX...: prints executions and CPU-seconds
	local cpu
	cpu=$(AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_AFFINITY=1 timed \
		"$@" afl-fuzz -i seeds -o out -m none -t 1000+ -s 1 -V "$each" -- "$tmp/afl/healthy_fuzzer")
	echo "$(sed -n 's/^execs_done *: //p' "$tmp/bare/out/default/fuzzer_stats") $cpu"
}

build_go() {
	command -v go >/dev/null || return 1
	(cd tests/targets/go && GOFLAGS=-mod=mod GOPROXY=off GOCACHE=$tmp/cache go test -c -vet=off -fuzz=. \
		-o "$tmp/go/planted.test" .)
	mkdir "$tmp/go/planted"
	cp -R tests/targets/go/testdata "$tmp/go/planted/"
}

bare_go() { # PREFIX...
	local cpu
	cpu=$(timed "$@" sh -c "ln -s '$tmp/go/planted/testdata' . && exec '$tmp/go/planted.test' -test.run='^\$' \
		-test.fuzz='^FuzzHealthy\$' -test.parallel=1 -test.fuzzcachedir=\$PWD/cache \
		-test.fuzztime=${each}s -test.fuzzminimizetime=0s")
	echo "$(sed -n 's/.*execs: \([0-9]*\) .*/\1/p' "$tmp/bare/said" | tail -n 1) $cpu"
}

in_cell() { # ENGINE GLOB
	rm -rf "$tmp/state"
	mkdir "$tmp/state"
	cat >"$tmp/state/config.json" <<-END
		{"run": {"workers": 1, "disk_reserve": "64MiB", "adapt": false},
		 "defaults": {"seed": 1, "auto_dictionary": "off", "strategies": false, "merge_time": "off",
		  "plateau": {"rule": "none"}}}
	END
	"$B/fuzzcell" run --plain --state-dir "$tmp/state" --targets "$tmp/$1" --filter "$2" \
		--max-fuzzer-time "${each}s" >"$tmp/said" || {
		cat "$tmp/said" >&2
		exit 1
	}
	jq -r '"\(.execs) \(.cpu_seconds)"' "$tmp"/state/logs/*/*.stats
}

rate() { awk '{ printf "%.1f", $1 / $2 }'; }

measure() { # ENGINE GLOB
	local i cell one all
	mkdir "$tmp/$1"
	if ! "build_$1"; then
		echo "$1: not installed, not measured"
		return
	fi
	for ((i = 0; i < pairs; i++)); do
		cell=$(in_cell "$1" "$2" | rate)
		one=$("bare_$1" taskset -c "$core" | rate)
		all=$("bare_$1" env | rate)
		calc '%.4f\n' "$cell / $one" >>"$tmp/$1.one"
		calc '%.4f\n' "$cell / $all" >>"$tmp/$1.all"
	done
	say "$1" one "one CPU"
	say "$1" all "all CPUs"
}

say() { # ENGINE SUFFIX WHAT
	local of=$tmp/$1.$2
	printf '%s: executions for a CPU-second, in a cell : bare on %s, %s pairs of %s s: median %s, quartiles %s and %s\n' \
		"$1" "$3" "$pairs" "$each" "$(median <"$of")" "$(quantile 0.25 <"$of")" "$(quantile 0.75 <"$of")"
}

[[ $# -gt 0 ]] || set -- afl go
for engine; do
	case $engine in
	afl) measure afl healthy_fuzzer ;;
	go) measure go planted.FuzzHealthy ;;
	*)
		echo "engines: '$engine' is none of afl and go" >&2
		exit 2
		;;
	esac
done
