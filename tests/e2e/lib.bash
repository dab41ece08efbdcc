# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Functions of the end-to-end tests.  They need root, FUZZCELL (the program) and TARGETS (the
# planted targets).  FUZZCELL_TEST_SLOW multiplies deadlines on an emulated machine.
: "${FUZZCELL:?the program under test}" "${TARGETS:?the planted targets}"
SLOW=${FUZZCELL_TEST_SLOW:-1}
TIMES=$((SLOW > 1 ? 3 : 1)) # factor of fuzzing times, smaller than SLOW

e2e_setup() {
	WORK=$(mktemp -d)
	STATE=$WORK/state
	mkdir "$STATE"
	chmod 0755 "$WORK"
	config '' # the defaults, until a test writes its own
}

# No process, group or mount of ours may be left, whatever happened.
e2e_teardown() {
	local left=0
	if [ -n "${PID:-}" ] && kill -9 "$PID" 2>/dev/null; then # it may end just now
		wait "$PID" 2>/dev/null || true
	fi
	! mountpoint -q "$WORK/small" || umount -l "$WORK/small"
	wait_until 60 nothing_left || left=1
	rm -rf "$WORK"
	[ "$left" = 0 ]
}

# config EXTRA [RUN]: "defaults" from EXTRA, "run" from RUN, on top of small values.
config() {
	local dictionary='"auto_dictionary": "off", ' strategies='"strategies": false, ' cgroup=''
	# A planted target's findings must not depend on its literals, nor its end on strategies.
	[[ ${1:-} != *auto_dictionary* ]] || dictionary=
	[[ ${1:-} != *strategies* ]] || strategies=
	# The bench's own service holds this shell: use the tree's root there.
	[ -z "${FUZZCELL_TEST_VM:-}" ] || cgroup='"cgroup": "/",'
	cat >"$STATE/config.json" <<-END
		{$cgroup
		 "run": {"workers": 1, "disk_reserve": "64MiB"${2:+, $2}},
		 "defaults": {$dictionary$strategies"memory": "256MiB", "scratch": "32MiB", "disk": "64MiB"${1:+, $1}}}
	END
}

# fuzz NAME SECONDS [OPTION...]: fuzzes one target for this time.  Then value() has the summary's
# values.
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

# value KEY: prints its value from the last run's <target>.stats.
value() {
	sed -n 's/^  "'"$1"'": \(.*[^,]\),\{0,1\}$/\1/p' "$LOGS/$TARGET.stats" | tr -d '"'
}

# The target ended at its plateau; or, under CPU pressure, as starved, when the plateau is not
# certain.
ended_by_its_rule() {
	[ "$(value reason)" = plateau ] && return
	[ "$(value reason)" = starved ] &&
		awk -v s="$(value starved_share)" 'BEGIN { exit !(s > 0.1) }'
}

# failures KIND: prints the number of failures of this kind.
failures() {
	local n
	n=$(sed -n 's/^    "'"$1"'": \([0-9]*\),\{0,1\}$/\1/p' "$LOGS/$TARGET.stats")
	echo "${n:-0}"
}

artifacts() { # KIND
	find "$LOGS/crashes/$TARGET" -name "$1-*" 2>/dev/null | wc -l
}

# wait_until SECONDS COMMAND...: polls a condition; only a broken program reaches the deadline.
wait_until() {
	local end=$((SECONDS + $1 * SLOW))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.1
	done
}

# Prints the instance's name, which is in the names of our groups and of our runtime directory.
# The name is derived from the state directory's path.
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

cell_runs() {
	[ -n "$(cell_processes)" ]
}

no_cells() { [ -z "$(cell_groups)" ]; }

# kill_when CONDITION: kill -9 for the fuzzcell of PID; its keeper then removes the cells.
kill_when() {
	wait_until 60 "$@"
	kill -9 "$PID"
	wait "$PID" || true
	PID=
	wait_until 60 no_cells
}

# Succeeds when the trigger's run has begun: before, git and builds are in groups of the instance.
run_of_trigger() {
	grep -q 'the run of .* starts' "$STATE/trigger.log" && cell_runs
}

# No process holds the locks of the instance's groups.  A killed process may still wait for a slow
# disk, and holds its locks until then.
let_go() {
	local group

	for group in $(cell_groups); do
		[ ! -e "$group" ] || flock -n "$group" true || return 1
	done
}

nothing_left() {
	[ -z "$(cell_groups)" ] && [ ! -e "/run/fuzzcell/$(instance)" ] &&
		! grep -q "$WORK" /proc/mounts
}

fuzzing_began() {
	grep -q INITED "$(last_logs)/$TARGET.log" 2>/dev/null
}

# queue TARGET KIND TEXT...: queues artifacts for triage, as if an engine had written them.
queue() {
	local dir=$STATE/triage/$1 kind=$2 text sum
	shift 2
	mkdir -p "$dir"
	for text; do
		sum=$(printf '%s' "$text" | sha1sum)
		printf '%s' "$text" >"$dir/$kind-${sum%% *}"
	done
}

queued() {
	find "$STATE/triage" -type f 2>/dev/null | wc -l
}

# ledger FILTER: prints the filtered known_crashes.json.
ledger() {
	jq -r "$1" "$STATE/known_crashes.json"
}

# run_page FILE LEAST: runs the commands of a document, of which there must be at least LEAST.
# "fuzzcell" and build/targets are the tested ones.  Each command must end with 0.
run_page() {
	local commands line

	mkdir -p build "$WORK/bin"
	ln -s "$TARGETS" build/targets
	ln -s "$FUZZCELL" "$WORK/bin/fuzzcell"
	PATH=$WORK/bin:$PATH
	export FUZZCELL_STATE_DIR=$STATE
	commands=$(awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' "$1")
	[ "$(grep -c fuzzcell <<<"$commands")" -ge "$2" ]
	while IFS= read -r line; do
		echo "\$ $line"
		status=0
		eval "$line" </dev/null || status=$?
		echo "status $status"
		[ "$status" -eq 0 ]
	done <<<"$commands"
}

layout() {
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then echo unified; else echo hybrid; fi
}
