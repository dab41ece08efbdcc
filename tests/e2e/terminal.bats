# SPDX-License-Identifier: Apache-2.0
# Text from a target, a file or a user never controls the terminal, and never forges a line of
# fuzzcell's own.
load lib

RED=$'\e[31m'
TITLE=$'\e]0;title\a'
BACKWARDS=$'\u202e'

setup() {
	e2e_setup
	OUT=$WORK/out
	mkdir "$OUT"
	cp "$TARGETS/terminal_fuzzer" "$OUT"
	cp "$TARGETS/healthy_fuzzer" "$OUT/${RED}red${TITLE}_fuzzer"
	cp "$TARGETS/healthy_fuzzer" "$OUT/"$'line\nwarning: forged_fuzzer'
	config '"max_crashes": 1, "minimize_time": "off", "merge_time": "off"'
}

teardown() { e2e_teardown; }

# harmless FILE: the text is UTF-8, without control characters other than tab and newline.
harmless() {
	local bad=0

	iconv -f utf-8 -t utf-32 "$1" >/dev/null || bad=1
	! LC_ALL=C grep -naP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8b-\x8f\xa8-\xae]' "$1" || bad=1
	! grep -na '^warning: forged' "$1" || bad=1
	[ "$bad" = 0 ] || cat -v "$1"
	[ "$bad" = 0 ]
}

# said COMMAND...: the output is harmless; any status is allowed, but no crash.
said() {
	echo "\$ fuzzcell $(printf '%q ' "$@")"
	status=0
	timeout $((300 * SLOW)) "$FUZZCELL" "$@" >"$WORK/printed" 2>"$WORK/errors" </dev/null || status=$?
	cat -v "$WORK/printed" "$WORK/errors"
	[ "$status" -lt 70 ]
	harmless "$WORK/printed"
	harmless "$WORK/errors"
}

here() {
	said "$@" --state-dir "$STATE"
}

# Prints the commands of the program.
here_if_there() {
	! "$FUZZCELL" help | grep -q "^  $1 " || here "$@"
}

# Runs the target with an input that makes it print all its hostile text.
found() {
	mkdir -p "$OUT/terminal_fuzzer_seed_corpus"
	queue terminal_fuzzer crash "$1" "${1}x"
	here crash triage --targets "$OUT"
	SIG=$(ledger 'keys[0]')
	[ "$SIG" != null ]
}

@test "a hostile target's output and name are harmless in all commands" {
	here list --all --targets "$OUT"
	grep -qF '\x1b[31mred' "$WORK/printed"
	here run --plain --targets "$OUT" --max-fuzzer-time 3s
	LOGS=$(last_logs)
	grep -qF "$RED" "$LOGS/terminal_fuzzer.log" # the raw output is in the log
	found BB
	here crash list
	here crash show "$SIG"
	grep -qF fails "$WORK/printed"
	here crash show --json "$SIG"
	jq -e . "$WORK/printed"
	here crash reproduce --targets "$OUT" "$SIG"
	here crash reproduce --targets "$OUT" --shell "$SIG"
	find "$STATE/crashes/$SIG/" -name report.txt -exec cp {} "$WORK/report" \;
	here crash parse "$WORK/report"
	here regress --targets "$OUT"
	here corpus stats
	here corpus stats --json
	here corpus verify
	here config show terminal_fuzzer --targets "$OUT"
	here outbox list
	here_if_there status
	here_if_there history
	here_if_there report last
	here_if_there doctor
}

@test "a hostile abort message is harmless, where it is the only report" {
	found AA
	here crash list
	here crash show "$SIG"
}

@test "live, on a terminal: the only control sequences draw the table" {
	run script -qec "stty rows 40 columns 100; timeout $((120 * SLOW)) '$FUZZCELL' run --state-dir '$STATE' \
		--targets '$OUT' --max-fuzzer-time 3s" "$WORK/typescript" </dev/null
	# Ours are cursor-up-and-clear and colours; script(1) adds line ends, and a first and a last
	# line.
	sed -E '1d; $d; s/\x1b\[[0-9]+F//g; s/\x1b\[J//g; s/\x1b\[[0-9]*m//g; s/\r+$//' "$WORK/typescript" >"$WORK/drawn"
	grep -q terminal_fuzzer "$WORK/drawn"
	grep -q $'\e' "$WORK/typescript"
	harmless "$WORK/drawn"
}

@test "hostile text in files of the state directory is harmless" {
	found BB
	jq --arg t "$RED$TITLE$BACKWARDS"$'\nwarning: forged' 'map_values(
		. + {crash_type: $t, crash_state: $t, note: $t})' "$STATE/known_crashes.json" >"$WORK/ledger"
	cp "$WORK/ledger" "$STATE/known_crashes.json"
	mkdir -p "$STATE/corpus/$RED" "$STATE/triage/$RED$TITLE" "$STATE/stats" "$STATE/logs/$RED"
	jq -nc --arg t "$RED$TITLE$BACKWARDS"$'\nwarning: forged' '{v: 1, target: $t, verdict: $t, run: $t,
		started: $t, ended: $t, commit: $t, version: $t, targets: [{name: $t, reason: $t, note: $t}]}' |
		tee -a "$STATE/stats/run_history.jsonl" >>"$STATE/stats/corpus_history.jsonl"
	printf '%s\n' "{\"$RED" >"$STATE/stats/last_fuzzed.json"
	printf '%s\n' "$RED" >"$STATE/last_run_commit"
	printf '{"%s": 1}' "$RED" >"$STATE/trigger.json"
	mkdir -p "$STATE/outbox"
	printf '{"%s": 1}' "$RED$TITLE" >"$STATE/outbox/$RED.json"
	here crash list
	here crash list --json
	here crash show "${SIG:0:8}"
	here crash triage --targets "$OUT"
	here corpus stats
	here corpus verify
	here outbox list
	here list --targets "$OUT"
	here_if_there status
	here_if_there history
	here_if_there report last
	here_if_there doctor
}

@test "hostile words on the command line and in the configuration are harmless" {
	said "$RED"
	said crash "$RED"
	said list "--$RED"
	said list --targets "$WORK/$RED$TITLE"$'\nwarning: forged'
	said list --config "$WORK/$BACKWARDS"
	said crash parse "$WORK/"$'\x9b2J'
	said run --log-level "$RED" --targets "$OUT"
	printf '{"%s\\u001b": 1}' "$BACKWARDS" >"$WORK/config.json"
	said config check --config "$WORK/config.json"
	printf '{"discovery": [{"type": "directory", "path": "%s\\u001b]0;\\u0007"}]}' "$WORK" >"$WORK/config.json"
	said config check --config "$WORK/config.json"
	printf '{"targets": {"x\\u001b[31m*": {"memory": "1GiB"}}}' >"$WORK/config.json"
	said config check --config "$WORK/config.json" --targets "$OUT"
	FUZZCELL_LOG=$RED said list
}

# on_terminal TERM COMMAND...: prints the command's output on a terminal.
on_terminal() {
	local term=$1
	shift
	script -qec "TERM=$term $(printf '%q ' "$FUZZCELL" "$@") --state-dir '$STATE'" /dev/null </dev/null
}

@test "colour: on a terminal, for states only; not with NO_COLOR, on a dumb terminal, or in a file" {
	found BB
	unset NO_COLOR
	red=$'\e[31mnew\e[0m'
	[[ $(on_terminal xterm crash list) == *"$SIG  $red       "* ]]
	[[ $(NO_COLOR=1 on_terminal xterm crash list) == *"$SIG  new       "* ]]
	[[ $(on_terminal dumb crash list) == *"$SIG  new       "* ]]
	[[ $(on_terminal xterm crash list --color never) == *"$SIG  new       "* ]]
	[[ $(NO_COLOR=1 "$FUZZCELL" crash list --state-dir "$STATE" --color always) == *"$SIG  $red       "* ]]
	here crash list
	grep -q "^$SIG  new       " "$WORK/printed"
	[[ $(on_terminal xterm doctor) == *$'service: \e['* ]]
	here crash list --color=sometimes
	[ "$status" -eq 2 ]
}

# Each line is logfmt: pairs of a key and a printable value.
is_logfmt() {
	local value='([^" =\\]+|"([^"\\]|\\["\\])*")'
	! grep -vnE "^time=[0-9TZ:.-]+ level=(error|warn|info|debug) event=[a-z_]+( [a-z_]+=$value)*\$" "$1"
}

@test "FUZZCELL_LOG prints events as logfmt, with levels" {
	FUZZCELL_LOG=info here run --plain --targets "$OUT" --max-fuzzer-time 2s
	is_logfmt "$WORK/errors"
	grep -q ' level=info event=job what=started target=terminal_fuzzer ' "$WORK/errors"
	grep -q ' level=warn event=warning ' "$WORK/errors"
	! grep -q 'terminal_fuzzer started$' "$WORK/printed" || false # printed once
	jq -e 'select(.event == "job" and .what == "ended") | .run' "$(last_logs)/runner.log"
	# The log file has all events in any case.
	here run --plain --targets "$OUT" --max-fuzzer-time 2s --log-level error
	[ ! -s "$WORK/errors" ]
	jq -e 'select(.event == "job" and .what == "ended") | .run' "$(last_logs)/runner.log"
	FUZZCELL_LOG=info said list --targets "$WORK/none"
	is_logfmt "$WORK/errors"
	grep -q ' level=error event=failed .*none.* status=2$' "$WORK/errors"
}
