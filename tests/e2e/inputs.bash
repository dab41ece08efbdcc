# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Corpora of tests, and their state after a merge.  Needs lib.bash.

# minimize NAME [OPTION...]
minimize() {
	TARGET=$1
	shift
	run timeout $((300 * SLOW)) "$FUZZCELL" corpus minimize --state-dir "$STATE" \
		--targets "$TARGETS" --filter "$TARGET" "$@"
	echo "$output"
}

# plant NAME: sets TARGET to NAME, adds the files of $WORK/in to its corpus, and copies the corpus
# to $WORK/before.
plant() {
	TARGET=$1
	mkdir -p "$STATE/corpus/$1"
	cp -r "$WORK/in" "$WORK/named"
	# (A process a file is too slow; perl alone, as in a small Debian, has no digests.)
	find "$WORK/named" -type f -exec sha1sum {} + | perl -ne '
		/^(\w+)  ((.*\/).*)$/ && rename($2, "$3$1") or die "$_: $!"'
	cp -r "$WORK/named/." "$STATE/corpus/$1"
	rm -r "$WORK/named"
	contents "$STATE/corpus/$1" >"$WORK/before"
}

# inputs NUMBER: makes different good inputs, most of which add no coverage.
inputs() {
	mkdir -p "$WORK/in"
	awk -v n="$1" -v dir="$WORK/in" 'BEGIN {
		srand(1)
		split("a b c d 0 1 9 + - z", word, " ")
		for (i = 0; i < n; i++) {
			text = ""
			for (k = int(rand() * 60) + 1; k > 0; k--)
				text = text word[int(rand() * 10) + 1]
			file = dir "/g" i
			printf "%s", text >file
			close(file)
		}
	}'
}

bad() { # CONTENT...
	local c
	for c; do
		printf '%s' "$c" >"$WORK/in/bad-$c"
	done
}

contents() { # DIR...: hashes of all files
	find "$@" -type f ! -name pending -exec sha1sum {} + 2>/dev/null | cut -d' ' -f1 | sort -u
}

# Succeeds if every planted content still exists somewhere.
nothing_lost() {
	contents "$STATE/corpus/$TARGET" "$STATE/generations/$TARGET" "$STATE/quarantine/$TARGET" \
		>"$WORK/now"
	[ -z "$(comm -23 "$WORK/before" "$WORK/now")" ]
}

last() { # KEY: its value in the last line of the history
	tail -n 1 "$STATE/stats/corpus_history.jsonl" |
		sed -n 's/.*"'"$1"'": "\{0,1\}\([^,"}]*\).*/\1/p'
}

files() { # DIR: prints the number of files
	find "$1" -mindepth 1 | wc -l
}

has() { # WHERE CONTENT
	[ -e "$STATE/$1$(printf '%s' "$2" | sha1sum | cut -d' ' -f1)" ]
}
