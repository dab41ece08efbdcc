# SPDX-License-Identifier: Apache-2.0
# Bombs in a build command that a pusher wrote, and the limits that stop them.  Each bomb takes
# a bounded amount: a limit that does not work fails its test, and the machine survives.
load lib
bats_require_minimum_version 1.5.0

setup() {
	e2e_setup
	mkdir -p "$WORK/built" "$WORK/from"
	MARK=1000.$$$RANDOM # a number of seconds that no other process sleeps
}

teardown() {
	# The process may have ended; the shell reports a killed one on stderr.
	if [ -n "${OTHER:-}" ] && kill -9 "$OTHER" 2>/dev/null; then
		wait "$OTHER" 2>/dev/null || true
	fi
	e2e_teardown
}

# build SCRIPT [KEY VALUE...]: a build of this script, under small limits.
build() {
	local script=$1
	shift
	build_config "$script" "$@"
	run timeout $((120 * SLOW)) "$FUZZCELL" build --state-dir "$STATE" 3>&-
	echo "$output"
}

build_config() { # SCRIPT [KEY VALUE...]
	local more='{}'
	jq --arg built "$WORK/built" --arg from "$WORK/from" --arg script "$1" \
		'.discovery = [{type: "directory", path: $built, build: ["sh", "-c", $script],
		  build_dir: $from, build_time: "100s", build_memory: "96MiB", build_pids: 64,
		  build_as_root: true}]' \
		"$STATE/config.json" >"$WORK/c"
	shift
	while [ $# -gt 0 ]; do
		more=$(jq --arg k "$1" --argjson v "$2" '.[$k] = $v' <<<"$more")
		shift 2
	done
	jq --argjson more "$more" '.discovery[0] += $more' "$WORK/c" >"$STATE/config.json"
}

lives() { pgrep -r D,R,S,T -f "sleep $MARK" >/dev/null; }

nothing_lives() {
	! lives && [ -z "$(cell_groups)" ]
}

@test "a fork bomb: the build fails by its process limit, and leaves no process" {
	build "for i in \$(seq 300); do setsid sleep $MARK & done; wait"
	[ "$status" -eq 6 ]
	[[ $output == *"the build passed its limit of 64 processes (build_pids)"* ]]
	nothing_lives
}

@test "a memory bomb: the build fails by its memory limit, also if its script continues" {
	build "setsid sleep $MARK & head -c 400000000 /dev/zero | tail >/dev/null; sleep $MARK"
	[ "$status" -eq 6 ]
	[[ $output == *"the build passed its memory limit of 96MiB (build_memory)"* ]]
	nothing_lives
}

# bats test_tags=host
@test "a bomb in shared memory: the build fails by its memory limit, and the memory is free again" {
	local name=fuzzcell-test-$$
	build "head -c 300000000 /dev/zero >/dev/shm/$name; sleep $MARK"
	[ "$status" -eq 6 ]
	[[ $output == *"the build passed its memory limit of 96MiB (build_memory)"* ]]
	[ ! -e "/dev/shm/$name" ]
	nothing_lives
}

# bats test_tags=host
@test "a disk bomb: the build fails by its disk limit" {
	build "head -c 300000000 /dev/zero >big; sync; sleep $MARK" build_disk '"64MiB"'
	[ "$status" -eq 6 ]
	[[ $output == *"the build passed its disk limit of 64MiB (build_disk): the file system of '$WORK/from'"* ]]
	nothing_lives
}

@test "a daemon of a build is killed when the build ends, and the build succeeds" {
	build "(setsid sh -c 'trap \"\" HUP INT TERM; sleep $MARK; sleep $MARK' >/dev/null 2>&1 &) & wait; while ! pgrep -f 'sleep $MARK' >/dev/null; do :; done; install $TARGETS/healthy_fuzzer $WORK/built"
	[ "$status" -eq 0 ]
	nothing_lives
}

@test "a build that ignores SIGTERM is killed soon after its time, with its hidden processes" {
	build "trap '' HUP INT TERM; setsid sleep $MARK & sleep $MARK" build_time 1
	[ "$status" -eq 6 ]
	[[ $output == *"took more than 1s"* ]]
	nothing_lives
}

# bats test_tags=host
@test "a flood of output costs little memory, and no more of the log than its limit" {
	local peak
	build_config "setsid sleep $MARK & exec yes" build_time 4
	"$FUZZCELL" build --state-dir "$STATE" >"$WORK/out" 2>&1 3>&- &
	PID=$!
	peak=0
	while kill -0 "$PID" 2>/dev/null; do # until the process has ended
		rss=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$PID/status") || break
		[ "${rss:-0}" -le "$peak" ] || peak=$rss
		sleep 0.2
	done
	status=0
	wait "$PID" || status=$?
	PID=
	cat "$WORK/out"
	[ "$status" -eq 6 ]
	[ "$peak" -gt 0 ] && [ "$peak" -lt 65536 ]
	[ "$(stat -c %s "$STATE"/logs/build-*.log)" -le $((64 << 20)) ]
	nothing_lives
}

@test "SIGTERM to fuzzcell, or kill -9, kills a build with its hidden processes" {
	local signal
	for signal in TERM KILL; do
		build_config "trap '' HUP INT TERM; setsid sleep $MARK & sleep $MARK"
		"$FUZZCELL" build --state-dir "$STATE" >"$WORK/out" 2>&1 3>&- &
		PID=$!
		wait_until 30 lives
		kill "-$signal" "$PID"
		status=0
		wait "$PID" || status=$?
		[ "$status" -ne 0 ]
		PID=
		cat "$WORK/out"
		wait_until 30 nothing_lives
	done
}

# bats test_tags=host
@test "kill -9 of fuzzcell and of its keeper: the next start kills the build's processes" {
	build_config "setsid sleep $MARK & sleep $MARK"
	"$FUZZCELL" build --state-dir "$STATE" >"$WORK/out" 2>&1 3>&- &
	PID=$!
	wait_until 30 lives
	pkill -KILL -P "$PID" fuzzcell-keeper
	kill -KILL "$PID"
	status=0
	wait "$PID" || status=$?
	[ "$status" -eq 137 ]
	PID=
	lives
	build "install $TARGETS/healthy_fuzzer $WORK/built"
	[ "$status" -eq 0 ]
	[[ $output == *"killed "*" that an earlier build had left"* ]]
	nothing_lives
}

other_fuzzes() { grep -qs INITED "$WORK"/other/logs/*/healthy_fuzzer.log; }

# bats test_tags=host
@test "a cell of another run survives each bomb of a build" {
	local other=$WORK/other
	mkdir "$other"
	cp "$STATE/config.json" "$other"
	"$FUZZCELL" run --plain --state-dir "$other" --targets "$TARGETS" --filter healthy_fuzzer \
		--max-fuzzer-time 600s >"$WORK/log" 2>&1 3>&- &
	OTHER=$!
	wait_until 60 other_fuzzes
	build "for i in \$(seq 300); do setsid sh -c 'while :; do :; done' & done; wait"
	[[ $output == *"its limit of 64 processes"* ]]
	build "for i in 1 2 3 4; do head -c 400000000 /dev/zero | tail >/dev/null & done; wait"
	[[ $output == *"its memory limit of 96MiB"* ]]
	build "exec yes" build_time 1
	[[ $output == *"took more than 1s"* ]]
	"$FUZZCELL" stop --state-dir "$other"
	status=0
	wait "$OTHER" || status=$?
	OTHER=
	cat "$WORK/log"
	[ "$status" -eq 0 ]
	[ "$(jq -c '[.reason, .failures_total]' "$other"/logs/*/healthy_fuzzer.stats)" = '["stopped",0]' ]
}

# A rule of this workspace runs a program when Bazel loads it.
bazel_workspace() { # SCRIPT
	mkdir -p "$WORK/ws" "$WORK/bazel"
	cat >"$WORK/ws/WORKSPACE" <<-'END'
		load("//:rule.bzl", "rule")
		rule(name = "other")
	END
	cat >"$WORK/ws/rule.bzl" <<-END
		def _run(ctx):
		    ctx.file("BUILD", "")
		    ctx.file("x.bzl", "x = 1")
		    ctx.execute(["sh", "-c", "$1"])
		rule = repository_rule(implementation = _run)
	END
	echo 'load("@other//:x.bzl", "x")' >"$WORK/ws/BUILD"
	jq --arg ws "$WORK/ws" --arg root "$WORK/bazel" \
		'.discovery = [{type: "bazel", path: $ws, build_memory: "2GiB", build_pids: 250, build_as_root: true,
		  startup_options: ["--output_user_root=\($root)", "--host_jvm_args=-Xmx256m", "--host_jvm_args=-XX:TieredStopAtLevel=1"]}]' \
		"$STATE/config.json" >"$WORK/c" && cp "$WORK/c" "$STATE/config.json"
}

server_lives() { pgrep -f "$WORK/bazel" >/dev/null; }

# bats test_tags=host,slow
@test "a rule that Bazel runs to answer a question has the limits of a build" {
	command -v bazel >/dev/null || skip 'no bazel here'
	# exec: the rule does not end when a fork is refused, so Bazel has no result to keep.
	bazel_workspace "(for i in \$(seq 500); do setsid sleep $MARK & done; wait); exec sleep $MARK"
	# A server that another user started would run the rule without these limits.
	(cd "$WORK/ws" && bazel --output_user_root="$WORK/bazel" --host_jvm_args=-Xmx256m --host_jvm_args=-XX:TieredStopAtLevel=1 info server_pid 3>&-)
	server_lives
	run timeout $((120 * SLOW)) "$FUZZCELL" list --state-dir "$STATE" 3>&-
	echo "$output"
	[ "$status" -eq 2 ]
	[[ $output == *"the build passed its limit of 250 processes (build_pids)"* ]]
	run ! server_lives
	nothing_lives
	# The same holds if Bazel runs as another user.
	chown -R nobody "$WORK/ws" "$WORK/bazel"
	run timeout $((120 * SLOW)) "$FUZZCELL" list --state-dir "$STATE" 3>&-
	echo "$output"
	[[ $output == *"the build passed its limit of 250 processes (build_pids)"* ]]
	run ! server_lives
	nothing_lives
}

# bats test_tags=host
@test "a limit that this machine cannot keep is refused, or is a warning" {
	build "install $TARGETS/healthy_fuzzer $WORK/built" build_memory '"16TiB"'
	[ "$status" -eq 3 ]
	[[ $output == *"build_memory of 16TiB is more than this machine has for builds"* ]]
	jq '.enforcement = "best-effort"' "$STATE/config.json" >"$WORK/c" &&
		cp "$WORK/c" "$STATE/config.json"
	run timeout $((120 * SLOW)) "$FUZZCELL" build --state-dir "$STATE" 3>&-
	echo "$output"
	[ "$status" -eq 0 ]
}
