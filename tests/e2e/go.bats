# SPDX-License-Identifier: Apache-2.0
# Targets of Go: a module that is built, planted bugs, its corpus, and the guarantees of a cell.
load lib

setup_file() {
	export MODULE=$BATS_FILE_TMPDIR/planted
	chmod 0755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR"
	cp -R "$BATS_TEST_DIRNAME/../targets/go" "$MODULE"
	# A package without fuzz tests, which does not build.
	mkdir "$MODULE/broken"
	printf 'package broken\n\nfunc f() { no() }\n' >"$MODULE/broken/broken.go"
	printf 'package broken\n\nimport "testing"\n\nfunc TestF(t *testing.T) { f() }\n' >"$MODULE/broken/b_test.go"
	mkdir "$BATS_FILE_TMPDIR/state"
	jq -n --arg dir "$MODULE" '{discovery: [{type: "go", path: $dir, build_as_root: true}]}' \
		>"$BATS_FILE_TMPDIR/state/config.json"
	GOFLAGS=-mod=mod GOPROXY=off GOCACHE=$BATS_FILE_TMPDIR/cache \
		"$FUZZCELL" build --state-dir "$BATS_FILE_TMPDIR/state" >"$BATS_FILE_TMPDIR/built" 2>&1
	export OUT=$MODULE/.fuzzcell-builds
}

setup() { e2e_setup; }
teardown() { e2e_teardown; }

# run_go GLOB SECONDS [OPTION...]
run_go() {
	local glob=$1 time=$2
	shift 2
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" --targets "$OUT" \
		--filter "planted.$glob" --max-fuzzer-time "$((time * TIMES))s" "$@"
	echo "$output"
	LOGS=$(last_logs)
	tail -n 5 "$LOGS"/*.log || true
	TARGET=planted.$glob
}

# seed TARGET LINE...: an input from which a bug is near.
seed() {
	local dir=$STATE/corpus/planted.$1
	shift
	mkdir -p "$dir"
	printf '%s\n' 'go test fuzz v1' "$@" >"$dir/new"
	mv "$dir/new" "$dir/$(sha1sum <"$dir/new" | cut -d ' ' -f 1)"
}

ledger() { jq -r "$1" "$STATE/known_crashes.json"; }

# crash_of TEST: its crashes' types and top frames.
crash_of() {
	ledger "[.[] | select(.fuzzer == \"planted.$1\") | .crash_type + \" \" + .top_frame] | sort | join(\", \")"
}

signature_of() { ledger "to_entries[] | select(.value.fuzzer == \"planted.$1\").key"; }

# bats test_tags=slow
@test "a module is built, and each fuzz test is a target" {
	cat "$BATS_FILE_TMPDIR/built"
	grep -q 'go test -c -fuzz=. <package>' "$BATS_FILE_TMPDIR/built"
	run "$FUZZCELL" list --state-dir "$STATE" --targets "$OUT"
	echo "$output"
	[ "${#lines[@]}" -eq 8 ]
	[[ $output == *'planted.FuzzCrash '*' go '* ]]
	[[ ${lines[1]} == 'planted.FuzzError '*' in-tree' ]]
	[ ! -e "$OUT/broken.test" ]
}

# bats test_tags=slow
@test "two packages for one program fail the build, and the others are built" {
	local p
	mkdir -p "$WORK/m/a/b" "$WORK/m/a.b" "$WORK/m/c"
	printf 'module example.com/m\n\ngo 1.18\n' >"$WORK/m/go.mod"
	for p in a/b a.b c; do
		printf 'package p\n\nimport "testing"\n\nfunc FuzzA(f *testing.F) { f.Fuzz(func(t *testing.T, b []byte) {}) }\n' \
			>"$WORK/m/$p/p_test.go"
	done
	jq -n --arg dir "$WORK/m" '{discovery: [{type: "go", path: $dir, build_as_root: true}]}' >"$STATE/config.json"
	GOPROXY=off GOCACHE=$BATS_FILE_TMPDIR/cache run "$FUZZCELL" build --state-dir "$STATE"
	echo "$output"
	[ "$status" -eq 5 ]
	[[ $output == *"error: $WORK/m/a.b: another package has 'a.b.test', too: rename one of them"* ]]
	[[ $output == *'2 targets can be fuzzed'* ]]
}

# bats test_tags=slow
@test "planted bugs are found, named and minimised, and inputs are kept" {
	config '"timeout": "3s"'
	seed FuzzCrash '[]byte("Go\x00")'
	seed FuzzMemory 'string("L")'
	run_go 'Fuzz[CEHM]*' 14 --workers 2
	[ "$status" -eq 0 ]
	[ "$(crash_of FuzzCrash)" = 'Index out of range example.com/planted.Sum' ]
	[ "$(crash_of FuzzError)" = 'Test failure ' ]
	[[ $(crash_of FuzzMemory) == 'Out-of-memory '* ]]
	[ "$(crash_of FuzzHealthy)" = '' ]
	local crash
	crash=$STATE/crashes/$(signature_of FuzzCrash)
	tail -n +1 "$crash"/input "$crash"/minimized || true # there may be none: the input is the smallest
	[ "$(find "$crash" \( -name input -o -name minimized \) -printf '%s\n' | sort -n | head -n 1)" -lt 40 ]
	grep -q '^\[\]byte("Go' "$crash/input"
	TARGET=planted.FuzzHealthy
	[ "$(value reason)" = time-limit ]
	[ "$(value execs)" -gt 1000 ]
	[ "$(value cov)" -gt 10 ]
	[ "$(value failures_total)" -eq 0 ]
	TARGET=planted.FuzzError # its known input did not stop it
	[ "$(value execs)" -gt 100 ]
	# A later run begins with the corpus.
	local kept
	kept=$(find "$STATE/corpus/planted.FuzzHealthy" -type f | wc -l)
	[ "$kept" -gt 0 ]
	[ "$(grep -l '^go test fuzz v1' "$STATE"/corpus/planted.FuzzHealthy/* | wc -l)" -eq "$kept" ]
	run_go FuzzHealthy 5
	[ "$(value seeds)" -eq "$kept" ]
	run "$FUZZCELL" regress --state-dir "$STATE" --targets "$OUT" --filter planted.FuzzCrash
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *'Index out of range in planted.Sum'* ]]
	run "$FUZZCELL" crash export --state-dir "$STATE" --targets "$OUT" -o "$WORK/x.tgz" "$(signature_of FuzzCrash)"
	[ "$status" -eq 0 ]
	tar -C "$WORK" -xzf "$WORK/x.tgz"
	run sh "$WORK"/planted.FuzzCrash-*/reproduce.sh --bare
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *'index out of range'*'example.com/planted.Sum'*'by what its report says' ]]
}

# Go itself waits ten seconds for an input.
# bats test_tags=slow
@test "an input that hangs is found, and its replays are timeouts" {
	config '"timeout": "3s", "max_crashes": 1'
	seed FuzzTimeout 'string("SIM")'
	run_go FuzzTimeout 60
	[ "$status" -eq 5 ] # given up after one failure
	[ "$(failures crash)" -eq 1 ]
	[[ $(crash_of FuzzTimeout) == 'Timeout '* ]]
}

# bats test_tags=slow
@test "what cannot be fuzzed ends with its reason" {
	mkdir "$WORK/out"
	(cd "$MODULE" && GOCACHE=$BATS_FILE_TMPDIR/cache go test -c -vet=off -o "$WORK/out/planted.test" .)
	OUT=$WORK/out
	run_go FuzzCrash 6
	[ "$(value reason)" = not-instrumented ]
	[ "$status" -ne 0 ]
	# It does not find its file.
	run_go FuzzHealthy 6
	[ "$status" -ne 0 ]
	[[ $(value reason) == @(startup-failed|crash-loop) ]]
	# The names of its tests are not in the program.
	(cd "$MODULE" && GOCACHE=$BATS_FILE_TMPDIR/cache go test -c -vet=off -ldflags=-s -o "$WORK/out/planted.test" .)
	run "$FUZZCELL" list --all --state-dir "$STATE" --targets "$OUT"
	echo "$output"
	[[ $output == *'has no symbols'* ]]
}

# bats test_tags=slow
@test "a target that forks without end ends its cell alone" {
	seed FuzzForks 'string("E")'
	run_go FuzzForks 10
	[ "$(failures pids)" -ge 1 ]
	[ "$(value forks_refused)" -gt 0 ]
}

# bats test_tags=slow
@test "output without end: the log is bounded, and statistics are read" {
	config '' '"log_limit": "1MiB"'
	run_go FuzzOutput 8
	[ "$(value reason)" = time-limit ]
	[ "$(value execs)" -gt 1000 ]
	[ "$(stat -c %s "$LOGS/planted.FuzzOutput.log")" -lt 3000000 ]
}

# bats test_tags=slow
@test "a target that heeds no signal is gone soon after its time" {
	config '"grace": "2s"'
	local began=$SECONDS
	run_go FuzzStays 5
	[[ $(value reason) == @(time-limit|crashed|stuck) ]]
	[ $((SECONDS - began)) -lt $((60 * SLOW)) ]
	no_cells
}

some_found() {
	[ "$(find "$STATE"/work/*/planted.FuzzHealthy/artifacts/go/cache -type f 2>/dev/null | wc -l)" -gt 1 ]
}

# bats test_tags=slow
@test "after kill -9 no process runs, and the engine's inputs are recovered" {
	"$FUZZCELL" run --continuous --plain --state-dir "$STATE" --targets "$OUT" --filter planted.FuzzHealthy \
		>"$WORK/out" 2>&1 3>&- &
	PID=$!
	kill_when some_found
	run_go FuzzHealthy 3
	[ "$status" -eq 0 ]
	[[ $output == *recovered* ]]
	[ "$(find "$STATE/corpus/planted.FuzzHealthy" -type f | wc -l)" -gt 1 ]
}
