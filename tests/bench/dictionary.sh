#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Measures the gain from the words of a program: new edges after the same number of executions from
# the same corpus, with the target's own dictionary alone and joined with the words.  The length is
# counted in executions (-runs), so CPU pressure changes only the duration.
#
# usage: B=build tests/bench/dictionary.sh TARGET...
#
# RUNS=300000       executions of each measurement
# SEEDS="1 2 3"     a measurement for each
# MOST="512"        numbers of words, a column for each
# CORPORA=dir       dir/<target> has the inputs to start from.  Without it, or without that
#                   directory: the seeds beside the target, fuzzed without words for RUNS first
# OUT=dir           keeps corpora and logs (default: a temporary directory); results there with the
#                   same RUNS are not measured again
set -euo pipefail

words=${B:-build}/bench/words
runs=${RUNS:-300000}
read -r -a seeds <<<"${SEEDS:-1 2 3}"
read -r -a most <<<"${MOST:-512}"
if [[ $# -eq 0 || $1 == -* ]]; then
	echo 'usage: B=build tests/bench/dictionary.sh TARGET...' >&2
	exit 2
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
out=${OUT:-$tmp/out}
mkdir -p "$out"
export ASAN_OPTIONS=detect_leaks=0

# The flags of the target's options, without its dictionary.
options() { # TARGET
	[[ -f $1.options ]] || return 0
	sed -n '/^\[libfuzzer\]/,/^\[[^l]/s/^\([a-z_]*\)[ ]*=[ ]*\([^ ]*\)$/-\1=\2/p' "$1.options" |
		grep -v '^-dict=' || true
}

# fuzz TARGET LOG RUNS SEED DICTIONARY CORPUS...: new inputs go to the first directory.
fuzz() {
	local target=$1 log=$2 n=$3 seed=$4 dictionary=$5 flags
	shift 5

	mapfile -t flags < <(options "$target")
	[[ ! -s $dictionary ]] || flags+=("-dict=$dictionary")
	"$target" -seed="$seed" -runs="$n" -print_funcs=0 -reload=0 -rss_limit_mb=2048 \
		-artifact_prefix="$tmp/" "${flags[@]}" "$@" >"$log" 2>&1 || {
		tail -n 5 "$log" >&2
		echo "bench: $target ended early, see $log" >&2
	}
}

# Prints the directory with a target's start corpus.
start_of() { # TARGET NAME
	local dir=${CORPORA:-}/$2 unpacked=$tmp/seeds/$2

	if [[ -n ${CORPORA:-} && -d $dir ]]; then
		echo "$dir"
		return
	fi
	dir=$out/$2.start
	if [[ ! -d $dir ]]; then
		mkdir -p "$unpacked" "$dir.new"
		[[ ! -f $1_seed_corpus.zip ]] || unzip -q -o "$1_seed_corpus.zip" -d "$unpacked"
		fuzz "$1" "$out/$2.start.log" "$runs" 77 "$1.dict" "$dir.new" "$unpacked"
		find "$unpacked" -type f -exec cp -t "$dir.new" {} +
		mv "$dir.new" "$dir"
	fi
	echo "$dir"
}

# The edges at the end, less those of the start corpus.
gained() { # LOG
	awk '{
			for (i = 1; i < NF; i++)
				if ($i == "cov:") { if ($0 ~ /INITED/) first = $(i + 1); last = $(i + 1) }
		}
		END { print last - first }' "$1"
}

measure() { # TARGET NAME LABEL SEED DICTIONARY START
	local log=$out/$2.$3.$4.log

	if ! grep -q "^Done $runs runs" "$log" 2>/dev/null; then
		rm -rf "$tmp/new"
		mkdir "$tmp/new"
		fuzz "$1" "$log" "$runs" "$4" "$5" "$tmp/new" "$6"
	fi
	gained "$log"
}

row() { # TARGET
	local name=${1##*/} start sum label seed previous=
	local -a sums=()

	start=$(start_of "$1" "$name")
	: >"$tmp/none.dict"
	[[ ! -f $1.dict ]] || cat "$1.dict" >"$tmp/none.dict"
	for label in none "${most[@]}"; do
		if [[ $label != none ]]; then
			"$words" "$1" "$label" "$tmp/none.dict" >"$tmp/$label.dict"
		fi
		# The same dictionary as for the label before: there are no more words.
		if [[ ${#sums[@]} -gt 1 ]] && cmp -s "$tmp/$label.dict" "$tmp/$previous.dict"; then
			sums+=("${sums[-1]}")
			continue
		fi
		previous=$label sum=0
		for seed in "${seeds[@]}"; do
			sum=$((sum + $(measure "$1" "$name" "$label" "$seed" "$tmp/$label.dict" "$start")))
		done
		sums+=("$sum")
	done
	echo "$name $("$words" "$1" "${most[-1]}" | wc -l) ${sums[*]}"
}

for target in "$@"; do
	row "$(realpath "$target")" | tee -a "$tmp/rows" >&2
done
awk -v labels="${most[*]}" '
	BEGIN {
		n = split(labels, most, " ")
		printf "| target | words | edges without |"
		for (i = 1; i <= n; i++) printf " with %s | ratio |", most[i]
		printf "\n|---|--:|--:|"
		for (i = 1; i <= n; i++) printf "--:|--:|"
		print ""
	}
	function line(name, words, v, i) {
		printf "| %s | %s | %d |", name, words, v[0]
		for (i = 1; i <= n; i++) printf " %d | %.2f |", v[i], v[0] ? v[i] / v[0] : v[i] ? 99 : 1
		print ""
	}
	{
		for (i = 0; i <= n; i++) { v[i] = $(3 + i); all[i] += v[i] }
		line($1, $2, v)
	}
	END { line("sum", "", all) }' "$tmp/rows"
