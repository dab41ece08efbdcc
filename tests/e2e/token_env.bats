# SPDX-License-Identifier: Apache-2.0
# A token from an environment variable is in no environment, command line or core file of ours, and
# notifications use it.
load lib

setup() {
	e2e_setup
	SERVED=$WORK/served
	mkdir "$SERVED" "$WORK/cores" "$WORK/targets"
	cp "$TARGETS"/uaf_fuzzer* "$TARGETS"/healthy_fuzzer* "$WORK/targets" # one crashes
	node "$BATS_TEST_DIRNAME/notify.mjs" "$SERVED" >"$WORK/served.log" 2>&1 3>&- &
	SERVER=$!
	wait_until 60 [ -s "$SERVED/github" ]
	config '"minimize_time": "off", "merge_time": "off"'
	with "{github: {repository: \"octo/widgets\", api: \"$(cat "$SERVED/github")\",
		token_env: \"FUZZ_TOKEN\", security: \"full\"}}"
}

teardown() {
	kill -9 "$SERVER" 2>/dev/null || true
	wait "$SERVER" 2>/dev/null || true
	e2e_teardown
}

with() { # MEMBERS
	jq ". + $1" "$STATE/config.json" >"$WORK/c"
	mv "$WORK/c" "$STATE/config.json"
}

# Starts fuzzcell in the background as the service does, without CAP_SYS_PTRACE.  PID is fuzzcell's.
start_with_token() {
	# The variable is set for this process only; its core file would be in this directory.
	FUZZ_TOKEN=$(cat "$SERVED/token") setpriv --bounding-set=-sys_ptrace -- \
		bash -c 'ulimit -c unlimited; cd "$1"; shift; exec "$@"' - "$WORK/cores" \
		"$FUZZCELL" "$@" --state-dir "$STATE" >"$WORK/out" 2>&1 3>&- &
	PID=$!
}

received() {
	jq -r "$1" "$SERVED/received"
}

# Checks every process but the test's own server, which gets the token from no variable either.
no_token() {
	! cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | grep -aqE 'PLANTE[D]secret' &&
		! grep -qrE 'PLANTE[D]secret' "$STATE" "$WORK/out" "$WORK/cores"
}

# The content of a core file: readable memory without the mark "do not dump".
no_token_in_memory() { # PID
	local range flags at
	while read -r range flags; do
		case " $flags " in *' rd '*) ;; *) continue ;; esac
		case " $flags " in *' dd '* | *' io '* | *' pf '*) continue ;; esac
		at=$((16#${range%-*}))
		! dd if="/proc/$1/mem" bs=4096 skip=$((at / 4096)) \
			count=$(((16#${range#*-} - at) / 4096)) 2>/dev/null |
			grep -aqE 'PLANTE[D]secret' || return 1
	done < <(awk '/^[0-9a-f]+-[0-9a-f]+ / { range = $1 } /^VmFlags:/ { $1 = range; print }' \
		"/proc/$1/smaps")
}

aborted() { # PID
	kill -ABRT "$1"
	wait_until 180 eval "! kill -0 $1 2>/dev/null"
	no_token
}

sweep() {
	wait_until 60 let_go
	"$FUZZCELL" crash triage --state-dir "$STATE" --targets "$WORK/targets" >/dev/null
}

@test "run: the token leaves the environment, and the run notifies with it" {
	start_with_token run --plain --targets "$WORK/targets" --workers 2 --max-fuzzer-time 600s
	wait_until 60 cell_runs
	no_token
	no_token_in_memory "$PID"
	wait_until 240 eval '[ "$(received ".issues | length")" -ge 1 ]'
	no_token
	aborted "$PID"
	sweep
}

# bats test_tags=slow
@test "trigger: its run gets the token, and neither process shows it" {
	git init -q --bare -b main "$WORK/origin"
	git clone -q "$WORK/origin" "$WORK/tree" 2>/dev/null
	git -C "$WORK/tree" checkout -q -B main
	git -C "$WORK/tree" -c user.name=t -c user.email=t@t commit -q --allow-empty -m one
	git -C "$WORK/tree" push -q origin main
	with "{trigger: {repository: \"$WORK/tree\"}, discovery: [{type: \"directory\", path: \"$WORK/targets\"}],
		run: (.run + {workers: 2}), defaults: (.defaults + {max_time: \"10m\"})}"
	start_with_token trigger --force
	wait_until 60 run_of_trigger
	run_pid=$(cut -d ' ' -f 1 "/proc/$PID/task/$PID/children")
	[ -n "$run_pid" ]
	no_token
	no_token_in_memory "$PID"
	no_token_in_memory "$run_pid"
	wait_until 240 eval '[ "$(received ".issues | length")" -ge 1 ]'
	aborted "$PID"
	aborted "$run_pid"
	sweep
}
