# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# An ordinary user for the tests of user.bats, in a delegated group.  On the unified layout the
# group is a scope of the user's own service manager, as after a login.  On the hybrid layout it is
# in a namespace that sees only the v2 tree, which has no controllers there: everything but the
# limits can be tested.  Needs lib.bash.
USER_ID=4711 USER_GROUP=4712 # different numbers, to detect a mix-up
USER_LIMIT=()                # timeout command; the scope has its own limit
USER_TREE=/sys/fs/cgroup/user.slice/user-$USER_ID.slice/user@$USER_ID.service
USER_DROP_IN=/run/systemd/system/user@$USER_ID.service.d
USER_DIR_DROP_IN=/run/systemd/system/user-runtime-dir@$USER_ID.service.d
USER_DELEGATED=/sys/fs/cgroup/unified/fuzzcell-test-$$ # hybrid

# Makes a home, a runtime directory, and copies of files that the user may not be able to reach.
user_setup() { # TARGET...
	local name

	e2e_setup
	STATE=$WORK/home/state
	mkdir -p "$STATE" "$WORK/targets" "$WORK/bin"
	for name; do
		cp -L "$TARGETS/$name" "$WORK/targets/"
	done
	cp -L "$FUZZCELL" "$WORK/bin/fuzzcell"
	chmod -R go+rX "$WORK/targets" "$WORK/bin"
	user_config ''
	chown -R "$USER_ID:$USER_GROUP" "$WORK/home"
	chmod 0700 "$WORK/home"
	RUNTIME=/run/user/$USER_ID
	if [ "$(layout)" = hybrid ]; then
		RUNTIME=$WORK/runtime
		USER_LIMIT=(timeout $((300 * SLOW)))
		install -d -m 0700 -o "$USER_ID" -g "$USER_GROUP" "$RUNTIME"
	fi
}

# For all tests of a file: makes the account, and starts its service manager.
user_begin() {
	[ "$(layout)" = unified ] || return 0
	[ -n "${FUZZCELL_TEST_VM:-}" ] || return 0 # never add users to a developer's machine
	groupadd --gid "$USER_GROUP" fuzzer
	useradd --uid "$USER_ID" --gid "$USER_GROUP" --no-create-home fuzzer
	user_delegate 'cpu cpuset io memory pids'
}

# Restarts the user's manager with these controllers delegated to it.  The guest has no logind; this
# function sets what PAM and the runtime directory's unit would ask it.
user_delegate() {
	mkdir -p "$USER_DROP_IN" "$USER_DIR_DROP_IN"
	printf '%s\n' '[Service]' 'ExecStart=' 'ExecStop=' \
		"ExecStart=install -d -m 0700 -o $USER_ID -g $USER_GROUP /run/user/$USER_ID" \
		"ExecStop=rm -rf /run/user/$USER_ID" >"$USER_DIR_DROP_IN/test.conf"
	printf '%s\n' '[Service]' 'PAMName=' "Environment=XDG_RUNTIME_DIR=/run/user/$USER_ID" \
		'Delegate=' "Delegate=$1" >"$USER_DROP_IN/test.conf"
	systemctl daemon-reload
	systemctl restart "user@$USER_ID.service"
}

user_end() {
	[ "$(layout)" = unified ] && [ -n "${FUZZCELL_TEST_VM:-}" ] || return 0
	systemctl stop "user@$USER_ID.service"
	systemctl stop "user-runtime-dir@$USER_ID.service"
	rm -r "$USER_DROP_IN" "$USER_DIR_DROP_IN"
	systemctl daemon-reload
	userdel fuzzer
}

user_teardown() {
	local left=0

	[ "$(layout)" = unified ] || wait_until 60 user_group_removed || left=1
	[ -z "$RUNTIME" ] || [ -z "$(ls -A "$RUNTIME/fuzzcell" 2>/dev/null)" ] || left=2
	[ "$left" != 2 ] || rm -r "$RUNTIME/fuzzcell"
	e2e_teardown
	[ "$left" = 0 ]
}

user_group_removed() {
	[ ! -e "$USER_DELEGATED" ] || find "$USER_DELEGATED" -depth -type d -exec rmdir {} + 2>/dev/null
	[ ! -e "$USER_DELEGATED" ]
}

# user_config EXTRA [TOP]: as config() of lib.bash.
user_config() {
	local enforcement=strict

	# There only.
	[ "$(layout)" = unified ] || enforcement=best-effort
	cat >"$STATE/config.json" <<-END
		{"enforcement": "${2:-$enforcement}",
		 "run": {"workers": 1, "disk_reserve": "64MiB"},
		 "defaults": {"memory": "256MiB", "scratch": "32MiB", "disk": "64MiB"${1:+, $1}}}
	END
}

# The user, and nothing of root's environment.
user_become=(setpriv "--reuid=$USER_ID" "--regid=$USER_GROUP" --clear-groups
	--inh-caps=-all env -i "PATH=$PATH")

# Call it in a child process: becomes COMMAND, as the user, in a delegated group.
user_exec() {
	local v2=$USER_DELEGATED
	local become=("${user_become[@]}" "HOME=$WORK/home" "XDG_RUNTIME_DIR=$RUNTIME")

	if [ "$(layout)" = unified ]; then
		# Only root can move a process from here to a group where the user's manager may
		# move it.
		echo "$BASHPID" >"$USER_TREE/init.scope/cgroup.procs" || exit
		exec "${become[@]}" systemd-run --user --quiet --scope --property=Delegate=yes \
			--property=RuntimeMaxSec=$((300 * SLOW)) "$@"
	fi
	mkdir -p "$v2" || exit
	chown "$USER_ID" "$v2" "$v2"/cgroup.{procs,subtree_control,threads} || exit
	echo "$BASHPID" >"$v2/cgroup.procs" || exit
	# shellcheck disable=SC2016 # of the inner shell
	exec unshare --mount --propagation private bash -ec '
		mapfile -t at < <(awk "\$3 ~ /^cgroup/ { print \$2 }" /proc/mounts)
		umount "${at[@]}"
		mount -t cgroup2 none /sys/fs/cgroup
		exec "$@"' - "${become[@]}" "$@"
}

# For the background call user_exec itself, so that $! is the command's number.
as_user() {
	(user_exec "$@")
}

# The same for `run`, as fuzz() and fuzz_background() of lib.bash.
user_fuzz() { # NAME SECONDS [OPTION...]
	TARGET=$1
	local time=$2
	shift 2
	run as_user "${USER_LIMIT[@]}" "$WORK/bin/fuzzcell" run --plain --state-dir "$STATE" \
		--targets "$WORK/targets" --filter "$TARGET" --max-fuzzer-time "$((time * TIMES))s" "$@"
	echo "$output"
	LOGS=$(last_logs)
	[ -n "$LOGS" ] || return 0
	cat "$LOGS/$TARGET.stats" 2>/dev/null || true
	tail -c 3000 "$LOGS/$TARGET.log" 2>/dev/null || true
}

user_fuzz_background() { # NAME SECONDS
	TARGET=$1
	user_exec "$WORK/bin/fuzzcell" run --plain --state-dir "$STATE" --targets "$WORK/targets" \
		--filter "$1" --max-fuzzer-time "$(($2 * TIMES))s" >"$WORK/out" 2>&1 3>&- &
	PID=$!
}
