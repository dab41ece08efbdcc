# SPDX-License-Identifier: Apache-2.0
# Which targets get the CPUs, and when a target stops.
load lib

setup() {
	e2e_setup
	mkdir "$WORK/targets"
}
teardown() {
	[ -z "${HOGS:-}" ] || kill -9 "${HOGS[@]}" 2>/dev/null || true
	e2e_teardown
}

# targets NAME=PLANTED...: copies planted targets to other names.
targets() {
	local t
	for t; do
		cp "$TARGETS/${t#*=}" "$WORK/targets/${t%%=*}"
	done
}

all() { # [OPTION...]
	run timeout $((400 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" \
		--targets "$WORK/targets" "$@"
	echo "$output"
	LOGS=$(last_logs)
}

# of TARGET KEY
of() {
	TARGET=$1
	value "$2"
}

# outlook KEY: prints its value in healthy_fuzzer's "outlook"
outlook() {
	sed -n 's/^    "'"$1"'": \([0-9.e+-]*\),\{0,1\}$/\1/p' "$LOGS/healthy_fuzzer.stats"
}

more() { # A B: as real numbers
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'
}

at_most() {
	! more "$1" "$2"
}

# bats test_tags=host,slow
@test "a short run on one worker gives each of many targets its turn" {
	targets {a,b,c,d,e}_fuzzer=healthy_fuzzer
	config '"merge_time": "off"'
	all --max-total-time "$((30 * TIMES))s"
	[ "$status" -eq 0 ]
	for t in a b c d e; do
		[ "$(of ${t}_fuzzer reason)" = run-deadline ]
		[ "$(of ${t}_fuzzer fuzzed)" = true ]
		more "$(of ${t}_fuzzer effective_seconds)" 0.2
	done
}

# The target ended by its rule; under CPU pressure the rule is not certain, and the reason is
# starved.
by_rule() {
	case $(of healthy_fuzzer reason) in
	plateau | starved) ;;
	*) return 1 ;;
	esac
}

# bats test_tags=host,slow
@test "a target without finds ends by its price; the next run gives a turn, a new build starts anew" {
	targets healthy_fuzzer=healthy_fuzzer
	config '"plateau": {"price": 20}, "max_len": 32, "seed": 1, "merge_time": "off"' \
		'"hold": "3s", "turn": "1s"'
	all --max-fuzzer-time "$((120 * TIMES))s"
	[ "$status" -eq 0 ]
	by_rule
	before=$(outlook cpu_seconds_of_build)
	more "$before" 0.3 # a build gets at least so much CPU time; hardly any of its edges is left
	more 20 "$(outlook edges_per_cpu_second)"
	grep -q 'new edges expected a CPU-second, the price is 20' "$LOGS/healthy_fuzzer.log"
	touch "$WORK/targets/healthy_fuzzer" # an identical rebuild
	all --max-fuzzer-time "$((120 * TIMES))s"
	[ "$status" -eq 0 ]
	by_rule
	[ "$(of healthy_fuzzer fuzzed)" = true ]
	more "$(outlook cpu_seconds_of_build)" "$before"
	more "$before" "$(of healthy_fuzzer effective_seconds)"
	printf 'another build' >>"$WORK/targets/healthy_fuzzer"
	all --max-fuzzer-time "$((120 * TIMES))s"
	by_rule
	more "$(outlook cpu_seconds_of_build)" 0.3
	at_most "$(outlook cpu_seconds_of_build)" "$(of healthy_fuzzer effective_seconds)"
}

# Moves a process out of this shell's group, in which all hogs together would get no more than the
# cell.  (A session would be one group, too: sched(7), autogroup.)
to_root_group() { # PID
	local f

	for f in /sys/fs/cgroup/cpu/cgroup.procs /sys/fs/cgroup/cgroup.procs; do
		[ ! -e "$f" ] || echo "$1" >"$f"
	done
}

# Starts N processes that spin on that core until teardown.  They are pinned last: a kernel before
# 6.2 resets the affinity of a process that joins a group to all of the group's CPUs.
hogs() { # N CORE
	for _ in $(seq "$1"); do
		setsid sh -c 'while :; do :; done' 3>&- &
		HOGS+=($!)
		to_root_group "$!"
		taskset -p -c "$2" "$!" >/dev/null
	done
}

# bats test_tags=slow
@test "a starved target does not count as finished, and wastes no CPU time" {
	targets healthy_fuzzer=healthy_fuzzer
	config '"plateau": {"price": 15}, "max_len": 32, "seed": 1, "merge_time": "off"' \
		'"hold": "3s", "adapt": false, "turn": "1s"'
	HOGS=()
	if [ -n "${FUZZCELL_TEST_VM:-}" ]; then
		hogs 3 0
		hogs 3 1 # the cell has joined a group, too
	else
		hogs 7 0
	fi
	run timeout $((600 * SLOW)) taskset -c 0 "$FUZZCELL" run --plain --state-dir "$STATE" \
		--targets "$WORK/targets" --max-fuzzer-time "$((8 * SLOW))m"
	echo "$output"
	LOGS=$(last_logs)
	[ "$(of healthy_fuzzer reason)" = starved ]
	more "$(of healthy_fuzzer starved_share)" 0.25
	more 15 "$(outlook edges_per_cpu_second)"
	# It had little more than a turn: 7 edges are left, which soon no longer justify the price.
	more "$(outlook cpu_seconds_of_build)" 1
	more 10 "$(outlook cpu_seconds_of_build)"
}

# bats test_tags=host,slow
@test "coverage that drops with a build is reported by its run, and by doctor" {
	targets gate_fuzzer=gate_fuzzer
	for below in 4294967295 0; do # first the gate is open; then no input passes it
		config '"plateau": {"rule": "none", "cap": "31s"}, "max_len": 64, "merge_time": "off",
			"env": {"GATE_BELOW": "'$below'"}'
		all
		[ "$(of gate_fuzzer reason)" = cpu-limit ]
		printf x >>"$WORK/targets/gate_fuzzer" # another build
	done
	[[ $output == *"gate_fuzzer: COVERAGE DROPPED: "* ]]
	run "$FUZZCELL" doctor --json --state-dir "$STATE"
	echo "$output"
	jq -e '.targets[0].findings[] | select(.code == "coverage-dropped" and .severity == "warning")' <<<"$output"
}

# bats test_tags=host,slow
@test "--continuous: a new build is fuzzed when it comes, until a user ends the run" {
	targets healthy_fuzzer=healthy_fuzzer t_fuzzer=startexit_fuzzer
	config '"plateau": {"price": 20}, "max_len": 32' '"hold": "3s", "turn": "1s"'
	run "$FUZZCELL" run --continuous --state-dir "$STATE" --targets "$WORK/targets" --max-fuzzer-time 5s
	[ "$status" -eq 2 ]
	[[ $output == *--max-fuzzer-time*plateau.cap* ]]
	"$FUZZCELL" run --plain --continuous --state-dir "$STATE" --targets "$WORK/targets" \
		>"$WORK/out" 2>&1 3>&- &
	PID=$!
	wait_until 60 grep -q 't_fuzzer ended: startup-failed' "$WORK/out"
	wait_until 120 grep -q 'healthy_fuzzer requeued' "$WORK/out" # fuzzing it no longer pays
	wait_until 120 test -s "$STATE/stats/corpus_history.jsonl"
	cp "$TARGETS/healthy_fuzzer" "$WORK/targets/new"
	mv "$WORK/targets/new" "$WORK/targets/t_fuzzer"
	wait_until 120 grep -qs INITED "$(last_logs)/t_fuzzer.log"
	kill -TERM "$PID"
	wait "$PID"
	cat "$WORK/out"
	LOGS=$(last_logs)
	[ "$(of t_fuzzer reason)" = stopped ]
	[ "$(of t_fuzzer fuzzed)" = true ]
}
