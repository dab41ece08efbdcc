# SPDX-License-Identifier: Apache-2.0
# fuzzcell corpus minimize: a merge in cells makes a corpus smaller, and never loses coverage.
load lib
load inputs
setup() { e2e_setup; }
teardown() { e2e_teardown; }

# reach DIR: "FEATURES EDGES" by the engine itself, without a cell.  The depth of the
# stack is a feature: the same addresses each time, and arguments of the same length.
reach() {
	rm -rf "$WORK/reach" "$WORK/cf"
	mkdir "$WORK/reach"
	ln -sfn "$1" "$WORK/of"
	env -i PATH="$PATH" setarch -R "$TARGETS/$TARGET" -merge=1 -merge_control_file="$WORK/cf" \
		-artifact_prefix="$WORK/" "$WORK/reach" "$WORK/of/" 2>&1 |
		sed -n 's/^MERGE-OUTER: [0-9]* new files with \([0-9]*\) new features added; \([0-9]*\) new coverage edges/\1 \2/p'
}

# cell_reach DIR: as reach, but measured in a cell as by a merge.
cell_reach() {
	mkdir -p "$WORK/other/corpus"
	rm -rf "$WORK/other/corpus/$TARGET"
	cp -r "$1" "$WORK/other/corpus/$TARGET"
	cp "$STATE/config.json" "$WORK/other/"
	"$FUZZCELL" corpus minimize --dry-run --state-dir "$WORK/other" --targets "$TARGETS" \
		--filter "$TARGET" |
		sed -n 's/.*, \([0-9]*\) edges, \([0-9]*\) features.*/\2 \1/p'
}

# bats test_tags=slow
@test "a redundant corpus gets small and keeps its coverage, on two workers" {
	mkdir "$WORK/in"
	"$TARGETS/healthy_fuzzer" -runs=300000 -seed=1 -reduce_inputs=0 "$WORK/in" 2>/dev/null
	inputs 1500 # more of the same
	plant healthy_fuzzer
	cp -r "$STATE/corpus/$TARGET" "$WORK/old"
	before=$(reach "$WORK/old")
	n=$(files "$STATE/corpus/$TARGET")
	minimize healthy_fuzzer --workers 2
	[ "$status" -eq 0 ]
	[[ $output == *"healthy_fuzzer: replaced: "* ]]
	after=$(reach "$STATE/corpus/$TARGET")
	echo "# $n files -> $(files "$STATE/corpus/$TARGET"); features and edges $before -> $after" >&3
	[ "$(files "$STATE/corpus/$TARGET")" -lt $((n / 2)) ]
	[ "${after% *}" -ge "${before% *}" ]
	[ "${after#* }" -ge "${before#* }" ]
	[ "$(cell_reach "$STATE/corpus/$TARGET")" = "$(cell_reach "$WORK/old")" ]
	nothing_lost
	[ "$(last verdict)" = replaced ]
	[ "$(last cells)" -ge 3 ] # two shards, and the chosen inputs once more
	[ ! -e "$STATE/merge/$TARGET" ]
	# A minimal corpus stays unchanged.
	minimize healthy_fuzzer
	[[ $output == *"healthy_fuzzer: unchanged: "* ]]
	[ "$(ls "$STATE/generations/$TARGET")" = 1 ]
}

@test "the merged corpus is about as small as by the engine's own merge, with the same coverage" {
	inputs 400
	plant merge_fuzzer
	mkdir "$WORK/own"
	"$TARGETS/$TARGET" -merge=1 "$WORK/own" "$STATE/corpus/$TARGET" 2>/dev/null
	minimize merge_fuzzer
	[ "$(last verdict)" = replaced ]
	[ "$(files "$STATE/corpus/$TARGET")" -le $(($(files "$WORK/own") * 5 / 4)) ]
	ours=$(cell_reach "$STATE/corpus/$TARGET")
	own=$(cell_reach "$WORK/own")
	echo "# features and edges: ours $ours, the engine's $own" >&3
	[ "${ours% *}" -ge "${own% *}" ]
	[ "${ours#* }" -ge "${own#* }" ]
}

# bats test_tags=slow
@test "inputs that crash, hang, leak or blow the memory are quarantined and queued, the rest is merged" {
	config '"timeout": "10s"'
	inputs 300
	bad C1 C2 E1 X1 T1 M1 L1 L2
	for i in $(seq 12); do bad "A$i"; done # each keeps 24 MiB: together they exceed the limit
	plant merge_fuzzer
	minimize merge_fuzzer --workers 2
	[ "$status" -eq 0 ]
	[ "$(last verdict)" = replaced ]
	[ "$(last bad)" = 8 ]
	for c in C1 C2 E1 X1; do has "triage/$TARGET/crash-" $c; done
	has "triage/$TARGET/timeout-" T1
	has "triage/$TARGET/oom-" M1
	has "triage/$TARGET/leak-" L1
	has "triage/$TARGET/leak-" L2
	for c in C1 C2 E1 X1 T1 M1 L1 L2; do
		has "quarantine/$TARGET/" $c
		! has "corpus/$TARGET/" $c
	done
	[ "$(files "$STATE/quarantine/$TARGET")" -eq 8 ]
	nothing_lost
	[ "$(reach "$STATE/corpus/$TARGET" | cut -d' ' -f1)" -gt 40 ]
}

# bats test_tags=slow
@test "an input that blocks every signal is quarantined, too" {
	config '"timeout": "1s"'
	inputs 20
	bad S1
	plant merge_fuzzer
	minimize merge_fuzzer
	[ "$status" -eq 0 ]
	has "triage/merge_fuzzer/timeout-" S1
	[ "$(last verdict)" = replaced ]
}

@test "an input that spoils the measurement is found, and the rest is merged" {
	inputs 20
	bad Z1 W1 # W only adds coverage, which does little harm
	plant merge_fuzzer
	minimize merge_fuzzer
	[ "$status" -eq 0 ]
	[ "$(last verdict)" = replaced ]
	has "quarantine/merge_fuzzer/" Z1
	has "triage/merge_fuzzer/crash-" Z1
	nothing_lost
}

# bats test_tags=slow
@test "a target that always spoils the measurement: a reason, and the old corpus" {
	inputs 0
	bad Z{1..99}
	plant merge_fuzzer
	minimize merge_fuzzer
	[ "$status" -eq 5 ] || [ "$(last verdict)" = kept ]
	[[ $output == *"spoiled their control file"* || $output == *"fails on too much"* ]]
	contents "$STATE/corpus/$TARGET" | cmp - "$WORK/before"
}

@test "a target with flaky coverage loses nothing" {
	inputs 300
	for i in $(seq 40); do bad "F$i"; done
	plant merge_fuzzer
	minimize merge_fuzzer
	[ "$status" -eq 0 ]
	[[ $(last verdict) =~ ^(replaced|kept)$ ]]
	nothing_lost
	rm "$WORK"/in/bad-*
	rm -r "$STATE/corpus/$TARGET"
	plant merge_fuzzer
	steady=$(reach "$STATE/corpus/$TARGET")
	minimize merge_fuzzer
	[ "$(reach "$STATE/corpus/$TARGET")" = "$steady" ]
}

@test "a target that does not start: the merge fails with its output, the corpus is unchanged" {
	inputs 5
	plant startexit_fuzzer
	minimize startexit_fuzzer
	[ "$status" -eq 5 ]
	[[ $output == *"3 cells in a row made no progress: "* ]]
	contents "$STATE/corpus/$TARGET" | cmp - "$WORK/before"
	[ "$(last verdict)" = failed ]
}

@test "no corpus: nothing to do" {
	minimize merge_fuzzer
	[ "$status" -eq 0 ]
	[[ $output == *"merge_fuzzer: nothing: 0 -> 0 files"* ]]
	[ "$(last cells)" = 0 ]
}

# naps NUMBER: inputs of 100 ms each.  A merge begins with small inputs: when it reaches these
# it has measured all others, on a machine of any speed.
naps() {
	local i
	for i in $(seq "$1"); do
		bad "$(printf 'N%0100d' "$i")"
	done
}

# bats test_tags=slow
@test "a merge that reaches its deadline continues the next time" {
	inputs 100
	naps $((120 * TIMES))
	plant merge_fuzzer
	minimize merge_fuzzer --time $((6 * TIMES))s
	[ "$status" -eq 0 ]
	[ "$(last verdict)" = late ]
	contents "$STATE/corpus/$TARGET" | cmp - "$WORK/before"
	printf more >"$WORK/in/more" # joins the remaining inputs
	plant merge_fuzzer
	minimize merge_fuzzer
	[ "$(last verdict)" = replaced ]
	[ "$(last reused)" -gt 20 ]
	[ "$(last candidates)" -eq "$(wc -l <"$WORK/before")" ]
	nothing_lost
}

# bats test_tags=slow
@test "SIGTERM stops a merge at once, and the measurements are kept" {
	inputs 100
	naps 100
	plant merge_fuzzer
	"$FUZZCELL" corpus minimize --state-dir "$STATE" --targets "$TARGETS" --filter merge_fuzzer \
		>"$WORK/out" 2>&1 3>&- &
	PID=$!
	wait_until 60 grep -qs '^COV 50' "$STATE/merge/$TARGET/quick/0/control"
	kill -TERM "$PID"
	status=0
	wait "$PID" || status=$?
	cat "$WORK/out"
	[ "$status" -eq 0 ]
	[ "$(last verdict)" = stopped ]
	contents "$STATE/corpus/$TARGET" | cmp - "$WORK/before"
	minimize merge_fuzzer
	[ "$(last reused)" -ge 50 ]
}

# bats test_tags=slow
@test "kill -9 at ten moments of merge and exchange: no input is lost, the next merge continues" {
	inputs 300
	bad C1 L1
	plant merge_fuzzer
	began=$(date +%s%N)
	minimize merge_fuzzer --workers 2
	whole=$((($(date +%s%N) - began) / 1000000))
	for i in $(seq 10); do
		plant merge_fuzzer
		"$FUZZCELL" corpus minimize --state-dir "$STATE" --targets "$TARGETS" \
			--filter merge_fuzzer --workers 2 >"$WORK/out" 2>&1 3>&- &
		PID=$!
		sleep "$(awk -v n="$whole" -v i="$i" -v r="$RANDOM" \
			'BEGIN { printf "%.3f", n / 1000 * (i % 10 + r / 32768) / 10 }')"
		kill -9 "$PID" 2>/dev/null || true
		wait "$PID" 2>/dev/null || true
		nothing_lost
	done
	wait_until 60 let_go # a slow disk may still sync for the dead process
	plant merge_fuzzer
	minimize merge_fuzzer --workers 2
	[ "$status" -eq 0 ]
	[ "$(last verdict)" = replaced ]
	nothing_lost
	[ -z "$(ls "$STATE/merge")" ]
	[ ! -e "$STATE/generations/$TARGET/next" ]
}

@test "a full disk: a clear error and the old corpus; with space the next merge continues" {
	STATE=$WORK/small/state
	mkdir "$WORK/small"
	mount -t tmpfs -o size=24m,mode=0755 none "$WORK/small"
	mkdir "$STATE"
	config ''
	sed -i 's/"disk_reserve": "64MiB"/"disk_reserve": "none"/' "$STATE/config.json"
	inputs 2000
	plant merge_fuzzer
	failures=0
	for room in 64 192 320 448 640 1024 1536; do
		dd if=/dev/zero of="$WORK/small/fill" bs=4096 2>/dev/null || true
		truncate -s "-$((room * 1024))" "$WORK/small/fill"
		minimize merge_fuzzer
		contents "$STATE/corpus/$TARGET" >"$WORK/now"
		nothing_lost
		[ "$status" -eq 0 ] && break
		[[ $output == *"No space left"* || $output == *"disk is full"* ]]
		cmp "$WORK/before" "$WORK/now"
		failures=$((failures + 1))
		rm "$WORK/small/fill"
	done
	rm -f "$WORK/small/fill"
	[ "$failures" -ge 3 ]
	minimize merge_fuzzer
	[ "$status" -eq 0 ]
	[[ $(last verdict) =~ ^(replaced|unchanged)$ ]]
	[ ! -e "$STATE/quarantine/$TARGET" ] # no input was bad
	nothing_lost
}

@test "--dry-run prints what would stay, and changes nothing" {
	inputs 300
	bad C1
	plant merge_fuzzer
	minimize merge_fuzzer --dry-run
	[ "$status" -eq 0 ]
	[[ $output == *"merge_fuzzer: measured: "* ]]
	contents "$STATE/corpus/$TARGET" | cmp - "$WORK/before"
	[ ! -e "$STATE/stats/corpus_history.jsonl" ]
	[ ! -e "$STATE/quarantine/$TARGET" ]
}

@test "stats shows the corpus and its history" {
	inputs 300
	bad C1
	plant merge_fuzzer
	minimize merge_fuzzer --commit abc123
	run "$FUZZCELL" corpus stats --state-dir "$STATE" --history
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *merge_fuzzer*" features"*"1 quarantined"*"1 generations"*replaced* ]]
	run "$FUZZCELL" corpus stats --state-dir "$STATE" --json
	[ "$status" -eq 0 ]
	[[ $output == *'"name": "merge_fuzzer"'*'"commit": "abc123"'* ]]
	run "$FUZZCELL" corpus stats --state-dir "$STATE" --filter absent
	[ -z "$output" ]
}
