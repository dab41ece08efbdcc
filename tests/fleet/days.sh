#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Two days of runs of usual length: how many new edges each policy has found at each quarter of
# the first day's run and of the second day's.
#
#	index    as it is by default
#	equal    equal share in short turns
#	script   each target one equal turn, one after the other, as a shell script does it
#
# Each policy has a first day with nothing known.  Its second day begins with the corpus and the
# statistics of the script's first day.  What comes after fuzzing (triage, merging) is off.  New
# edges are those beyond what the corpus reaches when a target is started for the first time.
# Curves go to OUT_DIR/SEED/DAY/POLICY.tsv; a policy that has its file is not run again.
#
# usage: FUZZCELL=PROGRAM [VARIABLE=VALUE...] tests/fleet/days.sh TARGETS_DIR OUT_DIR
#
#	RUN=600             seconds of a run
#	WORKERS=2           cells at once
#	SEEDS=1             each is a repetition with other engine seeds
set -euo pipefail

run=${RUN:-600}
workers=${WORKERS:-2}
if [[ $# -ne 2 || ! $run =~ ^[1-9][0-9]{0,5}$ || ! $workers =~ ^[1-9][0-9]{0,3}$ ]]; then
	echo 'usage: FUZZCELL=PROGRAM [VARIABLE=VALUE...] tests/fleet/days.sh TARGETS_DIR OUT_DIR' >&2
	exit 2
fi
fuzzcell=$(realpath "${FUZZCELL:?the program}")
targets=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
tmp=$(realpath "$(mktemp -d)")
chmod 0755 "$tmp" # the cells' users have to pass
trap 'rm -rf "$tmp"' EXIT
n=$(find "$targets" -name '*_fuzzer' -type f -executable | wc -l)

config() { # POLICY SEED
	local rule=price turn=none
	case $1 in
	index) ;;
	equal) rule=none ;;
	script)
		rule=none
		turn=$((run * 9 * workers * 100 / n))ms # a tenth of the run is no fuzzing
		;;
	*)
		echo "days: '$1' is no policy" >&2
		exit 2
		;;
	esac
	cat <<-END
		{"run": {"workers": $workers, "total_time": "${run}s", "adapt": false, "log_limit": "1GiB",
		  "allocation": "${1/script/queue}", "disk_reserve": "64MiB"},
		 "defaults": {$([[ $turn == none ]] || echo "\"max_time\": \"$turn\", ") "seed": $2,
		  "max_crashes": 1000000, "auto_dictionary": "off", "merge_time": "off", "triage_time": "off", "minimize_time": "off",
		  "plateau": {"rule": "$rule"}}}
	END
}

# Edges of all targets beyond those at their first start, and CPU-seconds, each second.
curve() { # LOGS
	local series first
	for series in "$1"/*.series; do
		first=$(sed -n '/INITED/{s/.*INITED cov: \([0-9]*\) ft: .*/\1/p;q}' "${series%.series}.log")
		[[ -n $first ]] || continue # all its time went into its seeds
		echo "first $first"
		sed -n '/^\[/{s/[][]//g;s/,/ /gp}' "$series"
	done | awk -v run="$run" '
		$1 == "first" { n++; first[n] = $2; next }
		{
			t = int($1) + 1
			cov[n, t] = $3 > first[n] ? $3 - first[n] : 0
			cpu[n, t] = $8
		}
		END {
			print "t\tcpu_s\tfound"
			for (t = 1; t <= run; t++) {
				all = used = 0
				for (i = 1; i <= n; i++) {
					if ((i, t) in cov) c[i] = cov[i, t]
					if ((i, t) in cpu) u[i] = cpu[i, t]
					all += c[i]
					used += u[i]
				}
				printf "%d\t%.1f\t%d\n", t, used, all
			}
		}'
}

one_run() { # SEED DAY POLICY
	local dir=$out/$1/$2 state=$tmp/state status=0
	[[ ! -f $dir/$3.tsv ]] || return 0
	echo "seed $1, day $2: $3, $n targets, $run s, $workers workers"
	rm -rf "$state"
	mkdir -p "$dir"
	if [[ $2 == 1 ]]; then
		mkdir "$state"
	else
		cp -a "$out/$1/1/script.state" "$state"
		rm -rf "$state/logs"
	fi
	config "$3" "$(($1 * 10 + $2))" >"$state/config.json"
	setpriv --pdeathsig TERM "$fuzzcell" run --plain --state-dir "$state" --targets "$targets" \
		>"$dir/$3.said" 2>&1 || status=$?
	[[ $status == 0 || $status == 1 || $status == 5 ]] || {
		tail -n 20 "$dir/$3.said" >&2
		exit 1
	}
	curve "$(echo "$state"/logs/*/)" >"$dir/$3.new"
	if [[ $2 == 1 && $3 == script ]]; then
		rm -rf "$dir/$3.state"
		cp -a "$state" "$dir/$3.state"
	fi
	mv "$dir/$3.new" "$dir/$3.tsv"
}

table() { # DAY: means over the seeds, over the script's
	local policy
	echo "day $1: new edges at each quarter of $run s, and their mean over the run, over the script's"
	for policy in "${policies[@]}"; do
		cat "$out"/*/"$1/$policy.tsv" | awk -v p="$policy" -v run="$run" '
			$1 == "t" { n++; next }
			{
				sum += $3
				for (q = 1; q <= 4; q++) if ($1 == int(run * q / 4)) at[q] += $3
			}
			END {
				printf "%s", p
				for (q = 1; q <= 4; q++) printf "\t%d", at[q] / n
				printf "\t%.1f\n", sum / n / run
			}'
	done | awk -F '\t' '
		NR == 1 { split($0, base, "\t") }
		{
			printf "  %-8s", $1
			for (i = 2; i <= 6; i++)
				printf " %7d (%.2f)", $i, base[i] ? $i / base[i] : 0
			print ""
		}'
}

read -r -a seeds <<<"${SEEDS:-1}"
policies=(script index equal)
for seed in "${seeds[@]}"; do
	for day in 1 2; do
		for policy in "${policies[@]}"; do
			one_run "$seed" "$day" "$policy"
		done
	done
done
table 1
table 2
