# SPDX-License-Identifier: Apache-2.0
# Another user's work tree names files, and root opens them.  No file that this user could not
# read gets into a corpus, a cell or a report.  User 4321 has no account.
load lib

setup() {
	[ "$(id -u)" -eq 0 ] || skip 'not root'
	e2e_setup
	TREE=$WORK/tree SECRET=$WORK/root
	mkdir -p "$TREE/seeds" "$TREE/bin" "$SECRET/seeds"
	install "$TARGETS/healthy_fuzzer" "$TREE/bin/a"
	install "$TARGETS/healthy_fuzzer" "$TREE/bin/b"
	printf 'a seed' >"$TREE/seeds/one"
	printf 'key=TOP-SECRET' >"$SECRET/seeds/key"
	printf '"TOP-SECRET"\n' >"$SECRET/dict"
	install "$TARGETS/healthy_fuzzer" "$SECRET/b"
	chmod 0700 "$SECRET" # its files are world-readable: only this directory protects them
	jq --arg m "$TREE/fuzz.json" '.discovery = [{type: "manifest", path: $m}]' \
		"$STATE/config.json" >"$WORK/c" && cp "$WORK/c" "$STATE/config.json"
}

teardown() {
	e2e_teardown
}

# manifest MORE: writes a manifest, with more keys of target b in JSON.
manifest() {
	cat >"$TREE/fuzz.json" <<-END
		{"targets": [{"name": "a", "binary": "bin/a", "seeds": ["seeds"]},
		             {"name": "b", "binary": "bin/b"$1}]}
	END
	chown -R 4321 "$TREE"
}

fuzzcell() {
	run timeout $((200 * SLOW)) "$FUZZCELL" "$1" --state-dir "$STATE" "${@:2}"
	echo "$output"
}

nothing_came_out() {
	! grep -rq TOP-SECRET "$STATE"
}

@test "another user's manifest that names a file which this user cannot read is an error" {
	local key
	for key in "dict: $SECRET/dict" "seeds: $SECRET/seeds" "files: $SECRET" \
		"options: $SECRET/dict"; do
		if [ "${key%%:*}" = seeds ]; then
			manifest ", \"seeds\": [\"${key#*: }\"]"
		else
			manifest ", \"${key%%:*}\": \"${key#*: }\""
		fi
		fuzzcell run --plain --max-fuzzer-time 2s
		[ "$status" -eq 2 ]
		[[ $output == *"$TREE/fuzz.json: targets[1] (\"b\"): ${key%%:*}"*"${key#*: }': Permission denied"* ]]
		[[ $output == *'with the rights of user 4321'* ]]
		nothing_came_out
	done
	manifest ', "seeds": ["/proc/1/environ"]' # of root's first process
	fuzzcell list
	[ "$status" -eq 2 ]
	# Root's own manifest may name root's own files.
	manifest ", \"seeds\": [\"$SECRET/seeds\"]"
	chown -R 0 "$TREE"
	fuzzcell list
	[ "$status" -eq 0 ]
}

# bats test_tags=slow
@test "files that the user can read are fuzzed" {
	manifest ', "seeds": ["seeds"], "files": "bin"'
	chmod -R go= "$TREE/seeds"
	fuzzcell run --plain --max-fuzzer-time 2s
	[ "$status" -eq 0 ]
	LOGS=$(last_logs)
	for TARGET in a b; do
		[ "$(value reason)" = time-limit ]
		[ "$(value seeds)" -ge 1 ]
	done
}

# later LINK TO: while target a is fuzzed, a file of target b becomes a link.
later() {
	TARGET=a
	"$FUZZCELL" run --plain --state-dir "$STATE" --max-fuzzer-time 5s >"$WORK/out" 2>&1 3>&- &
	PID=$!
	wait_until 60 fuzzing_began
	kill -STOP "$PID" # b waits until the link is in place
	rm -r "${TREE:?}/$1"
	ln -s "$2" "$TREE/$1"
	chown -h 4321 "$TREE/$1"
	kill -CONT "$PID"
	status=0
	wait "$PID" || status=$?
	PID=
	cat "$WORK/out"
	LOGS=$(last_logs)
	TARGET=b
}

# bats test_tags=slow
@test "seeds that become a link to root's files are not read" {
	mkdir "$TREE/more"
	manifest ', "seeds": ["more"]'
	later more "$SECRET/seeds"
	[ "$(value reason)" = time-limit ]
	[ "$(value seeds)" -eq 0 ]
	nothing_came_out
}

# bats test_tags=slow
@test "a dictionary that becomes a link to root's file is not shown to a cell" {
	printf '"word"\n' >"$TREE/b.dict"
	manifest ', "dict": "b.dict"'
	later b.dict "$SECRET/dict"
	[ "$status" -ne 0 ]
	[[ $(<"$WORK/out") == *"b.dict' with the rights of user 4321: Permission denied"* ]]
	[ "$(grep -c 'Dictionary: 1 entries' "$LOGS/b.log")" -eq 0 ]
	nothing_came_out
}

# bats test_tags=slow
@test "runtime files that become a link to root's directory are not shown to a cell" {
	mkdir "$TREE/files"
	manifest ', "files": "files"'
	later files "$SECRET"
	[ "$status" -ne 0 ]
	[[ $(<"$WORK/out") == *"files' with the rights of user 4321: Permission denied"* ]]
	nothing_came_out
}
