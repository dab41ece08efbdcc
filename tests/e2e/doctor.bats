# SPDX-License-Identifier: Apache-2.0
# One target for each fault that fuzzcell knows of, and a target without a fault.  One run fuzzes
# them on two workers before the first test: separate runs took five minutes.  A test prints
# the findings about its own targets.
load lib

setup_file() {
	e2e_setup
	export ALL=$WORK
	plant healthy_fuzzer{,.dict,.options,_seed_corpus.zip} startexit_fuzzer startcrash_fuzzer \
		noinstr_fuzzer slow_fuzzer crash_fuzzer leaky_fuzzer timeout_fuzzer{,.options} \
		membomb_slow_fuzzer memory_fuzzer syscall_fuzzer forkbomb_fuzzer disk_files_fuzzer \
		token_fuzzer checksum_fuzzer structure_fuzzer broad_fuzzer \
		seeded_fuzzer=token_fuzzer worded_fuzzer=token_fuzzer unread_fuzzer=structure_fuzzer
	seeds seeded_fuzzer one two three
	printf 'token="\\x89TOK\\x0d\\x0a\\x1a\\x0a"\n' >"$WORK/token.dict"
	printf 'word="%0100d"\n' 0 >"$WORK/other.dict"
	config_of_all
	timeout $((900 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" --targets "$WORK/targets" \
		>"$WORK/said" 2>&1 || echo "exit status $?" >>"$WORK/said"
}

teardown_file() {
	WORK=$ALL STATE=$ALL/state e2e_teardown
}

setup() { e2e_setup; }
teardown() { e2e_teardown; }

plant() { # FILE|NAME=FILE...: adds targets to the common run
	local file
	mkdir -p "$WORK/targets"
	for file; do
		cp "$TARGETS/${file#*=}" "$WORK/targets/${file%%=*}"
	done
}

seeds() { # TARGET TEXT...: makes its seed archive
	local n=0 text target=$1
	shift
	mkdir "$WORK/seeds"
	for text; do
		n=$((n + 1))
		printf '%s' "$text" >"$WORK/seeds/$n"
	done
	(cd "$WORK/seeds" && zip -q "$WORK/targets/${target}_seed_corpus.zip" ./*)
}

# A target ends by CPU time or after three failures, so the speed and the load of this machine do
# not matter.  The plateau rule is a cap of wall time, for the same reason: another rule would hold
# a target while the machine is oversubscribed.  The two targets that grow for some CPU seconds
# come first: begun last, they would keep one worker while the other idles.  A failed target is
# not started again where a start takes seconds.
config_of_all() {
	config '"plateau": {"rule": "none", "cap": "'$((60 * TIMES))s'"}, "max_time": "'$((240 * TIMES))s'",
		"max_len": 64, "max_crashes": 3, "minimize_time": "off", "merge_time": "off"' \
		'"workers": 2, "adapt": false, "allocation": "queue", "turn": "2s"'
	jq --argjson times "$TIMES" --arg dir "$WORK" '
		def enough: {plateau: {cap: "\(3 * $times)s"}};
		def silence($s): {plateau: {rule: "wall", window: "\($s * $times)s"}};
		def first: {priority: 10};
		def untried: {triage_time: "off"};
		.targets = {
			healthy_fuzzer: enough,
			slow_fuzzer: enough,
			timeout_fuzzer: untried,
			membomb_slow_fuzzer: untried,
			# Allocating the memory has needed 5 CPU seconds.  The ASan
			# quarantine, or a long run, would reach the limit.
			memory_fuzzer: {runs: 20000, memory: "1GiB", env: {PLANTED_MIB: "685",
				ASAN_OPTIONS: "quarantine_size_mb=1"}},
			syscall_fuzzer: enough,
			forkbomb_fuzzer: (enough + untried + {max_crashes: 1}),
			token_fuzzer: silence(3),
			# By chance an input can seem to come from a comparison.
			seeded_fuzzer: (silence(3) + {flags: ["-use_cmp=0"]}),
			worded_fuzzer: (silence(3) + {max_len: 256, dictionary: "\($dir)/token.dict"}),
			checksum_fuzzer: silence(3),
			structure_fuzzer: (first + silence(6)),
			broad_fuzzer: (first + silence(2)),
			unread_fuzzer: (enough + {dictionary: "\($dir)/other.dict"})
		}' "$STATE/config.json" >"$STATE/new"
	mv "$STATE/new" "$STATE/config.json"
}

doctor() { # [OPTION...]
	run timeout $((120 * SLOW)) "$FUZZCELL" doctor --json --state-dir "$STATE" "$@"
	echo "$output"
}

# examine TARGET: copies its results from the common run, and runs doctor on them.
examine() {
	TARGET=$1
	STATE=$ALL/state
	TARGETS=$ALL/targets
	LOGS=$(last_logs)
	grep -e "$TARGET" -e '^exit status' "$ALL/said" || true
	cat "$LOGS/$TARGET.stats" || true
	tail -c 3000 "$LOGS/$TARGET.log" || true
	doctor --targets "$TARGETS" --filter "$TARGET"
	[ "$(jq -r '.targets[].name' <<<"$output")" = "$TARGET" ]
}

# As examine, and the target must have ended at a plateau.
examine_plateau() {
	examine "$1"
	echo "$TARGET: $(value reason)"
	[ "$(value reason)" = plateau ]
}

codes() { # [SEVERITY]
	jq -r --arg t "$TARGET" --arg s "${1:-}" '.targets[] | select(.name == $t).findings[]
		| select($s == "" or .severity == $s).code' <<<"$output"
}

# says CODE [SEVERITY]: the target has this finding
says() {
	codes "${2:-}" | grep -qx "$1" || {
		echo "$TARGET: no ${2:+$2 }$1"
		return 1
	}
}

silent_about() {
	! codes | grep -qx "$1" || {
		echo "$TARGET: $1"
		return 1
	}
}

service() { # CODE
	jq -e --arg c "$1" '.service.findings[] | select(.code == $c)' <<<"$output"
}

@test "a healthy target has no finding" {
	examine healthy_fuzzer
	[ "$status" -eq 0 ]
	# Long enough for a meaningful rate.
	[ "$(value reason)" = cpu-limit ]
	# This finding is about the machine, not about the target.
	[ -z "$(codes | grep -vx starved | { [ "$SLOW" -eq 1 ] && cat || grep -vx slow; })" ]
	[ "$(jq -r '.targets[0].known' <<<"$output")" = true ]
}

@test "it does not start: startup-crash, and exit status 5" {
	examine startexit_fuzzer
	[ "$status" -eq 5 ]
	says startup-crash error
	examine startcrash_fuzzer
	[ "$status" -eq 5 ]
	says startup-crash error
	run "$FUZZCELL" doctor --state-dir "$STATE" --targets "$TARGETS" startcrash_fuzzer
	echo "$output"
	[[ $output == *"startcrash_fuzzer: error"* ]]
	[[ $output == *"error startup-crash: fuzzing never began"* ]]
	[[ $output != *startexit_fuzzer* ]]
	run "$FUZZCELL" doctor --state-dir "$STATE" --targets "$TARGETS" absent
	[ "$status" -eq 2 ]
	[[ $output == *"no target is called 'absent'"* ]]
}

@test "without instrumentation: not-instrumented" {
	examine noinstr_fuzzer
	says not-instrumented error
}

@test "slow, with few edges and no seeds" {
	examine slow_fuzzer
	says slow warning
	says few-edges warning
	says no-seeds note
}

@test "a crash in each execution dominates: crashes" {
	examine crash_fuzzer
	says crashes-dominate
	silent_about slow
}

@test "a leak in each execution dominates: leaks" {
	examine leaky_fuzzer
	says leaks-dominate
}

@test "a timeout in each execution dominates: timeouts; missing triage is reported" {
	examine timeout_fuzzer
	says timeouts-dominate
	says untriaged warning
}

@test "out-of-memory in each execution dominates: memory" {
	examine membomb_slow_fuzzer
	says oom-dominate
}

@test "near its memory limit" {
	examine memory_fuzzer
	says memory-near-limit note
}

@test "system calls, processes and files that a cell refuses" {
	examine syscall_fuzzer
	says syscalls-refused
	examine forkbomb_fuzzer
	says forks-refused error
	examine disk_files_fuzzer
	says disk-limit error
}

@test "magic bytes block the target; with the token in a dictionary they do not" {
	examine_plateau token_fuzzer
	[ "$status" -eq 0 ]
	says magic-bytes note
	says no-seeds note
	examine worded_fuzzer
	silent_about magic-bytes
	silent_about dictionary-unused
	[ "$(value dictionary_entries)" -eq 1 ]
	[ "$(value cov)" -gt 20 ]
}

@test "weak seeds exist, but add no coverage" {
	examine_plateau seeded_fuzzer
	says weak-seeds note
	silent_about no-seeds
}

@test "a checksum blocks the target, although it has learned the token before it" {
	examine_plateau checksum_fuzzer
	says checksum-gate note
}

@test "a format with structure" {
	examine_plateau structure_fuzzer
	says structure note
}

@test "a harness that covers too much code" {
	examine_plateau broad_fuzzer
	says harness-too-broad note
}

@test "a fully covered target is healthy, and needs no seeds" {
	examine_plateau worded_fuzzer
	says covered ok
	silent_about no-seeds
	[ -z "$(codes error)$(codes warning)" ]
}

@test "a dictionary without an entry in any input" {
	examine unread_fuzzer
	[ "$(value dictionary_entries)" -eq 1 ]
	says dictionary-unused note
}

@test "a target without a turn before the run's end" {
	plant first_fuzzer=healthy_fuzzer second_fuzzer=healthy_fuzzer
	TARGETS=$WORK/targets
	config '"merge_time": "off"' '"allocation": "queue", "total_time": "'$((3 * TIMES))s'"'
	fuzz '*_fuzzer' 600
	TARGET=second_fuzzer
	doctor --targets "$TARGETS"
	says no-turn warning
	TARGET=first_fuzzer
	silent_about no-turn
	# No run's log names the target, but the pages show it.
	[ ! -e "$STATE/stats/targets/second_fuzzer.jsonl" ]
	rm -r "$STATE/logs"
	"$FUZZCELL" serve --state-dir "$STATE" --export "$WORK/site"
	grep -q 'before its turn' "$WORK/site/targets/second_fuzzer.html"
	[ "$(jq '.total' "$WORK/site/api/v1/targets.json")" -eq 2 ]
}

@test "silent and removed targets have findings, too" {
	TARGET=healthy_fuzzer
	(cd "$ALL/state" && cp -a --parents config.json stats logs/*/"$TARGET.stats" "$STATE")
	jq --argjson t $(($(date +%s) - 864000)) '.healthy_fuzzer.fuzzed = $t' \
		"$STATE/stats/last_fuzzed.json" >"$WORK/new"
	cp "$WORK/new" "$STATE/stats/last_fuzzed.json"
	doctor --targets "$TARGETS" --filter "$TARGET"
	[ "$status" -eq 5 ]
	says silent error
	mkdir "$WORK/out"
	cp "$TARGETS/token_fuzzer" "$WORK/out/new_fuzzer"
	doctor --targets "$WORK/out"
	[ "$status" -eq 0 ]
	says not-found warning
	[ "$(jq -r '.targets[] | select(.name == "new_fuzzer").known' <<<"$output")" = false ]
	echo x >"$STATE/stats/targets/$TARGET.jsonl"
	doctor # no configuration or run names the targets
	silent_about not-found
	says damaged warning
}

@test "the service: outbox, disk, a lost run, damaged files, sections that match no target" {
	doctor
	[ "$(jq -r .service.severity <<<"$output")" = ok ]
	mkdir -p "$STATE/stats" "$STATE/outbox"
	echo '{"v": 2, "run": "20261122-190000", "status": "lost"}' >"$STATE/stats/run_history.jsonl"
	echo x >"$STATE/trigger.json.damaged"
	echo '{"run": {"disk_reserve": "64MiB"}, "targets": {"nobody_*": {}}}' >"$STATE/config.json"
	doctor --targets "$TARGETS"
	[ "$status" -eq 0 ]
	service run-lost
	service damaged
	service name-unknown
	config ''
	sed -i 's/"disk_reserve": "64MiB"/"disk_reserve": "16TiB"/' "$STATE/config.json"
	doctor
	[ "$status" -eq 3 ]
	service disk-low
}

@test "the machine's findings, beside a living run that is not disturbed" {
	config '"merge_time": "off"'
	fuzz_background healthy_fuzzer 600
	wait_until 60 fuzzing_began
	doctor --targets "$TARGETS" --filter healthy_fuzzer
	[ "$status" -eq 0 ]
	[[ $(jq -r .machine.is <<<"$output") == *"$(layout) cgroups at "*"kept: memory "* ]]
	[ "$(jq .live <<<"$output")" = true ]
	run "$FUZZCELL" doctor --state-dir "$STATE"
	[[ $output != *"was not fuzzed yet"* && $output != *"nothing was fuzzed yet"* ]]
	kill "$PID" # fails if the run has died before
	status=0
	wait "$PID" || status=$?
	PID=
	cat "$WORK/out"
	[ "$status" -eq 0 ]
	LOGS=$(last_logs)
	[ "$(value reason)" = stopped ]
	[ "$(value failures_total)" -eq 0 ]
	sed -i 's/"memory": "256MiB"/"memory": "8TiB"/' "$STATE/config.json"
	doctor --targets "$TARGETS" --filter healthy_fuzzer
	[ "$status" -eq 3 ]
	jq -e '.machine.findings[] | select(.code == "memory")' <<<"$output"
	[ -z "$(find /sys/fs/cgroup -type d -path "*/fuzzcell/doctor-*" 2>/dev/null)" ]
}

@test "the text output is for users" {
	STATE=$ALL/state
	run "$FUZZCELL" doctor --state-dir "$STATE" --targets "$ALL/targets" --filter startexit_fuzzer
	echo "$output"
	[ "$status" -eq 5 ]
	[[ ${lines[0]} == "machine: "* ]]
	[[ $output == *$'\nservice: ok\n'* ]]
	[[ $output == *$'startexit_fuzzer: error\n  error startup-crash: fuzzing never began'* ]]
	[[ $output == *"      -> look at the end of its log"* ]]
}
