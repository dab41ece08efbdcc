# SPDX-License-Identifier: Apache-2.0
# Known inputs are run without fuzzing; an input that did not run does not pass.
load lib
setup() {
	e2e_setup
	OUT=$WORK/out
	TREE=$WORK/tree
	mkdir "$OUT" "$TREE"
	export FUZZCELL_STATE_DIR=$STATE
	with ''
}
teardown() { e2e_teardown; }

# with EXTRA: writes the configuration, with "defaults" from EXTRA; every target has the tree.
with() {
	config "\"seeds\": [\"$TREE\"], \"minimize_time\": \"off\"${1:+, $1}" '"workers": 2'
	sed -i 's/"workers": 1, //' "$STATE/config.json"
}

regress() {
	run timeout $((300 * SLOW)) "$FUZZCELL" regress --targets "$OUT" "$@"
	echo "status $status: $output"
}

# json FILTER OPTION...: prints the filtered JSON output.
json() {
	local filter=$1
	shift
	"$FUZZCELL" regress --targets "$OUT" --json "$@" >"$WORK/json" 2>"$WORK/said" || true
	cat "$WORK/said" >&2
	jq -c "$filter" "$WORK/json"
}

@test "all pass: 0; the inputs are the tree, the archive and the reproducers" {
	cp "$TARGETS"/healthy_fuzzer* "$OUT"
	mkdir "$TREE/deep"
	printf 'one' >"$TREE/one"
	printf 'two' >"$TREE/deep/two words'"
	printf 'one' >"$TREE/again" # the same content runs once
	mkdir -p "$STATE/regressions/healthy_fuzzer"
	printf 'three' >"$STATE/regressions/healthy_fuzzer/3"
	regress
	[ "$status" -eq 0 ]
	[[ $output == *"healthy_fuzzer: 5 inputs: 5 passed, 0 failed"* ]]
	[[ $output == *"of them: 1 regression, 2 seeds, 2 archive"* ]]
	[ "$(json '[.inputs, .passed, .failed, .not_run]')" = '[5,5,0,0]' ]
	[ "$(jq -c .from "$WORK/json")" = \
		'{"crash":0,"regression":1,"in-tree":0,"seeds":2,"archive":2,"corpus":0}' ]
	[ -z "$(ls -A "$STATE/work")" ]
	[ ! -e "$STATE/logs" ] || [ -z "$(ls -A "$STATE/logs")" ]
}

@test "an input of the tree that fails: 1, with its path and its crash; the others still run" {
	cp "$TARGETS"/uaf_fuzzer "$OUT"
	for i in {1..40}; do
		printf 'fine %s' "$i" >"$TREE/fine$i"
	done
	printf 'UA one' >"$TREE/bad one"
	printf 'UA two' >"$TREE/bad2"
	regress
	[ "$status" -eq 1 ]
	[[ $output == *"42 inputs: 40 passed, 2 failed"* ]]
	[[ $output == *"new        $TREE/bad one"* ]]
	[[ $output == *"
             $TREE/bad2
             Heap-use-after-free READ 4"* ]]
	[ "$(grep -c 'Heap-use-after-free READ 4' <<<"$output")" -eq 1 ]
	# Crashes without triage are not written to the ledger.
	[ ! -s "$STATE/known_crashes.json" ]
	regress --allow-known
	[ "$status" -eq 1 ]
}

@test "known crashes: 1, or 0 with --allow-known; ignored ones never count" {
	cp "$TARGETS"/uaf_fuzzer "$OUT"
	printf 'fine' >"$TREE/fine"
	know
	regress
	[ "$status" -eq 1 ]
	[[ $output == *"known      crashes/$SIG/input"* ]]
	regress --allow-known
	[ "$status" -eq 0 ]
	# Triage saw the crash once.  A replay by hand is no sighting.
	[ "$(jq -r ".[\"$SIG\"].count" "$STATE/known_crashes.json")" -eq 1 ]
	"$FUZZCELL" crash ignore "$SIG"
	regress
	[ "$status" -eq 0 ]
	[[ $output == *"ignored    crashes/$SIG/input"* ]]
	[[ $output == *"1 passed, 1 failed, 1 ignored"* ]]
}

@test "the corpus of the state runs, too: a new bug behind one of its inputs is found" {
	cp "$TARGETS"/uaf_fuzzer "$OUT"
	mkdir -p "$STATE/corpus/uaf_fuzzer"
	local i
	for i in 'fine one' 'fine two' 'UA'; do
		printf '%s' "$i" >"$STATE/corpus/uaf_fuzzer/$(printf '%s' "$i" | sha1sum | cut -c 1-40)"
	done
	regress
	[ "$status" -eq 1 ]
	[[ $output == *"3 inputs: 2 passed, 1 failed"* ]]
	[[ $output == *"of them: 3 corpus"* ]]
	[[ $output == *"new        corpus/uaf_fuzzer/$(printf UA | sha1sum | cut -c 1-40)"* ]]
}

# bats test_tags=slow
@test "--time: likely failures run first, the rest is not run, and the result is no pass" {
	local i
	cp "$TARGETS"/{healthy,slowunit}_fuzzer "$OUT"
	for i in {1..60}; do
		printf 'S%s' "$i" >"$TREE/$i"
	done
	mkdir -p "$STATE/regressions/slowunit_fuzzer"
	printf 'quick' >"$STATE/regressions/slowunit_fuzzer/1"
	regress --workers 1 --time 20s
	[ "$status" -eq 5 ]
	# The other target had its share of the time, too.
	[[ $output == *"healthy_fuzzer: 60 inputs: 60 passed"* ]]
	[[ $output =~ slowunit_fuzzer:\ 61\ inputs:\ [1-9][0-9]*\ passed ]]
	[[ $output =~ NOT\ RUN:\ [1-9][0-9]*\ inputs:\ the\ time\ was\ over ]]
	[[ $output =~ slowunit_fuzzer:\ [0-9]+\ of\ 61\ inputs ]]
	regress --time soon
	[ "$status" -eq 2 ]
}

# know: puts one crash of uaf_fuzzer into the ledger; SIG is its name.
know() {
	queue uaf_fuzzer crash UA
	"$FUZZCELL" crash triage --targets "$OUT" --commit aaa
	SIG=$(jq -r 'keys[0]' "$STATE/known_crashes.json")
	[ -n "$SIG" ]
}

@test "a corpus that is a symlink is a user's mistake: 2, and nothing is run" {
	cp "$TARGETS"/healthy_fuzzer "$OUT"
	mkdir "$STATE/corpus" "$WORK/elsewhere"
	ln -s "$WORK/elsewhere" "$STATE/corpus/healthy_fuzzer"
	local command
	for command in "run --plain --max-fuzzer-time 2s" "corpus minimize" regress; do
		# shellcheck disable=SC2086 # words
		run timeout 60 "$FUZZCELL" $command --targets "$OUT"
		echo "$command: status $status: $output"
		[ "$status" -eq 2 ]
		[[ $output == *"corpus/healthy_fuzzer is a symlink"* ]]
		[ ! -e "$STATE/work" ] || [ -z "$(ls -A "$STATE/work")" ]
	done
}

@test "a damaged reproducer is never a pass: left out with its reason, 5, and refused elsewhere" {
	cp "$TARGETS"/uaf_fuzzer "$OUT"
	printf 'fine' >"$TREE/fine"
	know
	local input=$STATE/crashes/$SIG/input
	[ "$(jq -r ".[\"$SIG\"].input_sha1" "$STATE/known_crashes.json")" = \
		"$(sha1sum <"$input" | cut -c 1-40)" ]
	cp "$input" "$WORK/input"
	: >"$input"
	regress --allow-known
	[ "$status" -eq 5 ]
	[[ $output == *"1 left out: 'crashes/$SIG/input' is damaged: 0 bytes, not 2"* ]]
	printf 'xx' >"$input"
	regress --allow-known
	[ "$status" -eq 5 ]
	[[ $output == *"'crashes/$SIG/input' is damaged: its content"* ]]
	for command in "reproduce" "reproduce --shell" "export -o $WORK/a.tar.gz" "minimize"; do
		# shellcheck disable=SC2086 # words
		run "$FUZZCELL" crash $command --targets "$OUT" "$SIG"
		echo "$command: status $status: $output"
		[ "$status" -eq 2 ]
		[[ $output == *"'crashes/$SIG/input' is damaged: its content"* ]]
	done
	[ ! -e "$WORK/a.tar.gz" ]
	cp "$WORK/input" "$input"
	regress --allow-known
	[ "$status" -eq 0 ]
}

@test "a reproducer elsewhere, or behind a link, is not run, copied or named" {
	cp "$TARGETS"/uaf_fuzzer "$OUT"
	printf 'fine' >"$TREE/fine"
	printf 'UA' >"$WORK/outside"
	mkdir -p "$STATE/crashes/x"
	ln -s "$WORK/outside" "$STATE/crashes/x/input"
	local file
	for file in "$WORK/outside" ../outside crashes/x/input; do
		printf '{"x": {"fuzzer": "uaf_fuzzer", "crash_type": "t", "crash_file": "%s"}}' "$file" \
			>"$STATE/known_crashes.json"
		regress --allow-known
		[ "$status" -eq 5 ]
		[[ $output == *"1 input: 1 passed"* ]]
		[[ $output == *"1 left out: '$file'"* ]]
		for command in "reproduce --shell" "export -o $WORK/a.tar.gz"; do
			# shellcheck disable=SC2086 # words
			run "$FUZZCELL" crash $command --targets "$OUT" x
			echo "$command: status $status: $output"
			[ "$status" -eq 2 ]
		done
		[ ! -e "$WORK/a.tar.gz" ]
		run "$FUZZCELL" crash show x
		[[ $output == *"NOT USABLE: '$file'"* ]]
		[ "$("$FUZZCELL" crash show x --json | jq '.unusable | length')" = 1 ]
	done
}

@test "a fixed crash that fails again is regressed, and red until a user accepts it" {
	cp "$TARGETS"/uaf_fuzzer "$OUT"
	know
	# Two inputs: the second fails after the ledger has noted the failure of the first.
	printf 'UA and more' >"$STATE/crashes/$SIG/minimized"
	jq ".[\"$SIG\"] += {state: \"fixed\", minimized: \"crashes/$SIG/minimized\"}" \
		"$STATE/known_crashes.json" >"$WORK/new.json"
	mv "$WORK/new.json" "$STATE/known_crashes.json"
	for i in 1 2 3; do
		regress --allow-known --commit bbb
		[ "$status" -eq 1 ]
		[[ $output == *"regressed  crashes/$SIG/input"* ]]
		[[ $output == *$'\n'"             crashes/$SIG/minimized"* ]]
		[[ $output == *"2 failed, 2 regressed"* ]]
		[ "$(jq -r ".[\"$SIG\"] | .state + \" \" + .last_seen.commit" "$STATE/known_crashes.json")" = \
			'regressed bbb' ]
	done
	"$FUZZCELL" crash ignore "$SIG"
	regress --allow-known
	[ "$status" -eq 0 ]
}

@test "skipped inputs have the same count in each output" {
	cp "$TARGETS"/uaf_fuzzer "$OUT"
	printf 'fine' >"$TREE/fine"
	know
	printf 'xx' >"$STATE/crashes/$SIG/input"
	jq ".[\"$SIG\"] += {minimized: \"crashes/$SIG/minimized\", minimized_bytes: 2}" \
		"$STATE/known_crashes.json" >"$WORK/new.json"
	mv "$WORK/new.json" "$STATE/known_crashes.json"
	regress
	[ "$status" -eq 5 ]
	[[ $output == *"2 left out: "* ]]
	[[ $output == *"1 passed, 0 failed; 2 inputs not run"* ]]
	[ "$(json '[.not_run, .targets[].not_run]')" = '[2,2]' ]
}

@test "no pass when a target could not run, or no input ran at all: 5" {
	cp "$TARGETS"/{healthy,startexit}_fuzzer "$OUT"
	regress
	[ "$status" -eq 5 ]
	[[ $output == *"NO INPUTS"* ]]
	printf 'fine' >"$TREE/fine"
	regress
	[ "$status" -eq 5 ]
	[[ $output == *"healthy_fuzzer: 1 input: 1 passed"* ]]
	[[ $output == *"NOT RUN"* ]]
	[ "$(json '[.targets_not_run, .targets[].ran]' --filter 'startexit*')" = '[1,false]' ]
	regress --filter healthy_fuzzer
	[ "$status" -eq 0 ]
	regress --filter no_such_target
	[ "$status" -eq 2 ]
	# One target has inputs, one has none: the first passes, the second is named.
	rm "$OUT/startexit_fuzzer" "$TREE/fine"
	cp "$TARGETS/healthy_fuzzer_seed_corpus.zip" "$OUT"
	cp "$TARGETS/crash_fuzzer" "$OUT"
	regress
	[ "$status" -eq 0 ]
	[[ $output == *"crash_fuzzer: NO INPUTS"* ]]
	[[ $output == *"1 target without inputs"* ]]
}

# bats test_tags=slow
@test "thousands of inputs take few cells; each failing input is found" {
	cp "$TARGETS"/uaf_fuzzer "$OUT"
	(
		cd "$TREE"
		for i in {1..3000}; do
			printf 'fine %s' "$i" >"$i"
		done
		for i in {1..7}; do
			printf 'UA %s' "$i" >"bad$i"
		done
	)
	[ "$(json '[.inputs, .passed, .failed, .not_run, .new]')" = '[3007,3000,7,0,7]' ]
	[ "$(jq '.targets[0].cells' "$WORK/json")" -le 30 ]
	[ "$(jq -r '.targets[0].failures[].input' "$WORK/json" | sort | tr '\n' ' ')" = \
		"$(printf "$TREE/bad%s " {1..7})" ]
	[ "$(jq '[.targets[0].failures[].signature] | unique | length' "$WORK/json")" -eq 1 ]
	[ "$(jq '[.targets[0].failures[].only_together] | any' "$WORK/json")" = false ]
}

@test "an input that fails only after other inputs is a failure, and reported as such" {
	cp "$TARGETS"/stateful_fuzzer "$OUT"
	with '' '"workers": 1'
	for i in 1 2 3 4 5; do
		printf 'S %s' "$i" >"$TREE/$i"
	done
	printf 'x' >"$TREE/x"
	regress --workers 1
	[ "$status" -eq 1 ]
	[[ $output == *"not when it is run alone"* ]]
	[[ $output == *"6 inputs: "*" passed, "*" failed"* ]]
	[[ $output != *"not run"* ]]
	# Each input passes alone, whatever the target prints between libFuzzer's lines.
	rm "$TREE"/[2-5]
	regress
	[ "$status" -eq 0 ]
}

# bats test_tags=slow
@test "timeouts, memory, system calls: the guilty input is found among the others" {
	cp "$TARGETS"/{timeout,membomb_slow,syscall}_fuzzer "$OUT"
	with '"timeout": "10s"'
	for i in {1..30}; do
		printf 'fine %s' "$i" >"$TREE/fine$i"
	done
	printf 'T' >"$TREE/t"
	printf 'M' >"$TREE/m"
	printf 'S' >"$TREE/s"
	regress
	[ "$status" -eq 1 ]
	[ "$(grep -c '33 inputs: 32 passed, 1 failed' <<<"$output")" -eq 3 ]
	[[ $output == *"new        $TREE/t"*"Timeout in timeout_fuzzer"* ]]
	[[ $output == *"new        $TREE/m"*"Out-of-memory"* ]]
	[[ $output == *"new        $TREE/s"*"Refused-system-call in bpf"* ]]
	[[ $output != *"not when it is run alone"* ]]
}

@test "^C: the tested inputs are reported, and the result is no pass" {
	cp "$TARGETS"/timeout_fuzzer "$OUT"
	with '"timeout": "30s"'
	printf 'T' >"$TREE/t"
	"$FUZZCELL" regress --targets "$OUT" >"$WORK/said" 2>&1 3>&- &
	PID=$!
	wait_until 60 cell_runs
	kill -INT "$PID"
	status=0
	wait "$PID" || status=$?
	cat "$WORK/said" >&2
	[ "$status" -eq 5 ]
	grep -q 'ended by a user' "$WORK/said"
	wait_until 60 nothing_left
}
