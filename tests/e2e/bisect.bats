# SPDX-License-Identifier: Apache-2.0
# fuzzcell crash bisect: a planted history, with real builds and targets.
load lib
load commits
setup() {
	[ "$(id -u)" -eq 0 ] || skip 'not root'
	e2e_setup
	make_history
}
teardown() {
	e2e_teardown
}

# The user's work tree and repository are as before.
nothing_left_in_repo() {
	[ -z "$(git -c safe.directory='*' -C "$WORK/repo" status --porcelain --untracked-files=no)" ]
	[ "$(git -c safe.directory='*' -C "$WORK/repo" worktree list | wc -l)" = 1 ]
	[ ! -e "$WORK/repo/.git/fuzzcell" ]
}

# bats test_tags=slow
@test "the commit is found: next to broken builds, flaky, hidden, with a merge, with the target" {
	local letter bugs=${FUZZCELL_BISECT_BUGS:-a c d e f} # b is flaky, and takes long
	# shellcheck disable=SC2086 # a list
	know $bugs
	# Nothing of the repository runs: neither a hook nor a filter.
	printf '#!/bin/sh\ntouch "%s/ran"\n' "$WORK" >"$WORK/repo/.git/hooks/post-checkout"
	chmod +x "$WORK/repo/.git/hooks/post-checkout"
	git -C "$WORK/repo" -c safe.directory='*' config filter.x.smudge "touch $WORK/ran; cat"
	echo '* filter=x' >"$WORK/repo/.git/info/attributes"
	for letter in $bugs; do
		bisect "$letter"
		[ "$status" -eq 0 ]
		is_right "$letter"
		answer '.complete and .wrong <= 0.01'
		echo "# $letter: $(jq '.builds' "$WORK/answer") builds" >&3
	done
	[ ! -e "$WORK/ran" ]
	nothing_left_in_repo

	# It is in the record, and nothing is tested again.
	[ "$(jq -r --arg s "$(of a)" '.[$s].culprit.commit' "$STATE/known_crashes.json")" = "$(at 137)" ]
	bisect a
	is_right a
	answer '.builds == 0'
	crash show "$(of a)"
	[[ $output == *"began "*"with $(at 137)"* ]]
	[[ $output == *'number 137: <b>@someone</b> #1'* ]]

	# The merge brought d: its branch has the commit.
	crash bisect "$(of d)"
	[[ $output == *"a merge: look into its branch with --bad $(at 170 | cut -c1-12)^2"* ]]
	bisect d --bad "$(at 170)^2"
	answer ".kind == \"commit\" and .commit == \"$(at 302)\" and .before == \"$(at 301)\""
}

# bats test_tags=slow
@test "searches that are killed or run out of time go on, and are right" {
	local letter i bugs=${FUZZCELL_BISECT_BUGS:-a e}
	# shellcheck disable=SC2086 # a list
	know $bugs
	for ((i = 0; i < ${FUZZCELL_BISECT_RUNS:-1}; i++)); do
		letter=$(tr ' ' '\n' <<<"$bugs" | shuf -n 1)
		rm -f "$STATE"/crashes/*/bisect.json # the builds stay
		while :; do
			if ((RANDOM % 2)); then
				bisect "$letter" --time "$((RANDOM % 900 + 100))ms"
				[ "$status" -eq 0 ] || [ "$status" -eq 5 ]
			else
				"$FUZZCELL" crash bisect --json "$(of "$letter")" >"$WORK/answer" 2>&1 3>&- &
				PID=$!
				sleep "0.$((RANDOM % 1000 + 1000))"
				kill -9 "$PID" 2>/dev/null || true
				status=0
				wait "$PID" || status=$?
				PID=
				sed -i -n '/^{/,$p' "$WORK/answer"
			fi
			[ "$status" -ne 0 ] || break
		done
		echo "# run $i: $letter" >&3
		is_right "$letter"
	done
	bisect a
	nothing_left_in_repo
}

@test "where it ended, ends that a user names, and what cannot be searched" {
	local git="git -c safe.directory=* -c user.name=A -c user.email=a@b -C $WORK/repo"
	know a
	script 200 | sed '/^a fails/d' >"$WORK/repo/build.sh"
	$git commit -q -a -m fixed
	$git commit -q --allow-empty -m later
	chown -R 4321 "$WORK/repo"
	bisect a --fix --bad "$(at 198)"
	[ "$status" -eq 0 ]
	answer ".fix and .kind == \"commit\" and .commit == \"$($git rev-parse HEAD~1)\" and
		.before == \"$(at 200)\""
	[ "$(jq -r --arg s "$(of a)" '.[$s].fix.subject' "$STATE/known_crashes.json")" = fixed ]

	bisect a --bad HEAD
	[ "$status" -eq 1 ]
	answer '.kind == "none" and .commit == null'
	bisect a --bad "$(at 200)" --good "$(at 199)"
	[ "$status" -eq 1 ]
	[[ $output == *'the last of the commits, fails, too'* ]]
	bisect a --good "$(at 60)" --bad "$(at 140)"
	is_right a
	crash bisect --bad nothing "$(of a)"
	[ "$status" -eq 2 ]
	[[ $output == *"no commit 'nothing'"*'git fetch'* ]]
	crash bisect --bad "$(at 40)" --good "$(at 90)" "$(of a)"
	[ "$status" -eq 2 ]
	[[ $output == *'not in the history of'* ]]

	# Changed files are no commit.
	echo x >>"$WORK/repo/build.sh"
	crash bisect "$(of a)"
	[ "$status" -eq 2 ]
	[[ $output == *'has changes: commit them, or give --bad COMMIT'* ]]
	$git checkout -q -f

	# A shallow history.
	mv "$WORK/repo" "$WORK/full"
	chown -R 0 "$WORK/full"
	git clone -q --depth 20 "file://$WORK/full" "$WORK/repo"
	chown -R 4321 "$WORK/repo"
	bisect a --bad HEAD~5
	answer '.kind == "all"'
	[[ $output == *'the history is shallow'* ]]

	# A build that fills a directory elsewhere, and no build.
	jq '.discovery[0].path = "/usr/out"' "$STATE/config.json" >"$WORK/c"
	crash bisect --config "$WORK/c" "$(of a)"
	[ "$status" -eq 2 ]
	[[ $output == *"fills '/usr/out', outside of the repository"* ]]
	jq 'del(.discovery[0] | .build, .build_dir)' "$STATE/config.json" >"$WORK/c"
	crash bisect --config "$WORK/c" "$(of a)"
	[ "$status" -eq 2 ]
	[[ $output == *'no source has a "build"'* ]]
}

# bats test_tags=slow
@test "a run searches by itself for what is new, for so long a day" {
	know a e
	jq --arg repo "$WORK/repo" '.trigger = {repository: $repo} | .bisect.daily = "1s"' \
		"$STATE/config.json" >"$WORK/c"
	mv "$WORK/c" "$STATE/config.json"
	run timeout $((300 * SLOW)) "$FUZZCELL" run --plain --max-fuzzer-time 2s --commit "$(at 200)"
	echo "$output"
	[[ $output == *"which commit began it?"* ]]
	[[ $output == *"wait for another day (bisect.daily)"* ]]
	crash bisect --pending
	[[ $output == *"wait for another day (bisect.daily)"* ]]
	crash bisect --pending --time 5m
	[ "$status" -eq 0 ]
	[ "$(jq -r --arg s "$(of a)" '.[$s].culprit.commit' "$STATE/known_crashes.json")" = "$(at 137)" ]
	[ "$(jq -r --arg s "$(of e)" '.[$s].culprit.kind' "$STATE/known_crashes.json")" = added ]
	crash bisect --pending --time 5m # nothing waits
	[ "$status" -eq 0 ]
	[[ $output != *'which commit'* ]]
}
