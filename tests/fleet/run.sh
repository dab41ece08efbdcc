#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Real targets in real cells, the same CPU time for each policy: what it reaches with it.
#
#	index   price and allocation, as they are by default
#	queue   one after the other, each until nothing new came for a window of wall time
#	equal   equal share, until the CPU time is used
#
# Each begins with nothing known (a state directory of its own), has the same engine seeds,
# and ends when its cells used BUDGET CPU-seconds, or when all its targets have ended.  What
# comes after fuzzing (triage, merging) is off.  All times of all policies are scaled by the
# same factor, see README.md.  What was reached goes to OUT_DIR/MIX/SEED/POLICY.tsv, with its
# configuration and summary beside it; a policy that has its file is not run again, so
# that an interrupted call goes on where it was.  The end is compare.sh's table.
#
# usage: FUZZCELL=PROGRAM [VARIABLE=VALUE...] tests/fleet/run.sh TARGETS_DIR OUT_DIR
#
#	BUDGET=3600         CPU-seconds a policy
#	WORKERS=2           cells at once
#	SCALE=              of all times; BUDGET over that of a default run (4 h of each worker)
#	POLICIES='index queue equal'
#	MIXES='all late'    MIX_all, MIX_late, ...: the targets of one
#	SEEDS=1             each is a repetition.  1 has the queue in the product's order, small
#	                    binaries first; the others in one of their own
#	POLL=2              seconds between two rows
set -euo pipefail

here=$(dirname "${BASH_SOURCE[0]}")
quick='jansson cjson libyaml libyaml_scan inflate lz4 brotli'
growing='expat cmark xml2 freetype pcre2 lua'
late='bunzip lwip xz sevenzip png vorbis'
budget=${BUDGET:-3600}
workers=${WORKERS:-2}
poll=${POLL:-2}
MIX_all=${MIX_all:-$quick $growing $late}
MIX_late=${MIX_late:-$late jansson inflate}

fail() {
	echo "run: $*" >&2
	exit 1
}

if [[ $# -ne 2 || ! $budget =~ ^[1-9][0-9]{0,6}$ || ! $workers =~ ^[1-9][0-9]{0,3}$ ]]; then
	echo 'usage: FUZZCELL=PROGRAM [VARIABLE=VALUE...] tests/fleet/run.sh TARGETS_DIR OUT_DIR' >&2
	exit 2
fi
fuzzcell=$(realpath "${FUZZCELL:?the program}")
targets=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
scale=${SCALE:-$(awk -v b="$budget" -v w="$workers" 'BEGIN { print b / (w * 4 * 3600) }')}
awk -v s="$scale" 'BEGIN { exit !(s + 0 > 0 && s + 0 <= 1) }' || fail "SCALE=$scale is not in 0..1"

exec 9<"$out"
flock -n 9 || fail "'$out' is in use"
tmp=$(realpath "$(mktemp -d)")
chmod 0755 "$tmp" # the cells' users have to pass
pid=
finish() {
	if [[ -n $pid ]]; then
		kill -TERM "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	fi
	rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

# A time of the defaults in seconds, scaled; no shorter than the configuration allows.
scaled() {
	awk -v t="$1" -v s="$scale" 'BEGIN { ms = t * s * 1000; printf "%dms", (ms > 1000 ? ms : 1000) }'
}

# The order of a queue: by priority.
order() { # POLICY SEED NAME
	[[ $1 = queue && $2 -ne 1 ]] || return 0
	printf ', "priority": %d' $((16#$(printf '%s %s' "$2" "$3" | sha1sum | head -c 3) % 2000 - 1000))
}

# config POLICY SEED NAME...
config() {
	local policy=$1 seed=$2 rule max_time cap name
	shift 2
	max_time=$(scaled 3600) cap=$(scaled 7200)
	case $policy in
	index) rule=price ;;
	queue) rule=wall ;;
	equal) rule=none max_time=365d cap=none ;; # its share is what ends it
	*) fail "'$policy' is no policy" ;;
	esac
	cat <<-END
		{"run": {"workers": $workers, "total_time": "none", "allocation": "$policy", "adapt": false,
		  "turn": "$(scaled 300)", "hold": "$(scaled 600)", "log_limit": "1GiB", "disk_reserve": "64MiB"},
		 "defaults": {"max_time": "$max_time", "seed": $seed, "max_crashes": 1000000, "auto_dictionary": "off",
		  "strategies": false, "merge_time": "off", "triage_time": "off", "minimize_time": "off",
		  "plateau": {"rule": "$rule", "window": "$(scaled 600)", "cap": "$cap",
		   "price": $(awk -v s="$scale" 'BEGIN { printf "%.3f", 0.05 / s }')}},
		 "targets": {"*": {"enabled": false}
	END
	for name; do
		printf ' , "%s": {"enabled": true%s}\n' "$name" "$(order "$policy" "$seed" "$name")"
	done
	echo '}}'
}

# Where the run's group tells its CPU time, of cells that are gone, too.
find_group() {
	local instance
	instance=s-$(printf %s "$tmp/state" | sha1sum | head -c 16)
	find /sys/fs/cgroup -type d -path "*/fuzzcell/$instance" -prune -exec \
		grep -qs usage_usec '{}/cpu.stat' \; -print -quit 2>/dev/null || true
}

# Sets cpu, microseconds; when the group is gone it stays.
read_cpu() {
	local key value
	[[ -n $group ]] || group=$(find_group)
	[[ -n $group ]] || return 0
	while read -r key value; do
		[[ $key != usage_usec ]] || cpu=$value
	done 2>/dev/null <"$group/cpu.stat" || true
}

# Most edges in what the logs have more than last time, and those that the seeds reach:
# of the first cell, which has nothing else.
read_logs() {
	local size file name most
	while read -r size file; do
		name=${file##*/}
		name=${name%.log}
		[[ -n ${read_to[$name]:-} && $size -gt ${read_to[$name]} ]] || continue
		[[ ${first[$name]} -ge 0 ]] ||
			first[$name]=$(sed -n '/INITED/{s/.*INITED cov: \([0-9]*\) ft: .*/\1/p;q}' "$file")
		first[$name]=${first[$name]:--1}
		most=$(tail -c "+$((${read_to[$name]} + 1))" "$file" | awk '
			match($0, /^#[0-9]+.* cov: [0-9]+ ft: /) {
				split(substr($0, index($0, " cov: ") + 6, 20), w, " ")
				if (w[1] + 0 > most) most = w[1] + 0
			}
			END { print most + 0 }')
		[[ $most -le ${edges[$name]} ]] || edges[$name]=$most
		read_to[$name]=$size
	done < <(stat -c '%s %n' "$tmp"/state/logs/*/*.log 2>/dev/null)
}

row() {
	local name sum=0 columns=
	for name in "${names[@]}"; do
		[[ ${first[$name]} -lt 0 ]] || sum=$((sum + edges[$name] - first[$name]))
		columns+=$'\t'${edges[$name]}
	done
	printf '%d.%03d\t%d\t%d%s\n' $((cpu / 1000000)) $((cpu / 1000 % 1000)) \
		$((SECONDS - began)) "$sum" "$columns"
}

value() { # KEY FILE
	sed -n 's/^  "'"$1"'": \(.*[^,]\),\{0,1\}$/\1/p' "$2" | tr -d '"'
}

# What each target had, below its rows.
ends() {
	local name stats
	for name in "${names[@]}"; do
		stats=$(echo "$tmp"/state/logs/*/"$name".stats)
		printf '#target\t%s\t%d\t%d\t%s\t%s\t%s\t%s\n' "$name" "${first[$name]}" "${edges[$name]}" \
			"$(value cpu_seconds "$stats")" "$(value starved_share "$stats")" \
			"$(value reason "$stats")" "$(value failures_total "$stats")"
	done
}

# Until it has used its CPU time, or ended.
watch_run() {
	local stopped=
	while kill -0 "$pid" 2>/dev/null; do
		read_cpu
		read_logs
		row
		if [[ -z $stopped && $cpu -ge $((budget * 1000000)) ]]; then
			kill -TERM "$pid"
			stopped=yes
		fi
		sleep "$poll"
	done
}

# A policy with this mix and seed: its rows to standard output.
rows() {
	local status=0 name
	local -A read_to=() edges=() first=()
	local cpu=0 group='' began=$SECONDS
	for name in "${names[@]}"; do
		read_to[$name]=0 edges[$name]=0 first[$name]=-1
	done
	printf '# policy=%s mix=%s seed=%s budget=%s workers=%s scale=%s\n' \
		"$policy" "$mix" "$seed" "$budget" "$workers" "$scale"
	printf 'cpu_s\twall_s\tfound%s\n' "$(printf '\t%s' "${names[@]}")"
	# Ends with this script, also when that is killed.
	setpriv --pdeathsig TERM "$fuzzcell" run --plain --state-dir "$tmp/state" \
		--targets "$targets" >"$tmp/said" 2>&1 9<&- &
	pid=$!
	watch_run
	wait "$pid" || status=$?
	pid=
	if [[ $status -ne 0 && $status -ne 1 && $status -ne 5 ]]; then
		tail -n 20 "$tmp/said" >&2
		fail "$policy, $mix: fuzzcell ended with status $status"
	fi
	for name in "${names[@]}"; do # whole lines, this time
		read_to[$name]=0
	done
	read_logs
	row
	ends
}

run_policy() { # sets of its caller: mix, seed, policy, names
	local dir=$out/$mix/$seed
	[[ ! -f $dir/$policy.tsv ]] || return 0
	echo "$policy: mix $mix, ${#names[@]} targets, $budget CPU-s, times x $scale, seed $seed"
	mkdir -p "$dir"
	rm -rf "$tmp/state"
	mkdir "$tmp/state"
	config "$policy" "$seed" "${names[@]}" >"$tmp/state/config.json"
	cp "$tmp/state/config.json" "$dir/$policy.config.json"
	rows >"$dir/$policy.part"
	cp "$tmp"/state/logs/*/summary.json "$dir/$policy.summary.json"
	mv "$dir/$policy.part" "$dir/$policy.tsv"
}

read -r -a seeds <<<"${SEEDS:-1}"
for mix in ${MIXES:-all late}; do
	list=MIX_$mix
	names=()
	for name in ${!list:?the targets of the mix}; do
		[[ -x $targets/${name}_fuzzer ]] || fail "there is no '$targets/${name}_fuzzer'"
		names+=("${name}_fuzzer")
	done
	for seed in "${seeds[@]}"; do
		for policy in ${POLICIES:-index queue equal}; do
			run_policy
		done
	done
done
"$here/compare.sh" "$out"
