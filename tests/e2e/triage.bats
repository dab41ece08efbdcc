# SPDX-License-Identifier: Apache-2.0
# From artifacts to crashes: each crash is reported once, with its name, its size and its hit rate.
load lib
setup() {
	PLANTED=$TARGETS
	e2e_setup
}
teardown() { e2e_teardown; }

# ledger FILTER: prints the filtered known_crashes.json.
ledger() {
	jq -r "$1" "$STATE/known_crashes.json"
}

# The test machine under QEMU has no symbolizer: crashes go by offsets there.
named() {
	! command -v llvm-symbolizer >/dev/null || "$@"
}

# queue TEXT...: queues inputs of twenty_fuzzer, as if an engine had written them.
queue() {
	local dir=$STATE/triage/twenty_fuzzer text sum
	mkdir -p "$dir"
	for text in "$@"; do
		sum=$(printf '%s' "$text" | sha1sum)
		printf '%s' "$text" >"$dir/crash-${sum%% *}"
	done
}

queued() {
	find "$STATE/triage" -type f 2>/dev/null | wc -l
}

@test "a crash is replayed, named, minimised, and known the next time" {
	config '"max_crashes": 2'
	fuzz crash_fuzzer 60 --fail-on-crash
	[ "$status" -eq 1 ]
	[ "$(value crashes_new)" -eq 1 ]
	[ "$(queued)" -eq 0 ]
	[ "$(ledger length)" -eq 1 ]
	sig=$(ledger 'keys[0]')
	[[ $sig =~ ^[0-9a-f]{16}$ ]]
	[ "$(ledger '.[] | .state + " " + .fuzzer')" = 'new crash_fuzzer' ]
	[[ $(ledger '.[].crash_type') == *Heap-buffer-overflow* ]]
	[ "$(ledger '.[].reproduction | .hits == .tries and .hits >= 3')" = true ]
	named grep -q 'in LLVMFuzzerTestOneInput.*crash_fuzzer.c' "$STATE/crashes/$sig/report.txt"
	[ "$(head -c 2 "$STATE/crashes/$sig/minimized" || cat "$STATE/crashes/$sig/input")" = FZ ]
	# Only the bytes that the crash needs are left.
	[ ! -e "$STATE/crashes/$sig/minimized" ] || [ "$(stat -c %s "$STATE/crashes/$sig/minimized")" -eq 2 ]
	[[ $output == *"$sig"* ]]

	fuzz crash_fuzzer 60 --fail-on-crash
	[ "$status" -eq 1 ] # given up: no crash is new, but fuzzing has ended
	[ "$(value given_up)" = true ]
	[ "$(value crashes_new)" -eq 0 ]
	[ "$(ledger '[length, .[].state] | join(" ")')" = '1 known' ]
	[ "$(ledger '.[].count >= 4')" = true ]
}

# Bytes and a length field: single passes cannot make the input shorter.
# bats test_tags=slow
@test "a length and its content become small together, and stay the same bug" {
	local dir=$STATE/triage/length_fuzzer sig
	config '"minimize_time": "20s"'
	mkdir -p "$dir"
	{ printf '\003\013' && printf 'B%.0s' {1..400} && printf BUG && printf 'x%.0s' {1..376}; } >"$WORK/long"
	[ "$(stat -c %s "$WORK/long")" -eq 781 ]
	cp "$WORK/long" "$dir/crash-$(sha1sum <"$WORK/long" | cut -c 1-40)"
	"$FUZZCELL" crash triage --state-dir "$STATE" --targets "$TARGETS"
	[ "$(ledger length)" -eq 1 ]
	sig=$(ledger 'keys[0]')
	[[ $(ledger '.[].top_frame') == read_long ]]
	cmp "$WORK/long" "$STATE/crashes/$sig/input" # the original stays
	stat -c %s "$STATE/crashes/$sig/minimized" >&2
	# 18 bytes are the minimum.  Shorter inputs hit the other bug.
	[ "$(stat -c %s "$STATE/crashes/$sig/minimized")" -le 24 ]
	run "$FUZZCELL" crash reproduce --state-dir "$STATE" --targets "$TARGETS" "$sig"
	[[ $output == *read_long* ]]
}

# A few executions do not find the crash.
# bats test_tags=slow
@test "a crash that one run has no time to minimise is minimised by a later run that does not see it" {
	local dir=$STATE/triage/length_fuzzer sig
	config '"minimize_time": "0s"'
	mkdir -p "$dir"
	{ printf '\003\013' && printf 'B%.0s' {1..400} && printf BUG && printf 'x%.0s' {1..376}; } >"$WORK/long"
	cp "$WORK/long" "$dir/crash-$(sha1sum <"$WORK/long" | cut -c 1-40)"
	"$FUZZCELL" crash triage --state-dir "$STATE" --targets "$TARGETS"
	sig=$(ledger 'keys[0]')
	[ ! -e "$STATE/crashes/$sig/minimized" ]
	[ "$(ledger '.[].minimize_ended')" = null ]
	"$FUZZCELL" crash show --state-dir "$STATE" "$sig" | grep -q 'not as small as it gets'
	config '"minimize_time": "20s", "runs": 50'
	fuzz length_fuzzer 600
	[ "$(stat -c %s "$STATE/crashes/$sig/minimized")" -le 24 ]
	[ "$(ledger ".[\"$sig\"] | .minimize_ended and .minimize_ms > 0")" = true ]
	"$FUZZCELL" crash show --state-dir "$STATE" "$sig" >"$WORK/shown"
	! grep 'not as small' "$WORK/shown" || false
}

# bats test_tags=slow
@test "a hundred artifacts of twenty bugs are twenty crashes" {
	local i l n=0
	config '"minimize_time": "1s"'
	for l in A B C D E F G H I J K L M N O P Q R S T; do
		for i in 1 22 333 4444 55555; do
			[ "$i" = 1 ] || [ "$TIMES" -eq 1 ] || continue # enough in an emulator
			queue "BUG$l and $i"
			n=$((n + 1))
		done
	done
	fuzz twenty_fuzzer 2
	[ "$(queued)" -eq 0 ]
	[ "$(ledger length)" -eq 20 ]
	[ "$(ledger "[.[].count] | add >= $n")" = true ]
	named [ "$(ledger '[.[].top_frame] | unique | length')" -eq 20 ]
	[ "$(value fuzzed)" = true ]
}

# bats test_tags=slow
@test "kill -9 in the middle of triage: the next run completes it, and loses no crash" {
	local i l
	config '"minimize_time": "1s"'
	for l in A E I M Q; do
		for i in 1 22 333 4444; do
			queue "BUG$l and $i"
		done
	done
	for i in 3 7 12; do
		fuzz_background twenty_fuzzer 600 # longer than the test needs
		wait_until 120 queue_below $((20 - i))
		kill -9 "$PID"
		wait "$PID" 2>/dev/null || true
		wait_until 60 let_go
	done
	fuzz twenty_fuzzer 2
	[ "$(queued)" -eq 0 ]
	# Each of the five crashes once, beside crashes that fuzzing itself may have found.
	[ "$(ledger '[.[] | select(.count >= 3)] | length')" -ge 5 ]
	named [ "$(ledger 'length == ([.[].top_frame] | unique | length)')" = true ]
	[ "$(ledger '[.[].count] | add >= 20')" = true ]
	for i in $(ledger 'keys[]'); do
		[ -s "$STATE/crashes/$i/input" ]
	done
}

queue_below() {
	[ "$(queued)" -le "$1" ]
}

@test "a crash of a run that was killed is new for the exit status of the next run, once" {
	config '"max_crashes": 2, "minimize_time": "1s"'
	fuzz_background crash_fuzzer 600
	wait_until 60 has_crash
	kill -9 "$PID"
	wait "$PID" 2>/dev/null || true
	wait_until 60 let_go
	fuzz crash_fuzzer 10 --fail-on-crash
	[ "$status" -eq 1 ]
	[ "$(value crashes_new)" -eq 1 ]
	[[ $output == *'which was killed'* ]]
	[ "$(ledger '.[].state')" = new ]
	fuzz crash_fuzzer 10 --fail-on-crash
	[ "$(value crashes_new)" -eq 0 ]
	[ "$(ledger '.[].state')" = known ]
}

has_crash() {
	[ "$(ledger length 2>/dev/null)" = 1 ]
}

# bats test_tags=slow
@test "a FIFO and a directory in a queue are set aside and named, the artifacts are triaged" {
	local dir=$STATE/triage/twenty_fuzzer odd=crash-0000000000000000000000000000000000000000
	config '"minimize_time": "1s"'
	queue "BUGA and 1" "BUGB and 1"
	mkfifo "$dir/$odd"
	mkdir "$dir/${odd//0/1}"
	fuzz twenty_fuzzer 2
	[ "$(queued)" -eq 0 ]
	[ "$(ledger 'length >= 2')" = true ]
	[ -p "$STATE/damaged/triage/twenty_fuzzer/$odd" ]
	[ -d "$STATE/damaged/triage/twenty_fuzzer/${odd//0/1}" ]
	grep -q "triage: no file .*damaged/triage/twenty_fuzzer/crash-" "$LOGS/twenty_fuzzer.log"
}

# bats test_tags=slow
@test "a known leak does not stop the fuzzing" {
	fuzz leak_fuzzer 12
	[ "$(value reason)" = time-limit ]
	[ "$(failures leak)" -eq 1 ]
	[ "$(ledger '.[].kind')" = lsan ]
	fuzz leak_fuzzer 6
	[ "$(value failures_total)" -eq 0 ]
}

# bats test_tags=slow
@test "a fixed crash is reported as fixed, and comes back as regressed" {
	mkdir "$WORK/out"
	cp "$TARGETS/crash_fuzzer" "$WORK/out/t_fuzzer"
	config '"max_crashes": 1'
	TARGETS=$WORK/out
	fuzz t_fuzzer 60 --commit aaa
	[ "$(ledger '.[].state')" = new ]
	# On the same commit there is nothing to check; on the next commit the crash still fails.
	fuzz t_fuzzer 2 --commit bbb
	[[ $(ledger '.[].state') == known ]]
	cp "$PLANTED/healthy_fuzzer" "$WORK/out/t_fuzzer"
	# A damaged reproducer passes, but proves nothing.
	mv "$STATE/crashes/$(ledger 'keys[0]')/input" "$WORK/input"
	: >"$STATE/crashes/$(ledger 'keys[0]')/input"
	fuzz t_fuzzer 2 --commit ccc
	[ "$(ledger '.[].state')" = known ]
	[[ $output == *"stays open: "*"damaged"* ]]
	mv "$WORK/input" "$STATE/crashes/$(ledger 'keys[0]')/input"
	fuzz t_fuzzer 2 --commit ccc
	[ "$(ledger '.[].state')" = fixed ]
	[ "$(value crashes_fixed)" -eq 1 ]
	[ "$(find "$STATE/regressions/t_fuzzer" -type f | wc -l)" -ge 1 ]
	cp "$PLANTED/crash_fuzzer" "$WORK/out/t_fuzzer"
	fuzz t_fuzzer 20 --commit ddd
	[ "$(ledger '.[].state')" = regressed ]
	[ "$(value crashes_regressed)" -eq 1 ]
}

@test "a build without the sanitizer that reported a crash does not fix it" {
	mkdir "$WORK/out"
	cp "$TARGETS/crash_fuzzer" "$WORK/out/t_fuzzer"
	config '"max_crashes": 1, "minimize_time": "off"'
	TARGETS=$WORK/out
	fuzz t_fuzzer 60 --commit aaa
	[ "$(ledger '.[].kind')" = asan ]
	cp "$PLANTED/plain_fuzzer" "$WORK/out/t_fuzzer" # has its own bug
	run "$FUZZCELL" regress --state-dir "$STATE" --targets "$TARGETS"
	echo "$output"
	[[ $output == *"left out: "*"the build has no AddressSanitizer"* ]]
	[ "$status" -eq 5 ]
	fuzz t_fuzzer 2 --commit bbb
	[ "$(ledger '.[] | select(.kind == "asan").state')" = known ]
}

# bats test_tags=slow
@test "a crash that two targets found is fixed when both of them pass" {
	command -v llvm-symbolizer >/dev/null || skip "by offsets they are two crashes"
	mkdir "$WORK/out"
	cp "$TARGETS/crash_fuzzer" "$WORK/out/a_fuzzer"
	cp "$TARGETS/crash_fuzzer" "$WORK/out/b_fuzzer"
	config '"max_crashes": 1, "minimize_time": "1s"'
	TARGETS=$WORK/out
	fuzz a_fuzzer 60 --commit aaa
	fuzz b_fuzzer 60 --commit aaa
	[ "$(ledger '[length, .[].fuzzer, .[].targets[]] | join(" ")')" = '1 a_fuzzer b_fuzzer' ]
	# One target passes, the other was not replayed: this is reported, and the crash stays open.
	cp "$PLANTED/healthy_fuzzer" "$WORK/out/a_fuzzer"
	fuzz a_fuzzer 2 --commit bbb
	[ "$(ledger '.[].state')" = known ]
	[[ $output == *"stays open: 'b_fuzzer', which found it too, was not asked"* ]]
	run "$FUZZCELL" crash show --state-dir "$STATE" "$(ledger 'keys[0]')"
	[[ $output == *"in a_fuzzer"*"state         fixed"*"in b_fuzzer"*"state         known"*"so far 0"*" in b_fuzzer"* ]]
	[ -e "$STATE/regressions/a_fuzzer" ]
	[ ! -e "$STATE/regressions/b_fuzzer" ]
	# The other target still fails.
	fuzz b_fuzzer 2 --commit bbb
	[ "$(ledger '.[].state')" = known ]
	cp "$PLANTED/healthy_fuzzer" "$WORK/out/b_fuzzer"
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --state-dir "$STATE" --targets "$TARGETS" \
		--max-fuzzer-time 2s --commit ccc
	echo "$output"
	[ "$(ledger '.[].state')" = fixed ]
	for t in a_fuzzer b_fuzzer; do
		[ "$(find "$STATE/regressions/$t" -type f | wc -l)" -ge 1 ]
	done
}

# found TARGET TEXT: finds a crash of t_fuzzer, now a copy of TARGET; SIG is its name.
found() {
	local sum known

	cp "$PLANTED/$1" "$WORK/out/t_fuzzer"
	sum=$(printf '%s' "$2" | sha1sum)
	mkdir -p "$STATE/triage/t_fuzzer"
	printf '%s' "$2" >"$STATE/triage/t_fuzzer/crash-${sum%% *}"
	known=$(ledger 'keys | tojson' 2>/dev/null || echo '[]')
	"$FUZZCELL" crash triage --state-dir "$STATE" --targets "$TARGETS" --commit aaa
	SIG=$(ledger "keys - $known | .[0]")
	[[ $SIG =~ ^[0-9a-f]{16}$ ]]
}

# bats test_tags=slow
@test "a crash is not fixed while a crash that was merged into it still fails" {
	local first
	mkdir "$WORK/out"
	TARGETS=$WORK/out
	config '"max_crashes": 1, "minimize_time": "off"'
	found crash_fuzzer FZ
	first=$SIG
	found uaf_fuzzer UA
	"$FUZZCELL" crash merge --state-dir "$STATE" "$SIG" "$first"
	# The crash's own input passes here, the merged crash's input does not.
	fuzz t_fuzzer 2 --commit bbb
	[ "$(value crashes_fixed)" -eq 0 ]
	[ "$(ledger ".[\"$first\"].state")" = known ]
	[ ! -e "$STATE/regressions/t_fuzzer" ]
	[[ $("$FUZZCELL" crash show --state-dir "$STATE" "$first") == *"each input of $SIG, merged into it, passes 11 times"* ]]
	cp "$PLANTED/healthy_fuzzer" "$WORK/out/t_fuzzer"
	fuzz t_fuzzer 2 --commit ccc
	[ "$(value crashes_fixed)" -eq 1 ]
	[ "$(ledger ".[\"$first\"].state")" = fixed ]
	[ "$(sort <(cat "$STATE"/regressions/t_fuzzer/* | grep -ao 'FZ\|UA') | uniq | tr -d '\n')" = FZUA ]
	# A failure of either crash brings it back.
	cp "$PLANTED/uaf_fuzzer" "$WORK/out/t_fuzzer"
	fuzz t_fuzzer 20 --commit ddd
	[ "$(ledger ".[\"$first\"].state")" = regressed ]
}

# The finding cell's output, for a crash that depends on earlier executions in its process.
check_printed() {
	[ "$(queued)" -eq 0 ]
	[ "$(ledger '[length, .[].state, .[].kind, .[].severity, .[].security] | join(" ")')" = '1 flaky asan high true' ]
	[[ $(ledger '.[].crash_type') == *Heap-buffer-overflow*WRITE* ]]
	[ "$(ledger '.[].reproduction.hits // 0')" -eq 0 ]
	[ "$(ledger '.[].first_seen.commit')" = aaa ]
	grep -q 'ERROR: AddressSanitizer: heap-buffer-overflow' "$STATE/crashes/$(ledger 'keys[0]')/report.txt"
	# The finding cell had no symbolizer.
	named [ "$(ledger '.[].top_frame')" = LLVMFuzzerTestOneInput ]
	named [ "$(ledger '.[].unsymbolized // false')" = false ]
	named grep -q ' in LLVMFuzzerTestOneInput .*stateful_fuzzer.c' "$STATE/crashes/$(ledger 'keys[0]')/report.txt"
}

@test "a failure that does not reproduce is named by the finding cell's output" {
	config '"max_crashes": 1'
	fuzz stateful_fuzzer 60 --commit aaa
	check_printed
}

@test "a failure that does not reproduce is named by offsets after the binary changed" {
	mkdir "$WORK/out"
	cp "$TARGETS/stateful_fuzzer" "$WORK/out"
	TARGETS=$WORK/out
	config '"max_crashes": 1, "triage_time": "off"'
	fuzz stateful_fuzzer 60 --commit aaa
	cp "$PLANTED/healthy_fuzzer" "$WORK/out/stateful_fuzzer"
	config '"max_crashes": 1'
	run "$FUZZCELL" crash triage --state-dir "$STATE" --targets "$TARGETS" --commit bbb
	[ "$status" -eq 0 ]
	[ "$(ledger '[length, .[].unsymbolized, .[].first_seen.commit] | join(" ")')" = '1 true aaa' ]
	[[ $(ledger '.[].top_frame') == stateful_fuzzer+0x* ]]
}

@test "a failure that does not reproduce is named also by a later run or crash triage" {
	local report
	config '"max_crashes": 1, "triage_time": "off"'
	fuzz stateful_fuzzer 60 --commit aaa
	[ "$(queued)" -eq 2 ] # the artifact and its report
	config '"max_crashes": 1'
	cp -r "$STATE/triage" "$WORK/triage"
	run "$FUZZCELL" crash triage --state-dir "$STATE" --targets "$TARGETS" --commit bbb
	[ "$status" -eq 0 ]
	check_printed
	rm -r "$STATE/known_crashes.json" "$STATE/crashes" "$STATE/triage"
	mv "$WORK/triage" "$STATE/triage"
	fuzz healthy_fuzzer 1 --commit bbb # of another target: the artifact still waits
	[ "$(queued)" -eq 2 ]
	# A report without its artifact is removed.
	report=$(find "$STATE/triage" -name '.report-*')
	cp "$report" "${report%/*}/.report-crash-gone"
	fuzz stateful_fuzzer 60 --commit bbb
	[ "$(queued)" -eq 0 ]
	[ "$(ledger '.[] | select(.first_seen.commit == "aaa") | .kind')" = asan ]
}

# bats test_tags=slow
@test "timeouts, memory, forks, system calls: each is a crash of its own kind" {
	config '"timeout": "2s", "max_crashes": 1, "minimize_time": "1s"'
	fuzz timeout_fuzzer 60
	[[ $(ledger '.[].crash_type') == *Timeout* ]]
	config '"max_crashes": 1, "minimize_time": "1s"'
	fuzz membomb_slow_fuzzer 60
	[[ $(ledger '.[].crash_type') == *Out-of-memory* ]]
	fuzz syscall_fuzzer 60
	[[ $(ledger '.[].kind') == *cell* ]]
	[[ $(ledger '.[].crash_type') == *[Ss]ystem* ]]
	# The fork bomb's input is requested while dozens of processes compete for the CPU.  Under
	# more CPU pressure the request may come too late, so only the crash's existence is checked.
	for _ in 1 2 3; do
		fuzz forkbomb_fuzzer 60
		[ "$(failures pids)" -ge 1 ]
		[ "$(value crashes_new)" -eq 0 ] || break
	done
	[[ $(ledger '.[].crash_type') == *[Pp]rocess* ]]
}

# bats test_tags=slow
@test "a full disk during triage: queued artifacts stay queued" {
	mkdir "$WORK/small"
	mount -t tmpfs -o size=24m,mode=0755 fuzzcell "$WORK/small"
	STATE=$WORK/small/state
	mkdir "$STATE"
	sed -e 's/"disk_reserve": "64MiB"/"disk_reserve": "none"/' "$WORK/state/config.json" >"$STATE/config.json"
	queue 'BUGA one' 'BUGE two' 'BUGI three'
	# Space for the directories of a run, but not for a crash.
	head -c 30m /dev/zero >"$WORK/small/fill" 2>/dev/null || true
	truncate -s -64K "$WORK/small/fill"
	fuzz twenty_fuzzer 2
	[ "$status" -ne 0 ]
	# Artifacts that left the queue are in the ledger, on disk.
	[ $(($(queued) + $(ledger length 2>/dev/null || echo 0))) -ge 3 ]
	rm "$WORK/small/fill"
	fuzz twenty_fuzzer 2
	[ "$(queued)" -eq 0 ]
	[ "$(ledger '[.[] | select(.count >= 1)] | length')" -ge 3 ]
	# (An artifact that the full disk cut does not reproduce; it is kept as flaky.)
	for i in $(ledger 'to_entries[] | select(.value.state != "flaky") | .key'); do
		[ -s "$STATE/crashes/$i/input" ] || { ledger ".\"$i\""; ls -la "$STATE/crashes" "$STATE/crashes/$i"; false; }
	done
}
