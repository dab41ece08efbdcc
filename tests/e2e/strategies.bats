#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A target that stands still is tried in other ways of its engine before it ends.
load lib

setup() {
	e2e_setup
}

teardown() {
	e2e_teardown
}

# A second of silence is a plateau, and a trial is short.  more: further values.
stands_soon() { # [VALUES]
	local on='"strategies": true, '
	[[ ${1:-} != *strategies* ]] || on=
	config "$on\"plateau\": {\"rule\": \"wall\", \"window\": \"1s\", \"price\": 5}${1:+, $1}" '"turn": "5s"'
}

# The strategies that the last run tried, in their order.
tried() {
	sed -n 's/^\[fuzzcell\] strategy: \([a-z-]*\) next;.*/\1/p' "$LOGS/$TARGET.log"
}

# What the statistics say of a strategy: "edges" or "cpu_seconds".
of_strategy() { # STRATEGY KEY
	jq ".strategies[\"$1\"].$2" "$LOGS/$TARGET.stats"
}

# bats test_tags=slow
@test "each strategy is tried once on a build, and then the target ends" {
	stands_soon
	fuzz literal_fuzzer 300
	[ "$status" -eq 0 ]
	[ "$(value reason)" = plateau ]
	[ "$(tried | tr '\n' ' ')" = "few-mutations short-inputs even-choice part-of-corpus any-length value-profile " ]
	for s in $(tried); do
		jq -e ".strategies[\"$s\"].cpu_seconds > 0" "$LOGS/literal_fuzzer.stats"
	done
	[[ $output = *"literal_fuzzer tries few-mutations"* ]]
	# What the engine got for each.
	for flag in -mutate_depth=1 -entropic=0 -len_control=0 -max_len=64 -use_value_profile=1; do
		[ "$(grep -c "command: .* $flag " "$LOGS/literal_fuzzer.log")" -eq 1 ]
	done
	run "$FUZZCELL" history literal_fuzzer --state-dir "$STATE"
	[[ $output = *"edges of this build by strategy"* ]]
	# Another run of the same build looks once, in the engine's own way.
	fuzz literal_fuzzer 300
	[ "$(value reason)" = plateau ]
	[ -z "$(tried)" ]
	[ "$(of_strategy few-mutations cpu_seconds)" != null ]
}

# bats test_tags=slow
@test "the key turns strategies off, and flags of the user stay" {
	stands_soon '"strategies": false'
	fuzz literal_fuzzer 300
	[ "$(value reason)" = plateau ]
	[ -z "$(tried)" ]
	rm -r "$STATE/stats"
	stands_soon '"flags": ["-mutate_depth=3", "-use_value_profile=0"], "max_len": 32'
	fuzz literal_fuzzer 300
	[ "$(tried | tr '\n' ' ')" = "even-choice part-of-corpus any-length " ]
	run ! grep -q 'command: .* -mutate_depth=1 ' "$LOGS/literal_fuzzer.log"
}

put() { # TARGET CONTENT
	printf %s "$2" >"$STATE/corpus/$1/$(printf %s "$2" | sha1sum | cut -d ' ' -f 1)"
}

# bats test_tags=slow
@test "an input of another target opens a gate, and a merge keeps only what helps" {
	stands_soon '"max_len": 20'
	mkdir -p "$WORK/two" "$STATE/corpus/sibling_fuzzer"
	cp "$TARGETS/literal_fuzzer" "$WORK/two/"
	cp "$TARGETS/literal_fuzzer" "$WORK/two/sibling_fuzzer"
	for i in $(seq 50); do
		put sibling_fuzzer "nothing to see here $i"
	done
	put sibling_fuzzer "OPEN-SESAME:"
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" --targets "$WORK/two"
	[ "$status" -eq 0 ]
	TARGET=literal_fuzzer
	LOGS=$(last_logs)
	cat "$LOGS/literal_fuzzer.stats"
	[ "$(of_strategy other-corpora edges)" -ge 1 ]
	grep -rq OPEN-SESAME "$STATE/corpus/literal_fuzzer"
	run ! grep -rq 'nothing to see here' "$STATE/corpus/literal_fuzzer"
}

# bats test_tags=slow,host
@test "kill -9 in the middle of a strategy loses nothing, and tries nothing twice" {
	stands_soon '"merge_time": "off"'
	fuzz_background literal_fuzzer 300
	wait_until 120 eval 'grep -qs "strategy: even-choice next" "$(last_logs)/literal_fuzzer.log"'
	LOGS=$(last_logs)
	work=$STATE/work/$(basename "$LOGS")/literal_fuzzer
	wait_until 60 eval 'grep -qs "command: .*-entropic=0" "$LOGS/literal_fuzzer.log"'
	printf 'an input of its cell' >"$work/corpus/by-a-cell"
	kill -9 "$PID"
	wait "$PID" || true
	before=$(find "$STATE/corpus/literal_fuzzer" -type f | wc -l)
	fuzz literal_fuzzer 300
	[ "$(value reason)" = plateau ]
	grep -rq 'an input of its cell' "$STATE/corpus/literal_fuzzer"
	[ "$(find "$STATE/corpus/literal_fuzzer" -type f | wc -l)" -gt "$before" ]
	# Those that had come to their end are known.
	[[ $(tried) != *few-mutations* ]]
	tried | grep -q value-profile
}
