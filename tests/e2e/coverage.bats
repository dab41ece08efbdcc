# SPDX-License-Identifier: Apache-2.0
# What the corpus reaches in the source text: reports of a coverage build.
load lib
load inputs

setup() {
	e2e_setup
	TARGETS=$(dirname "$TARGETS")/covered
	mkdir -p "$STATE/corpus/covered_fuzzer"
	config '"timeout": "3s"'
}

teardown() {
	e2e_teardown
}

# Puts inputs into the target's corpus, or takes them out of it.
have() {
	local text
	for text in "$@"; do
		printf %s "$text" >"$STATE/corpus/covered_fuzzer/$(sha1_of "$text")"
	done
}

have_not() {
	rm "$STATE/corpus/covered_fuzzer/$(sha1_of "$1")"
}

sha1_of() {
	printf %s "$1" | sha1sum | cut -d ' ' -f 1
}

coverage() {
	"$FUZZCELL" coverage --state-dir "$STATE" --targets "$TARGETS" "$@"
}

# A value of the newest report.
report() {
	jq -c "$1" "$STATE/coverage/${2:-covered_fuzzer}/report.json"
}

# Runs a tool of the LLVM that built the targets.
tool() {
	local version
	version=$(readelf -p .comment "$TARGETS/coverage/covered_fuzzer" | sed -nE 's/.*clang version ([0-9]+).*/\1/p')
	"/usr/lib/llvm-$version/bin/$1" "${@:2}"
}

# bats test_tags=host
@test "the totals of a report are those of llvm-cov run by hand" {
	have a zz DEEPer
	coverage covered_fuzzer --json >"$WORK/json"
	(cd "$STATE/corpus/covered_fuzzer" &&
		LLVM_PROFILE_FILE=$WORK/raw "$TARGETS/coverage/covered_fuzzer" ./* 2>/dev/null)
	tool llvm-profdata merge -sparse -o "$WORK/profdata" "$WORK/raw"
	tool llvm-cov export -summary-only -instr-profile="$WORK/profdata" \
		"$TARGETS/coverage/covered_fuzzer" >"$WORK/summary"
	jq -S '.data[0].totals | {lines, functions, regions, branches} | map_values({count, covered})' \
		"$WORK/summary" >"$WORK/by_hand"
	jq -S '.targets[0].report.totals' "$WORK/json" | diff - "$WORK/by_hand"
	[ "$(jq '.targets[0].report.totals.lines.covered' "$WORK/json")" -gt 20 ]
}

# bats test_tags=slow
@test "inputs that abort, hang or fork take nothing of the others along" {
	have a zz DEEPer
	coverage covered_fuzzer
	report .totals >"$WORK/before"
	have ABORT ABORTx HANG FORK
	coverage covered_fuzzer
	[ "$(report .inputs.ran)" -eq 3 ]
	[ "$(report .inputs.failed)" -eq 4 ]
	report .totals | diff - "$WORK/before"
}

@test "what stands in the way is named, and what nothing calls is not" {
	have a zz
	run coverage covered_fuzzer
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *'16 lines, 2 functions: '*' in LLVMFuzzerTestOneInput: never true in'* ]]
	[[ $output == *'memcmp(data, "DEEP", 4) == 0'* ]]
	[[ $output != *unreachable* ]]
	[ "$(report '.blockers[0] | [.lines, .functions, .missing]')" = '[16,2,true]' ]
	grep -q shallow -r "$STATE/coverage/covered_fuzzer/html/coverage"
	[ -e "$STATE/coverage/covered_fuzzer/html/index.html" ]
}

@test "a function that falls from reached to unreached is an alarm, once" {
	have a zz DEEPer
	coverage covered_fuzzer --commit 1111111111
	[ "$(report .change)" = null ]
	have_not DEEPer
	run coverage covered_fuzzer --commit 2222222222
	[[ $output == *'warning: covered_fuzzer: fuzzing no longer reaches 2 functions'* ]]
	[ "$(report '[.change.lost[].function]')" = '["covered_variant.c:deep","covered_variant.c:inner"]' ]
	have b
	run coverage covered_fuzzer --commit 3333333333 --since 1111111111
	echo "$output"
	[[ $output != *warning* ]]
	[[ $output == *'since '*', commit 1111111111: lines '*'no longer reached (2):'*deep* ]]
	have DEEPer
	coverage covered_fuzzer --commit 4444444444
	# What was lost and came back did not change.
	run coverage covered_fuzzer --show --since 1111111111
	echo "$output"
	[ "$status" -eq 0 ]
	[[ ${output#*since } != *'no longer reached'* ]]
	[ "$(jq -s length "$STATE/stats/coverage/covered_fuzzer.jsonl")" -eq 4 ]
}

@test "all targets have one report together, with pages and a tracefile" {
	have a zz
	coverage covered_fuzzer
	report . >"$WORK/first"
	mkdir -p "$WORK/out/address" "$WORK/out/coverage" "$STATE/corpus/other_fuzzer"
	cp "$TARGETS/address/covered_fuzzer" "$WORK/out/address/"
	cp "$TARGETS/coverage/covered_fuzzer" "$WORK/out/coverage/"
	cp "$TARGETS/address/covered_fuzzer" "$WORK/out/address/other_fuzzer"
	cp "$TARGETS/coverage/covered_fuzzer" "$WORK/out/coverage/other_fuzzer"
	cp "$TARGETS/address/covered_fuzzer" "$WORK/out/address/lone_fuzzer"
	printf DEEPer >"$STATE/corpus/other_fuzzer/$(sha1_of DEEPer)"
	# The source tree is found by the builds' place; here it has to be named.
	TARGETS=$WORK/out run coverage --all --html "$WORK/pages" --lcov "$WORK/lcov.info" \
		--sources "$(jq -r '.files[].path' "$WORK/first" | sed -n 's,/tests/targets/planted.h$,,p')"
	echo "$output"
	[ "$status" -eq 5 ] # one target has no coverage build
	[[ $output == *'lone_fuzzer: no report: it has no coverage build'* ]]
	grep -q shallow -r "$WORK/pages/all/coverage"
	[ -e "$WORK/pages/other_fuzzer/index.html" ]
	[ "$(report .inputs.ran @all)" -eq 3 ]
	[ "$(report .totals.lines.covered @all)" -gt "$(report .totals.lines.covered other_fuzzer)" ]
	[ "$(report .totals.lines.count @all)" -eq "$(report .totals.lines.count other_fuzzer)" ]
	grep -q '^FNDA:[1-9][0-9]*,covered_variant.c:deep' "$WORK/lcov.info"
	grep -q '^FNDA:[1-9][0-9]*,covered_variant.c:shallow' "$WORK/lcov.info"
}

@test "a coverage build that is none says so, and what there was stays" {
	have a
	coverage covered_fuzzer
	mkdir "$WORK/out"
	cp -r "$TARGETS/." "$WORK/out"
	cp "$TARGETS/address/covered_fuzzer" "$WORK/out/coverage/"
	TARGETS=$WORK/out run coverage covered_fuzzer
	echo "$output"
	[ "$status" -eq 5 ]
	[[ $output == *'wrote no profile: build it with -fprofile-instr-generate'* ]]
	printf '#!/bin/sh\n# LLVMFuzzerTestOneInput\nexit 3\n' >"$WORK/out/coverage/covered_fuzzer"
	TARGETS=$WORK/out run coverage covered_fuzzer
	echo "$output"
	[[ $output == *'ended before it was seen to run an input (status 3)'* ]]
	have_not a
	run coverage covered_fuzzer
	[[ $output == *'its corpus is empty'* ]]
	[ "$(report .inputs.ran)" -eq 1 ]
	run coverage nosuch_fuzzer
	[ "$status" -eq 2 ]
	run coverage --show ../corpus
	[ "$status" -eq 2 ]
	# A relative directory of sources is seen at its plain path.
	have a
	mkdir "$WORK/tree"
	(cd "$WORK/tree" && coverage covered_fuzzer --sources .)
	[ "$(report .sources)" = false ]
}

@test "the dashboard shows the report, its pages and its totals" {
	config '"timeout": "1s", "triage_time": "off", "minimize_time": "off", "merge_time": "off"'
	fuzz covered_fuzzer 1
	rm -f "$STATE"/corpus/covered_fuzzer/*
	have a zz
	coverage --all
	"$FUZZCELL" serve --state-dir "$STATE" --export "$WORK/site"
	grep -q 'Source coverage' "$WORK/site/targets/covered_fuzzer.html"
	grep -q 'coverage/all/index.html' "$WORK/site/index.html"
	[ "$(jq .report.inputs.ran "$WORK/site/api/v1/coverage/covered_fuzzer.json")" -eq 2 ]
	find "$WORK/site/coverage/covered_fuzzer" -name covered_variant.c.html | grep -q .
	grep -q '^fuzzcell_target_source_total{target="covered_fuzzer",measure="functions"} 14$' "$WORK/site/metrics"
}

# bats test_tags=slow
@test "a report that is killed leaves the one before" {
	have a zz
	coverage covered_fuzzer
	report . >"$WORK/before"
	have HANG DEEPer
	"$FUZZCELL" coverage --state-dir "$STATE" --targets "$TARGETS" covered_fuzzer 3>&- &
	PID=$!
	wait_until 60 cell_runs
	kill -9 "$PID"
	wait "$PID" || true
	wait_until 60 eval '! cell_runs'
	report . | diff - "$WORK/before"
	coverage covered_fuzzer
	[ "$(report .inputs.ran)" -eq 3 ]
	[ "$(jq -s length "$STATE/stats/coverage/covered_fuzzer.jsonl")" -eq 2 ]
}

# bats test_tags=slow
@test "a continuous run makes reports by itself, one for each target" {
	mkdir -p "$WORK/out/address" "$WORK/out/coverage"
	for name in covered_fuzzer other_fuzzer; do
		cp "$TARGETS/address/covered_fuzzer" "$WORK/out/address/$name"
		cp "$TARGETS/coverage/covered_fuzzer" "$WORK/out/coverage/$name"
	done
	config '"timeout": "1s", "triage_time": "off", "minimize_time": "off"' '"turn": "1s"'
	TARGETS=$WORK/out
	"$FUZZCELL" run --continuous --plain --state-dir "$STATE" --targets "$TARGETS" >"$WORK/out.log" 2>&1 3>&- &
	PID=$!
	wait_until 120 [ -e "$STATE/coverage/covered_fuzzer/report.json" ]
	wait_until 120 [ -e "$STATE/coverage/other_fuzzer/report.json" ]
	kill -INT "$PID"
	wait "$PID" || true
	[ "$(report .inputs.ran)" -gt 0 ]
	[ "$(jq -s length "$STATE/stats/coverage/covered_fuzzer.jsonl")" -eq 1 ]
	grep -q 'source coverage: lines [1-9]' "$STATE"/logs/*/covered_fuzzer.log
}
