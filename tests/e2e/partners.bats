# SPDX-License-Identifier: Apache-2.0
# Another build of a target fuzzes in turns with the main build, and each has the other's inputs.
load lib
load inputs

setup() {
	e2e_setup
	GATED=$(dirname "$TARGETS")/gated
	gated_config "$GATED/open"
}

teardown() { e2e_teardown; }

# gated_config OPEN [MAIN [TURN]]: the main build and another one, with short turns.  On a fast
# machine a run finds 20,000 inputs, and each takes a block of the disk.
gated_config() {
	config '"minimize_time": "off", "strategies": true' "\"turn\": \"${3:-2s}\""
	jq --arg main "${2:-$GATED/main}" --arg open "$1" '.defaults.disk = "1GiB" | .discovery = [
		{type: "directory", path: $main},
		{type: "directory", path: $open, variant: "open", role: "fuzz"}]' \
		"$STATE/config.json" >"$STATE/config.new"
	mv "$STATE/config.new" "$STATE/config.json"
}

run_gated() { # SECONDS [OPTION...]
	local time=$1
	shift
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" \
		--max-total-time "$((time * TIMES))s" "$@"
	echo "$output"
	LOGS=$(last_logs)
}

# Kills a run in the turn of the other build.
fuzz_open_only() {
	"$FUZZCELL" run --plain --state-dir "$STATE" --max-total-time 120s >"$WORK/out" 2>&1 3>&- &
	PID=$!
	wait_until 60 grep -q 'gated_fuzzer@open started' "$WORK/out"
	wait_until 60 some_inputs
	kill -9 "$PID"
	wait "$PID" || true
}

some_inputs() {
	[ "$(find "$STATE"/work/*/gated_fuzzer@open/corpus -type f 2>/dev/null | wc -l)" -gt 100 ]
}

stat_of() { # NAME KEY
	jq "$2" "$LOGS/$1.stats"
}

# bats test_tags=slow
@test "what one build finds leads the other on, and its crashes are its own" {
	run "$FUZZCELL" list --state-dir "$STATE"
	[[ $output == *'main fuzz:open'* ]]
	mkdir -p "$STATE/corpus/gated_fuzzer"
	printf 'BUG, for one' >"$STATE/corpus/gated_fuzzer/$(printf 'BUG, for one' | sha1sum | cut -d ' ' -f 1)"
	run_gated 30
	[ "$status" -eq 0 ]
	# The main build cannot see the gate.
	[ "$(stat_of gated_fuzzer .cov)" -gt 200 ]
	grep -q 'inputs of other builds reach [0-9]* new edges' "$LOGS/gated_fuzzer.log"
	[ "$(stat_of gated_fuzzer '.strategies["build:open"].edges')" -gt 100 ]
	[ "$(stat_of gated_fuzzer .strategies.plain.edges)" -lt "$(stat_of gated_fuzzer .cov)" ]
	run "$FUZZCELL" history gated_fuzzer --state-dir "$STATE"
	echo "$output"
	[[ $output == *'build:open '*' in '* ]]
	# Its merge took from the other build's inputs what it needs.
	[ "$(stat_of gated_fuzzer .corpus.verdict)" = '"late"' ] ||
		[ "$(stat_of gated_fuzzer .corpus.edges)" -gt 200 ]
	[ "$(ledger '[.[].fuzzer] | unique | join(" ")')" = gated_fuzzer@open ]
	[ "$(stat_of gated_fuzzer .failures_total)" -eq 0 ]
	# The next run knows what each of them found, and finds it only once.
	run_gated 12
	[ "$(stat_of gated_fuzzer '.strategies["build:open"].edges')" -le "$(stat_of gated_fuzzer .cov)" ]
	[ "$(ledger length)" -eq 1 ]
	run "$FUZZCELL" crash reproduce "$(ledger 'keys[0]')" --state-dir "$STATE"
	echo "$output"
	[[ $output == *reproduces* ]]
}

@test "a build without its program is named, and the main build is fuzzed" {
	mkdir "$WORK/open"
	cp "$GATED/open/gated_fuzzer" "$WORK/open/"
	gated_config "$WORK/open"
	printf '#!/bin/sh\nexit 3\n' >"$WORK/open/gated_fuzzer"
	chmod 0755 "$WORK/open/gated_fuzzer"
	run_gated 6
	[ "$(stat_of gated_fuzzer .execs)" -gt 1000 ]
	[[ $output == *'open/gated_fuzzer: named like a target, but has no fuzzing entry point'* ]]
}

# bats test_tags=slow
@test "inputs that fail only in the main build do not keep it from fuzzing" {
	gated_config "$GATED/open" "$GATED/strict" 8s
	run_gated 60
	[ "$status" -eq 0 ]
	[ "$(stat_of gated_fuzzer .cov)" -gt 100 ]
	[ "$(stat_of gated_fuzzer .execs)" -gt 10000 ]
	grep -q '"gated_fuzzer": {' "$STATE"/crashes/*/record.json
}

# bats test_tags=slow
@test "what was not read before a run ended, or was killed, is read and counted in the next" {
	fuzz_open_only
	run_gated 12
	# No edges but those of the seeds are of unknown origin.
	[ "$(stat_of gated_fuzzer '.strategies["build:open"].edges')" -gt 100 ]
	[ "$(stat_of gated_fuzzer '.cov - ([.strategies[].edges] | add)')" -lt 20 ]
	run_gated 6
	[ "$(stat_of gated_fuzzer '.strategies["build:open"].edges')" -le "$(stat_of gated_fuzzer .cov)" ]
}

# bats test_tags=slow
@test "kill -9 while the other build fuzzes: its inputs are kept, and counted once" {
	local n
	"$FUZZCELL" run --plain --state-dir "$STATE" --max-total-time 120s >"$WORK/out" 2>&1 3>&- &
	PID=$!
	wait_until 60 grep -q 'gated_fuzzer@open requeued' "$WORK/out"
	wait_until 60 grep -q 'gated_fuzzer started' "$WORK/out"
	kill -9 "$PID"
	wait "$PID" || true
	n=$(find "$STATE/corpus/gated_fuzzer@open" -type f | wc -l)
	[ "$n" -gt 0 ]
	run_gated 20
	[ "$(find "$STATE/corpus/gated_fuzzer@open" -type f | wc -l)" -gt 0 ]
	[ "$(stat_of gated_fuzzer .cov)" -gt 200 ]
	[ "$(stat_of gated_fuzzer '.strategies["build:open"].edges')" -le "$(stat_of gated_fuzzer .cov)" ]
}
