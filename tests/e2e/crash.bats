# SPDX-License-Identifier: Apache-2.0
# What a user does with a crash: fuzzcell crash, without fuzzing.
load lib
setup() {
	e2e_setup
	OUT="$WORK/it's out"
	mkdir "$OUT"
	cp "$TARGETS"/{uaf,crash,healthy}_fuzzer "$OUT"
	config '"minimize_time": "2m"' # ends earlier, when no byte can be left out
	jq --arg out "$OUT" '.discovery = [{type: "directory", path: $out}]' "$STATE/config.json" \
		>"$WORK/new.json"
	mv "$WORK/new.json" "$STATE/config.json"
	export FUZZCELL_STATE_DIR=$STATE
}
teardown() { e2e_teardown; }

crash() {
	run timeout $((300 * SLOW)) "$FUZZCELL" crash "$@"
	echo "status $status: $output"
}

# know TARGET TEXT: puts a crash into the ledger; SIG is its name.
know() {
	queue "$1" crash "$2"
	crash triage --filter "$1"
	[ "$status" -eq 0 ]
	SIG=$(jq -r --arg t "$1" 'to_entries[] | select(.value.fuzzer == $t) | .key' \
		"$STATE/known_crashes.json" | tail -n 1)
	[ -n "$SIG" ]
}

ledger() {
	jq -r --arg sig "$SIG" ".[\$sig]$1" "$STATE/known_crashes.json"
}

# Without a symbolizer (the test machine under QEMU) crashes go by offsets.
named() {
	! command -v llvm-symbolizer >/dev/null || "$@"
}

# sig_of FILE TARGET: prints the signature of the report in FILE.
sig_of() {
	"$FUZZCELL" crash parse --json --target "$2" "$1" | jq -r .signature
}

report() {
	cat <<-'END'
		noise
		==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x603000000040 at pc 0x55f1c2c1a1a0 bp 0x7ffd1 sp 0x7ffd0
		READ of size 4 at 0x603000000040 thread T0
		    #0 0x55f1c2be1111 in __interceptor_memcpy /llvm/asan.cpp:22:3
		    #1 0x55f1c2c1a19f in session_is_open(Session const*) /src/uaf.c:26:12
		    #2 0x55f1c2c1a22f in LLVMFuzzerTestOneInput /src/uaf.c:46:6

		SUMMARY: AddressSanitizer: heap-use-after-free /src/uaf.c:26:12 in session_is_open
	END
}

@test "parse reads a report from a file or standard input, and prints text or JSON, without any state" {
	report >"$WORK/report"
	export FUZZCELL_STATE_DIR=$WORK/none
	crash parse "$WORK/report"
	[ "$status" -eq 0 ]
	[[ $output == *"asan: Heap-use-after-free READ 4"* ]]
	[[ $output == *"high, security-relevant"* ]]
	[[ $output == *"#1   session_is_open(Session const*)  /src/uaf.c:26:12"* ]]
	[[ $output != *interceptor* ]]
	report | "$FUZZCELL" crash parse --target uaf_fuzzer --json - >"$WORK/json"
	[ "$(jq -r '.crash_type' "$WORK/json")" = $'Heap-use-after-free\nREAD 4' ]
	[ "$(jq -r '.crash_state[0]' "$WORK/json")" = session_is_open ]
	[ "$(jq -r '.frames[0] | "\(.file):\(.line):\(.column)"' "$WORK/json")" = /src/uaf.c:26:12 ]
	[ "$(jq -c '[.crash_address, .security, .severity, .kind]' "$WORK/json")" = \
		'["0x603000000040",true,"high","asan"]' ]
	[[ $(jq -r .signature "$WORK/json") =~ ^[0-9a-f]{16}$ ]]
	[ ! -e "$WORK/none" ]
}

@test "parse: no crash is status 1, no file is status 2, a flood costs no memory" {
	echo nothing >"$WORK/nothing"
	crash parse - <"$WORK/nothing"
	[ "$status" -eq 1 ]
	[[ $output == *"no crash found"* ]]
	crash parse "$WORK/missing"
	[ "$status" -eq 2 ]
	crash parse
	[ "$status" -eq 2 ]
	# 200 MiB of one line before the report, in 96 MiB of address space; libraries take 62 of them.
	(ulimit -v 98304 && { head -c 200M /dev/zero | tr '\0' x && echo && report; } |
		"$FUZZCELL" crash parse - >"$WORK/out")
	grep -q 'Heap-use-after-free READ 4' "$WORK/out"
}

@test "queued artifacts are triaged without fuzzing; list and show print all details" {
	queue uaf_fuzzer crash 'UA first'
	queue uaf_fuzzer crash 'UA and second'
	queue crash_fuzzer crash FZZZ
	queue gone_fuzzer crash x
	crash triage
	[ "$status" -eq 0 ]
	[[ $output == *"uaf_fuzzer: 2 artifacts: 1 new crash, 1 of a known crash; "* ]]
	[[ $output == *"gone_fuzzer: 1 artifact waits, but there is no such target"* ]]
	[[ $output == *"3 artifacts triaged, 2 new crashes, 0 still wait"* ]]
	[ "$(find "$STATE/triage" -type f | wc -l)" -eq 1 ]

	crash list
	[ "$status" -eq 0 ]
	[ "$(grep -c ' new ' <<<"$output")" -eq 2 ]
	# The columns are aligned, from the first line on.
	[ "$(awk '/^crash|new/ { print index($0, /^crash/ ? "what" : "Heap") }' <<<"$output" | sort -u | wc -l)" -eq 1 ]
	[[ $output == *$'\n''gone_fuzzer: 1 artifact waits for triage: fuzzcell crash triage' ]]
	crash list --filter 'uaf*' --json
	SIG=$(jq -r '.[].signature' <<<"$output")
	[ "$(jq -r '.[] | "\(.fuzzer) \(.count) \(.state)"' <<<"$output")" = 'uaf_fuzzer 2 new' ]
	crash list --state fixed
	[ "$output" = 'no crash' ]
	crash list --state strange
	[ "$status" -eq 2 ]

	crash show "${SIG:0:5}"
	[ "$status" -eq 0 ]
	[[ $output == *"crash $SIG of uaf_fuzzer"* ]]
	[[ $output == *"reproduces"*"3 of 3 replays: reproduces"* ]]
	[[ $output == *"crashes/$SIG/minimized (2 bytes)"* ]]
	named grep -q '^>     #0 0x[0-9a-f]* in session_is_open' <<<"$output"
	[ "$(grep -c '^>.* in main ' <<<"$output")" -eq 0 ]
	crash show "$SIG" --json
	[ "$(jq -r '.signature + " " + .report.signature' <<<"$output")" = "$SIG $SIG" ]
	crash show ffffffffffffffff
	[ "$status" -eq 2 ]
	[[ $output == *"no crash 'ffffffffffffffff'"* ]]
	crash show ''
	[ "$status" -eq 2 ]
}

@test "inputs that share a cell do not affect each other" {
	local what
	cp "$TARGETS/remains_fuzzer" "$OUT"
	for what in p t s l m M u y n z o i; do
		printf 'B%s' "$what" >"$WORK/input"
		crash reproduce "$WORK/input" --target remains_fuzzer --times 4
		[[ $output == *"0 of 4 replays"* ]]
	done
	# An input behaves as in a cell of its own.
	printf 'K' >"$WORK/input"
	crash reproduce "$WORK/input" --target remains_fuzzer --times 4
	[[ $output == *"4 of 4 replays"* ]]
}

@test "an input that was forced out and passes is no failure, and of no crash" {
	queue healthy_fuzzer slow-unit harmless
	crash triage --filter healthy_fuzzer
	[ "$status" -eq 0 ]
	[[ $output == *'healthy_fuzzer: 1 artifact: 1 is no failure; 1 replay'* ]]
	[ "$(jq length "$STATE/known_crashes.json" 2>/dev/null || echo 0)" -eq 0 ]
}

# bats test_tags=slow
@test "all workers work off the queue of one target" {
	local letter i
	cp "$TARGETS/twenty_fuzzer" "$OUT"
	for letter in A B C D E F G H I J; do
		for i in 1 2 3 4 5 6; do
			queue twenty_fuzzer crash "BUG$letter $i"
		done
	done
	config '"minimize_time": "2s"'
	"$FUZZCELL" crash triage --targets "$OUT" --filter twenty_fuzzer --workers 2 \
		>"$WORK/out" 2>&1 3>&- &
	PID=$!
	wait_until 120 two_at_once
	wait "$PID"
	cat "$WORK/out"
	grep -q '^twenty_fuzzer: 60 artifacts: 10 new crashes, 50 of known crashes; 10 inputs made smaller; ' "$WORK/out"
	[ "$(grep -c '^twenty_fuzzer: ' "$WORK/out")" -eq 1 ]
	[ "$(jq '[length, ([.[].count] | add), ([.[].minimized] | all)]' -c "$STATE/known_crashes.json")" = '[10,60,true]' ]
	[ -z "$(find "$STATE/triage" -type f)" ]
	[ -z "$(ls -A "$STATE/work")" ]
}

# The target's processes have two users: two workers.
two_at_once() {
	[ "$(ps -eo uid=,args= | awk '/\/target\/twenty_fuzzer/ && !/awk/ { print $1 }' | sort -u | wc -l)" -eq 2 ]
}

@test "reproduce: in a cell, by name or by file, with its report and how often" {
	know uaf_fuzzer 'UA first'
	crash reproduce "${SIG:0:6}"
	[ "$status" -eq 0 ]
	[[ $output == *"3 of 3 replays: reproduces"* ]]
	[[ $output == *"signature  $SIG"* ]]
	[[ $output == *"==ABORTING"* ]]
	crash reproduce "$SIG" --times 2 --original
	[ "$status" -eq 0 ]
	[[ $output == *"2 of 2 replays"* ]]
	# The input file may be private (mode 0600).
	(umask 077 && printf 'UA' >"$WORK/input")
	crash reproduce "$WORK/input"
	[ "$status" -eq 2 ]
	[[ $output == *"--target NAME"* ]]
	crash reproduce "$WORK/input" --target uaf_fuzzer
	[ "$status" -eq 0 ]
	crash reproduce "$STATE/crashes/$SIG/input"
	[ "$status" -eq 0 ]
	crash reproduce "$WORK/input" --target healthy_fuzzer
	[ "$status" -eq 1 ]
	[[ $output == *"0 of 6 replays"* ]]
	crash reproduce "$WORK/input" --target no_such_fuzzer
	[ "$status" -eq 2 ]
	# A file works before any fuzzing; a crash is not found, and no state directory is made for
	# it.
	run "$FUZZCELL" crash reproduce --shell "$WORK/input" --target uaf_fuzzer --targets "$OUT" \
		--state-dir "$WORK/new"
	[ "$status" -eq 0 ]
	run "$FUZZCELL" crash reproduce "$SIG" --targets "$OUT" --state-dir "$WORK/none"
	[ "$status" -eq 2 ]
	[ ! -e "$WORK/none" ]
	# Another build, without the crash.
	cp "$OUT/healthy_fuzzer" "$OUT/uaf_fuzzer"
	crash reproduce "$SIG"
	[ "$status" -eq 1 ]
	[ -z "$(ls -A "$STATE/work")" ]
}

# bats test_tags=host,slow
@test "a command that takes longer than 5 seconds prints its progress" {
	printf healthy >"$WORK/input"
	"$FUZZCELL" crash reproduce --target healthy_fuzzer --times 1000 "$WORK/input" >"$WORK/out" 2>"$WORK/progress" 3>&- &
	PID=$!
	wait_until 60 grep -Eq '^crash reproduce: [0-9]+ of 1000 replays, [0-9.]+/s, about [0-9a-z]+ to go$' "$WORK/progress"
	kill -TERM "$PID"
	wait "$PID" || true
	! grep -q 'to go' "$WORK/out" || false
	# Each failing replay takes two seconds.
	cp "$TARGETS/timeout_fuzzer" "$OUT"
	config '"minimize_time": "off", "timeout": "2s"'
	queue timeout_fuzzer timeout "T and much more of it"
	"$FUZZCELL" crash triage --targets "$OUT"
	"$FUZZCELL" crash minimize --targets "$OUT" --time 60s "$(jq -r 'keys[0]' "$STATE/known_crashes.json")" >"$WORK/out" 2>"$WORK/progress" 3>&- &
	PID=$!
	wait_until 60 grep -Eq '^crash minimize, at most 1m00s: [0-9]+ replays' "$WORK/progress"
	kill -TERM "$PID"
	wait "$PID" || true
}

@test "crash commands find the targets of the last run without --targets" {
	queue uaf_fuzzer crash UA1
	jq 'del(.discovery)' "$STATE/config.json" >"$WORK/new.json"
	mv "$WORK/new.json" "$STATE/config.json"
	crash triage
	[ "$status" -eq 2 ]
	[[ $output == *"no targets: give --targets DIR"* ]]
	cd "$WORK"
	timeout $((300 * SLOW)) "$FUZZCELL" run --plain --targets "it's out" --filter uaf_fuzzer --max-fuzzer-time 1s || true
	cd /
	SIG=$(jq -r 'keys[0]' "$STATE/known_crashes.json")
	crash reproduce "$SIG"
	[ "$status" -eq 0 ]
	[[ $output == *"targets: $OUT, as in the last run"* ]]
	crash export "$SIG" --output "$WORK/bundle.tar.gz"
	[ "$status" -eq 0 ]
	"$FUZZCELL" regress --allow-known --json --filter uaf_fuzzer >"$WORK/json"
	jq -e .targets "$WORK/json" # the note about the directory is not in the JSON
	# The directory may have moved, and a run never guesses.
	mv "$OUT" "$OUT.old"
	crash reproduce "$SIG"
	[ "$status" -eq 2 ]
	run "$FUZZCELL" run --plain
	[ "$status" -eq 2 ]
	[[ $output == *"no targets: give --targets DIR"* ]]
	echo '{"targets": 7}' >"$STATE/last_targets.json"
	crash reproduce "$SIG"
	[ "$status" -eq 2 ]
	echo '{' >"$STATE/last_targets.json"
	crash reproduce "$SIG"
	[ "$status" -eq 3 ]
	[[ $output == *"last_targets.json"*"give --targets"* ]]
}

@test "reproduce --shell: one command for a machine without fuzzcell" {
	know uaf_fuzzer 'UA first'
	"$FUZZCELL" crash reproduce --shell "$SIG" >"$WORK/command"
	cat "$WORK/command"
	status=0
	env -i PATH=/usr/bin:/bin sh "$WORK/command" >"$WORK/report" 2>&1 || status=$?
	[ "$status" -ne 0 ]
	[ "$(sig_of "$WORK/report" uaf_fuzzer)" = "$SIG" ]
	named grep -q 'in session_is_open .*uaf_fuzzer.c' "$WORK/report"
	# Pasted into a shell that has variables of the same names.
	status=0
	env ASAN_OPTIONS=exitcode=0 bash -eu -c "$(cat "$WORK/command")" >"$WORK/report" 2>&1 ||
		status=$?
	[ "$status" -eq 76 ]
	[ "$(sig_of "$WORK/report" uaf_fuzzer)" = "$SIG" ]
}

@test "export: one archive that reproduces it anywhere" {
	printf 'data' >"$OUT/table.dat"
	printf 'x' >"$OUT/other_fuzzer.options"
	know uaf_fuzzer 'UA first'
	mkdir "$WORK/there"
	cd "$WORK/there"
	crash export "${SIG:0:8}"
	[ "$status" -eq 0 ]
	crash export "$SIG" -o "$WORK/there/same.tar.gz"
	[ "$status" -eq 0 ]
	cmp "uaf_fuzzer-$SIG.tar.gz" same.tar.gz
	tar -xzf same.tar.gz
	cd "uaf_fuzzer-$SIG"
	find . -type f | sort
	# The Dockerfile is for Debian and Ubuntu.
	[ "$(find . -type f ! -name Dockerfile | sort | tr '\n' ' ')" = "./environment ./expected ./input ./meta.json \
./minimized ./out/table.dat ./out/uaf_fuzzer ./report.txt ./reproduce.sh " ]
	[ "$(cat input)" = 'UA first' ]
	grep -q ASAN_OPTIONS= environment
	# The archive has no path of the machine that made it.
	mv "$OUT" "$WORK/out.gone"
	mv "$STATE" "$WORK/state.gone"
	status=0
	env -i PATH=/usr/bin:/bin ./reproduce.sh --bare >"$WORK/report" 2>&1 || status=$?
	tail -n 3 "$WORK/report"
	[ "$status" -eq 1 ]
	grep -q "crash $SIG, by what its report says" "$WORK/report"
	[ "$(sig_of "$WORK/report" uaf_fuzzer)" = "$SIG" ]
	# With fuzzcell, by the signature; another crash is told apart, in both ways.
	mkdir "$WORK/path"
	ln -s "$FUZZCELL" "$WORK/path/fuzzcell"
	run env PATH="$WORK/path:$PATH" sh ./reproduce.sh --bare
	[ "$status" -eq 1 ]
	[[ $output == *"crash $SIG, by its signature" ]]
	mv out/uaf_fuzzer out/uaf
	cp "$TARGETS/crash_fuzzer" out/uaf_fuzzer
	printf 'FZZZ' >"$WORK/other"
	for path in "$WORK/path:$PATH" /usr/bin:/bin; do
		run env PATH="$path" sh ./reproduce.sh --bare "$WORK/other"
		echo "$output" | tail -n 3
		[ "$status" -eq 2 ]
		[[ $output == *"it fails, but not as crash $SIG"* ]]
	done
	mv out/uaf out/uaf_fuzzer
	# Another input; from another directory.
	printf 'harmless' >"$WORK/harmless"
	(cd "$WORK" && sh "there/uaf_fuzzer-$SIG/reproduce.sh" --bare harmless | grep -q 'it passes')
	mv "$WORK/state.gone" "$STATE"
	# A disk that is too small: no partial archive.
	mv "$WORK/out.gone" "$OUT"
	mkdir "$WORK/small"
	mount -t tmpfs -o size=64k tmpfs "$WORK/small"
	crash export "$SIG" -o "$WORK/small/a.tar.gz"
	[ "$status" -eq 3 ]
	[[ $output == *"No space left"* ]]
	[ -z "$(ls -A "$WORK/small")" ]
}

@test "export: without fuzzcell, another kind of crash in the same function is told apart" {
	know crash_fuzzer FZZZ
	cd "$WORK"
	crash export "$SIG" -o x.tgz
	tar -xzf x.tgz
	cd "crash_fuzzer-$SIG"
	cat expected
	run env PATH=/usr/bin:/bin sh ./reproduce.sh --bare
	[ "$status" -eq 1 ]
	mv out/crash_fuzzer out/was
	cp "$TARGETS/timeout_fuzzer" out/crash_fuzzer
	printf T >"$WORK/other"
	run env PATH=/usr/bin:/bin sh ./reproduce.sh --bare "$WORK/other"
	echo "$output" | tail -n 5
	[ "$status" -eq 2 ]
	[[ $output == *LLVMFuzzerTestOneInput*"not as crash $SIG"* ]]
}

@test "minimize: smaller, still the same crash; the original stays" {
	config '"minimize_time": "off"'
	jq --arg out "$OUT" '.discovery = [{type: "directory", path: $out}]' "$STATE/config.json" \
		>"$WORK/new.json"
	mv "$WORK/new.json" "$STATE/config.json"
	know uaf_fuzzer "UA$(head -c 300 /dev/zero | tr '\0' y)"
	[ "$(ledger .minimized)" = null ]
	crash minimize "$SIG"
	[ "$status" -eq 2 ]
	crash minimize "$SIG" --time 200s
	[ "$status" -eq 0 ]
	[[ $output == *"302 bytes -> 2 bytes"* ]]
	[ "$(cat "$STATE/crashes/$SIG/minimized")" = UA ]
	[ "$(stat -c %s "$STATE/crashes/$SIG/input")" -eq 302 ]
	[ "$(ledger .minimized_bytes)" -eq 2 ]
}

@test "ignore, unignore, merge, split: the user decides" {
	know uaf_fuzzer 'UA first'
	other=$SIG
	know crash_fuzzer FZZZ
	crash ignore "$SIG" --note "not our code"
	[ "$status" -eq 0 ]
	[ "$(ledger '| .state + ": " + .note')" = 'ignored: not our code' ]
	crash unignore "$SIG"
	[ "$(ledger .state)" = known ]
	crash merge "$SIG" "$other"
	[ "$status" -eq 0 ]
	[[ $output == *"merged into $other"* ]]
	crash list --json
	[ "$(jq -r '.[].signature' <<<"$output")" = "$other" ]
	crash show "$SIG"
	[[ $output == *"merged into   $other"* ]]
	crash merge "$SIG" "$other"
	[ "$status" -eq 2 ]
	crash split "$SIG"
	[ "$status" -eq 0 ]
	crash list --json
	[ "$(jq length <<<"$output")" -eq 2 ]
	crash ignore nobody
	[ "$status" -eq 2 ]
}

@test "during a run crash commands may read; changes are refused with 4" {
	know uaf_fuzzer 'UA first'
	fuzz_background healthy_fuzzer 600
	wait_until 60 fuzzing_began
	crash list
	[ "$status" -eq 0 ]
	crash show "$SIG"
	[ "$status" -eq 0 ]
	crash reproduce --shell "$SIG"
	[ "$status" -eq 0 ]
	crash export "$SIG" -o "$WORK/a.tar.gz"
	[ "$status" -eq 0 ]
	for what in ignore minimize reproduce; do
		crash "$what" "$SIG"
		[ "$status" -eq 4 ]
	done
	crash triage
	[ "$status" -eq 4 ]
	run "$FUZZCELL" regress
	[ "$status" -eq 4 ]
	kill -0 "$PID"
	kill "$PID"
	wait "$PID" || [ $? -le 5 ]
}

@test "export accepts only names that end with .tar.gz or .tgz; show marks a name by offsets" {
	know uaf_fuzzer 'UA first'
	cd "$WORK"
	local name
	for name in y.rar y.zip y .tgz . "$OUT" dir/; do
		crash export "$SIG" -o "$name"
		[ "$status" -eq 2 ]
		[[ $output == *".tar.gz"*".tgz"* ]]
	done
	[ -z "$(find . -maxdepth 1 -name 'y*')" ]
	crash export "$SIG" -o y.tgz
	[ "$status" -eq 0 ]
	tar -tzf y.tgz | grep -q 'reproduce.sh$'
	jq ".[\"$SIG\"].unsymbolized = false" "$STATE/known_crashes.json" >"$WORK/new.json"
	cp "$WORK/new.json" "$STATE/known_crashes.json"
	crash show "$SIG"
	[[ $output != *"by offsets"* ]]
	jq ".[\"$SIG\"].unsymbolized = true" "$STATE/known_crashes.json" >"$WORK/new.json"
	cp "$WORK/new.json" "$STATE/known_crashes.json"
	crash show "$SIG"
	[[ $output == *"named         by offsets"* ]]
}

@test "corpus verify finds damaged reproducers, and restores them from other copies" {
	know uaf_fuzzer 'UA first'
	local input=$STATE/crashes/$SIG/input small=$STATE/crashes/$SIG/minimized
	run "$FUZZCELL" corpus verify
	[ "$status" -eq 0 ]
	: >"$input"
	printf 'UAx' >"$small"
	mkdir -p "$STATE/quarantine/uaf_fuzzer"
	printf 'UA first' >"$STATE/quarantine/uaf_fuzzer/$(printf 'UA first' | sha1sum | cut -c 1-40)"
	run "$FUZZCELL" corpus verify
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *"$SIG: 'crashes/$SIG/input' is damaged: 0 bytes, not 8"* ]]
	[[ $output == *"$SIG: 'crashes/$SIG/minimized' is damaged"* ]]
	[[ $output == *"2 wrong (--repair"* ]]
	run "$FUZZCELL" corpus verify --repair
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *"input' is damaged: 0 bytes, not 8: repaired from quarantine"* ]]
	[[ $output == *"(not repaired: no copy of it is left)"* ]]
	[ "$(cat "$input")" = 'UA first' ]
	# An invalid ledger is repaired, too.
	echo '{' >"$STATE/known_crashes.json"
	run "$FUZZCELL" corpus verify --repair
	echo "$output"
	[[ $output == *"1 crashes are read from crashes/ instead"*": repaired"* ]]
	[ "$(ledger .input_bytes)" = 8 ]
	ln -sf /etc/passwd "$small"
	run "$FUZZCELL" corpus verify
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *"'crashes/$SIG/minimized': Too many levels of symbolic links"* ]]
}

@test "a damaged or missing ledger is read from crashes/, with a warning each time, and written anew" {
	know uaf_fuzzer 'UA first'
	crash ignore "$SIG" --note 'not ours'
	crash triage
	ledger '' >"$WORK/was"
	local ledger=$STATE/known_crashes.json way
	for way in damaged gone; do
		if [ "$way" = damaged ]; then echo '{"x": {' >"$ledger"; else rm "$ledger"; fi
		for _ in 1 2; do # a reading command repairs nothing, and warns each time
			crash list
			[ "$status" -eq 0 ]
			[[ $output == *"1 crashes are read from crashes/ instead"* ]]
			[[ $output == *"$SIG"*" ignored "* ]]
			crash show "$SIG"
			[[ $output == *"not ours"*"session_is_open"* ]]
		done
		[ "$(cat "$ledger" 2>/dev/null)" = "$([ "$way" = gone ] || echo '{"x": {')" ]
		[ ! -e "$ledger.damaged-1" ] || [ "$way" = gone ]
		crash triage
		[ "$status" -eq 0 ]
		[[ $output == *"1 crashes are read from crashes/ instead"* ]]
		ledger '' | cmp - "$WORK/was"
		[ "$(cat "$ledger.damaged-1")" = '{"x": {' ]
		[ ! -e "$ledger.damaged-2" ]
		crash list
		[[ $output != *"read from crashes/"* ]]
	done
}

@test "kill -9 of a crash command: the next start sweeps, and nothing is left" {
	know uaf_fuzzer 'UA first'
	"$FUZZCELL" crash reproduce "$SIG" --times 1000 >"$WORK/out" 2>&1 3>&- &
	PID=$!
	wait_until 60 cell_runs
	[ -n "$(ls -A "$STATE/work")" ]
	kill -9 "$PID"
	wait "$PID" || true
	wait_until 60 let_go
	crash triage
	[ "$status" -eq 0 ]
	[ -z "$(ls -A "$STATE/work")" ]
	crash list
	[[ $output == *"$SIG"* ]]
}

@test "^C ends the cells at once, and nothing is left" {
	know uaf_fuzzer 'UA first'
	"$FUZZCELL" crash reproduce "$SIG" --times 1000 >"$WORK/out" 2>&1 3>&- &
	PID=$!
	wait_until 60 cell_runs
	kill -INT "$PID"
	wait_until 60 eval '! kill -0 $PID 2>/dev/null' # a thousand replays take minutes
	status=0
	wait "$PID" || status=$?
	cat "$WORK/out"
	[ "$status" -eq 0 ] || [ "$status" -eq 5 ]
	wait_until 60 nothing_left
	[ -z "$(ls -A "$STATE/work")" ]
}

# The page is not where the tests run in a VM.
@test "the commands of docs/crashes.md work as they stand there" {
	page=$BATS_TEST_DIRNAME/../../docs/crashes.md
	[ -e "$page" ] || return 0
	mkdir "$WORK/project"
	cp "$page" "$WORK/project/README.md"
	report >"$WORK/project/crash-report.txt"
	config '"max_crashes": 3'
	cd "$WORK/project"
	run_page "$page" 15
	[ -s crash.tar.gz ]
}

# `crash bisect` and `ci` need a repository: bisect.bats and ci.bats run them.
# bats test_tags=host,slow
@test "the commands of README.md work as they stand there" {
	local line want count=0
	mkdir -p "$WORK/project/out" "$WORK/bin"
	cp "$TARGETS/uaf_fuzzer" "$WORK/project/out/png_fuzzer"
	ln -s "$FUZZCELL" "$WORK/bin/fuzzcell"
	export FUZZCELL_STATE_DIR=$STATE
	config ''
	cd "$WORK/project"
	while IFS= read -r line; do
		line=${line%%  *}
		line=${line/30m/$((10 * TIMES))s}
		[[ $line != *1f0c* ]] || line=${line/1f0c/$(jq -r 'keys[0][:4]' "$STATE/known_crashes.json")}
		echo "\$ $line"
		status=0
		PATH=$WORK/bin:$PATH bash -c "$line" </dev/null 3>&- || status=$?
		echo "status $status"
		want=0
		[ "$line" != 'fuzzcell regress' ] || want=1 # the crash was found
		[ "$status" -eq "$want" ]
		count=$((count + 1))
	done < <(grep -E '^fuzzcell (list|run|config|crash|history|report|regress)' "$BATS_TEST_DIRNAME/../../README.md" |
		grep -v 'crash bisect')
	[ "$count" -eq 5 ]
}
