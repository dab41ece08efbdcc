# SPDX-License-Identifier: Apache-2.0
# Questions and orders to a living run over its control socket (docs/control.md).
load lib

OTHER=4711 # a user without an account; its group has the same number
GROUP=4712

setup() {
	e2e_setup
	mkdir "$WORK/targets"
}
teardown() {
	[ -z "${PID2:-}" ] || kill -9 "$PID2" 2>/dev/null || true
	STATE=$WORK/state e2e_teardown
}

# begin TARGETS [OPTION...]: starts a run of this number of healthy targets in the background.
begin() {
	local n=$1 t
	shift
	for t in $(printf '%s\n' a b c d | head -n "$n"); do
		[ -e "$WORK/targets/${t}_fuzzer" ] || # cannot be written while a cell runs it
			cp "$TARGETS/healthy_fuzzer" "$WORK/targets/${t}_fuzzer"
	done
	"$FUZZCELL" run --plain --state-dir "$STATE" --targets "$WORK/targets" "$@" >"$WORK/out" 2>&1 3>&- &
	PID=$!
	wait_until 120 asked
}

ask() { # COMMAND [OPERAND...]
	local command=$1
	shift
	run timeout $((60 * SLOW)) "$FUZZCELL" "$command" --state-dir "$STATE" "$@"
	echo "$command $*: $status: $output"
}

asked() {
	"$FUZZCELL" status --json --state-dir "$STATE" | jq -e '.run' >/dev/null
}

# of TARGET: prints its present state.
of() {
	"$FUZZCELL" status --json --state-dir "$STATE" | jq -r --arg t "$1" '.targets[] | select(.name == $t) | .state'
}

is() { # TARGET STATE
	[ "$(of "$1")" = "$2" ]
}

fuzzes() {
	is "$1" fuzzing
}

running() { # NUMBER
	[ "$("$FUZZCELL" status --json --state-dir "$STATE" |
		jq '[.targets[] | select(.state == "fuzzing")] | length')" = "$1" ]
}

over() {
	! kill -0 "$PID" 2>/dev/null
}

# Waits for the end of the run, and sets its exit status.
ended() {
	wait_until 120 over
	status=0
	wait "$PID" || status=$?
	PID=
	cat "$WORK/out"
	LOGS=$(last_logs)
}

# reason TARGET
reason() {
	TARGET=$1 value reason
}

# as USER GROUP COMMAND...
as() {
	local user=$1 group=$2
	shift 2
	setpriv --reuid="$user" --regid="$group" --clear-groups "$@"
}

@test "status shows a run and a target, or reports that there is no run" {
	ask status
	[ "$status" -eq 0 ]
	[[ $output == *": no run"* ]]
	begin 2
	wait_until 60 fuzzes a_fuzzer
	ask status
	[ "$status" -eq 0 ]
	[[ $output == *"1 of 1 workers busy  0 of 2 targets done"* ]]
	[[ $output == *"a_fuzzer"*"fuzzing"*"b_fuzzer"*"queued"* ]]
	ask status a_fuzzer
	[ "$status" -eq 0 ]
	[[ $output == "a_fuzzer: "*$'\ncoverage '*" edges ("*$'\nmemory '*" of 256MiB, "*$'\nfailures    0; 0 restarts\n'* ]]
	[[ $output != *memory_limit_bytes* ]]
	ask status nobody_fuzzer
	[ "$status" -eq 2 ]
	[[ $output == *"this run has no target 'nobody_fuzzer'"* ]]
	[ "$(stat -c %a "$STATE/control.sock")" = 660 ]
	ask stop
	[ "$status" -eq 0 ]
	ended
	[ "$status" -eq 5 ] # b_fuzzer had no turn
	[ ! -e "$STATE/control.sock" ]
	ask status
	[[ $output == *"the last run was"*": stopped, ended"* ]]
	ask status --json
	[ "$(jq -r '.run, .last_run.status' <<<"$output" | paste -sd' ')" = "null stopped" ]
	ask stop
	[ "$status" -eq 2 ]
}

@test "stop ends a target as stopped, start brings it back, and no input is lost" {
	begin 2 --max-total-time 600s
	wait_until 60 fuzzes a_fuzzer
	found() { [ -n "$(ls "$STATE"/work/*/a_fuzzer/corpus)" ]; }
	wait_until 60 found
	ask stop a_fuzzer
	[ "$status" -eq 0 ]
	[[ $output == *"a_fuzzer: stopping"* ]]
	wait_until 60 is a_fuzzer stopped
	wait_until 60 fuzzes b_fuzzer
	kept=$(find "$STATE/corpus/a_fuzzer" -type f | wc -l)
	[ "$kept" -gt 0 ]
	ask start a_fuzzer
	[ "$status" -eq 0 ]
	[[ $output == *"a_fuzzer: queued"* ]] # b_fuzzer's turn is not cut short
	fuzzes b_fuzzer
	ask stop b_fuzzer
	wait_until 60 is b_fuzzer stopped
	wait_until 60 fuzzes a_fuzzer
	ask stop a_fuzzer
	ended # no target is left
	[ "$status" -eq 0 ]
	[ "$(reason a_fuzzer)" = stopped ]
	[ "$(reason b_fuzzer)" = stopped ]
	[ "$(jq -r .status "$LOGS/summary.json")" = "done" ]
	[ "$(find "$STATE/corpus/a_fuzzer" -type f | wc -l)" -ge "$kept" ]
	[ "$(jq .failures_total "$LOGS/a_fuzzer.stats")" = 0 ]
	[ "$(jq '.health.not_started // 0' "$STATE/stats/progress/a_fuzzer.json")" = 0 ]
	grep -q 'a_fuzzer stopped by a user' "$WORK/out"
}

@test "skip gives the worker to another target, and workers changes the number of workers" {
	config '' '"adapt": false'
	begin 3
	wait_until 60 fuzzes a_fuzzer
	ask start a_fuzzer
	[[ $output == "a_fuzzer: fuzzing (it has its turn already)" ]]
	ask skip b_fuzzer
	[[ $output == "b_fuzzer: queued (it had no turn; others come first)" ]]
	! grep 'by a user' "$WORK/out" || false
	ask skip a_fuzzer
	[ "$status" -eq 0 ]
	[[ $output != *"("* ]]
	wait_until 60 fuzzes c_fuzzer
	is a_fuzzer queued
	ask workers 3
	[[ $output == *"at most 3 cells at once"* ]]
	wait_until 60 running 3
	ask workers 1
	wait_until 60 running 1
	ask workers 0
	[ "$status" -eq 2 ]
	ask stop --now
	[ "$status" -eq 0 ]
	ended
	grep -q 'run killing' "$WORK/out"
}

# bats test_tags=slow
@test "a continuous run waits for the target that was stopped" {
	begin 1 --continuous
	wait_until 60 fuzzes a_fuzzer
	ask stop --now a_fuzzer
	wait_until 60 is a_fuzzer stopped
	cp "$TARGETS/healthy_fuzzer" "$WORK/new" # a new build
	mv "$WORK/new" "$WORK/targets/a_fuzzer"
	sleep 12 # the run checks for builds every ten seconds
	is a_fuzzer stopped
	ask start a_fuzzer
	wait_until 60 fuzzes a_fuzzer
	ask stop
	ended
	[ "$(reason a_fuzzer)" = stopped ]
}

@test "users other than root and the owner: the group may read, others cannot connect" {
	chgrp "$GROUP" "$STATE"
	chmod 0750 "$STATE"
	chmod 0644 "$STATE/config.json"
	cp -L "$FUZZCELL" "$WORK/fuzzcell"
	begin 1
	wait_until 60 fuzzes a_fuzzer
	run as "$OTHER" "$GROUP" "$WORK/fuzzcell" status --state-dir "$STATE"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"a_fuzzer"*"fuzzing"* ]]
	run as "$OTHER" "$GROUP" "$WORK/fuzzcell" stop --state-dir "$STATE" a_fuzzer
	echo "$output"
	[ "$status" -eq 2 ]
	[[ $output == *"you may only read"* ]]
	run as "$OTHER" "$OTHER" "$WORK/fuzzcell" status --state-dir "$STATE"
	echo "$output"
	[ "$status" -ne 0 ]
	chmod 0755 "$STATE"
	run as "$OTHER" "$OTHER" "$WORK/fuzzcell" status --state-dir "$STATE"
	echo "$output"
	[ "$status" -eq 3 ]
	[[ $output == *"may connect"* ]]
	chmod 0666 "$STATE/control.sock"
	run as "$OTHER" "$OTHER" "$WORK/fuzzcell" stop --state-dir "$STATE"
	echo "$output"
	[ "$status" -eq 2 ]
	[[ $output == *"may connect"* ]]
	fuzzes a_fuzzer
	ask stop
	ended
}

@test "several runs at once, each in its own state directory, one of them with a long path" {
	first=$STATE
	begin 1
	STATE=$WORK/$(printf 'long%.0s' {1..40})
	mkdir "$STATE"
	cp "$first/config.json" "$STATE"
	PID1=$PID
	begin 2
	PID2=$PID PID=$PID1
	wait_until 60 fuzzes a_fuzzer
	run "$FUZZCELL" status --state-dir "$first" --state-dir "$STATE"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"0 of 1 targets done"*"0 of 2 targets done"* ]]
	ask stop
	wait_until 60 asked_nobody
	wait "$PID2" || true
	PID2=
	wait_until 60 nothing_left
	STATE=$first
	fuzzes a_fuzzer
	run "$FUZZCELL" stop --state-dir "$first" --state-dir "$WORK"
	[ "$status" -eq 2 ]
	ask stop
	ended
}

asked_nobody() {
	[ ! -e "$STATE/control.sock" ]
}

@test "no process answers on the socket of a killed run, and the next run replaces it" {
	begin 1
	wait_until 60 fuzzes a_fuzzer
	kill -9 "$PID"
	wait "$PID" || true
	PID=
	[ -S "$STATE/control.sock" ]
	ask status
	[ "$status" -eq 0 ]
	[[ $output == *": no run"* ]]
	ask stop
	[ "$status" -eq 2 ]
	wait_until 60 let_go
	begin 1
	wait_until 60 fuzzes a_fuzzer
	ask stop
	ended
}

@test "invalid requests, clients that do not read, and thousands of clients block no other client" {
	begin 1
	wait_until 60 fuzzes a_fuzzer
	before=$(awk '{ print $14 + $15 }' "/proc/$PID/stat")
	timeout 60 python3 - "$STATE/control.sock" <<-'END'
		import os, socket, sys
		def connect(block=True):
		    s = socket.socket(socket.AF_UNIX)
		    s.setblocking(block)
		    try:
		        s.connect(sys.argv[1])
		    except BlockingIOError:
		        pass
		    return s
		held = [connect() for _ in range(40)]
		for i, s in enumerate(held):
		    try:
		        s.sendall([os.urandom(5000), b"[" * 100000, b'{"cmd":"status"}\n' * 200, b"\n" * 5000][i % 4])
		    except OSError:
		        pass
		for _ in range(3000):
		    connect(False).close()
	END
	ask status
	[ "$status" -eq 0 ]
	after=$(awk '{ print $14 + $15 }' "/proc/$PID/stat")
	echo "it cost $((after - before)) hundredths of a second"
	[ $((after - before)) -lt 300 ]
	fuzzes a_fuzzer
	ask stop
	ended
}

@test "status --watch shows the run until it ends" {
	begin 1
	wait_until 60 fuzzes a_fuzzer
	timeout $((120 * SLOW)) "$FUZZCELL" status --watch --state-dir "$STATE" >"$WORK/watched" 2>&1 3>&- &
	watcher=$!
	script -qec "TERM=dumb timeout $((120 * SLOW)) '$FUZZCELL' status --watch --state-dir '$STATE'" /dev/null \
		</dev/null >"$WORK/dumb" 2>&1 3>&- &
	dumb=$!
	wait_until 30 twice watched
	wait_until 30 twice dumb
	ask stop
	ended
	wait "$watcher" "$dumb"
	grep -q 'a_fuzzer *fuzzing' "$WORK/watched"
	! grep -q "$(printf '\033')" "$WORK/watched" "$WORK/dumb" || false # no terminal that goes back
}

twice() {
	[ "$(grep -c ' workers busy ' "$WORK/$1")" -ge 2 ]
}
