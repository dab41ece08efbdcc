# SPDX-License-Identifier: Apache-2.0
# Each fault that fuzzcell knows of, in a target that has it; and one that has none.  They are
# fuzzed by one run, on two workers, before the first test: each by a run of its own, one after
# the other, they took five minutes.  A test prints what is known of its own targets.
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

plant() { # FILE|NAME=FILE...: for the run of all
	local file
	mkdir -p "$WORK/targets"
	for file; do
		cp "$TARGETS/${file#*=}" "$WORK/targets/${file%%=*}"
	done
}

seeds() { # TARGET TEXT...: its archive
	local n=0 text target=$1
	shift
	mkdir "$WORK/seeds"
	for text; do
		n=$((n + 1))
		printf '%s' "$text" >"$WORK/seeds/$n"
	done
	(cd "$WORK/seeds" && zip -q "$WORK/targets/${target}_seed_corpus.zip" ./*)
}

# Who has had enough says it by CPU time, or has failed three times: how fast this machine is,
# and who else uses it, does not matter.  A plateau is one of wall time, for the same reason: by
# the others it would be held while the machine is busy.  The two that grow for some CPU
# seconds come first: begun last, they would keep one worker, and the other would have nothing.
# What failed is not tried again where a try takes seconds.
config_of_all() {
	config '"plateau": {"rule": "none", "cap": "'$((60 * TIMES))s'"}, "max_time": "'$((240 * TIMES))s'",
		"max_len": 64, "max_crashes": 3, "minimize_time": "off", "merge_time": "off"' \
		'"workers": 2, "adapt": false, "allocation": "queue", "quantum": "2s"'
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
			# Taking its memory has needed 5 CPU seconds; the quarantine, or a long run, would
			# reach the limit.
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

# examine TARGET: what the run of all left of it, and what is said of that.
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

# The same, of one that ended because it found nothing more: all that is at a plateau.
examine_plateau() {
	examine "$1"
	echo "$TARGET: $(value reason)"
	[ "$(value reason)" = plateau ]
}

codes() { # [SEVERITY]
	jq -r --arg t "$TARGET" --arg s "${1:-}" '.targets[] | select(.name == $t).findings[]
		| select($s == "" or .severity == $s).code' <<<"$output"
}

# says CODE [SEVERITY]: of the target
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
	# Long enough that there would be a rate to speak of.
	[ "$(value reason)" = cpu-limit ]
	# Of the machine, not of the target.
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
	run "$FUZZCELL" doctor --state-dir "$STATE" --targets "$TARGETS" nobody
	[ "$status" -eq 2 ]
	[[ $output == *"no target is called 'nobody'"* ]]
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

@test "what fails at once dominates: crashes" {
	examine crash_fuzzer
	says crashes-dominate
	silent_about slow
}

@test "what fails at once dominates: leaks" {
	examine leaky_fuzzer
	says leaks-dominate
}

@test "what fails at once dominates: timeouts; what was not triaged is said to be so" {
	examine timeout_fuzzer
	says timeouts-dominate
	says untriaged warning
}

@test "what fails at once dominates: memory" {
	examine membomb_slow_fuzzer
	says oom-dominate
}

@test "near its memory limit" {
	examine memory_fuzzer
	says memory-near-limit note
}

@test "system calls, processes and files that a cell does not give" {
	examine syscall_fuzzer
	says syscalls-refused
	examine forkbomb_fuzzer
	says forks-refused error
	examine disk_files_fuzzer
	says disk-limit error
}

@test "before magic bytes; with the token in a dictionary it is not" {
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

@test "weak seeds: there are some, and they lead nowhere" {
	examine_plateau seeded_fuzzer
	says weak-seeds note
	silent_about no-seeds
}

@test "before a checksum, whose token it has learned" {
	examine_plateau checksum_fuzzer
	says checksum-gate note
}

@test "a format with structure" {
	examine_plateau structure_fuzzer
	says structure note
}

@test "a harness for too much" {
	examine_plateau broad_fuzzer
	says harness-too-broad note
}

@test "all is covered: that is healthy, and needs no seeds" {
	examine_plateau worded_fuzzer
	says covered ok
	silent_about no-seeds
	[ -z "$(codes error)$(codes warning)" ]
}

@test "a dictionary that no input has a part of" {
	examine unread_fuzzer
	[ "$(value dictionary_entries)" -eq 1 ]
	says dictionary-unused note
}

@test "the run was over before its turn came" {
	plant first_fuzzer=healthy_fuzzer second_fuzzer=healthy_fuzzer
	TARGETS=$WORK/targets
	config '"merge_time": "off"' '"allocation": "queue", "total_time": "'$((3 * TIMES))s'"'
	fuzz '*_fuzzer' 600
	TARGET=second_fuzzer
	doctor --targets "$TARGETS"
	says no-turn warning
	TARGET=first_fuzzer
	silent_about no-turn
	# No run's log knows it, and it is on the pages.
	[ ! -e "$STATE/stats/targets/second_fuzzer.jsonl" ]
	rm -r "$STATE/logs"
	"$FUZZCELL" serve --state-dir "$STATE" --export "$WORK/site"
	grep -q 'before its turn' "$WORK/site/targets/second_fuzzer.html"
	[ "$(jq '.total' "$WORK/site/api/v1/targets.json")" -eq 2 ]
}

@test "silent, and gone: of targets that are not fuzzed something is said, too" {
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
	doctor # nothing says where targets are
	silent_about not-found
	says damaged warning
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
	fuzz_background healthy_fuzzer 600
	wait_until 60 fuzzing_began
	doctor --targets "$TARGETS" --filter healthy_fuzzer
	[ "$status" -eq 0 ]
	[[ $(jq -r .machine.is <<<"$output") == *"$(layout) cgroups at "*"kept: memory "* ]]
	[ "$(jq .live <<<"$output")" = true ]
	run "$FUZZCELL" doctor --state-dir "$STATE"
	[[ $output != *"was not fuzzed yet"* && $output != *"nothing was fuzzed yet"* ]]
	kill "$PID" # what it did until then was in order, if it lives
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

@test "what it prints is for people" {
	STATE=$ALL/state
	run "$FUZZCELL" doctor --state-dir "$STATE" --targets "$ALL/targets" --filter startexit_fuzzer
	echo "$output"
	[ "$status" -eq 5 ]
	[[ ${lines[0]} == "machine: "* ]]
	[[ $output == *$'\nservice: ok\n'* ]]
	[[ $output == *$'startexit_fuzzer: error\n  error startup-crash: fuzzing never began'* ]]
	[[ $output == *"      -> look at the end of its log"* ]]
}
