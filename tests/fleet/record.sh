#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Fuzzes one target, bare, and writes how its coverage grew with the CPU time that
# it had: a line where cov changed, and one at the end, as
#
#	cpu_seconds <TAB> cov <TAB> ft <TAB> execs
#
# below a first line "# target=... edges=..." that says what was run.  More than 400
# lines are thinned: of what came within some per cent of CPU time, the last stays.
# Seeds, dictionary and options are those beside the target (OSS-Fuzz layout).
#
# usage: [SEED=1] tests/fleet/record.sh TARGET CPU_SECONDS OUT.tsv
#        chrt --idle 0 in front of it leaves the machine's other work alone.
set -euo pipefail

points=400
seed=${SEED:-1}
if [[ $# -ne 3 || $1 == -* || ! $2 =~ ^[1-9][0-9]{0,5}$ ]]; then
	echo 'usage: tests/fleet/record.sh TARGET CPU_SECONDS OUT.tsv' >&2
	exit 2
fi
here=$(dirname "${BASH_SOURCE[0]}")
target=$(realpath "$1")
limit=$2
curve=$3
name=${target##*/}
tick=$(getconf CLK_TCK)
tmp=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill -KILL "$pid" 2>/dev/null; rm -rf "$tmp"' EXIT

fail() {
	echo "record: $name: $*" >&2
	exit 1
}

# Source package and version, as build.sh left it.
source_of() {
	local dir version

	for dir in "$here"/libraries/*/ "$here"/../../examples/*/; do
		[[ -f $dir$name.c ]] || continue
		dir=${dir%/}
		version=${target%/*}.work/src/${dir##*/}/.version
		[[ ! -f $version ]] || echo "${dir##*/} $(<"$version")"
		return
	done
}

# What libFuzzer gets from the files beside the target.
words=(-seed="$seed" -print_funcs=0 -reload=0 -print_final_stats=1 -rss_limit_mb=1536
	-artifact_prefix="$tmp/")
dictionary=no seeds=0
mkdir "$tmp/corpus"
if [[ -f $target.dict ]]; then
	words+=(-dict="$target.dict")
	dictionary=yes
fi
if [[ -f ${target}_seed_corpus.zip ]]; then
	mkdir "$tmp/seeds"
	if command -v unzip >/dev/null; then
		unzip -q -d "$tmp/seeds" "${target}_seed_corpus.zip"
	else
		bsdtar -x -f "${target}_seed_corpus.zip" -C "$tmp/seeds"
	fi
	seeds=$(find "$tmp/seeds" -type f | wc -l)
	cp -r "$tmp/seeds/." "$tmp/corpus"
fi
if [[ -f $target.options ]]; then
	while read -r word; do
		words+=("-$word")
	done < <(sed -n '/^\[libfuzzer\]/,/^\[[^l]/s/^\([a-z_]*\)[ ]*=[ ]*\([^ ]*\)$/\1=\2/p' \
		"$target.options")
fi

# Sets $cpu: ticks that the process has had.  Fails when it is gone.
cpu_of() { # PID
	local stat fields

	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	read -r -a fields <<<"${stat##*) }"
	cpu=$((fields[11] + fields[12]))
}

# Every line of the target with the CPU time at which it came; ends the target when it
# has had its time.  A line that is not whole when the second is over is put together.
stamp() {
	local line part='' status cpu=0 over=0

	while :; do
		status=0
		IFS= read -r -t 1 line || status=$?
		[[ $status -eq 0 || $status -gt 128 ]] || break
		cpu_of "$1" || true
		if [[ $status -eq 0 ]]; then
			printf '%d\t%s\n' "$cpu" "$part$line"
			part=
		else
			part+=$line
		fi
		if [[ $over -eq 0 && $cpu -ge $((limit * tick)) ]]; then
			kill -INT "$1" || true
			over=1
		fi
	done
}

mkfifo "$tmp/pipe"
"$target" "${words[@]}" "$tmp/corpus" >/dev/null 2>"$tmp/pipe" </dev/null &
pid=$!
stamp "$pid" <"$tmp/pipe" >"$tmp/log"
status=0
wait "$pid" || status=$?
pid=
if ! grep -q 'libFuzzer: run interrupted' "$tmp/log"; then
	tail -n 30 "$tmp/log" >&2
	fail "ended by itself with status $status"
fi

# "#123 NEW cov: 45 ft: 67 ..." of everything that adds; the end from the final stats.
awk -F '\t' -v OFS='\t' -v tick="$tick" '
	$2 ~ /^#[0-9]+$/ {
		n = split($3, w, " ")
		for (i = 1; i < n; i++) {
			if (w[i] == "cov:") now = w[i + 1] + 0
			if (w[i] == "ft:" && w[i + 1] + 0 > ft) ft = w[i + 1] + 0
		}
		execs = substr($2, 2)
		if (now > cov) {
			cov = now
			print $1 / tick, cov, ft, execs
		}
	}
	{ end = $1 }
	$2 ~ /^stat::number_of_executed_units:/ { sub(/.*: */, "", $2); execs = $2 }
	END { print end / tick, cov, ft, execs }' "$tmp/log" >"$tmp/all"

edges=$(sed -n 's/.*INFO: Loaded .*(\([0-9]*\) inline 8-bit counters).*/\1/p' "$tmp/log" | head -n 1)
[[ -n $edges ]] || fail 'is not instrumented'
read -r package version < <(source_of) || true
{
	printf '# target=%s source=%s version=%s edges=%d dictionary=%s seeds=%d seed=%d\n' "$name" \
		"${package:-unknown}" "${version:-unknown}" "$edges" "$dictionary" "$seeds" "$seed"
	awk -v most="$points" '
		# Lines that stay when those within a factor of CPU time are one.
		function thin(factor, keep, i, n, from) {
			n = 0
			for (i = 1; i <= NR; i++) {
				if (!n || at[i] > from * factor || i == NR) {
					n++
					from = at[i] > 0.01 ? at[i] : 0.01
				}
				keep[n] = i
			}
			return n
		}
		{ line[NR] = $0; at[NR] = $1 }
		END {
			factor = 1
			while ((n = thin(factor, keep)) > most) factor *= 1.002
			for (i = 1; i <= n; i++) print line[keep[i]]
		}' "$tmp/all"
} >"$curve.new"
mv "$curve.new" "$curve"
