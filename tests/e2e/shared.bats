# SPDX-License-Identifier: Apache-2.0
# One crash of several targets: the output and the passes of one target do not change the others.
load lib
setup() {
	PLANTED=$TARGETS
	command -v llvm-symbolizer >/dev/null || skip "by offsets they are two crashes"
	e2e_setup
	OUT=$WORK/out
	TARGETS=$OUT
	mkdir "$OUT"
	export FUZZCELL_STATE_DIR=$STATE
	config '"max_crashes": 1, "minimize_time": "off"'
}
teardown() { e2e_teardown; }

# build NAME...: builds the targets of these names, with the bug.
build() {
	local name
	for name; do
		cp "$PLANTED/shared_fuzzer" "$OUT/$name"
	done
}

# fix NAME: builds the target without the bug.
fix() {
	cp "$PLANTED/healthy_fuzzer" "$OUT/$1.new"
	mv "$OUT/$1.new" "$OUT/$1"
}

# find_in NAME TEXT: makes this input of the target a crash; sets SIG to its signature.
find_in() {
	queue "$1" crash "$2"
	run "$FUZZCELL" crash triage --targets "$OUT" --filter "$1" --commit aaa
	echo "$output"
	[ "$status" -eq 0 ]
	SIG=$(jq -r 'keys[0]' "$STATE/known_crashes.json")
}

# entry TARGET FILTER: prints the filtered entry of the crash in that target.
entry() {
	jq -r --arg t "$1" ".[\"$SIG\"] | (.found_by // [.])[] | select(.fuzzer == \$t) | $2" \
		"$STATE/known_crashes.json"
}

state() {
	jq -r ".[\"$SIG\"].state" "$STATE/known_crashes.json"
}

# run_all COMMIT: a short run of all targets.
run_all() {
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --targets "$OUT" --max-fuzzer-time 1s \
		--commit "$1"
	echo "$output"
}

regress() {
	run timeout $((300 * SLOW)) "$FUZZCELL" regress --targets "$OUT" "$@"
	echo "status $status: $output"
}

# bats test_tags=slow
@test "fixed in one target is not fixed in the other, which has an input of its own" {
	build a_fuzzer b_fuzzer
	find_in a_fuzzer 'a!'
	find_in b_fuzzer 'b!'
	[ "$(jq length "$STATE/known_crashes.json")" -eq 1 ]
	[ "$(cat "$STATE/crashes/$SIG/input" "$STATE/crashes/$SIG/by/b_fuzzer/input")" = 'a!b!' ]
	regress
	[ "$status" -eq 1 ]
	[[ $output == *"a_fuzzer: 1 input: 0 passed, 1 failed"* ]]
	[[ $output == *"b_fuzzer: 1 input: 0 passed, 1 failed"* ]]
	"$FUZZCELL" crash reproduce "$SIG" --targets "$OUT" --target b_fuzzer --times 1

	fix a_fuzzer
	run_all bbb
	[ "$(entry a_fuzzer .state) $(entry b_fuzzer .state) $(state)" = 'fixed known known' ]
	[ ! -e "$STATE/regressions/b_fuzzer" ] || [ -z "$(ls "$STATE/regressions/b_fuzzer")" ]
	[ "$(cat "$STATE"/regressions/a_fuzzer/*)" = 'a!' ]
	run "$FUZZCELL" crash show "$SIG"
	echo "$output"
	[[ $output == *"in a_fuzzer"*"state         fixed"*"in b_fuzzer"*"state         known"* ]]
	regress
	[ "$status" -eq 1 ]
	[[ $output =~ a_fuzzer:\ [0-9]+\ inputs:\ [1-9][0-9]*\ passed,\ 0\ failed ]]
	[[ $output =~ b_fuzzer:\ [0-9]+\ inputs:\ [0-9]+\ passed,\ 1\ failed.*$SIG ]]

	# A rebuilt ledger has the same facts.
	rm "$STATE/known_crashes.json"
	fix b_fuzzer
	run_all ccc
	[ "$(entry a_fuzzer .state) $(entry b_fuzzer .state) $(state)" = 'fixed fixed fixed' ]
	[ "$(cat "$STATE"/regressions/b_fuzzer/*)" = 'b!' ]
	regress
	[ "$status" -eq 0 ]

	# When it comes back in one target, it fails for this target.
	build b_fuzzer
	regress
	[ "$status" -eq 1 ]
	[ "$(entry a_fuzzer .state) $(entry b_fuzzer .state) $(state)" = 'fixed regressed regressed' ]
}

@test "after a forged report, the real target's crash is new, and the run fails" {
	build forge_fuzzer v_fuzzer
	find_in forge_fuzzer 'f!'
	[ "$(entry forge_fuzzer .top_frame)" = shared_read ]
	run "$FUZZCELL" crash ignore "$SIG" --note forged
	[ "$(state)" = ignored ]
	queue v_fuzzer crash 'v!'
	fuzz v_fuzzer 1 --fail-on-crash --commit aaa
	[ "$status" -eq 1 ]
	[ "$(value crashes_new)" -eq 1 ]
	[[ $output == *"1 new crash, "* ]]
	[ "$(jq length "$STATE/known_crashes.json")" -eq 1 ]
	[ "$(entry v_fuzzer '.state + " \(.reproduction.hits)"') $(state)" = 'new 3 new' ]
	[ "$(cat "$STATE/crashes/$SIG/by/v_fuzzer/input")" = 'v!' ]
	grep -q '/shared_fuzzer.c:44:' "$STATE/crashes/$SIG/by/v_fuzzer/report.txt"
	[ "$(grep -c '/shared_fuzzer.c:44:' "$STATE/crashes/$SIG/report.txt")" -eq 0 ]
	regress --allow-known --filter v_fuzzer
	[ "$status" -eq 0 ]
}

# all_of TARGET: prints all facts of the crash in the target.
all_of() {
	entry "$1" '{state, severity, security, crash_type, frames, count, crash_file, input_sha1,
		reproduction, first_seen, last_seen, raw_keys, runs}'
}

@test "the forger's later output, passes and states do not change the other target's entry" {
	local before
	build forge_fuzzer v_fuzzer
	find_in v_fuzzer 'v!'
	before=$(all_of v_fuzzer)$(cat "$STATE/crashes/$SIG"/{input,report.txt,meta.json})
	# A pull request in which it appears fails: it is not known in this target.
	mkdir "$WORK/tree"
	printf 'f!' >"$WORK/tree/input"
	config "\"max_crashes\": 1, \"minimize_time\": \"off\", \"seeds\": [\"$WORK/tree\"]"
	regress --allow-known --filter forge_fuzzer
	[ "$status" -eq 1 ]
	[[ $output == *"new "*"$SIG"* ]]
	find_in forge_fuzzer 'f! a smaller one it is not'
	find_in forge_fuzzer 'f!'
	run "$FUZZCELL" crash ignore "$SIG" --target forge_fuzzer
	[[ $output == *"new in v_fuzzer"*"ignored in forge_fuzzer"* ]]
	[ "$(jq length "$STATE/known_crashes.json")" -eq 1 ]
	[ "$before" = "$(all_of v_fuzzer)$(cat "$STATE/crashes/$SIG"/{input,report.txt,meta.json})" ]
	run "$FUZZCELL" crash unignore "$SIG" --target forge_fuzzer
	fix forge_fuzzer
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --targets "$OUT" --filter forge_fuzzer \
		--max-fuzzer-time 1s --commit bbb
	[[ $output == *"stays open: 'v_fuzzer', which found it too, was not asked"* ]]
	[ "$(entry forge_fuzzer .state) $(entry v_fuzzer .state) $(state)" = 'fixed known known' ]
}
