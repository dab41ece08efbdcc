# SPDX-License-Identifier: Apache-2.0
# A push starts one run; no two runs live at a time, whichever process is killed.
load lib
load repo
setup() {
	e2e_setup
	git_setup
	TARGET=healthy_fuzzer
	git init -q --bare "$WORK/up.git"
	git clone -q "$WORK/up.git" "$WORK/dev" 2>/dev/null
	push first
	git clone -q "$WORK/up.git" "$WORK/tree"
	configure 1s 2
}
teardown() {
	# Runs outlive their trigger.
	for p in $(pgrep -f -- "--state-dir $WORK/"); do
		kill -9 "$p" 2>/dev/null || true
	done
	e2e_teardown
}

push() { # TEXT
	echo "$1" >>"$WORK/dev/code"
	git -C "$WORK/dev" add code
	git -C "$WORK/dev" commit -q -m "$1"
	git -C "$WORK/dev" push -q origin HEAD:main
}

pushed() { git -C "$WORK/dev" rev-parse HEAD; }

# configure INTERVAL SECONDS [TRIGGER]: SECONDS is the time of each run.
configure() {
	config "\"max_time\": \"$(($2 * TIMES))s\", \"merge_time\": \"off\""
	mkdir -p "$WORK/out"
	cp "$TARGETS/$TARGET" "$WORK/out/"
	jq ". + {discovery: [{type: \"directory\", path: \"$WORK/out\"}],
	         trigger: ({repository: \"$WORK/tree\", interval: \"$1\"} + ${3:-{\}})}" \
		"$STATE/config.json" >"$WORK/c" && mv "$WORK/c" "$STATE/config.json"
}

trigger() {
	run timeout $((120 * SLOW)) "$FUZZCELL" trigger --state-dir "$STATE" "$@"
	echo "$output"
}

trigger_background() {
	"$FUZZCELL" trigger --state-dir "$STATE" "$@" >>"$WORK/out.txt" 2>&1 3>&- &
	PID=$!
}

done_is() { [ "$(cat "$STATE/last_run_commit" 2>/dev/null)" = "$1" ]; }
outcome_is() { [ "$(record .outcome)" = "$1" ]; }
record() { jq -r "$1" "$STATE/trigger.json"; }
runs() { find "$STATE/logs" -mindepth 1 -maxdepth 1 -type d 2>/dev/null | wc -l; }
run_fuzzes() { [ "$(runs)" -ge "${1:-1}" ] && fuzzing_began; }
lives() { [ -e "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
holder() { sed -n 1p "$STATE/lock"; }

# bats test_tags=slow
@test "a push is fuzzed once; then there is nothing to do" {
	trigger --dry-run
	[ "$status" -eq 0 ]
	[[ $output == *"would start: $(pushed | cut -c -12) is new"* ]]
	[ ! -e "$STATE/trigger.json" ]
	trigger
	[ "$status" -eq 0 ]
	done_is "$(pushed)"
	[ "$(runs)" -eq 1 ]
	outcome_is 'done'
	grep -q "$(pushed)" "$STATE/stats/run_history.jsonl"
	grep -q '"event":"trigger"' "$STATE/trigger.log"
	trigger
	[ "$status" -eq 0 ]
	[[ $output == *"nothing to do"* ]]
	[ "$(runs)" -eq 1 ]
	trigger --force
	[ "$status" -eq 0 ]
	[ "$(runs)" -eq 2 ]
	trigger --dry-run
	[[ $output == *"nothing to do"* ]]
}

# bats test_tags=slow
@test "a second push within the interval waits for its end, and the fuzzed commit is checked out" {
	configure 1h 1
	trigger_background --loop 2s
	wait_until 120 done_is "$(pushed)"
	began=$(record '.start.real_us - .start.age_us')
	push second
	push third
	sleep 5 # two checks
	[ "$(runs)" -eq 1 ]
	# The interval ends in some seconds, however long the steps above took.
	interval=$(($(date +%s) - began / 1000000 + 8))
	configure "${interval}s" 1
	kill -HUP "$PID"
	wait_until 120 done_is "$(pushed)"
	[ "$(runs)" -eq 2 ] # the second push had no run of its own
	grep -q third "$WORK/tree/code"
	[ "$(record '.start.real_us - .start.age_us')" -ge $((began + (interval - 1) * 1000000)) ]
	kill "$PID"
	wait "$PID"
	[ "$(grep -c 'starts$' "$WORK/out.txt")" -eq 2 ]
}

# bats test_tags=slow
@test "a push does not wait for an older one's long run" {
	configure 5s 600
	trigger_background --loop 2s
	wait_until 60 run_fuzzes
	push second
	wait_until 120 run_fuzzes 2
	[ "$(record .commit)" = "$(pushed)" ]
	[ ! -e "$STATE/last_run_commit" ]
	kill "$PID"
	wait "$PID"
	[ ! -e "$STATE/last_run_commit" ] # a stopped run is not done
	outcome_is stopped
	[ "$(record .failures)" = 0 ]
}

# bats test_tags=slow
@test "one trigger at a time, and a dead trigger keeps no lock" {
	configure 1s 600
	trigger_background --loop 2s
	wait_until 60 run_fuzzes
	trigger
	[ "$status" -eq 4 ]
	[[ $output == *"another trigger"*"process $PID"* ]]
	trigger --dry-run
	[ "$status" -eq 0 ]
	[[ $output == *"is being fuzzed"* ]]
	kill -9 "$PID"
	wait "$PID" || true
	# The run continues, and the next trigger finds it: no second run starts.
	fuzzer=$(holder)
	kill -0 "$fuzzer"
	trigger_background --loop 2s
	wait_until 60 grep -q "an earlier trigger's run .* goes on (process $fuzzer)" "$WORK/out.txt"
	sleep 5
	[ "$(runs)" -eq 1 ]
	kill -0 "$fuzzer"
	# It also stops this run by SIGTERM.
	push second
	wait_until 120 run_fuzzes 2
	wait_until 60 eval '! lives "$fuzzer"'
	[ "$(holder)" != "$fuzzer" ]
	kill "$PID"
	wait "$PID"
}

# bats test_tags=slow
@test "a killed run does not count: it is retried after the interval, and then later (backoff)" {
	configure 8s 600
	trigger_background --loop 2s
	wait_until 60 run_fuzzes
	kill -9 "$(holder)"
	wait_until 60 outcome_is failed
	[ "$(record .failures)" = 1 ]
	[ ! -e "$STATE/last_run_commit" ]
	[[ $(record .why) == *"signal 9"* ]]
	run "$FUZZCELL" doctor --json --state-dir "$STATE"
	[ "$status" -eq 3 ]
	[[ $(jq -r '.service.findings[] | select(.code == "trigger-failing").reason' <<<"$output") == *"signal 9"* ]]
	sleep 12
	[ "$(runs)" -eq 1 ] # at least a minute between failures
	push fix
	wait_until 120 run_fuzzes 2
	kill "$PID"
	wait "$PID"
}

@test "trigger and run are killed at once: the next trigger starts no second run within the interval" {
	configure 1h 600
	trigger_background --loop 2s
	wait_until 60 run_fuzzes
	fuzzer=$(holder)
	kill -9 "$PID" "$fuzzer"
	wait "$PID" || true
	# The run is no child of this shell: poll until it is dead and its locks are free.
	wait_until 60 eval '! lives "$fuzzer"'
	wait_until 60 let_go
	outcome_is running
	trigger
	[ "$status" -eq 0 ]
	[[ $output == *"its end was not observed"* ]]
	[[ $output == *"failed 1 time"* ]]
	[ "$(runs)" -eq 1 ]
	[ "$(record .failures)" = 1 ]
	# Any next start removes the dead run's files on a tmpfs.
	"$FUZZCELL" run --dry-run --state-dir "$STATE"
}

# bats test_tags=slow
@test "a change in the work tree is reported as the user's task, and nothing is touched" {
	trigger
	[ "$status" -eq 0 ]
	push second
	echo mine >>"$WORK/tree/code"
	sleep 1
	trigger
	[ "$status" -eq 2 ]
	[[ $output == *"not committed"*"'code'"* ]]
	grep -q mine "$WORK/tree/code"
	[ "$(runs)" -eq 1 ]
	git -C "$WORK/tree" checkout -q -f
	mv "$WORK/up.git" "$WORK/away"
	trigger --dry-run
	[ "$status" -eq 3 ]
	[[ $output == *"remote cannot be asked"* ]]
	mv "$WORK/away" "$WORK/up.git"
	trigger
	[ "$status" -eq 0 ]
	done_is "$(pushed)"
	jq 'del(.trigger)' "$STATE/config.json" >"$WORK/c"
	run "$FUZZCELL" trigger --config "$WORK/c" --state-dir "$STATE"
	[ "$status" -eq 2 ]
	[[ $output == *trigger.repository* ]]
	trigger --loop soon
	[ "$status" -eq 2 ]
}

@test "uncommitted changes are not fuzzed as the commit that is checked out" {
	echo changed >>"$WORK/tree/code"
	trigger --dry-run
	[ "$status" -eq 2 ]
	[[ $output == *"would start: "*"not committed (1 file, 'code')"* ]]
	for option in --force ''; do
		trigger $option
		[ "$status" -eq 2 ]
		[[ $output == *"$(pushed | cut -c -12) cannot be fuzzed: "*"not committed"* ]]
	done
	[ "$(runs)" -eq 0 ]
	[ ! -e "$STATE/last_run_commit" ]
	git -C "$WORK/tree" checkout -q -f
	trigger
	[ "$status" -eq 0 ]
	done_is "$(pushed)"
	# While there is no run to start, the change is not reported.
	echo changed >>"$WORK/tree/code"
	trigger
	[ "$status" -eq 0 ]
	[[ $output == *"nothing to do"* ]]
	trigger --force
	[ "$status" -eq 2 ]
	[ "$(runs)" -eq 1 ]
}

# bats test_tags=slow
@test "a disk too full to record the start of a run: no run starts, and this is an error" {
	mkdir "$WORK/small"
	mount -t tmpfs -o size=64m none "$WORK/small"
	configure 1s 2
	jq '.run.disk_reserve = "1MiB"' "$STATE/config.json" >"$WORK/small/config.json"
	STATE=$WORK/small
	trigger
	[ "$status" -eq 0 ]
	done_is "$(pushed)"
	push second
	sleep 1
	dd if=/dev/zero of="$STATE/fill" bs=4k 2>/dev/null || true
	trigger
	[ "$status" -eq 70 ]
	[[ $output == *"trigger.json"*"No space left"* ]]
	[[ $output == *"no start without a record of it"* ]]
	if done_is "$(pushed)"; then false; fi
	rm "$STATE/fill"
	trigger
	[ "$status" -eq 0 ]
	done_is "$(pushed)"
}

# bats test_tags=slow
@test "two repositories, each with its own state, share the workers" {
	configure 1s 600
	for i in 1 2; do
		git clone -q "$WORK/up.git" "$WORK/tree$i"
		jq ".run.workers = 2 | .state_dir = \"$WORK/state$i\" |
		    .trigger.repository = \"$WORK/tree$i\"" "$STATE/config.json" >"$WORK/$i.json"
	done
	run "$FUZZCELL" trigger --config "$WORK/1.json" --config "$WORK/1.json"
	echo "$output"
	[ "$status" -ne 0 ]
	"$FUZZCELL" trigger --loop 2s --config "$WORK/1.json" --config "$WORK/2.json" \
		>"$WORK/out.txt" 2>&1 3>&- &
	PID=$!
	for i in 1 2; do
		STATE=$WORK/state$i
		wait_until 60 run_fuzzes
		tr '\0' ' ' <"/proc/$(holder)/cmdline" | grep -e '--workers-from'
	done
	# SIGHUP reads the configuration again, with a shorter interval for the second repository.
	sed -i 's/"600s"/"1s"/; s/"1800s"/"1s"/' "$WORK/2.json"
	kill -HUP "$PID"
	wait_until 60 grep -q '^configurations read again' "$WORK/out.txt"
	push second
	wait_until 180 done_is "$(pushed)"
	kill "$PID"
	wait "$PID" || true # its status is about the runs that it stopped
	for i in 1 2; do
		STATE=$WORK/state$i
		wait_until 60 nothing_left
	done
	STATE=$WORK/state
}

@test "SIGHUP with an invalid configuration: it is reported, and the old configuration stays" {
	git -C "$WORK/tree" rev-parse HEAD >"$STATE/last_run_commit"
	date +%s >"$STATE/last_run_timestamp"
	trigger_background --loop 600s
	wait_until 60 [ -s "$STATE/trigger.json" ]
	cp "$STATE/config.json" "$WORK/good"
	echo '{"trigger": ' >"$STATE/config.json"
	kill -HUP "$PID"
	wait_until 60 grep -q '^warning: 1 of 1 configuration(s) not read again' "$WORK/out.txt"
	grep 'config.json' "$WORK/out.txt" # and why
	jq 'del(.trigger.repository)' "$WORK/good" >"$STATE/config.json"
	kill -HUP "$PID"
	wait_until 60 grep -q 'names no trigger.repository any more' "$WORK/out.txt"
	run grep '^configurations read again' "$WORK/out.txt"
	[ "$status" -eq 1 ]
	lives "$PID"
	cp "$WORK/good" "$STATE/config.json"
	kill -HUP "$PID"
	wait_until 60 grep -q '^configurations read again' "$WORK/out.txt"
	kill "$PID"
	wait "$PID"
}
