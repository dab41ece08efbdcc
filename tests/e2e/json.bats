# SPDX-License-Identifier: Apache-2.0
# --json: each command prints one JSON value on standard output, and nothing else there.
load lib
load repo
setup() {
	e2e_setup
	OUT=$WORK/out
	mkdir "$OUT"
	cp "$TARGETS"/{uaf,healthy}_fuzzer "$OUT"
	config '"minimize_time": "2m", "merge_time": "off"'
	jq --arg out "$OUT" '.discovery = [{type: "directory", path: $out}]' "$STATE/config.json" >"$WORK/new.json"
	mv "$WORK/new.json" "$STATE/config.json"
	export FUZZCELL_STATE_DIR=$STATE
}
teardown() { e2e_teardown; }

# answers FILTER COMMAND...: the command prints one value, for which the filter is true.
answers() {
	local filter=$1
	shift
	status=0
	timeout $((300 * SLOW)) "$FUZZCELL" "$@" >"$WORK/answer" 2>"$WORK/rest" </dev/null || status=$?
	echo "\$ fuzzcell $* (status $status)"
	cat "$WORK/answer" "$WORK/rest"
	jq -se "length == 1 and (.[0] | $filter)" "$WORK/answer" >/dev/null
}

# is_silent COMMAND...: wrong usage prints no value.
is_silent() {
	status=0
	timeout $((60 * SLOW)) "$FUZZCELL" "$@" >"$WORK/answer" </dev/null || status=$?
	[ "$status" -eq 2 ]
	[ ! -s "$WORK/answer" ]
}

@test "corpora: import, export, verify, minimize" {
	mkdir "$WORK/in"
	printf 'one' >"$WORK/in/a"
	printf 'three' >"$WORK/in/b"
	answers '.paths | length == 1 and (.[0] | .files == 2 and .bytes == 8 and .known == 0 and .error == null)' \
		corpus import --json --target healthy_fuzzer "$WORK/in"
	answers '.paths[0].error != null' corpus import --json --target healthy_fuzzer "$WORK/none"
	[ "$status" -eq 2 ]
	answers '.targets == [{target: "healthy_fuzzer", files: 2, bytes: 8, left_out: 0, spare: 0}]' \
		corpus export --json -o "$WORK/all.tar.gz"
	answers '.files == 2 and .corpora == 1 and .wrong == 0 and .findings == []' corpus verify --json
	printf 'other' >"$STATE/corpus/healthy_fuzzer/$(printf one | sha1sum | cut -d' ' -f1)"
	answers '.wrong == 1 and .repaired == 0 and (.findings[0] | .fix == "left" and (.path | test("^corpus/healthy_fuzzer/")))' \
		corpus verify --json
	[ "$status" -eq 1 ]
	answers '.wrong == 1 and .repaired == 1 and (.findings[0] | .fix == "renamed" or .fix == "set-aside")' \
		corpus verify --json --repair
	answers '.targets | length == 1 and .[0].target == "healthy_fuzzer" and .[0].after == null and .[0].files >= 1' \
		corpus minimize --json --dry-run --filter healthy_fuzzer
	[ ! -e "$STATE/stats/corpus_history.jsonl" ]
	is_silent corpus verify --json --nothing
	is_silent corpus export --json
}

@test "crashes: triage, reproduce, minimize, decisions, export" {
	queue uaf_fuzzer crash 'UA first'
	queue gone_fuzzer crash x
	answers '.artifacts == 1 and .new == 1 and .targets[0].target == "uaf_fuzzer" and .targets[0].replays > 0
		and .not_here == [{target: "gone_fuzzer", left: 1}]' crash triage --json
	SIG=$(ledger 'keys[0]')
	answers ".crash == \"$SIG\" and .target == \"uaf_fuzzer\" and .hits == .tries and .hits > 0 and .others == 0
		and .problem == null and .report.kind == \"asan\"" crash reproduce --json "$SIG"
	printf 'healthy' >"$WORK/input"
	answers '.crash == null and .hits == 0 and .tries == 2 and .report == null' \
		crash reproduce --json --target healthy_fuzzer --times 2 "$WORK/input"
	[ "$status" -eq 1 ]
	answers ".crash == \"$SIG\" and .input_bytes == 8 and .minimized_bytes == 2" crash minimize --json "$SIG"
	answers ".signature == \"$SIG\" and .state == \"ignored\"" crash ignore --json "$SIG"
	answers ".signature == \"$SIG\" and .state != \"ignored\"" crash unignore --json "$SIG"
	answers ".crash == \"$SIG\" and .output == \"$WORK/x.tgz\" and .left_out == 0" \
		crash export --json -o "$WORK/x.tgz" "$SIG"
	[ -s "$WORK/x.tgz" ]
	is_silent crash reproduce --json --shell "$SIG"
	is_silent crash ignore --json ffff
}

@test "run: what would be fuzzed, and the summary; version" {
	answers '(.targets | map(.name) | sort) == ["healthy_fuzzer", "uaf_fuzzer"] and .targets[0].memory_bytes == 268435456
		and .targets[0].unbuilt == null' run --dry-run --json
	answers '.targets | length == 1 and .[0].name == "healthy_fuzzer" and .[0].fuzzed' \
		run --json --filter healthy_fuzzer --max-fuzzer-time 1s
	grep -q 'healthy_fuzzer ended' "$WORK/rest" # users see it all the same
	answers '.targets == 2 and .unused_globs == [] and .builds_as_root == []' config check --json
	answers ".state_dir == \"$(realpath "$STATE")\"" config state --json
	answers '.memory.from | test("config.json")' config show --json healthy_fuzzer
	answers '.name == "fuzzcell" and (.version | test("^[0-9]"))' version --json
	is_silent version x
}

@test "build, outbox and trigger" {
	jq --arg out "$OUT" '.discovery[0] += {build: ["true"], build_as_root: true}
		| .webhooks = [{name: "team", url: "http://127.0.0.1:9/x"}]' "$STATE/config.json" >"$WORK/new.json"
	mv "$WORK/new.json" "$STATE/config.json"
	answers ".targets == 2 and .unbuilt == 0 and (.sources | length == 1) and (.sources[0] | .path == \"$OUT\" and .ok and .why == \"\")" \
		build --json
	mkdir -p "$STATE/outbox/done"
	jq -n --argjson at "$(date +%s)" '"0123456789abcdef" as $s | {v: 1, id: "hook-team-new-\($s)", chain: "hook-team-\($s)",
		place: "hook-team", subject: $s, seq: 1, created: $at, tries: 0, last_try: 0, next_try: 0, refused: false, why: "",
		progress: {}, event: {event: "new", signature: $s, title: "t", body: "b", comment: "c", labels: [],
		repository: "octo/widgets", action: "none", upload: null, payload: {}}}' \
		>"$STATE/outbox/hook-team-new-0123456789abcdef.json"
	answers '.due == 1 and .sent == 0 and .wait == 1 and .failed != null' outbox retry --json
	answers '.dropped == 1' outbox drop --json --all
	git_setup
	git init -q --bare "$WORK/up.git"
	git clone -q "$WORK/up.git" "$WORK/tree" 2>/dev/null
	git -C "$WORK/tree" commit -q --allow-empty -m first
	git -C "$WORK/tree" push -q origin HEAD:main
	jq --arg tree "$WORK/tree" '.trigger = {repository: $tree}' "$STATE/config.json" >"$WORK/new.json"
	mv "$WORK/new.json" "$STATE/config.json"
	answers ".repositories[0] | .repository == \"$WORK/tree\" and .decision == \"start\"
		and .commit == \"$(git -C "$WORK/tree" rev-parse HEAD)\"" trigger --dry-run --json
	is_silent trigger --json
}

# subcommands_of COMMAND: prints "COMMAND SUBCOMMAND" for each subcommand, or the command itself.
subcommands_of() {
	local help
	help=$("$FUZZCELL" help "$1")
	if grep -q SUBCOMMAND <<<"$help"; then
		sed -n "s/^  \([a-z][a-z-]*\) .*/$1 \1/p" <<<"$help"
	else
		echo "$1"
	fi
}

# bats test_tags=host
@test "every command but help and serve has --json, and docs/json.md has every command" {
	page=$BATS_TEST_DIRNAME/../../docs/json.md
	n=0
	for command in $("$FUZZCELL" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
		[[ $command != help && $command != serve ]] || continue
		while read -r -a words; do
			echo "${words[*]}"
			"$FUZZCELL" "${words[@]}" --help | grep -q '^  --json '
			grep -q "^|.*\`${words[*]}\`.*|" "$page"
			n=$((n + 1))
		done < <(subcommands_of "$command")
	done
	[ "$n" -ge 35 ]
}
