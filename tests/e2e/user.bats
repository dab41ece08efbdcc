# SPDX-License-Identifier: Apache-2.0
# As an ordinary user: every limit that the delegation allows, and a message about the others.
load lib
load user
setup_file() { user_begin; }
teardown_file() { user_end; }
setup() {
	RUNTIME='' outside=''
	[ "$(layout)" = hybrid ] || [ -n "${FUZZCELL_TEST_VM:-}" ] ||
		skip 'would add a user to this machine'
}
teardown() {
	[ -z "$outside" ] || kill "$outside"
	[ -z "$RUNTIME" ] || user_teardown
}

unified_only() {
	[ "$(layout)" = unified ] || skip 'a user has no limits on the hybrid layout'
}

ended() { ! kill -0 "$PID" 2>/dev/null; }

# bats test_tags=slow
@test "a user fuzzes: inputs are found and merged, and belong to the user; nothing is left" {
	user_setup healthy_fuzzer
	user_fuzz healthy_fuzzer 4
	[ "$status" -eq 0 ]
	[[ $output == *"without root: on the host, every cell is user $USER_ID,"* ]]
	[ "$(value execs)" -gt 100 ]
	[ "$(find "$STATE/corpus/healthy_fuzzer" -type f | wc -l)" -ge 5 ]
	[[ $output == *'healthy_fuzzer '*replaced* ]]
	[ -z "$(find "$STATE" ! -user "$USER_ID" ! -name config.json)" ]
	wait_until 60 nothing_left
}

@test "directories that a target closes do not stop later cells" {
	user_setup closed_fuzzer healthy_fuzzer
	user_config '"max_crashes": 2, "triage_time": "off", "merge_time": "off"'
	user_fuzz closed_fuzzer 10
	[ "$status" -eq 5 ]
	[ "$(value reason)" = crash-loop ] # each cell could start
	[ -z "$(ls "$STATE/work")" ]
	user_fuzz healthy_fuzzer 2
	[ "$status" -eq 0 ]
}

# of DIRECTORY FILE: prints its content in one line.
of() { tr -s '\n' ' ' <"$1/$2" | sed 's/ $//'; }

@test "every limit that is delegated is in force in the cell [unified only]" {
	unified_only
	user_setup healthy_fuzzer
	user_config '"pids": 40, "cpus": 0.5'
	user_fuzz_background healthy_fuzzer 600
	wait_until 60 fuzzing_began
	cell=$(cell_groups | tail -n 1)
	[[ $cell == "$USER_TREE"/* ]]
	[ "$(of "$cell" memory.max)" = $((256 << 20)) ]
	[ "$(of "$cell" memory.swap.max)" = 0 ]
	[ "$(of "$cell" memory.high)" = $((224 << 20)) ]
	[ "$(of "$cell" pids.max)" = 41 ] # and process 1
	[ "$(of "$cell" cpu.max)" = '50000 100000' ]
	job=$(cell_processes | tail -n 1)
	[ "$(awk '/^Uid:/ { print $2, $3, $4, $5 }' "/proc/$job/status")" = \
		"$USER_ID $USER_ID $USER_ID $USER_ID" ]
	grep -q '^CapBnd:.*0000000000000000$' "/proc/$job/status"
	grep -q '^NoNewPrivs:.*1$' "/proc/$job/status"
	grep -q '^Seccomp:.*2$' "/proc/$job/status"
	[ "$(awk '{ print $1, $3 }' "/proc/$job/uid_map")" = '0 1' ]
	kill -INT "$PID"
	wait_until 60 ended
	cat "$WORK/out"
	grep -q 'kept: memory no-swap memory-mark cpu pids pressure kill$' "$WORK/out"
	wait_until 60 nothing_left
}

@test "bombs of memory and of processes hurt their own cell only [unified only]" {
	unified_only
	user_setup membomb_fast_fuzzer forkbomb_fuzzer
	user_config '"max_crashes": 1, "pids": 32'
	# memory.bats tests how reliably the input is saved; here one saved input is enough.
	for _ in 1 2 3; do
		user_fuzz membomb_fast_fuzzer 60
		[ "$(value memory_peak_bytes)" -le $((256 << 20)) ]
		[ "$(value failures_total)" -ge 1 ]
		[ "$(artifacts oom)" -eq 0 ] || break
	done
	[ "$(artifacts oom)" -ge 1 ]
	user_fuzz forkbomb_fuzzer 60
	[ "$(value forks_refused)" -ge 1 ]
	[ "$(failures pids)" -ge 1 ]
}

# bats test_tags=slow
@test "no escape, although cell and fuzzcell have the same user" {
	user_setup escape_fuzzer network_fuzzer
	user_exec sleep 600 3>&- &
	outside=$!
	user_config '"env": {"PLANTED_PID": "'$outside'"}'
	user_fuzz escape_fuzzer 6
	kill -0 "$outside"
	[ "$(grep -c '^planted: ' "$LOGS/$TARGET.log")" -ge 10 ]
	run grep -a "^planted: .*SUCCEEDED" "$LOGS/$TARGET.log"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $(value syscalls_refused) == *mount* ]]
	user_fuzz network_fuzzer 5
	# A local socket may be made, but there is nothing to connect it to.
	[ "$(grep -a '^planted: .*SUCCEEDED' "$LOGS/$TARGET.log" | grep -vc 'socket AF_UNIX')" -eq 0 ]
}

# bats test_tags=slow
@test "after kill -9 no process runs, and the findings are recovered" {
	user_setup healthy_fuzzer
	user_fuzz_background healthy_fuzzer 600
	wait_until 60 fuzzing_began
	work=$STATE/work/$(basename "$(last_logs)")/healthy_fuzzer
	wait_until 60 eval '[ "$(ls "$work/corpus" | wc -l)" -ge 5 ]'
	cell_runs
	kill -9 "$PID"
	wait "$PID" || true
	wait_until 60 eval '! cell_runs'
	wait_until 60 let_go
	user_fuzz healthy_fuzzer 8
	[ "$status" -eq 0 ]
	[[ $output == *recovered* ]]
}

# bats test_tags=slow
@test "missing delegation is named with advice; best-effort continues without it" {
	user_setup healthy_fuzzer
	user_config '' strict
	[ "$(layout)" = hybrid ] || user_delegate 'memory pids'
	user_fuzz healthy_fuzzer 8
	[ "$status" -eq 3 ]
	[[ $output == *'cannot keep: '*'CPU limit: the controller cpu is not'* ]]
	if [ "$(layout)" = unified ]; then
		[[ $output == *'cpu is not delegated to us'*'user@.service.d'*'Delegate=cpu cpuset io memory pids'* ]]
		[[ $output != *'memory limit:'* ]]
	else
		[[ $output == *'memory limit: '*'process limit: '* ]]
	fi
	user_config '' best-effort
	user_fuzz healthy_fuzzer 8
	[ "$status" -eq 0 ]
	[[ $output == *'best effort: this machine cannot keep: '*cpu* ]]
	[ "$(value execs)" -gt 100 ]
	[ "$(layout)" = hybrid ] || user_delegate 'cpu cpuset io memory pids'
}

# user_build SCRIPT [KEY VALUE]: builds as the user, in the user's own tree.
user_build() {
	mkdir -p "$WORK/home/tree/out"
	chown -R "$USER_ID:$USER_GROUP" "$WORK/home/tree"
	jq --arg t "$WORK/home/tree" --arg script "$1" --arg k "${2:-build_pids}" --argjson v "${3:-64}" \
		'.discovery = [{type: "directory", path: ($t + "/out"), build_dir: $t, build_pids: 64,
		  build_memory: "256MiB", build: ["sh", "-c", $script]}] | .discovery[0][$k] = $v' \
		"$STATE/config.json" >"$WORK/c" && cp "$WORK/c" "$STATE/config.json"
	run as_user "${USER_LIMIT[@]}" "$WORK/bin/fuzzcell" build --state-dir "$STATE" 3>&-
	echo "$output"
}

@test "a user's build has the delegated limits, leaves no process, and can run in a cell" {
	user_setup healthy_fuzzer
	user_build "setsid sleep 1000.$$ >/dev/null 2>&1 & cp $WORK/targets/healthy_fuzzer out"
	[ "$status" -eq 0 ]
	wait_until 60 nothing_left
	[ -z "$(pgrep -r D,R,S,T -f "sleep 1000.$$")" ]
	user_build 'touch /usr/x /tmp/y; id -u >who; echo x >made; ls out/healthy_fuzzer' \
		build_isolation '"cell"'
	[ "$status" -eq 0 ]
	[ "$(cat "$WORK/home/tree/who")" = 0 ]
	[ "$(stat -c %u:%g "$WORK/home/tree/made")" = "$USER_ID:$USER_GROUP" ]
	[ ! -e /tmp/y ]
	wait_until 60 nothing_left
	# git and shells outside of the cell read their configuration from the home directory.
	user_build 'touch .gitconfig' build_isolation '"cell"'
	jq --arg home "$WORK/home" '.discovery[0].build_dir = $home' "$STATE/config.json" >"$WORK/c" &&
		cp "$WORK/c" "$STATE/config.json"
	run as_user "${USER_LIMIT[@]}" "$WORK/bin/fuzzcell" build --state-dir "$STATE" 3>&-
	echo "$output"
	[ "$status" -eq 6 ]
	[[ $output == *"'$WORK/home' holds the home directory of its owner"* ]]
	[ ! -e "$WORK/home/.gitconfig" ]
	wait_until 60 nothing_left
	if [ "$(layout)" = hybrid ]; then # no controller is delegated
		user_config '' strict
		user_build true
		[ "$status" -eq 3 ]
		[[ $output == *"this machine cannot enforce a limit: "* ]]
	else
		user_build "for i in \$(seq 300); do setsid sleep 1000.$$ & done; wait"
		[ "$status" -eq 6 ]
		[[ $output == *"its limit of 64 processes"* ]]
	fi
	wait_until 60 nothing_left
}

@test "a user without a delegated group, or without a runtime directory, is told what to do" {
	user_setup healthy_fuzzer
	run "${user_become[@]}" "HOME=$WORK/home" "$WORK/bin/fuzzcell" run --plain \
		--state-dir "$STATE" --targets "$WORK/targets"
	echo "$output"
	[ "$status" -eq 3 ]
	[[ $output == *'XDG_RUNTIME_DIR is not set'* ]]
	run "${user_become[@]}" "HOME=$WORK/home" "XDG_RUNTIME_DIR=$RUNTIME" "$WORK/bin/fuzzcell" \
		run --plain --state-dir "$STATE" --targets "$WORK/targets"
	echo "$output"
	[ "$status" -eq 3 ]
	if [ "$(layout)" = unified ]; then
		[[ $output == *'systemd-run --user --scope -p Delegate=yes'* ]]
	else
		[[ $output == *'cgroup v1 hierarchies'*'run as root'* ]]
	fi
	run "${user_become[@]}" "HOME=$WORK/home" "XDG_RUNTIME_DIR=/tmp" "$WORK/bin/fuzzcell" \
		run --plain --state-dir "$STATE" --targets "$WORK/targets"
	echo "$output"
	[ "$status" -eq 3 ]
	[[ $output == *"'/tmp' is no directory that only user $USER_ID can write"* ]]
}

@test "a system service with a user of its own has all limits, too [unified only]" {
	unified_only
	user_setup healthy_fuzzer
	run systemd-run --quiet --wait --pipe --uid="$USER_ID" --gid="$USER_GROUP" \
		--property=Delegate=yes --property=RuntimeDirectory=fuzzcell-user \
		--property=RuntimeDirectoryMode=0700 --setenv="HOME=$WORK/home" \
		--setenv=XDG_RUNTIME_DIR=/run/fuzzcell-user --property=RuntimeMaxSec=$((300 * SLOW)) \
		"$WORK/bin/fuzzcell" run --plain --state-dir "$STATE" --targets "$WORK/targets" \
		--max-fuzzer-time $((2 * TIMES))s
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *'cgroups at /sys/fs/cgroup/system.slice/'*'kept: memory no-swap memory-mark cpu pids pressure kill'* ]]
}
