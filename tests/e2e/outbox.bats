# SPDX-License-Identifier: Apache-2.0
# The outbox commands: list, retry, drop.
load lib

# No server listens at this address.
CLOSED=http://127.0.0.1:9

setup() {
	e2e_setup
	cat >"$STATE/config.json" <<-END
		{"github": {"repository": "octo/widgets", "api": "$CLOSED", "token_env": "FUZZCELL_TEST_TOKEN"},
		 "webhooks": [{"name": "team", "url": "$CLOSED/s3cret"}]}
	END
	mkdir -p "$STATE/outbox/done"
	entry github new 0123456789abcdef 1
	entry github fixed 0123456789abcdef 2
	entry hook-team new 0123456789abcdef 3
	entry hook-team new fedcba9876543210 4
	entry hook-gone new fedcba9876543210 5
}

teardown() {
	e2e_teardown
}

# entry PLACE EVENT CRASH SEQ
entry() {
	cat >"$STATE/outbox/$1-$2-$3.json" <<-END
		{"v": 1, "id": "$1-$2-$3", "chain": "$1-$3", "place": "$1", "subject": "$3", "seq": $4,
		 "created": $(($(date +%s) - 7200)), "tries": 0, "last_try": 0, "next_try": 0,
		 "refused": false, "why": "", "progress": {},
		 "event": {"event": "$2", "signature": "$3", "title": "t", "body": "b", "comment": "c",
		  "labels": [], "repository": "octo/widgets", "action": "none", "upload": null,
		  "payload": {}}}
	END
}

outbox() {
	run env FUZZCELL_TEST_TOKEN=PLANTEDsecret timeout 120 "$FUZZCELL" outbox "$@" --state-dir "$STATE"
	echo "$output"
}

line() { # PATTERN: the output has exactly one such line
	[ "$(grep -cE "$1" <<<"$output")" -eq 1 ]
}

@test "outbox list shows what waits, for which receiver, and why" {
	outbox list
	[ "$status" -eq 0 ]
	line '^github +new +0123456789abcdef +2h00m +0 +now'
	line '^github +fixed +0123456789abcdef +2h00m +0 +after another'
	line '^hook-gone +.* never +no longer configured$'
	outbox list --json
	[ "$(jq -r '.[0].id, .[1].after_another, length, .[4].configured, .[3].configured' <<<"$output" | xargs)" = \
		'github-new-0123456789abcdef true 5 false true' ]
}

@test "doctor reports an entry that waits for too long" {
	jq '.outbox = {"alarm": "1h"}' "$STATE/config.json" >"$WORK/new"
	mv "$WORK/new" "$STATE/config.json"
	run timeout 60 "$FUZZCELL" doctor --json --state-dir "$STATE"
	echo "$output"
	jq -e '.service.findings[] | select(.code == "outbox-stuck")' <<<"$output"
}

@test "outbox list of an empty outbox, and wrong usage" {
	rm -r "$STATE/outbox"
	outbox list
	[ "$status" -eq 0 ]
	[ "$output" = 'nothing waits' ]
	[ ! -e "$STATE/outbox" ]
	outbox list --json
	[ "$output" = '[]' ]
	for wrong in '' 'fly' 'list x' 'drop' 'drop x --all' 'drop nothing'; do
		# shellcheck disable=SC2086 # words
		outbox $wrong
		[ "$status" -eq 2 ]
	done
}

@test "outbox drop prints the dropped entry, which is not queued again" {
	outbox drop 0123
	[ "$status" -eq 0 ]
	line '^dropped: github, new of 0123456789abcdef$'
	line '^dropped: github, fixed of 0123456789abcdef$'
	line '^dropped: hook-team, new of 0123456789abcdef$'
	line '^3 dropped'
	outbox drop hook-gone-new-fedcba9876543210
	line '^1 dropped'
	outbox list
	[ "$(wc -l <<<"$output")" -eq 2 ]
	line '^hook-team +new +fedcba9876543210'
	[ "$(jq -r '.told[].how' "$STATE/outbox/done/github-0123456789abcdef.json" | xargs)" = \
		'dropped dropped' ]
	outbox drop --all
	line '^1 dropped'
	outbox list
	[ "$output" = 'nothing waits' ]
}

@test "outbox drop of an ambiguous name drops nothing" {
	entry hook-team new 0123000000000000 9
	outbox drop 0123
	[ "$status" -eq 2 ]
	[[ $output == *'several entries begin with'* ]]
	outbox list
	line '^hook-team +new +0123000000000000'
}

@test "outbox retry sends at once; failed entries wait, and no secret is printed" {
	outbox retry
	[ "$status" -eq 3 ]
	line '^5 due now$'
	line '^0 sent, 0 refused; 4 wait$' # the fifth is for a webhook that is no longer configured
	[[ $output == *'nothing could be sent: github: '*"'127.0.0.1'"* ]]
	outbox list
	line '^github +new .* 1 +in '
	line '^hook-team +new +0123456789abcdef .* 1 +in '
	said=$output
	run grep -rE 'PLANTEDsecret|s3cret' "$STATE/outbox"
	[ "$status" -eq 1 ]
	[[ $said != *s3cret* ]]
}

@test "outbox retry without a token reports it, and the entries stay due" {
	jq '.github |= (del(.token_env) + {token_file: "/run/credentials/none/token"}) | del(.webhooks)' \
		"$STATE/config.json" >"$WORK/c"
	cp "$WORK/c" "$STATE/config.json"
	outbox retry --all
	[ "$status" -eq 3 ]
	[[ $output == *"nothing could be sent: github: "*"open '/run/credentials/none/token': No such file"* ]]
	outbox list
	line '^github +new .* 0 +now .*/run/credentials/none/token'
	run jq '.github.until' "$STATE/outbox/places.json"
	[ "$output" = null ] || [ ! -e "$STATE/outbox/places.json" ]
}

@test "outbox retry leaves the sending to a process that already sends" {
	: >"$STATE/outbox.lock"
	exec 9<"$STATE/outbox.lock"
	flock 9
	outbox retry 0123456789abcdef
	[ "$status" -eq 0 ]
	line '^3 due now$'
	[[ $output == *'is sending'* ]]
	exec 9<&-
}

@test "a damaged entry is set aside with a message" {
	echo '{' >"$STATE/outbox/github-new-0123456789abcdef.json"
	outbox list
	[[ $output == *"'github-new-0123456789abcdef.json' is damaged"* ]]
	outbox drop fedc
	[[ $output == *'set aside in outbox/damaged'* ]]
	[ -e "$STATE/outbox/damaged/github-new-0123456789abcdef.json.1" ]
	outbox list
	[[ $output != *damaged* ]]
}
