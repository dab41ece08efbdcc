# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Corpora of tests, and what a merge made of them.  Needs lib.bash.

# minimize NAME [OPTION...]
minimize() {
	TARGET=$1
	shift
	run timeout $((300 * SLOW)) "$FUZZCELL" corpus minimize --state-dir "$STATE" \
		--targets "$TARGETS" --filter "$TARGET" "$@"
	echo "$output"
}

# plant NAME: the files of $WORK/in join the corpus of TARGET, which is NAME now; what is
# in it then is in $WORK/before.
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

# inputs NUMBER: different ones without bad ones, most of which add nothing.
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

# Every content that was planted is somewhere still.
nothing_lost() {
	contents "$STATE/corpus/$TARGET" "$STATE/generations/$TARGET" "$STATE/quarantine/$TARGET" \
		>"$WORK/now"
	[ -z "$(comm -23 "$WORK/before" "$WORK/now")" ]
}

last() { # KEY: of the last line of the history
	tail -n 1 "$STATE/stats/corpus_history.jsonl" |
		sed -n 's/.*"'"$1"'": "\{0,1\}\([^,"}]*\).*/\1/p'
}

files() { # DIR: how many
	find "$1" -mindepth 1 | wc -l
}

has() { # WHERE CONTENT
	[ -e "$STATE/$1$(printf '%s' "$2" | sha1sum | cut -d' ' -f1)" ]
}
