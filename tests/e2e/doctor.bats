# SPDX-License-Identifier: Apache-2.0
# Each fault that fuzzcell knows of, in a target that has it; and one that has none.
load lib

setup() { e2e_setup; }
teardown() { e2e_teardown; }

# A plateau of wall time: how fast this machine is, and who else uses it, does not matter.
PLATEAU='"plateau": {"rule": "wall", "window": "'$((6 * TIMES))'s"}, "merge_time": "off"'

# plateau [EXTRA]: defaults for it.
plateau() {
	config "$PLATEAU${1:+, $1}" '"quantum": "2s"'
}

doctor() { # [OPTION...]
	run timeout $((120 * SLOW)) "$FUZZCELL" doctor --json --state-dir "$STATE" "$@"
	echo "$output"
}

# The target that was fuzzed last.
examine() {
	doctor --targets "$TARGETS" --filter "$TARGET"
}

codes() { # [SEVERITY]
	jq -r --arg t "$TARGET" --arg s "${1:-}" '.targets[] | select(.name == $t).findings[]
		| select($s == "" or .severity == $s).code' <<<"$output"
}

# says CODE [SEVERITY]: of the target
says() {
	codes "${2:-}" | grep -qx "$1"
}

silent_about() {
	! codes | grep -qx "$1"
}

service() { # CODE
	jq -e --arg c "$1" '.service.findings[] | select(.code == $c)' <<<"$output"
}

seeds() { # TEXT...: the target's archive, in a copy of the output directory
	local n=0 text
	mkdir -p "$WORK/out" "$WORK/seeds"
	for text; do
		n=$((n + 1))
		printf '%s' "$text" >"$WORK/seeds/$n"
	done
	(cd "$WORK/seeds" && zip -q "$WORK/out/${TARGET}_seed_corpus.zip" ./*)
	cp "$TARGETS/$TARGET" "$WORK/out"
	TARGETS=$WORK/out
}

@test "a healthy target has no finding" {
	config '"max_len": 64, "merge_time": "off"'
	fuzz healthy_fuzzer 12
	examine
	[ "$status" -eq 0 ]
	# Of the machine, not of the target.
	[ -z "$(codes | grep -vx starved | { [ "$SLOW" -eq 1 ] && cat || grep -vx slow; })" ]
	[ "$(jq -r '.targets[0].known' <<<"$output")" = true ]
}

@test "it does not start: startup-crash, and exit status 5" {
	fuzz startexit_fuzzer 20
	examine
	[ "$status" -eq 5 ]
	says startup-crash error
	fuzz startcrash_fuzzer 20
	examine
	says startup-crash error
	run "$FUZZCELL" doctor --state-dir "$STATE" --targets "$TARGETS" startcrash_fuzzer
	echo "$output"
	[[ $output == *"startcrash_fuzzer: error"* ]]
	[[ $output == *"error startup-crash: fuzzing never began"* ]]
	[[ $output != *startexit_fuzzer* ]]
	run "$FUZZCELL" doctor --state-dir "$STATE" --targets "$TARGETS" nobody
	[ "$status" -eq 2 ]
	[[ $output == *"no target is called 'nobody'"* ]]
}

@test "without instrumentation: not-instrumented" {
	fuzz noinstr_fuzzer 20
	examine
	says not-instrumented error
}

@test "slow, with few edges and no seeds" {
	config '"plateau": {"rule": "none", "cap": "3s"}, "merge_time": "off"'
	fuzz slow_fuzzer 120
	examine
	says slow warning
	says few-edges warning
	says no-seeds note
}

@test "what fails at once dominates: crashes" {
	config '"merge_time": "off", "max_crashes": 3'
	fuzz crash_fuzzer 60
	examine
	says crashes-dominate
	silent_about slow
}

@test "what fails at once dominates: leaks" {
	config '"merge_time": "off", "max_crashes": 3'
	fuzz leaky_fuzzer 60
	examine
	says leaks-dominate
}

@test "what fails at once dominates: timeouts" {
	config '"merge_time": "off", "max_crashes": 3'
	fuzz timeout_fuzzer 60
	examine
	says timeouts-dominate
}

@test "what fails at once dominates: memory" {
	config '"merge_time": "off", "max_crashes": 3'
	fuzz membomb_slow_fuzzer 60
	examine
	says oom-dominate
}

@test "near its memory limit" {
	config '"env": {"PLANTED_MIB": "640"}, "merge_time": "off"'
	sed -i 's/"memory": "256MiB"/"memory": "1GiB"/' "$STATE/config.json"
	fuzz memory_fuzzer 8
	examine
	says memory-near-limit note
}

@test "system calls, processes and files that a cell does not give" {
	fuzz syscall_fuzzer 6
	examine
	says syscalls-refused
	fuzz forkbomb_fuzzer 8
	examine
	says forks-refused warning
	fuzz disk_files_fuzzer 60
	examine
	says disk-limit warning
}

@test "before magic bytes; with the token in a dictionary it is not" {
	plateau
	fuzz token_fuzzer 120
	[ "$(value reason)" = plateau ]
	examine
	[ "$status" -eq 0 ]
	says magic-bytes note
	says no-seeds note
	printf 'token="\\x89TOK\\x0d\\x0a\\x1a\\x0a"\n' >"$WORK/dict"
	plateau "\"max_len\": 64, \"dictionary\": \"$WORK/dict\""
	rm -r "$STATE/stats"
	fuzz token_fuzzer 120
	examine
	silent_about magic-bytes
	silent_about dictionary-unused
	[ "$(value dictionary_entries)" -eq 1 ]
	[ "$(value cov)" -gt 20 ]
}

@test "weak seeds: there are some, and they lead nowhere" {
	TARGET=token_fuzzer
	seeds one two three
	plateau
	fuzz token_fuzzer 120
	[ "$(value reason)" = plateau ]
	examine
	says weak-seeds note
	silent_about no-seeds
}

@test "before a checksum, whose token it has learned" {
	plateau "\"max_len\": 64"
	fuzz checksum_fuzzer 120
	[ "$(value reason)" = plateau ]
	examine
	says checksum-gate note
}

@test "a format with structure" {
	plateau "\"max_len\": 64"
	fuzz structure_fuzzer 240
	[ "$(value reason)" = plateau ]
	examine
	says structure note
}

@test "a harness for too much" {
	plateau "\"max_len\": 64"
	fuzz broad_fuzzer 240
	[ "$(value reason)" = plateau ]
	examine
	says harness-too-broad note
}

@test "all is covered: that is healthy, and needs no seeds" {
	printf 'token="\\x89TOK\\x0d\\x0a\\x1a\\x0a"\n' >"$WORK/dict"
	plateau "\"max_len\": 256, \"dictionary\": \"$WORK/dict\""
	fuzz token_fuzzer 300
	[ "$(value reason)" = plateau ]
	examine
	says covered ok
	silent_about no-seeds
	[ -z "$(codes error)$(codes warning)" ]
}

@test "a dictionary that no input has a part of" {
	printf 'word="%0100d"\n' 0 >"$WORK/dict"
	config "\"max_len\": 64, \"merge_time\": \"off\", \"dictionary\": \"$WORK/dict\""
	fuzz structure_fuzzer 20
	[ "$(value dictionary_entries)" -eq 1 ]
	examine
	says dictionary-unused note
}

@test "silent, and gone: of targets that are not fuzzed something is said, too" {
	fuzz healthy_fuzzer 4
	jq --argjson t $(($(date +%s) - 864000)) '.healthy_fuzzer.fuzzed = $t' \
		"$STATE/stats/last_fuzzed.json" >"$WORK/new"
	cp "$WORK/new" "$STATE/stats/last_fuzzed.json"
	examine
	[ "$status" -eq 5 ]
	says silent error
	mkdir "$WORK/out"
	cp "$TARGETS/token_fuzzer" "$WORK/out"
	doctor --targets "$WORK/out"
	[ "$status" -eq 0 ]
	says not-found warning
	[ "$(jq -r '.targets[] | select(.name == "token_fuzzer").known' <<<"$output")" = false ]
	doctor # nothing says where targets are
	silent_about not-found
}

@test "the service: outbox, disk, a lost run, damaged files, names that are nobody's" {
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

@test "the machine, beside a run that lives and is not disturbed" {
	config '"merge_time": "off"'
	fuzz_background healthy_fuzzer 15
	wait_until 60 fuzzing_began
	doctor --targets "$TARGETS" --filter healthy_fuzzer
	[ "$status" -eq 0 ]
	[[ $(jq -r .machine.is <<<"$output") == *"$(layout) cgroups at "*"kept: memory "* ]]
	kill -0 "$PID"
	status=0
	wait "$PID" || status=$?
	PID=
	[ "$status" -eq 0 ]
	sed -i 's/"memory": "256MiB"/"memory": "8TiB"/' "$STATE/config.json"
	doctor --targets "$TARGETS" --filter healthy_fuzzer
	[ "$status" -eq 3 ]
	jq -e '.machine.findings[] | select(.code == "memory")' <<<"$output"
	[ -z "$(find /sys/fs/cgroup -type d -path "*/fuzzcell/doctor-*" 2>/dev/null)" ]
}

@test "what it prints is for people" {
	fuzz startexit_fuzzer 20
	run "$FUZZCELL" doctor --state-dir "$STATE" --targets "$TARGETS" --filter startexit_fuzzer
	echo "$output"
	[ "$status" -eq 5 ]
	[[ ${lines[0]} == "machine: "* ]]
	[[ $output == *$'\nservice: ok\n'* ]]
	[[ $output == *$'startexit_fuzzer: error\n  error startup-crash: fuzzing never began'* ]]
	[[ $output == *"      -> look at the end of its log"* ]]
}
