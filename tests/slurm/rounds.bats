# SPDX-License-Identifier: Apache-2.0
# Rounds of shards under a real Slurm, on four nodes that are this machine.  REAL: the targets of the
# demo.
load ../e2e/lib

setup() {
	e2e_setup
	CLUSTER=$BATS_TEST_DIRNAME/cluster.sh
	mkdir "$WORK/tmp" "$WORK/served" "$WORK/t" "$WORK/kept"
	export TMPDIR=$WORK/tmp SLURM_CONF=$WORK/cluster/slurm.conf
	"$CLUSTER" start "$WORK/cluster"
}

teardown() {
	local stopped=0

	"$CLUSTER" stop "$WORK/cluster" || { stopped=1; cat "$WORK"/cluster/*.log; }
	kill -9 "${SERVER:-}" "${KEEPER:-}" 2>/dev/null || true # they may have ended
	e2e_teardown && [ "$stopped" = 0 ]
}

# Twelve targets: four of libraries, and eight planted ones.
twelve() {
	local t

	cp -r "$REAL"/* "$WORK/t"
	for t in calc chain crash gate healthy uaf broad checksum; do
		cp "$TARGETS/${t}_fuzzer" "$WORK/t"
	done
	[ "$("$FUZZCELL" list --targets "$WORK/t" --state-dir "$STATE" --json | jq '.targets | length')" -eq 12 ]
}

# Issues go to a server that only this test knows.
issues_to_server() {
	node "$BATS_TEST_DIRNAME/../e2e/notify.mjs" "$WORK/served" >"$WORK/served.log" 2>&1 3>&- &
	SERVER=$!
	wait_until 60 [ -s "$WORK/served/github" ]
	config '"minimize_time": "off"'
	jq --arg api "$(cat "$WORK/served/github")" --arg token "$WORK/served/token" '. + {
		github: {repository: "octo/widgets", api: $api, token_file: $token, security: "full"}}' \
		"$STATE/config.json" >"$WORK/c"
	mv "$WORK/c" "$STATE/config.json"
}

# Keeps each delta as its shard delivered it.
keep_deltas() {
	while sleep 0.2; do
		find "$STATE/slurm" -path '*/deltas/r*.delta.tar.gz' -exec ln -f {} "$WORK/kept" \; 2>/dev/null
	done
}

waiting() { # ROUND SHARD: deltas that wait to be collected
	find "$STATE/slurm/$1/deltas" -name "r$1-s$2-*.delta.tar.gz" 2>/dev/null
}

all_gave() { # ROUND
	local s

	for s in {1..8}; do
		[ -n "$(waiting "$1" "$s")" ] || return 1
	done
}

status() {
	"$FUZZCELL" slurm status --all --state-dir "$STATE" --json 2>/dev/null
}

tasks_of() { # NODE: its tasks of round 1
	status | jq -r --arg n "$1" '.rounds[0].shards[] | select(.state == "running" and .node == $n).shard'
}

over() { # ROUNDS: so many are collected, and Slurm's queue is empty
	[ "$(cat "$STATE"/slurm/*/collect.log 2>/dev/null | grep -c ' collected before, ')" -ge "$1" ] &&
		[ -z "$(squeue -h)" ]
}

counts() { # STATE: "signature target count", with the smallest signature of each crash
	jq -r 'to_entries[] | select(.value.state and (.value.merged_into // "") == "") |
		([.key] + (.value.aliases // []) | min) as $s |
		(.value.found_by // [.value])[] | "\($s) \(.fuzzer) \(.count)"' "$1/known_crashes.json" | sort
}

edges() { # STATE: "target edges", measured
	"$FUZZCELL" corpus minimize --dry-run --state-dir "$1" --targets "$WORK/t" --json 2>/dev/null |
		jq -r '.targets[] | "\(.target) \(.edges)"' | sort
}

# The shards that run on this node end with it, and with its disk.  DEAD: their numbers.
node_dies() { # NODE
	local task

	mapfile -t DEAD < <(tasks_of "$1")
	[ "${#DEAD[@]}" -gt 0 ]
	"$CLUSTER" kill "$WORK/cluster" "$1"
	for task in "${DEAD[@]}"; do
		rm -rf "$WORK"/tmp/fuzzcell-*-"$task"
	done
}

# Slurm has noticed, and put them into its queue again.
requeued() { # ARRAY
	local task

	for task in "${DEAD[@]}"; do
		[ "$(squeue -h -r -j "$1_$task" -o %T)" = PENDING ] || return 1
	done
}

@test "three rounds lose nothing but the last minutes of a node that died" {
	twelve
	issues_to_server
	cp -r "$STATE" "$WORK/before"
	keep_deltas 3>&- &
	KEEPER=$!
	"$FUZZCELL" slurm submit --shards 8 --workers 1 --time "$((60 * TIMES))s" --delta-interval 4s \
		--rounds 3 --state-dir "$STATE" --targets "$WORK/t"
	wait_until 120 all_gave 1
	# A delta is cut in half, one comes twice, a shard is cancelled, a node dies.
	cut=$(waiting 1 "$(tasks_of n1 | head -n 1)" | sort | head -n 1)
	cp "$cut" "$WORK/half" # the kept one is a link to it
	truncate -s $(($(stat -c %s "$cut") / 2)) "$WORK/half"
	mv "$WORK/half" "$cut"
	twice=$(waiting 1 "$(tasks_of n3 | head -n 1)" | sort | head -n 1)
	cp "$twice" "${twice%/*}/twice.delta.tar.gz"
	array=$(status | jq '.rounds[0].array')
	scancel "${array}_$(tasks_of n4 | head -n 1)"
	node_dies n2
	wait_until 180 requeued "$array"
	for task in "${DEAD[@]}"; do
		scontrol update JobId="${array}_$task" StartTime=now # else two minutes later
	done
	wait_until 900 over 3
	kill "$KEEPER"
	KEEPER=
	cat "$STATE"/slurm/*/collect.log
	"$FUZZCELL" slurm status --all --state-dir "$STATE" | tee "$WORK/status"

	# The summary says what is lost: what n2 found after its last delta, and nothing else.
	[ "$(status | jq '[.rounds[].shards[] | select(.state != "ended")] | length')" -eq 0 ]
	[ "$(status | jq -r '[.rounds[].shards[].died[].node] | unique | .[]')" = n2 ]
	grep -q 'died on n2: what it found there after .* is lost' "$WORK/status"
	[ "$(cat "$STATE"/slurm/*/collect.log | grep -c DAMAGED)" -eq 1 ]
	[ "$(cat "$STATE"/slurm/*/collect.log | grep -c 'never came back')" -eq 0 ]
	[ "$(jq -s '[.[] | select(.shard == 0)] | length' "$STATE/stats/fleet.jsonl")" -eq 3 ]
	grep -q ', 1 collected before, 1 damaged:\|, 1 damaged' "$STATE/slurm/1/collect.log"

	# All else that was delivered is here: each crash as often as it was seen, and all edges.
	rm "$WORK/kept/${cut##*/}"
	"$FUZZCELL" collect --no-merge --state-dir "$WORK/before" "$WORK/kept"
	diff <(counts "$STATE") <(counts "$WORK/before")
	diff <(edges "$STATE") <(edges "$WORK/before")
	"$FUZZCELL" corpus verify --state-dir "$STATE"
	[ "$(jq '[.[] | select(.fuzzed > 0)] | length' "$STATE/stats/last_fuzzed.json")" -eq 12 ]
	[ "$(jq -s 'map(.round) | unique | length' "$STATE/stats/fleet.jsonl")" -eq 3 ]

	# Each crash is one crash with one issue.
	crashes=$(ledger '[.[] | select(.state and (.merged_into // "") == "" and .reproduction.hits > 0)] | length')
	[ "$crashes" -ge 4 ]
	[ "$(jq '.issues | length' "$WORK/served/received")" -eq "$crashes" ]
}

@test "a cancelled run of rounds collects what it has, and submits no further one" {
	cp "$TARGETS/healthy_fuzzer" "$TARGETS/calc_fuzzer" "$WORK/t"
	"$FUZZCELL" slurm submit --shards 2 --workers 1 --time 600s --delta-interval 3s --continuous \
		--state-dir "$STATE" --targets "$WORK/t" -- --comment=nightly
	squeue -h -o %k | grep -q nightly
	wait_until 120 eval '[ -n "$(waiting 1 1)" ] && [ -n "$(waiting 1 2)" ]'
	run "$FUZZCELL" slurm cancel --state-dir "$STATE"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *'round 1 is cancelled; job '*' collects what was delivered'* ]]
	wait_until 120 over 1
	[ "$(status | jq -r '[.rounds[].shards[].state] | unique | .[]')" = ended ]
	[ ! -e "$STATE/slurm/2" ]
	[ "$(find "$STATE/corpus" -type f | wc -l)" -gt 100 ]
	[ -z "$(find "$WORK/tmp" -name 'fuzzcell-*')" ]
	run "$FUZZCELL" slurm cancel --state-dir "$STATE"
	[[ $output == *'no round is in Slurm'* ]]
}

@test "without Slurm, or with an option that it refuses, nothing is submitted" {
	cp "$TARGETS/healthy_fuzzer" "$WORK/t"
	run "$FUZZCELL" slurm submit --shards 2 --time 60s --state-dir "$STATE" --targets "$WORK/t" -- --partition=none
	echo "$output"
	[ "$status" -eq 3 ]
	[[ $output == *'sbatch failed: '*'nvalid partition'* ]]
	[ -z "$(squeue -h)" ]
	run "$FUZZCELL" slurm submit --shards 2 --time 60s --state-dir "$STATE" --targets "$WORK/t" none
	[ "$status" -eq 2 ]
	[[ $output == *'behind "--" are options of sbatch'* ]]
	PATH=/usr/local/none run "$FUZZCELL" slurm submit --shards 2 --time 60s --state-dir "$STATE" --targets "$WORK/t"
	[ "$status" -eq 3 ]
	[[ $output == *"no program 'sbatch': is Slurm installed here?"* ]]
}
