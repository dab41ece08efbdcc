# SPDX-License-Identifier: Apache-2.0
# A round of shards: each fuzzes its share and leaves deltas, and a collector brings them together.
# bats file_tags=slow
load lib
load inputs

# Two shards of five targets, once for all tests: plan.json, base/, l1/ and l2/, deltas/.
setup_file() {
	ROUND=$BATS_FILE_TMPDIR/round
	mkdir -p "$ROUND/base"
	cd "$ROUND" || return
	STATE=$ROUND/base
	config '"minimize_time": "off"'
	plan_round 20 2 >plan.json
	run_shard base l1 --shard 1/2 --delta-interval 4s >out1 2>&1
	SLURM_ARRAY_TASK_ID=2 run_shard base l2 --delta-interval 4s >out2 2>&1
}

setup() {
	e2e_setup
	ROUND=$BATS_FILE_TMPDIR/round
}

teardown() {
	local d

	for d in "$WORK"/l[0-9]; do
		[ ! -d "$d" ] || STATE=$d wait_until 60 nothing_left
	done
	kill -9 "${SERVER:-}" 2>/dev/null || true
	e2e_teardown
}

FLEET=crash_fuzzer,chain_fuzzer,calc_fuzzer,gate_fuzzer,healthy_fuzzer

plan_round() { # SECONDS SHARDS
	"$FUZZCELL" plan --shards "$2" --time "$(($1 * TIMES))s" --workers 1 --targets "$TARGETS" \
		--filter "$FLEET" --state-dir "$STATE" --json
}

run_shard() { # BASE STATE [OPTION...]
	local base=$1 state=$2
	shift 2
	timeout $((300 * SLOW)) "$FUZZCELL" run --plan plan.json --base "$base" --state-dir "$state" \
		--deltas deltas --targets "$TARGETS" --plain "$@"
}

# A copy of the base, which collects.
fresh() { # NAME
	rm -rf "${WORK:?}/$1"
	cp -r "$ROUND/base" "$WORK/$1"
}

collect() { # NAME DELTA...
	local state=$WORK/$1
	shift
	"$FUZZCELL" collect --state-dir "$state" --no-merge "$@"
}

# No difference but the lock, which has a process number, and which of its signatures names a crash.
same() { # NAME NAME
	diff -rq --exclude lock --exclude known_crashes.json --exclude record.json "$WORK/$1" "$WORK/$2" &&
		diff <(counts "$WORK/$1") <(counts "$WORK/$2")
}

# "signature target count" of each target of a crash, with the smallest of its signatures: of two
# that were found in the same second, either may have given it its name.
counts() { # STATE
	[ -e "$1/known_crashes.json" ] || return 0 # a shard that found none
	jq -r 'to_entries[] | select(.value.state and (.value.merged_into // "") == "") |
		([.key] + (.value.aliases // []) | min) as $s |
		(.value.found_by // [.value])[] | "\($s) \(.fuzzer) \(.count)"' "$1/known_crashes.json" | sort
}

@test "each shard fuzzes its share, and what it has is what a collector gets" {
	cd "$ROUND"
	[ "$(jq '.shares | length' plan.json)" -eq 2 ]
	[ "$(jq '[.shares[].targets[].name] | unique | length' plan.json)" -eq 5 ]
	grep -q 'shard 2 of 2, round 1' out2
	[ "$(find deltas -name '*.delta.tar.gz' | wc -l)" -ge 4 ]
	[ -z "$(find l1/deltas l2/deltas -type f)" ]
	fresh all
	run collect all deltas
	echo "$output"
	[ "$status" -eq 0 ]
	# The same crashes, each as often as both shards saw it; every input of both.
	diff <(counts "$WORK/all") <({ counts l1; counts l2; } |
		awk '{ n[$1 " " $2] += $3 } END { for (k in n) print k, n[k] }' | sort)
	for d in l1 l2; do
		(cd "$d" && find corpus quarantine regressions -type f) | while read -r f; do
			cmp "$d/$f" "$WORK/all/$f"
		done
	done
	"$FUZZCELL" corpus verify --state-dir "$WORK/all"
	# The progress of both shards, and their histories.
	[ "$(jq -s 'length' "$WORK/all/stats/run_history.jsonl")" -eq 2 ]
	[ "$(jq -s '[.[] | select(.last)] | length' "$WORK/all/stats/fleet.jsonl")" -eq 2 ]
	for t in ${FLEET//,/ }; do
		[ "$(jq '[.shards[].us] | add > 0' "$WORK/all/stats/progress/$t.json")" = true ]
	done
	# The next round knows of them: without that, all targets would get the same time.
	"$FUZZCELL" plan --shards 2 --targets "$TARGETS" --filter "$FLEET" --state-dir "$WORK/all" --json \
		>"$WORK/plan2"
	[ "$(jq .round "$WORK/plan2")" -eq 2 ]
	[ "$(jq '[.shares[].targets[]] | group_by(.name) | map(map(.cpu_seconds) | add) | max / min > 1.01' \
		"$WORK/plan2")" = true ]
}

@test "the order of deltas does not matter, and a delta that comes twice changes nothing" {
	fresh all
	collect all "$ROUND/deltas"
	for round in 1 2 3; do
		fresh some
		for d in $(find "$ROUND/deltas" -type f | shuf) "$(find "$ROUND/deltas" -type f | shuf -n 1)"; do
			collect some "$d" >/dev/null
		done
		same all some
	done
	run collect all "$ROUND/deltas"
	[ "$status" -eq 0 ]
	[[ $output == *"0 deltas collected, $(find "$ROUND/deltas" -type f | wc -l) collected before"* ]]
	same all some
}

@test "a cut delta, a changed one and another archive are set aside with their reasons" {
	mkdir "$WORK/in"
	cp "$ROUND"/deltas/* "$WORK/in"
	first=$(find "$WORK/in" -name '*-0001*.delta.tar.gz' | head -n 1)
	truncate -s $(($(stat -c %s "$first") / 2)) "$first"
	mkdir "$WORK/x"
	second=$(find "$WORK/in" -name '*-0002*.delta.tar.gz' | head -n 1)
	tar -xzf "$second" -C "$WORK/x"
	sed -i 's/"round":1/"round":2/; s/"round": 1/"round": 2/' "$WORK/x/delta.json"
	tar -czf "$second" -C "$WORK/x" delta.json objects
	tar -czf "$WORK/in/other.delta.tar.gz" -C "$ROUND" plan.json
	echo no >"$WORK/in/text.delta.tar.gz"
	fresh all
	run collect all --remove "$WORK/in"
	echo "$output"
	[ "$status" -eq 5 ]
	[[ $output == *'truncated'* ]]
	[[ $output == *'its head is damaged: it has another SHA-1'* ]]
	[[ $output == *'it has no delta.json'* ]]
	[[ $output == *'not a zip or tar archive'* ]]
	[[ $output == *', 4 damaged:'* ]]
	[ -z "$(find "$WORK/in" -type f)" ]
	[ "$(find "$WORK/all/damaged/deltas" -name '*.why' | wc -l)" -eq 4 ]
	[ "$(find "$WORK/all/damaged/deltas" -type f | wc -l)" -eq 8 ]
	# The last delta of a shard has all inputs of its corpus again, so none of these is lost.
	for d in l1 l2; do
		(cd "$ROUND/$d" && find corpus -type f) | while read -r f; do
			cmp "$ROUND/$d/$f" "$WORK/all/$f"
		done
	done
}

@test "shards that never came back are named, and doctor knows of them" {
	mkdir "$WORK/in" "$WORK/none"
	cp "$ROUND"/deltas/*-s1-* "$WORK/in"
	fresh all
	run collect all --plan "$ROUND/plan.json" "$WORK/none"
	echo "$output"
	[ "$status" -eq 5 ]
	[[ $output == *'round 1, shard 1 of 2 never came back, and gave nothing'* ]]
	[[ $output == *'round 1, shard 2 of 2 never came back, and gave nothing'* ]]
	"$FUZZCELL" doctor --json --state-dir "$WORK/all" |
		jq -r '.. | .reason? // empty' | grep '2 of 2 shards of round 1 never came back'
	[ "$("$FUZZCELL" plan --shards 2 --targets "$TARGETS" --filter "$FLEET" --state-dir "$WORK/all" \
		--json | jq .round)" -eq 2 ]
	cp "$ROUND"/deltas/*-s2-*-0001.delta.tar.gz "$WORK/in"
	collect all --json --plan "$ROUND/plan.json" "$WORK/in" >"$WORK/out" && return 1
	[ "$(jq -c .lost "$WORK/out")" = '[2]' ]
	run collect all --plan "$ROUND/plan.json" "$WORK/in"
	[ "$status" -eq 5 ]
	[[ $output == *'round 1, shard 2 of 2 never came back: what it found after '*' is lost'* ]]
	# A shard that comes after all is none that was lost.
	run collect all --plan "$ROUND/plan.json" "$ROUND/deltas"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output != *'never came back'* ]]
	[ "$("$FUZZCELL" doctor --json --state-dir "$WORK/all" | grep -c 'never came back')" -eq 0 ]
	# Also if the history is lost, and the directory of deltas.
	mv "$WORK/all/stats/fleet.jsonl" "$WORK"
	run collect all --plan "$ROUND/plan.json" "$ROUND/deltas"
	[ "$status" -eq 0 ]
	run collect all --plan "$ROUND/plan.json" "$WORK/never-made"
	echo "$output"
	[ "$status" -eq 5 ]
	[[ $output == *'never-made: not there; no shard delivered to it'*'shard 2 of 2 never came back, and gave nothing'* ]]
	jq '.shards = 9' "$ROUND/plan.json" >"$WORK/other.json"
	run collect all --plan "$WORK/other.json" "$WORK/none"
	echo "$output"
	[ "$status" -eq 2 ]
}

@test "after kill -9 of a collector the state is as before or as after" {
	before=0 after=0
	fresh before
	fresh all
	"$FUZZCELL" corpus verify --state-dir "$WORK/before"
	start=$(date +%s%N)
	collect all "$ROUND/deltas" >/dev/null
	took=$((($(date +%s%N) - start) / 1000))
	for round in $(seq 40); do
		fresh some
		collect some "$ROUND/deltas" >/dev/null 2>&1 3>&- &
		PID=$!
		# At a random moment, to the microsecond.
		perl -e 'select undef, undef, undef, rand($ARGV[0]) / 1e6' $((took * 11 / 10))
		# The shell is the parent of the program.
		pkill -9 -P "$PID" || true
		kill -9 "$PID" 2>/dev/null || true
		wait "$PID" 2>/dev/null || true
		wait_until 60 let_go_of some
		"$FUZZCELL" corpus verify --state-dir "$WORK/some" >/dev/null # it takes the lock
		[ ! -e "$WORK/some/change" ]
		if same before some >/dev/null; then
			before=$((before + 1))
		else
			same all some
			after=$((after + 1))
		fi
		collect some "$ROUND/deltas" >/dev/null
		same all some
	done
	PID=
	echo "as before: $before, as after: $after"
	[ "$before" -gt 0 ]
}

let_go_of() { # NAME
	flock -n "$WORK/$1/lock" true && ! pgrep -f "collect --state-dir $WORK/$1 " >/dev/null
}

@test "of two collectors at once one waits" {
	fresh all
	collect all "$ROUND/deltas" >/dev/null
	fresh some
	collect some "$ROUND"/deltas/r1-s1-* >"$WORK/o1" 2>&1 3>&- &
	one=$!
	collect some "$ROUND"/deltas/r1-s2-* >"$WORK/o2" 2>&1 3>&- &
	wait "$one"
	wait $!
	same all some
	# The holder of the lock is named.
	"$FUZZCELL" run --plain --state-dir "$STATE" --targets "$TARGETS" --filter healthy_fuzzer \
		--max-total-time 600s >"$WORK/out" 2>&1 3>&- &
	PID=$!
	wait_until 60 cell_runs
	"$FUZZCELL" collect --state-dir "$STATE" --no-merge "$ROUND/deltas" >"$WORK/o3" 2>&1 3>&- &
	two=$!
	wait_until 60 grep -q "waiting for process $PID" "$WORK/o3"
	kill -TERM "$PID"
	wait "$PID" || true
	PID=
	wait "$two"
	grep -q 'shard has ended' "$WORK/o3"
}

@test "what is new is merged and notified of, once" {
	mkdir "$WORK/served"
	node "$BATS_TEST_DIRNAME/notify.mjs" "$WORK/served" >"$WORK/served.log" 2>&1 3>&- &
	SERVER=$!
	wait_until 60 [ -s "$WORK/served/github" ]
	jq --arg api "$(cat "$WORK/served/github")" --arg token "$WORK/served/token" '. + {
		github: {repository: "octo/widgets", api: $api, token_file: $token, security: "full"}}' \
		"$ROUND/base/config.json" >"$STATE/config.json"
	# A shard sends nothing, whatever its base's configuration says.
	cd "$WORK"
	cp "$ROUND/plan.json" .
	run_shard "$STATE" l1 --shard 1/2 >out1
	[ "$(jq '.issues | length' "$WORK/served/received")" -eq 0 ]
	# (A full state directory: the merge needs its targets.)
	run "$FUZZCELL" collect --state-dir "$STATE" --targets "$TARGETS" deltas "$ROUND/deltas"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *'duplicate work: of '*' the merges kept '* ]]
	# (No issue for a failure that no replay repeated.)
	crashes=$(ledger '[.[] | select(.state and (.merged_into // "") == "" and .reproduction.hits > 0)] | length')
	[ "$crashes" -ge 3 ]
	[ "$(jq '.issues | length' "$WORK/served/received")" -eq "$crashes" ]
	[ "$(ledger '[.[] | select((.issue_url // "") != "")] | length')" -eq "$crashes" ]
	"$FUZZCELL" collect --state-dir "$STATE" --targets "$TARGETS" deltas "$ROUND/deltas"
	[ "$(jq '.issues | length' "$WORK/served/received")" -eq "$crashes" ]
	"$FUZZCELL" corpus verify --state-dir "$STATE"
}

gave() { # NUMBER
	[ "$(find "$WORK/deltas" -name '*.delta.tar.gz' 2>/dev/null | wc -l)" -ge "$1" ]
}

@test "a shard that was killed goes on, and nothing of it counts twice" {
	cd "$WORK"
	cp "$ROUND/plan.json" .
	for round in 1 2; do
		"$FUZZCELL" run --plan plan.json --shard 1/2 --base "$ROUND/base" --state-dir l1 \
			--deltas deltas --delta-interval 3s --targets "$TARGETS" --plain >"out$round" 2>&1 3>&- &
		PID=$!
		STATE=$WORK/l1 wait_until 120 gave $((2 * round))
		kill -9 "$PID"
		wait "$PID" || true
		PID=
	done
	run_shard "$ROUND/base" l1 --shard 1/2 >out3
	grep -q 'it continues' out3
	fresh all
	run collect all deltas
	[ "$status" -eq 0 ]
	diff <(counts "$WORK/all") <(counts l1)
	[ "$(jq -s 'map(.source) | unique | length' "$WORK/all/stats/fleet.jsonl")" -eq 1 ]
}

@test "the commands of docs/fleet.md work" {
	config '"minimize_time": "off"'
	cd "$WORK"
	run_page "$BATS_TEST_DIRNAME/../../docs/fleet.md" 4
	[ -z "$(find deltas -name '*.delta.tar.gz')" ]
	[ "$(jq -s 'length' "$STATE/stats/run_history.jsonl")" -eq 2 ]
}

@test "the options in deploy/ are those of the commands" {
	local deploy=$BATS_TEST_DIRNAME/../../deploy word

	for c in run plan collect; do
		"$FUZZCELL" help "$c"
	done >"$WORK/help"
	for word in $(grep -ohE -- '--[a-z][a-z-]+' "$deploy"/kubernetes/*.yaml; grep -hE 'fuzzcell (run|plan|collect)' -A1 \
		"$deploy"/github/*.yml | grep -oE -- '--[a-z][a-z-]+'); do
		grep -qE -- "$word( |$)" "$WORK/help" || [[ $word == --preserve-env ]] || [[ $word == --create ]] ||
			[[ $word == --gzip ]] || [[ $word == --file ]]
	done
}

@test "a shard refuses what is not its own, and is not green when a target is missing" {
	cd "$WORK"
	cp "$ROUND/plan.json" .
	refused() { # TEXT OPTION...
		local text=$1
		shift
		run run_shard "$@"
		echo "$output"
		[ "$status" -eq 2 ]
		[[ $output == *"$text"* ]]
	}
	refused "'3/2' is not a shard i/2 of the plan" "$ROUND/base" l1 --shard 3/2
	refused 'no shard: give --shard i/2' "$ROUND/base" l1
	refused 'give another --state-dir' "$ROUND/base" "$ROUND/base" --shard 1/2
	fresh all
	collect all "$ROUND/deltas" >/dev/null
	refused 'is not that of a shard' "$ROUND/base" all --shard 1/2
	refused 'belongs to shard 1 of plan' "$ROUND/base" "$ROUND/l1" --shard 2/2
	refused "open the base state '/nonexistent'" /nonexistent l1 --shard 1/2
	jq '.shares[0].targets[0].cpu_seconds += 1' plan.json >p
	mv p plan.json
	refused 'it was changed' "$ROUND/base" l1 --shard 1/2
	run "$FUZZCELL" run --shard 1/2 --state-dir l1
	[ "$status" -eq 2 ]
	[[ $output == *'need --plan'* ]]
	cp "$ROUND/plan.json" .
	mkdir some
	name=$(jq -r '.shares[0].targets[] | select(.parts == 1).name' plan.json | head -n 1)
	for t in ${FLEET//,/ }; do
		[ "$t" = "$name" ] || cp "$TARGETS/$t" some
	done
	TARGETS=$WORK/some run run_shard "$ROUND/base" l1 --shard 1/2 --max-total-time 10s
	echo "$output"
	[ "$status" -eq 5 ]
	[[ $output == *"target '$name' of the plan is not here: it is not fuzzed"* ]]
}
