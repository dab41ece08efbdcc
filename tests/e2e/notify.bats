# SPDX-License-Identifier: Apache-2.0
# A run notifies once of each finding, while it lives or after it.  No notification is lost when
# the server does not answer.
load lib
load inputs

setup() {
	e2e_setup
	SERVED=$WORK/served
	mkdir "$SERVED"
	node "$BATS_TEST_DIRNAME/notify.mjs" "$SERVED" >"$WORK/served.log" 2>&1 3>&- &
	SERVER=$!
	wait_until 60 [ -s "$SERVED/github" ]
	notify_config
}

# The server stops answering, and answers again.
goes_away() {
	kill -USR1 "$SERVER"
	wait_until 60 [ -e "$SERVED/down" ]
}

comes_back() {
	kill -USR2 "$SERVER"
	wait_until 60 [ ! -e "$SERVED/down" ]
}

teardown() {
	kill -9 "$SERVER" 2>/dev/null || true
	wait "$SERVER" 2>/dev/null || true
	e2e_teardown
}

# notify_config [GITHUB [OUTBOX]]: writes the configuration, with more members of these objects.
notify_config() {
	config '"minimize_time": "off", "merge_time": "off"'
	jq --arg api "$(cat "$SERVED/github")" --arg token "$SERVED/token" --arg hook "$(cat "$SERVED/hook")" \
		--arg key "$SERVED/key" ". + {
		github: ({repository: \"octo/widgets\", api: \$api, token_file: \$token, security: \"full\"} + {${1:-}}),
		webhooks: [{name: \"t\", url: \$hook, format: \"generic\", secret_file: \$key}],
		outbox: {${2:-}}}" "$STATE/config.json" >"$WORK/c"
	mv "$WORK/c" "$STATE/config.json"
}

received() {
	jq -r "$1" "$SERVED/received"
}

# The token is in no file, no output and no command line.
no_secret() {
	! grep -rE 'PLANTE[D](secret|key)' "$STATE" "$WORK/out" 2>/dev/null &&
		[[ ${output:-} != *PLANTED* ]] &&
		! cat /proc/[0-9]*/cmdline 2>/dev/null | grep -aqE 'PLANTE[D](secret|key)'
}

@test "a crash is one issue and one message, and later outputs have the issue's number" {
	queue uaf_fuzzer crash UA1 UA2
	fuzz uaf_fuzzer 1
	no_secret
	[ "$(received '.issues | length')" -eq "$(ledger 'length')" ]
	[ "$(ledger 'length')" -ge 1 ]
	[ "$(received '.wrong | length')" -eq 0 ]
	[[ $(received '.issues[0].body') == *"fuzzcell crash show "* ]]
	[[ $(received '.issues[0].body') != *"$WORK"* ]]
	[[ $(received '.issues[0].title') == 'Fuzzing crash: uaf_fuzzer — Heap-use-after-free'* ]]
	[ "$(received '.issues[0].labels | join(" ")')" = 'fuzzing crash automated' ]
	[ "$(ledger '[.[].issue_url | select(. == "")] | length')" -eq 0 ]
	[ "$(received '[.hooks[] | select(.event == "new" and .signed)] | length')" -eq "$(ledger 'length')" ]
	fuzz uaf_fuzzer 1
	[ "$(received '.issues | length')" -eq "$(ledger 'length')" ]
	[ "$(received '[.hooks[] | select(.event == "new")] | length')" -eq "$(ledger 'length')" ]
}

@test "the commands of an issue work as they stand there" {
	mkdir "$WORK/bin" "$WORK/etc" "$WORK/home"
	ln -s "$FUZZCELL" "$WORK/bin/fuzzcell"
	jq --arg s "$STATE" --arg t "$TARGETS" '. + {state_dir: $s, discovery: [{type: "directory", path: $t}]}' \
		"$STATE/config.json" >"$WORK/etc/my fuzz.json"
	rm "$STATE/config.json"
	queue uaf_fuzzer crash UA1
	cd "$WORK/etc"
	timeout $((300 * SLOW)) "$FUZZCELL" run --plain --config 'my fuzz.json' --filter uaf_fuzzer --max-fuzzer-time 1s ||
		[ $? -eq 5 ] # the target may be given up
	cd /
	[ "$(received '.issues | length')" -ge 1 ]
	[[ $(received '.issues[0].body') != *"$WORK"* ]]
	received '.issues[0].body' | grep '^fuzzcell crash' >"$WORK/commands"
	cat "$WORK/commands"
	[ "$(wc -l <"$WORK/commands")" -eq 2 ]
	sed -i "s|\$| --config '$WORK/etc/my fuzz.json'|" "$WORK/commands" # the user knows its path
	PATH=$WORK/bin:$PATH HOME=$WORK/home sh -e "$WORK/commands"
}

# Without the sanitizer's options the program would continue after its undefined behaviour, and end
# with 0.
@test "the command by hand fails as the cell did" {
	queue behind_fuzzer crash 'PaaaaaaaaaaU'
	fuzz behind_fuzzer 1
	[ "$(received '.issues | length')" -ge 1 ]
	received '.issues[] | select(.title | contains("behind_easy")).body' |
		sed -n '/^By hand:/,/^On the machine/p' | sed '1d;$d' | grep -E '^[[:alnum:]./[:space:]]' >"$WORK/by_hand"
	cat "$WORK/by_hand"
	grep -q ' reproducer$' "$WORK/by_hand"
	mkdir "$WORK/built"
	cp "$TARGETS/behind_fuzzer" "$WORK/built"
	cd "$WORK/built"
	printf PaaaaaaaaaaU >reproducer
	./behind_fuzzer reproducer # without the options it passes
	sed -i '/^git checkout/d' "$WORK/by_hand"
	run sh -e "$WORK/by_hand"
	[ "$status" -ne 0 ]
	[[ $output == *"runtime error: signed integer overflow"* ]]
}

# The number of sightings and the statistics change during a run.
same_but_figures() {
	diff <(grep -vE '^- |times' <<<"$1") <(grep -vE '^- |times' <<<"$2")
}

@test "crash issue shows the text of the issue, and files nothing" {
	local sig
	queue uaf_fuzzer crash UA1
	"$FUZZCELL" crash triage --state-dir "$STATE" --targets "$TARGETS"
	sig=$(ledger 'keys[0]')
	"$FUZZCELL" crash issue "$sig" --state-dir "$STATE" --targets "$TARGETS" --json >"$WORK/shown.json"
	"$FUZZCELL" crash issue "$sig" --state-dir "$STATE" --targets "$TARGETS" >"$WORK/shown"
	[ "$(head -n 1 "$WORK/shown")" = "$(jq -r .title "$WORK/shown.json")" ]
	[ "$(tail -n +3 "$WORK/shown")" = "$(jq -r .body "$WORK/shown.json")" ]
	[ ! -s "$SERVED/received" ] || [ "$(received '.issues | length')" -eq 0 ]
	[ ! -e "$STATE/outbox" ]
	fuzz uaf_fuzzer 1
	"$FUZZCELL" crash issue "$sig" --state-dir "$STATE" --targets "$TARGETS" --json >"$WORK/shown.json"
	[ "$(received '.issues[0].title')" = "$(jq -r .title "$WORK/shown.json")" ]
	same_but_figures "$(received '.issues[0].body')" "$(jq -r .body "$WORK/shown.json")"
	[[ $(jq -r .issue "$WORK/shown.json") == */issues/* ]]
	# There is a text without a repository, too.  For a security-relevant crash the text has
	# only the facts that would be public.
	config
	"$FUZZCELL" crash issue "$sig" --state-dir "$STATE" --targets "$TARGETS" >"$WORK/shown"
	grep -q 'are not published here' "$WORK/shown"
	run "$FUZZCELL" crash issue
	[ "$status" -eq 2 ]
}

@test "an issue has the build command of the configuration, and the path of the program" {
	mkdir -p "$WORK/tree/sub/out" "$WORK/etc"
	git init -q "$WORK/tree"
	cp "$TARGETS/uaf_fuzzer" "$WORK/tree/sub/out"
	# Another source, with a target that follows in the list.
	mkdir "$WORK/other"
	cp "$TARGETS/healthy_fuzzer" "$WORK/other/zz_fuzzer"
	jq --arg s "$STATE" --arg t "$WORK/tree/sub" '. + {state_dir: $s, discovery: [{type: "directory",
		path: ($t + "/../../other")}, {type: "directory",
		path: ($t + "/out"), build: ["./build.sh", "its own", "-O1"], build_dir: $t}]}' \
		"$STATE/config.json" >"$WORK/etc/config.json"
	rm "$STATE/config.json"
	"$FUZZCELL" list --json --config "$WORK/etc/config.json" >"$WORK/list"
	jq -e --arg b "(cd sub && ./build.sh 'its own' -O1)" \
		'[.targets[] | .name, .build] == ["uaf_fuzzer", $b, "zz_fuzzer", null]' "$WORK/list"
	queue uaf_fuzzer crash UA1
	timeout $((300 * SLOW)) "$FUZZCELL" run --plain --no-build --filter uaf_fuzzer --config "$WORK/etc/config.json" --commit 5ca1ab1e \
		--max-fuzzer-time 1s || [ $? -eq 5 ] # the target may be given up
	received '.issues[0].body' >"$WORK/body"
	cat "$WORK/body"
	grep -Fx 'git checkout 5ca1ab1e' "$WORK/body"
	grep -Fx "(cd sub && ./build.sh 'its own' -O1)" "$WORK/body"
	grep -E '^[[:space:]]*sub/out/uaf_fuzzer .* reproducer$' "$WORK/body"
	run grep -F "$WORK" "$WORK/body"
	[ "$status" -eq 1 ]
}

@test "an issue leads to the line at its commit, and to the last commit without it" {
	# As a checkout of what the targets are built from.
	mkdir -p "$WORK/tree/targets"
	touch "$WORK/tree/targets/uaf_fuzzer.c"
	jq --arg d "$WORK/tree" '. + {source_dir: $d, source_link: "https://git.test/{commit}/{path}?{line}"}' \
		"$STATE/config.json" >"$WORK/c"
	mv "$WORK/c" "$STATE/config.json"
	fuzz healthy_fuzzer 1 --commit aaa1
	cp "$STATE/stats/targets/healthy_fuzzer.jsonl" "$STATE/stats/targets/uaf_fuzzer.jsonl"
	queue uaf_fuzzer crash UA1
	fuzz uaf_fuzzer 1 --commit bbb2
	received '.issues[0].body' >"$WORK/body"
	grep -E '^\*\*In the sources:\*\* \[`targets/uaf_fuzzer\.c:([0-9]+)`\]\(https://git\.test/bbb2/targets/uaf_fuzzer\.c\?\1\)' "$WORK/body"
	grep -Fx '**Last commit that was fuzzed without it:** `aaa1`' "$WORK/body"
	grep -q '^- Executions: [1-9]' "$WORK/body"
}

@test "an input that is minimised later replaces the input in the issue, once" {
	queue uaf_fuzzer crash UA1xxxxxxxxxxxxxxxxxxxxxxx
	fuzz uaf_fuzzer 1
	[ "$(received '.issues | length')" -eq 1 ]
	[[ $(received '.issues[0].body') != *'made smaller'* ]]
	said=$(received '.comments | length')
	timeout $((300 * SLOW)) "$FUZZCELL" crash minimize --state-dir "$STATE" --time 5s "$(ledger 'keys[0]')"
	for _ in 1 2; do
		fuzz healthy_fuzzer 1
	done
	[[ $(received '.issues[0].body') == *' bytes, made smaller, SHA-1 '* ]]
	[ "$(received '.issues[0].edits')" -eq 1 ]
	[ "$(received '.comments | length')" -eq "$said" ]
}

@test "notifications are sent during the run" {
	fuzz_background '[uh][ae][fa]*_fuzzer' 600 --workers 2 # one crashes
	wait_until 240 eval '[ "$(received ".issues | length")" -ge 1 ]'
	# Other commands can name the issue at once.
	wait_until 60 eval '[ "$(ledger "[.[].issue_url | select(. != \"\")] | length")" -ge 1 ]'
	kill -0 "$PID"
	[[ $(received '.issues[0].body') == *'- Executions: '* ]]
	no_secret
	kill -TERM "$PID"
	wait_until 180 eval '! kill -0 $PID 2>/dev/null'
	no_secret
}

@test "no server answers: the notification waits in the outbox, and a later run sends it" {
	goes_away
	queue uaf_fuzzer crash UA1
	fuzz uaf_fuzzer 1
	[ "$status" -eq 0 ] || [ "$(value given_up)" = true ]
	[[ $output == *'in the outbox'* ]]
	[ "$(received '.issues | length')" -eq 0 ]
	run "$FUZZCELL" outbox list --state-dir "$STATE"
	echo "$output"
	[[ $output == *github* ]]
	comes_back
	"$FUZZCELL" outbox retry --all --state-dir "$STATE"
	wait_until 60 eval '[ "$(received ".issues | length")" -ge 1 ]'
	fuzz uaf_fuzzer 1
	[ "$(received '.issues | length')" -eq "$(ledger 'length')" ]
	no_secret
}

# bats test_tags=slow
@test "killed at any moment: one issue for each crash" {
	queue uaf_fuzzer crash UA1
	for ms in 300 600 900 1200 1600 2000 2500 3000; do
		fuzz_background uaf_fuzzer 600
		sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
		kill -9 "$PID" 2>/dev/null || true # a quick run ends before
		wait "$PID" 2>/dev/null || true
		wait_until 60 let_go
	done
	# A request without an answer is checked a minute later: set the clock ahead.
	for _ in 1 2 3; do
		node -e 'fetch(process.argv[1])' "$(cat "$SERVED/github")/__advance?ms=120000"
		fuzz uaf_fuzzer 1
		"$FUZZCELL" outbox retry --all --state-dir "$STATE" || true
	done
	[ "$(received '[.issues[].body | capture("fuzzcell-signature: (?<s>[0-9a-f]{16})").s] | (length - (unique | length))')" -eq 0 ]
	no_secret
}

@test "crash unignore lasts, although the run's only check saw the label" {
	queue uaf_fuzzer crash UA1
	fuzz uaf_fuzzer 1
	issues=$(received '.issues | length')
	[ "$issues" -ge 1 ]
	echo ignore >"$SERVED/labels"
	queue uaf_fuzzer crash UA1 UA2
	fuzz uaf_fuzzer 1
	[ "$(ledger '[.[].state | select(. == "ignored")] | length')" -ge 1 ]
	sig=$(ledger '[to_entries[] | select(.value.state == "ignored") | .key][0]')
	echo >"$SERVED/labels"
	"$FUZZCELL" crash unignore --state-dir "$STATE" "$sig"
	for _ in 1 2; do
		queue uaf_fuzzer crash UA1 UA2
		fuzz uaf_fuzzer 1
		[ "$(ledger ".\"$sig\".state")" = known ]
	done
	[ "$(jq '[.[] | objects | .ignored?] | any' "$STATE/outbox/done/github-$sig.json")" = false ]
}

@test "a target that cannot be fuzzed is notified" {
	fuzz startcrash_fuzzer 2
	[ "$status" -eq 5 ]
	[ "$(received '[.hooks[] | select(.event == "run-failed")] | length')" -eq 1 ]
	[[ $(received '.hooks[] | select(.event == "run-failed") | .body | tostring') == *startcrash_fuzzer* ]]
}

@test "a target that was silent for too long is notified once" {
	notify_config '' 'silent: "1s"'
	fuzz startcrash_fuzzer 2
	sleep 1.5
	fuzz startcrash_fuzzer 2
	fuzz startcrash_fuzzer 2
	[ "$(received '[.hooks[] | select(.event == "silent")] | length')" -eq 1 ]
}

# A work tree with one commit, which was fuzzed.
work_tree() {
	git init -q --bare -b main "$WORK/origin"
	git clone -q "$WORK/origin" "$WORK/tree" 2>/dev/null
	(
		cd "$WORK/tree" || exit
		git checkout -q -B main
		git -c user.name=t -c user.email=t@t commit -q --allow-empty -m one
		git push -q origin main
		git rev-parse HEAD >"$STATE/last_run_commit"
	)
	date +%s >"$STATE/last_run_timestamp"
	jq --arg tree "$WORK/tree" --arg targets "$TARGETS" '. + {trigger: {repository: $tree},
		discovery: [{type: "directory", path: $targets}]}' "$STATE/config.json" >"$WORK/c"
	mv "$WORK/c" "$STATE/config.json"
}

@test "waiting notifications are sent by the next tick, even without a push" {
	goes_away
	queue uaf_fuzzer crash UA1
	fuzz uaf_fuzzer 1
	[ "$(received '.issues | length')" -eq 0 ]
	comes_back
	work_tree
	rm -f "$STATE/outbox/places.json" # the test does not wait for the backoff of an hour
	for f in "$STATE"/outbox/*.json; do
		jq 'if has("next_try") then .next_try = 0 else . end' "$f" >"$WORK/c"
		cp "$WORK/c" "$f"
	done
	run timeout $((120 * SLOW)) "$FUZZCELL" trigger --state-dir "$STATE"
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(received '.issues | length')" -ge 1 ]
	[ -z "$(cell_groups)" ]
}

@test "a missing or expired token blocks nothing once there is a valid token" {
	cp "$SERVED/token" "$WORK/token"
	rm "$SERVED/token"
	queue uaf_fuzzer crash UA1
	fuzz uaf_fuzzer 1
	[[ $output == *"in the outbox"*"$SERVED/token"*'No such file'* ]]
	install -m 600 <(echo ghp_expired) "$SERVED/token"
	run "$FUZZCELL" outbox retry --all --state-dir "$STATE"
	echo "$output"
	[ "$status" -eq 3 ]
	[[ $output == *'nothing could be sent: github: '*401* ]]
	[ "$(jq .github.until "$STATE/outbox/places.json")" -gt "$(($(date +%s) + 3000))" ]
	work_tree
	asked=$(received '.seen | length')
	"$FUZZCELL" trigger --state-dir "$STATE"
	[ "$(received '.seen | length')" -eq "$asked" ] # the same token is not sent again
	install -m 600 "$WORK/token" "$SERVED/token"
	"$FUZZCELL" trigger --state-dir "$STATE"
	[ "$(received '.issues | length')" -ge 1 ]
	no_secret
	run grep -r ghp_expired "$STATE"
	[ "$status" -eq 1 ]
}

@test "the trigger notifies of a run that was killed" {
	work_tree
	"$FUZZCELL" trigger --force --state-dir "$STATE" >"$WORK/out" 2>&1 3>&- &
	PID=$!
	wait_until 60 run_of_trigger
	run_pid=$(cut -d " " -f 1 "/proc/$PID/task/$PID/children")
	[ -n "$run_pid" ]
	kill -9 "$run_pid"
	wait_until 120 eval '! kill -0 $PID 2>/dev/null'
	[ "$(received '[.hooks[] | select(.event == "run-failed")] | length')" -eq 1 ]
	[[ $(received '.hooks[] | select(.event == "run-failed") | .body | tostring') == *'a run died: signal 9'* ]]
	wait_until 60 let_go
	"$FUZZCELL" crash triage --state-dir "$STATE" --targets "$TARGETS" >/dev/null # sweeps
}
