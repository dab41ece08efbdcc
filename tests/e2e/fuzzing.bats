# SPDX-License-Identifier: Apache-2.0
# The purpose of fuzzcell: it fuzzes, stops when fuzzing no longer pays, and keeps its findings.
load lib
setup() { e2e_setup; }
teardown() { e2e_teardown; }

# bats test_tags=host,slow
@test "a healthy target is fuzzed until its plateau, and its inputs are kept" {
	config '"plateau": {"rule": "cpu-silence", "window": "'$((3 * TIMES))'s"}, "max_len": 64' \
		'"hold": "2s", "turn": "5s"'
	fuzz healthy_fuzzer 240
	[ "$status" -eq 0 ]
	ended_by_its_rule
	[ "$(value fuzzed)" = true ]
	[ "$(value execs)" -gt 1000 ]
	[ "$(value cov)" -gt 50 ]
	[ "$(value failures_total)" -eq 0 ]
	[ "$(value new_inputs)" -gt 10 ]
	# The corpus is merged, and keeps the coverage that was found.
	[ "$(find "$STATE/corpus/$TARGET" -type f | wc -l)" -gt 10 ]
	[ "$(jq .corpus.edges "$LOGS/$TARGET.stats")" -ge "$(value cov)" ]
	# (The depth of the stack is a feature, too, and is not always the same.)
	[ "$(jq .corpus.features "$LOGS/$TARGET.stats")" -ge $(($(value ft) * 99 / 100)) ]
	for f in "$STATE/corpus/$TARGET"/*; do
		[ "$(basename "$f")" = "$(sha1sum <"$f" | cut -d' ' -f1)" ]
	done
}

# bats test_tags=host,slow
@test "the second run starts from the first one's corpus" {
	fuzz healthy_fuzzer 5
	first=$(value cov)
	fuzz healthy_fuzzer 5
	[ "$status" -eq 0 ]
	[ "$(value seeds)" -gt 10 ]
	[ "$(value cov)" -ge $((first * 9 / 10)) ]
}

# bats test_tags=host
@test "a crash is saved, and fuzzing goes on for the remaining time" {
	config '"max_crashes": 3'
	fuzz crash_fuzzer 60
	[ "$(failures crash)" -ge 1 ]
	[ "$(artifacts crash)" -ge 1 ]
	[ "$(value restarts)" -ge 1 ]
	for f in "$LOGS/crashes/$TARGET"/crash-*; do
		[ "${f##*-}" = "$(sha1sum <"$f" | cut -d' ' -f1)" ]
	done
	grep -q 'heap-buffer-overflow' "$LOGS/$TARGET.log"
	[[ $output == *heap-buffer-overflow* ]]
}

# bats test_tags=host
@test "--fail-on-crash exits with 1 when there was one, else 0" {
	config '"max_crashes": 1'
	fuzz crash_fuzzer 60 --fail-on-crash
	[ "$status" -eq 1 ]
	fuzz healthy_fuzzer 2 --fail-on-crash
	[ "$status" -eq 0 ]
}

# bats test_tags=host
@test "a leak is saved as a leak" {
	config '"max_crashes": 1'
	fuzz leak_fuzzer 60
	[ "$(failures leak)" -ge 1 ]
	[ "$(artifacts leak)" -ge 1 ]
}

# bats test_tags=host,slow
@test "an input that hangs is saved as a timeout" {
	config '"timeout": "2s", "max_crashes": 1'
	fuzz timeout_fuzzer 60
	[ "$(failures timeout)" -ge 1 ]
	[ "$(artifacts timeout)" -ge 1 ]
}

# bats test_tags=host
@test "undefined behaviour and uninitialised memory are crashes too" {
	config '"max_crashes": 1'
	fuzz ub_fuzzer 60
	[ "$(failures crash)" -ge 1 ]
	fuzz uninit_fuzzer 60
	[ "$(failures crash)" -ge 1 ]
}

# bats test_tags=host
@test "a target that crashes on every input is a crash loop, with its failures counted" {
	fuzz crashloop_fuzzer 120
	[ "$(value reason)" = crash-loop ]
	[ "$(value failures_total)" -ge 3 ]
	[ "$(artifacts crash)" -ge 1 ]
}

# Runs until the deep bug is known, and stops the run.
until_deep() { # TARGET
	config '"minimize_time": "off", "merge_time": "off"'
	fuzz_background "$1" 300
	wait_until 280 grep -qs behind_deep "$STATE/known_crashes.json"
	kill -INT "$PID"
	wait "$PID" || true
	LOGS=$(last_logs)
	[ "$(value reason)" = stopped ] # and not crash-loop
	jq -e '[.[].top_frame] | contains(["behind_easy", "behind_deep"])' "$STATE/known_crashes.json"
}

# bats test_tags=host
@test "a bug behind an easy one is found: undefined behaviour is suppressed once it is known" {
	until_deep behind_fuzzer
	# One failure of each bug, and once more a failure that is found before the end.
	[ "$(failures crash)" -le 4 ]
	grep -q 'UBSAN_OPTIONS=[^ ]*:suppressions=' "$LOGS/$TARGET.log"
	# Inputs of the second bug meet the overflow first, but still count for the second bug.
	deep=$(jq -r 'to_entries[] | select(.value.top_frame == "behind_deep").key' "$STATE/known_crashes.json")
	[ "$(jq -r ".\"$deep\".reproduction.hits" "$STATE/known_crashes.json")" -ge 1 ]
	run "$FUZZCELL" crash reproduce --state-dir "$STATE" "$deep"
	echo "$output"
	[ "$status" -eq 0 ]
	run bash -c "$("$FUZZCELL" crash reproduce --state-dir "$STATE" --shell "$deep")"
	[[ $output == *heap-use-after-free* ]]
}

# bats test_tags=host
@test "undefined behaviour behind undefined behaviour is a crash of its own, and hides no memory error" {
	config '"minimize_time": "off", "merge_time": "off"'
	fuzz_background chain_fuzzer 300
	wait_until 280 grep -qs chain_third "$STATE/known_crashes.json"
	kill -INT "$PID"
	wait "$PID" || true
	jq -e '[.[].top_frame] | sort == ["chain_first", "chain_second", "chain_third"]' "$STATE/known_crashes.json"
	jq -e '.[] | select(.top_frame == "chain_third") | .security and .kind == "asan" and .reproduction.hits >= 1' \
		"$STATE/known_crashes.json"
	# A replay meets the first bug, so the second crash has the finding cell's report.
	jq -e '.[] | select(.top_frame == "chain_second").crash_type == "Undefined-shift"' "$STATE/known_crashes.json"
}

# bats test_tags=host,slow
@test "inputs that are found behind known undefined behaviour survive the merge" {
	config '"minimize_time": "off"'
	fuzz behind_fuzzer 10
	[ "$(jq -r '.targets[0].corpus.verdict' "$LOGS/summary.json")" = replaced ]
	# Reads each file as a whole (-z): for grep, a newline would end the line.
	perl -0777 -ne '$found ||= /\AP.{10}U/s; END { exit !$found }' "$STATE/corpus/behind_fuzzer"/*
	[ "$(find "$STATE/quarantine" -type f 2>/dev/null | wc -l)" -le 1 ]
}

# bats test_tags=host,slow
@test "a bug behind a fatal bug is found: known failures are counted, not replayed" {
	until_deep behind_hard_fuzzer
	[ "$(failures crash)" -ge 3 ]
	# One line for each new crash, however often it came.
	[ "$(grep -c ' behind_hard_fuzzer failed' "$WORK/out")" -le 6 ]
}

# bats test_tags=host,slow
@test "several targets, two workers: each gets its turn before the run's end" {
	mkdir "$WORK/out"
	cp "$TARGETS"/{healthy,cpuhog,forge,magic}_fuzzer "$WORK/out"
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" --targets "$WORK/out" \
		--workers 2 --max-total-time $((24 * TIMES))s
	echo "$output"
	[ "$status" -eq 0 ]
	LOGS=$(last_logs)
	[ "$(grep -c '"fuzzed": true' "$LOGS/summary.json")" -eq 4 ]
	[ "$(wc -l <"$STATE/stats/run_history.jsonl")" -eq 1 ]
	seconds=$(sed -n 's/^  "elapsed_seconds": \([0-9]*\).*/\1/p' "$LOGS/summary.json")
	[ "$seconds" -le $((28 * TIMES + 30 * SLOW)) ]
}

# bats test_tags=host
@test "--dry-run executes nothing" {
	fuzz healthy_fuzzer 5 --dry-run
	[ "$status" -eq 0 ]
	[[ $output == *"1 targets would be fuzzed"* ]]
	[ -z "$(find "$STATE/logs" -mindepth 1)" ]
}

@test "config show prints the cell's settings and side files with their origin, or fails" {
	mkdir "$WORK/out"
	cp "$TARGETS/healthy_fuzzer" "$WORK/out"
	printf '[libfuzzer]\ntimeout = 7\nrss_limit_mb = 100\nmax_len = 100\nseed = 5\n[asan]\ndetect_leaks = 0\n' \
		>"$WORK/out/healthy_fuzzer.options"
	echo '"word"' >"$WORK/out/healthy_fuzzer.dict"
	config '"max_len": 50'
	"$FUZZCELL" config show healthy_fuzzer --targets "$WORK/out" --state-dir "$STATE" --json >"$WORK/shown"
	cat "$WORK/shown" >&2
	[ "$(jq -r '.timeout.value, .rss_limit.value, .seed.value' "$WORK/shown" | xargs)" = '7s 100MiB 5' ]
	[ "$(jq -r '[.timeout, .rss_limit, .seed] | map(.from) | unique[]' "$WORK/shown")" = \
		"the target's .options or manifest" ]
	[ "$(jq -r .max_len.value "$WORK/shown")" = 50 ]
	[[ $(jq -r .max_len.from "$WORK/shown") == *config.json* ]]
	[ "$(jq -r .env.value.ASAN_OPTIONS "$WORK/shown")" = detect_leaks=0 ]
	[ "$(jq -r .dictionary.value "$WORK/shown")" = "$WORK/out/healthy_fuzzer.dict" ]
	TARGETS=$WORK/out fuzz healthy_fuzzer 2
	local command
	command=$(grep -m 1 'command: ' "$LOGS/healthy_fuzzer.log")
	local flag
	for flag in -timeout=7 -rss_limit_mb=100 -max_len=50 -seed=5; do
		[[ $command == *" $flag "* ]]
	done
	[[ $command != *-max_len=100* ]]
	run "$FUZZCELL" config show healthy_fuzer --targets "$WORK/out" --state-dir "$STATE"
	[ "$status" -eq 2 ]
	[[ $output == *"did you mean 'healthy_fuzzer'"* ]]
	run "$FUZZCELL" config show healthy_fuzzer --state-dir "$STATE"
	[ "$status" -eq 2 ]
}

usage_error() { # TEXT COMMAND...
	run "$FUZZCELL" "${@:2}"
	echo "$output"
	[ "$status" -eq 2 ]
	[[ $output == *"$1"* ]]
}

@test "a mistyped name is refused, and the nearest name is suggested" {
	usage_error "did you mean 'run'?" rnu
	usage_error "did you mean 'show'?" crash shwo
	usage_error "did you mean 'list'?" outbox lst
	usage_error "did you mean 'check'?" config chekc
	usage_error 'did you mean --json?' list --jsno
	usage_error 'did you mean --targets?' run --target out
	usage_error "run: --max-total-time: '10' has no unit: 10s, 10m or 10h?" run --max-total-time 10
	usage_error "trigger: --loop: '30' has no unit" trigger --loop 30
}
