# SPDX-License-Identifier: Apache-2.0
# Who gets the CPUs, and when a target has had enough.
load lib

setup() {
	e2e_setup
	mkdir "$WORK/targets"
}
teardown() {
	[ -z "${HOGS:-}" ] || kill -9 $HOGS 2>/dev/null || true
	e2e_teardown
}

# targets NAME=PLANTED...: as links of other names.
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

# number of "outlook"'s KEY
outlook() {
	sed -n 's/^    "'"$2"'": \([0-9.e+-]*\),\{0,1\}$/\1/p' "$LOGS/$1.stats"
}

more() { # A B: as real numbers
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'
}

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

@test "what finds nothing more ends by its price; the next run only looks, a new build begins anew" {
	targets healthy_fuzzer=healthy_fuzzer
	config '"plateau": {"price": 5}, "max_len": 32, "seed": 1' '"quantum": "5s"'
	all --max-fuzzer-time "$((120 * TIMES))s"
	[ "$status" -eq 0 ]
	[ "$(of healthy_fuzzer reason)" = plateau ]
	before=$(outlook healthy_fuzzer cpu_seconds_of_build)
	more "$before" 5
	more 5.1 "$(outlook healthy_fuzzer edges_per_cpu_second)"
	grep -q 'new edges expected a CPU-second, the price is 5' "$LOGS/healthy_fuzzer.log"
	touch "$WORK/targets/healthy_fuzzer" # the same, made again
	all --max-fuzzer-time "$((120 * TIMES))s"
	[ "$(of healthy_fuzzer reason)" = plateau ]
	[ "$(of healthy_fuzzer fuzzed)" = true ]
	more "$(outlook healthy_fuzzer cpu_seconds_of_build)" "$before"
	printf 'another build' >>"$WORK/targets/healthy_fuzzer"
	all --max-fuzzer-time "$((5 * TIMES))s"
	more "$before" "$(outlook healthy_fuzzer cpu_seconds_of_build)"
}

@test "a starved target is not taken for a finished one, and wastes nothing" {
	targets healthy_fuzzer=healthy_fuzzer
	config '"plateau": {"price": 5}, "max_len": 32, "seed": 1, "merge_time": "off"' \
		'"hold": "3s", "adapt": false, "quantum": "5s"'
	HOGS=
	for _ in 1 2 3 4 5 6 7; do
		taskset -c 0 sh -c 'while :; do :; done' &
		HOGS="$HOGS $!"
	done
	run timeout $((600 * SLOW)) taskset -c 0 "$FUZZCELL" run --plain --state-dir "$STATE" \
		--targets "$WORK/targets" --max-fuzzer-time 10m
	echo "$output"
	LOGS=$(last_logs)
	[ "$(of healthy_fuzzer reason)" = starved ]
	more 5.1 "$(outlook healthy_fuzzer edges_per_cpu_second)"
}

@test "--continuous: a new build is fuzzed when it comes, until somebody ends it" {
	targets healthy_fuzzer=healthy_fuzzer t_fuzzer=startexit_fuzzer
	config '"plateau": {"price": 5}' '"quantum": "3s"'
	"$FUZZCELL" run --plain --continuous --state-dir "$STATE" --targets "$WORK/targets" \
		>"$WORK/out" 2>&1 3>&- &
	PID=$!
	wait_until 60 grep -q 't_fuzzer ended: startup-failed' "$WORK/out"
	wait_until 120 grep -q 'healthy_fuzzer requeued' "$WORK/out" # it does not pay any more
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
