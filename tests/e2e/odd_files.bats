# SPDX-License-Identifier: Apache-2.0
# FIFOs, sockets and devices in the place of files: no command waits for them.
load lib

setup() { e2e_setup; }
teardown() { e2e_teardown; }

# Every command that reads the state.  serve and the trigger read all their files.
commands() {
	local crash=$1
	cat <<-END
		status --state-dir $STATE
		status crash_fuzzer --state-dir $STATE
		history --state-dir $STATE
		history crash_fuzzer --state-dir $STATE
		report last --state-dir $STATE
		crash list --state-dir $STATE
		crash show $crash --state-dir $STATE
		crash export $crash -o $WORK/crash.tgz --state-dir $STATE --targets $TARGETS
		corpus stats --state-dir $STATE
		corpus export -o $WORK/corpus.tgz --state-dir $STATE
		outbox list --state-dir $STATE
		config check --state-dir $STATE --targets $TARGETS
		doctor --state-dir $STATE --targets $TARGETS crash_fuzzer
		serve --export $WORK/site --state-dir $STATE
		run --dry-run --no-build --state-dir $STATE --targets $TARGETS --filter crash_fuzzer
		trigger --dry-run --state-dir $STATE
	END
}

# Runs all commands with FIFOs in the place of the files $@.  Each may succeed or fail, but must end
# soon.
survives() {
	local name status pids=() lines=()
	cp -a "$STATE" "$WORK/aside"
	for name; do
		rm -rf "${STATE:?}/$name"
		mkdir -p "$(dirname "$STATE/$name")"
		mkfifo "$STATE/$name"
	done
	mapfile -t lines < <(commands "$CRASH")
	for line in "${lines[@]}"; do
		# shellcheck disable=SC2086 # words
		timeout -k 1 $((20 * SLOW)) "$FUZZCELL" $line >"$WORK/said.${#pids[@]}" 2>&1 \
			</dev/null 3>&- &
		pids+=($!)
	done
	for i in "${!pids[@]}"; do
		status=0
		wait "${pids[i]}" || status=$?
		if [ "$status" -ge 124 ]; then
			echo "with FIFOs as $*: '${lines[i]}' ended with $status"
			cat "$WORK/said.$i"
			return 1
		fi
	done
	rm -rf "$STATE" "$WORK/site"
	mv "$WORK/aside" "$STATE"
}

@test "a FIFO in the place of any state file holds no command" {
	config '"max_crashes": 1'
	fuzz crash_fuzzer 60
	[ "$status" -eq 5 ]
	CRASH=$(jq -r 'to_entries[] | select(.value.fuzzer? == "crash_fuzzer") | .key' \
		"$STATE/known_crashes.json" | head -n 1)
	[ -n "$CRASH" ]
	jq --arg s "$STATE" '.trigger = {repository: $s}' "$STATE/config.json" >"$WORK/c"
	cp "$WORK/c" "$STATE/config.json"
	git init -q "$STATE"
	: >"$STATE/trigger.lock"
	cd "$STATE"
	mapfile -t stats < <(find stats -type f)
	mapfile -t logs < <(find logs -type f)
	mapfile -t crashes < <(find crashes -type f)
	mapfile -t inputs < <(find corpus -type f)
	cd "$WORK"
	[ "${#stats[@]}" -ge 5 ] && [ "${#logs[@]}" -ge 5 ] && [ "${#crashes[@]}" -ge 3 ]
	[ "${#inputs[@]}" -ge 1 ]
	# Files are replaced together only if no command stops at the first and never reads the
	# second.
	survives lock
	survives config.json
	survives known_crashes.json
	survives last_run_timestamp last_run_commit trigger.json trigger.log trigger.lock build.json
	survives outbox/github-x.json outbox/lock outbox.lock outbox/done/x.json control.sock
	survives "${stats[@]}" stats/merged/crash_fuzzer.unneeded merge/crash_fuzzer/for
	survives "${logs[@]}"
	survives "${crashes[@]}"
	survives "${inputs[@]}"
}

@test "a lock that is no file is named, with its place and what to do" {
	mkfifo "$STATE/lock"
	run timeout 10 "$FUZZCELL" run --dry-run --state-dir "$STATE" --targets "$TARGETS" \
		--filter healthy_fuzzer
	echo "$output"
	[ "$status" -eq 3 ]
	[[ $output == *"'lock' is not a regular file but a FIFO: move it away from '$STATE'"* ]]
	rm "$STATE/lock"
	mkdir "$STATE/lock"
	run timeout 10 "$FUZZCELL" run --dry-run --state-dir "$STATE" --targets "$TARGETS" \
		--filter healthy_fuzzer
	[[ $output == *"'lock' is not a regular file but a directory: move it away"* ]]
}

# A FIFO, a socket and a device in a directory of inputs, named as inputs are.
odd_inputs() {
	local name
	mkdir -p "$1"
	for name in fifo socket device; do
		name=$(printf %s "$name" | sha1sum | cut -d ' ' -f 1)
		case $name in
		"$(printf fifo | sha1sum | cut -d ' ' -f 1)") mkfifo "$1/$2$name" ;;
		"$(printf socket | sha1sum | cut -d ' ' -f 1)")
			perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) && chdir($ARGV[0]) &&
				bind(S, sockaddr_un($ARGV[1])) or die "$!"' "$1" "$2$name"
			;;
		*) mknod "$1/$2$name" c 1 8 ;; # /dev/random: never ends
		esac
	done
}

# bats test_tags=slow
@test "a run among FIFOs, sockets and devices fuzzes, saves its inputs and ends" {
	local dir=$WORK/targets
	mkdir "$dir"
	cp "$TARGETS/healthy_fuzzer" "$dir"
	mkfifo "$dir/fifo_fuzzer" "$dir/healthy_fuzzer_seed_corpus.zip"
	mkfifo "$dir/healthy_fuzzer.dict" "$dir/healthy_fuzzer.options"
	odd_inputs "$dir/healthy_fuzzer_seed_corpus" ''
	for room in corpus quarantine retry regressions pruned; do
		odd_inputs "$STATE/$room/healthy_fuzzer" ''
	done
	odd_inputs "$STATE/triage/healthy_fuzzer" crash-
	odd_inputs "$STATE/merge/healthy_fuzzer" ''
	odd_inputs "$STATE/work/20200101-000000/healthy_fuzzer/corpus" ''
	odd_inputs "$STATE/work/20200101-000000/healthy_fuzzer/artifacts" crash-
	TARGETS=$dir fuzz healthy_fuzzer 3
	[ "$status" -eq 0 ]
	[ "$(value fuzzed)" = true ]

	[ "$(find "$STATE/corpus/healthy_fuzzer" -type f | wc -l)" -ge 1 ]
	for command in 'corpus verify' 'corpus stats' "crash triage --targets $dir" \
		"regress --targets $dir" "corpus minimize --targets $dir" \
		"corpus import --target healthy_fuzzer $STATE/pruned"; do
		# shellcheck disable=SC2086 # words
		run timeout $((60 * SLOW)) "$FUZZCELL" $command --state-dir "$STATE"
		echo "$command: $status: $output"
		[ "$status" -lt 124 ]
	done
}
