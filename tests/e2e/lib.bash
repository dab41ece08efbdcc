# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the end-to-end tests share.  Needs root, FUZZCELL (the program) and
# TARGETS (the planted targets); FUZZCELL_TEST_SLOW multiplies deadlines where
# the machine is emulated.
: "${FUZZCELL:?the program under test}" "${TARGETS:?the planted targets}"
SLOW=${FUZZCELL_TEST_SLOW:-1}
TIMES=$((SLOW > 1 ? 3 : 1)) # of fuzzing: an emulated second does less, but not that much

e2e_setup() {
	WORK=$(mktemp -d)
	STATE=$WORK/state
	mkdir "$STATE"
	chmod 0755 "$WORK"
	config '' # the values of every test, until it writes its own
}

# Whatever happened: nothing of ours may be left.
e2e_teardown() {
	local left=0
	if [ -n "${PID:-}" ] && kill -0 "$PID" 2>/dev/null; then
		kill -9 "$PID"
		wait "$PID" 2>/dev/null || true
	fi
	! mountpoint -q "$WORK/small" || umount -l "$WORK/small"
	wait_until 30 nothing_left || left=1
	rm -rf "$WORK"
	[ "$left" = 0 ]
}

# config EXTRA [RUN]: "defaults" from EXTRA, "run" from RUN, on top of small values.
config() {
	local cgroup=
	# The bench's own service holds this shell: use the tree's root there.
	[ -z "${FUZZCELL_TEST_VM:-}" ] || cgroup='"cgroup": "/",'
	cat >"$STATE/config.json" <<-END
		{$cgroup
		 "run": {"workers": 1, "disk_reserve": "64MiB"${2:+, $2}},
		 "defaults": {"memory": "256MiB", "scratch": "32MiB", "disk": "64MiB"${1:+, $1}}}
	END
}

# fuzz NAME SECONDS [OPTION...]: one target for so long, then the
# summary's values are in place for value().
fuzz() {
	local name=$1 time=$2
	shift 2
	TARGET=$name
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" --targets "$TARGETS" \
		--filter "$name" --max-fuzzer-time "$((time * TIMES))s" "$@"
	echo "$output"
	LOGS=$(last_logs)
	[ -n "$LOGS" ] || return 0
	cat "$LOGS/$name.stats" 2>/dev/null || true
	tail -c 3000 "$LOGS/$name.log" 2>/dev/null || true
}

# The same in the background; PID is fuzzcell's.
fuzz_background() {
	local name=$1 time=$2
	shift 2
	TARGET=$name
	"$FUZZCELL" run --plain --state-dir "$STATE" --targets "$TARGETS" --filter "$name" \
		--max-fuzzer-time "$((time * TIMES))s" "$@" >"$WORK/out" 2>&1 3>&- &
	PID=$!
}

last_logs() {
	find "$STATE/logs" -mindepth 1 -maxdepth 1 -type d 2>/dev/null | sort | tail -n 1
}

# value KEY: of the last run's <target>.stats.
value() {
	sed -n 's/^  "'"$1"'": \(.*[^,]\),\{0,1\}$/\1/p' "$LOGS/$TARGET.stats" | tr -d '"'
}

# failures KIND: how many of that kind (0 when none).
failures() {
	local n
	n=$(sed -n 's/^    "'"$1"'": \([0-9]*\),\{0,1\}$/\1/p' "$LOGS/$TARGET.stats")
	echo "${n:-0}"
}

artifacts() { # KIND
	find "$LOGS/crashes/$TARGET" -name "$1-*" 2>/dev/null | wc -l
}

# wait_until SECONDS COMMAND...: a condition, with a deadline that only a broken
# program reaches.
wait_until() {
	local end=$((SECONDS + $1 * SLOW))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.1
	done
}

# Names our groups and runtime directory: from the state directory's path.
instance() {
	printf 's-%.16s' "$(printf '%s' "$(realpath "$STATE")" | sha1sum)"
}

cell_groups() {
	find /sys/fs/cgroup -type d -path "*/fuzzcell/$(instance)*" 2>/dev/null
}

cell_processes() {
	local d
	for d in $(cell_groups); do
		cat "$d/cgroup.procs" 2>/dev/null
	done | sort -u
}

nothing_left() {
	[ -z "$(cell_groups)" ] && [ ! -e "/run/fuzzcell/$(instance)" ] &&
		! grep -q "$WORK" /proc/mounts
}

fuzzing_began() {
	grep -q INITED "$(last_logs)/$TARGET.log" 2>/dev/null
}

layout() {
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then echo unified; else echo hybrid; fi
}
