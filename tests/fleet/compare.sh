#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What run.sh recorded, as the tables of docs/scheduling.md: for each mix what the policies
# reached, and which targets reached it.  Means over the seeds that all policies have.
#
# usage: [NEARLY=0.99] tests/fleet/compare.sh OUT_DIR
#
# needs: CPU-seconds until so much (NEARLY) of what the wall queue found in the end is found;
# saves: those of the wall queue over them.  Between two rows the line is straight.
set -eu

if [ $# -ne 1 ] || [ ! -d "$1" ]; then
	echo 'usage: [NEARLY=0.99] tests/fleet/compare.sh OUT_DIR' >&2
	exit 2
fi
for mix in "$1"/*/; do
	set --
	for file in "$mix"*/index.tsv "$mix"*/queue.tsv "$mix"*/equal.tsv; do
		[ ! -f "$file" ] || set -- "$@" "$file"
	done
	[ $# -gt 0 ] || continue
	awk -F '\t' -v nearly="${NEARLY:-0.99}" '
	function found_at(k, cpu, i, part) {
		if (cpu >= at[k, rows[k]]) return found[k, rows[k]]
		for (i = 1; at[k, i] < cpu; i++);
		part = (cpu - at[k, i - 1]) / (at[k, i] - at[k, i - 1])
		return found[k, i - 1] + part * (found[k, i] - found[k, i - 1])
	}
	# -1: it never has so many.
	function cpu_for(k, wanted, i, part) {
		for (i = 0; i <= rows[k] && found[k, i] < wanted; i++);
		if (i > rows[k]) return -1
		if (i == 0) return 0
		part = (wanted - found[k, i - 1]) / (found[k, i] - found[k, i - 1])
		return at[k, i - 1] + part * (at[k, i] - at[k, i - 1])
	}
	FNR == 1 {
		n = split(substr($0, 3), w, " ")
		for (i = 1; i <= n; i++) {
			split(w[i], kv, "=")
			is[kv[1]] = kv[2]
		}
		k = is["policy"] SUBSEP is["seed"]
		has[k] = 1
		budget = is["budget"]
		about = sprintf("mix %s, %d workers, %d CPU-s a policy, times x %s", is["mix"],
			is["workers"], budget, is["scale"])
		if (say && say != about) {
			print FILENAME ": " about ", others: " say >"/dev/stderr"
			exit bad = 1
		}
		say = about
		if (!(is["policy"] in policies)) order[++n_policies] = is["policy"]
		policies[is["policy"]]
		seeds[is["seed"]]
		rows[k] = at[k, 0] = found[k, 0] = 0
		next
	}
	FNR == 2 { next }
	$1 == "#target" {
		if (!($2 in base)) names[++n_names] = $2
		if (!($2 in base) || base[$2] < 0) base[$2] = $3
		edges[k, $2] = $4
		cpu[k, $2] = $5
		waited[k] += $5 * $6
		used[k] += $5
		failures[k] += $8
		next
	}
	{
		if ($1 < at[k, rows[k]]) $1 = at[k, rows[k]]
		at[k, ++rows[k]] = $1
		found[k, rows[k]] = $3
	}
	END {
		if (bad) exit 1
		for (s in seeds) {
			all = 1
			for (p in policies) if (!((p, s) in has)) all = 0
			if (all) { whole[s]; n_seeds++ }
		}
		printf "\n### %s; %d targets, seeds: %d\n\n", say, n_names, n_seeds
		if (!n_seeds) { print "No seed has all policies yet."; exit }
		print "| policy | CPU-s | waited | failures | found | 1/4 | 2/4 | 3/4 | needs | saves |"
		print "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
		for (i = 1; i <= n_policies; i++) {
			p = order[i]
			split("", sum)
			for (s in whole) {
				k = p SUBSEP s
				sum["cpu"] += at[k, rows[k]]
				sum["waited"] += used[k] ? waited[k] / used[k] : 0
				sum["failures"] += failures[k]
				for (q = 1; q <= 4; q++) sum[q] += found_at(k, budget * q / 4)
				if (!(("queue", s) in has)) { sum["never"] = 1; continue }
				wanted = nearly * found_at("queue" SUBSEP s, budget)
				mine = cpu_for(k, wanted)
				if (mine < 0) sum["never"] = 1
				sum["needs"] += mine
				sum["wall"] += cpu_for("queue" SUBSEP s, wanted)
			}
			printf "| %s | %.0f | %.0f %% | %.0f | %.0f | %.0f | %.0f | %.0f |", p, sum["cpu"] / n_seeds,
				100 * sum["waited"] / n_seeds, sum["failures"] / n_seeds, sum[4] / n_seeds,
				sum[1] / n_seeds, sum[2] / n_seeds, sum[3] / n_seeds
			if (sum["never"] || !sum["needs"]) print " - | - |"
			else printf " %.0f | %.2fx |\n", sum["needs"] / n_seeds, sum["wall"] / sum["needs"]
		}
		printf "\n| edges (CPU-s) | seeds |"
		for (i = 1; i <= n_policies; i++) printf " %s |", order[i]
		printf "\n|---|---:|"
		for (i = 1; i <= n_policies; i++) printf "---:|"
		print ""
		for (j = 1; j <= n_names; j++) {
			printf "| %s | %s |", names[j], base[names[j]] < 0 ? "-" : base[names[j]]
			for (i = 1; i <= n_policies; i++) {
				e = c = 0
				for (s in whole) {
					e += edges[order[i], s, names[j]]
					c += cpu[order[i], s, names[j]]
				}
				printf " %.0f (%.0f) |", e / n_seeds, c / n_seeds
			}
			print ""
		}
	}' "$@"
done
