# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A planted history of 200 commits, of user 4321.  Its "build" copies history_fuzzer and writes the
# behaviour of the target.  Needs lib.bash.
#
#   a  begins at 137, with broken builds at 134, 135 and 138
#   b  begins at 61, and fails every fourth time
#   c  begins at 70; from 90 to 120 another bug hides it
#   d  comes with a merge at 170, from a branch of three commits
#   e  is there since 20; the target is there since 40
#   f  begins at 100, while the other bug hides it
BROKEN=' 12 33 55 78 100 134 135 138 145 160 177 190 '

# bugs COMMIT: prints the file "behaviour".
bugs() {
	local hidden=fails
	[ "$1" -lt 90 ] || [ "$1" -gt 120 ] || hidden=other
	echo
	[ "$1" -lt 137 ] || echo 'a fails'
	[ "$1" -lt 61 ] || echo 'b flaky'
	[ "$1" -lt 70 ] || echo "c $hidden"
	[ "$1" -lt 170 ] || echo 'd fails'
	[ "$1" -lt 20 ] || echo 'e fails'
	if [ "$hidden" = other ]; then echo 'f other'; elif [ "$1" -gt 120 ]; then echo 'f fails'; fi
}

# script COMMIT [MORE]: prints build.sh.
script() {
	echo '#!/bin/sh'
	echo "set -eu # $1"
	[[ $BROKEN != *" $1 "* ]] || echo 'echo "code.c:1:1: error: it is broken" >&2; exit 1'
	echo 'mkdir -p out; echo x >written; rm -f code'
	[ "$1" -ge 40 ] || return 0
	echo 'cp /usr/local/../..'"$WORK/history_fuzzer out/"
	printf 'cat >out/behaviour <<END\n%s\n%s\nEND\n' "$(bugs "$1" | sed 's/^$/ /')" "${2:-}"
}

# commit NUMBER REF PARENTS MORE: for git fast-import; the clocks run backwards.
commit() {
	local text
	text=$(script "$1" "${4:-}")
	printf 'commit refs/heads/%s\nmark :%s\nauthor Some One @here <some@one> %s +0000\n' "$2" \
		"$3" "$((1767225600 - $1 * 60))"
	printf 'committer Some One <some@one> %s +0000\ndata <<END\n%s\nEND\n' \
		"$((1767225600 - $1 * 60))" "number $3: <b>@someone</b> #1"
	printf 'M 100755 inline build.sh\ndata %s\n%s\nM 100644 inline code\ndata 2\nc\n\n' \
		"${#text}" "$text"
}

# Makes $WORK/repo and a configuration.  at() has the commits.
make_history() {
	local i
	cp "$TARGETS/history_fuzzer" "$WORK/"
	git init -q -b main "$WORK/repo"
	{
		for ((i = 1; i <= 166; i++)); do commit "$i" main "$i"; done
		# The branch, from 166 on: its second commit brings d.
		printf 'reset refs/heads/side\nfrom :166\n\n'
		commit 166 side 301
		commit 166 side 302 'd fails'
		commit 166 side 303 'd fails'
		for ((i = 167; i <= 169; i++)); do commit "$i" main "$i"; done
		commit 170 main 170 | sed 's/^M 100755/merge :303\n&/'
		for ((i = 171; i <= 200; i++)); do commit "$i" main "$i"; done
	} | git -C "$WORK/repo" fast-import --quiet --export-marks="$WORK/marks"
	git -C "$WORK/repo" reset -q --hard main
	chown -R 4321 "$WORK/repo"
	jq --arg repo "$WORK/repo" '.discovery = [{type: "directory", path: ($repo + "/out"),
		build: ["./build.sh"], build_dir: $repo}]' "$STATE/config.json" >"$WORK/c"
	mv "$WORK/c" "$STATE/config.json"
	export FUZZCELL_STATE_DIR=$STATE
}

# at NUMBER: prints the commit.
at() {
	sed -n "s/^:$1 //p" "$WORK/marks"
}

crash() {
	run timeout $((300 * SLOW)) "$FUZZCELL" crash "$@"
	echo "status $status: $output"
}

# know LETTER...: makes these bugs known crashes, at the newest commit.  of() has their names.
know() {
	local letter i
	"$FUZZCELL" build
	git -c safe.directory='*' -C "$WORK/repo" checkout -q -f # what the build changed
	chown -R 4321 "$WORK/repo"
	for letter; do
		# The flaky bug may hide in all replays of an input.
		for ((i = 0; i < 20; i++)); do
			[ -z "$(of "$letter")" ] || break
			queue history_fuzzer crash "$letter!$i"
			crash triage
			[ "$status" -eq 0 ]
		done
	done
}

# of LETTER: prints the signature of its crash.
of() {
	jq -r --arg f "planted_bug_$1" 'to_entries[] | select(.value.top_frame == $f) | .key' \
		"$STATE/known_crashes.json" 2>/dev/null
}

# answer EXPRESSION: evaluates it on the JSON answer of the last command.
answer() {
	jq -e "$1" "$WORK/answer" >/dev/null || { jq . "$WORK/answer"; false; }
}

# bisect LETTER [OPTION...]: its answer is in answer().
bisect() {
	local letter=$1
	shift
	run timeout $((300 * SLOW)) "$FUZZCELL" crash bisect --json "$@" "$(of "$letter")"
	echo "status $status: $output" | head -c 3000
	sed -n '/^{/,$p' <<<"$output" >"$WORK/answer"
}

# is LETTER: the answer is right.
is_right() {
	case $1 in
	a) answer ".kind == \"commit\" and .commit == \"$(at 137)\" and .before == \"$(at 136)\"" ;;
	b) answer ".kind == \"commit\" and .commit == \"$(at 61)\" and .before == \"$(at 60)\"" ;;
	c) answer ".kind == \"commit\" and .commit == \"$(at 70)\" and .before == \"$(at 69)\"" ;;
	d) answer ".kind == \"commit\" and .commit == \"$(at 170)\" and .before == \"$(at 169)\"" ;;
	e) answer ".kind == \"added\" and .commit == \"$(at 40)\" and .before == \"$(at 39)\"" ;;
	# The other bug hides where it begins: it is seen at 121, and another failure at 90.
	f) answer ".kind == \"range\" and .commit == \"$(at 121)\" and .before == \"$(at 89)\" and
		(.text | contains(\"${2:-fails in some way}\"))" ;;
	esac
}
