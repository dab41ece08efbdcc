# SPDX-License-Identifier: Apache-2.0
# A target gets no CPU time for impossible figures about itself.
load lib
setup() { e2e_setup; }
teardown() { e2e_teardown; }

# The number of a target's row in the last run's summary.
of() { # TARGET KEY
	jq -r --arg t "$1" --arg k "$2" '.targets[] | select(.name == $t)[$k]' "$LOGS/summary.json"
}

# bats test_tags=slow
@test "coverage above the binary's size is forged: it is reported, kept, and worth no CPU time" {
	fuzz boast_fuzzer 10
	[ "$status" -eq 0 ]
	[[ $output == *"boast_fuzzer FORGED STATISTICS"* ]]
	[[ $output == *"boast_fuzzer: FORGED STATISTICS: it printed numbers that cannot be true"* ]]
	[[ $(value forged) == *" edges reached, its program has "* ]]
	[ "$(value cov)" -le "$(value edges)" ]
	run timeout 60 "$FUZZCELL" doctor --json --state-dir "$STATE" boast_fuzzer
	echo "$output"
	[ "$status" -eq 5 ]
	jq -e '.targets[0].findings[] | select(.code == "forged-statistics" and .severity == "error")' <<<"$output"
	jq -e '.cov == 0 and (.forged | length > 0)' "$STATE/stats/progress/boast_fuzzer.json"

	# The verdict on the build outlives the run: beside others the target does not get a first
	# turn.
	mkdir "$WORK/out"
	cp "$TARGETS"/{boast,healthy,structure,magic}_fuzzer "$WORK/out"
	config '"merge_time": "0s"' '"turn": "2s", "floor": 0'
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" \
		--targets "$WORK/out" --max-total-time $((16 * TIMES))s
	echo "$output"
	LOGS=$(last_logs)
	[ "$(of healthy_fuzzer fuzzed)" = true ]
	# Counts turns, not CPU time, which depends on the machine's load.
	awk -v bad="$(of boast_fuzzer cell_seconds)" -v good="$(of healthy_fuzzer cell_seconds)" \
		'BEGIN { print bad, good; exit !(bad * 2 < good) }'
}

# bats test_tags=slow
@test "edges of a library that a target loads with dlopen() are the target's edges" {
	fuzz library_fuzzer 6
	[ "$status" -eq 0 ]
	[ "$(value forged)" = "" ]
	own=$(sed -n 's/.* inline 8-bit counters): \([0-9]*\) .*/\1/p' "$LOGS/$TARGET.log" | head -n 1)
	[ "$(value cov)" -gt "$own" ]
	[[ $output != *FORGED* ]]
}
