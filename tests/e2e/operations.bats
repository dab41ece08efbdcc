# SPDX-License-Identifier: Apache-2.0
# The commands of docs/operations.md, as they stand there.  They work, and they use the service's
# state, not the state of the user who types them.
load lib

setup() {
	e2e_setup
	mkdir "$WORK/home" "$WORK/bin" "$WORK/out"
	ln -s "$FUZZCELL" "$WORK/bin/fuzzcell"
	cp "$TARGETS/healthy_fuzzer" "$WORK/out"
	jq --arg w "$WORK" '. + {state_dir: ($w + "/state"), trigger: {repository: ($w + "/tree")},
		discovery: [{type: "directory", path: ($w + "/out"), build: ["true"], build_dir: $w, build_as_root: true}],
		defaults: (.defaults + {max_time: "2s", merge_time: "off"})}' \
		"$STATE/config.json" >"$WORK/config.json"
	rm "$STATE/config.json"
	mkdir -p "$STATE/corpus/healthy_fuzzer"
	printf a >"$STATE/corpus/healthy_fuzzer/$(printf a | sha1sum | cut -d ' ' -f 1)"
	git init -q --bare -b main "$WORK/origin"
	git clone -q "$WORK/origin" "$WORK/tree" 2>/dev/null
	git -C "$WORK/tree" checkout -q -B main
	git -C "$WORK/tree" -c user.name=t -c user.email=t@t commit -q --allow-empty -m one
	git -C "$WORK/tree" push -q origin main
}

teardown() { e2e_teardown; }

# Lines of blocks and words between backticks, without comments behind them.
commands() {
	awk '/^```/ { on = !on; next }
		on && /^fuzzcell serve / { next } # does not end
		on && /^fuzzcell / { print; next }
		!on { n = split($0, part, "`")
			for (i = 2; i <= n; i += 2) if (part[i] ~ /^fuzzcell .*--config/) print part[i] }' \
		"$BATS_TEST_DIRNAME/../../docs/operations.md" | sed 's/  *#.*//'
}

@test "every command of the operations page works as pasted" {
	cd "$WORK"
	[ "$(commands | wc -l)" -ge 12 ]
	while IFS= read -r line; do
		echo "\$ $line"
		[[ $line == *' --config /etc/fuzzcell/config.json'* ]]
		line=${line/\/etc\/fuzzcell\/config.json/config.json}
		# serve runs until it is stopped.
		[[ $line != 'fuzzcell serve '* ]] || line="timeout --preserve-status 3 $line"
		status=0
		HOME=$WORK/home PATH=$WORK/bin:$PATH FUZZCELL_STATE_DIR='' bash -c \
			"${line/TARGET/healthy_fuzzer}" </dev/null 3>&- || status=$?
		echo "status $status"
		[ "$status" -eq 0 ]
	done < <(commands)
	[ -z "$(ls -A "$WORK/home")" ]
	[ -s "$STATE/last_run_commit" ] # by the trigger's --force
}
