#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A dictionary from the program's own literals.

load lib

setup() {
	e2e_setup
}

teardown() {
	e2e_teardown
}

edges() {
	echo "edges: $(value cov), words: $(value dictionary_words)"
	value cov
}

words() {
	cat "$STATE/dictionaries/literal_fuzzer.dict"
}

# plain [CHOICE [VALUES]]
plain() {
	config "\"merge_time\": \"off\", \"max_len\": 64, \"seed\": 1, \"auto_dictionary\": \"${1:-alone}\"${2:+, $2}"
}

# bats test_tags=slow
@test "a keyword that no traced comparison shows is found by a word of the program" {
	plain
	fuzz literal_fuzzer 10
	[ "$status" -eq 0 ]
	edges
	[ "$(value cov)" -gt 100 ]
	[ "$(value dictionary_entries)" -eq 0 ]
	[ "$(value dictionary_words)" -ge 1 ]
	words
	# The word added coverage.
	words | grep -B 1 '^"OPEN-SESAME:"$' | grep -Eq '^# [1-9][0-9]* [0-9]+ literal$'
	grep -q 'dictionary: [0-9]* words of the program' "$LOGS/literal_fuzzer.log"
}

# bats test_tags=slow
@test "without the program's words, the keyword is not found" {
	plain off
	fuzz literal_fuzzer 5
	[ "$status" -eq 0 ]
	[ "$(value cov)" -lt 20 ]
	[ "$(value dictionary_words)" -eq 0 ]
	[ ! -e "$STATE/dictionaries" ]
}

# bats test_tags=slow
@test "beside a given dictionary the program's words are left out, or joined" {
	printf '# mine\nkw="OPEN-SESAME:"\n"\\x01other"' >"$WORK/my.dict"
	chmod 0644 "$WORK/my.dict"
	plain alone "\"dictionary\": \"$WORK/my.dict\""
	fuzz literal_fuzzer 3
	[ "$(value dictionary_entries)" -eq 2 ]
	[ "$(value dictionary_words)" -eq 0 ]
	plain joined "\"dictionary\": \"$WORK/my.dict\""
	fuzz literal_fuzzer 10
	[ "$status" -eq 0 ]
	[ "$(value cov)" -gt 100 ]
	# The dictionary already has all literals of the target.
	[ "$(($(value dictionary_entries) + $(value dictionary_words)))" -ge 2 ]
	printf '"\\x01other"\n' >"$WORK/my.dict"
	fuzz literal_fuzzer 5
	[ "$(value dictionary_entries)" -eq 1 ]
	[ "$(value dictionary_words)" -ge 1 ]
	[ "$(value cov)" -gt 100 ]
}

@test "a mistake in a given dictionary is named as before" {
	printf '"good"\nbad\n' >"$WORK/my.dict"
	chmod 0644 "$WORK/my.dict"
	plain joined "\"dictionary\": \"$WORK/my.dict\""
	fuzz literal_fuzzer 5
	[ "$status" -eq 5 ]
	[ "$(value reason)" = startup-failed ]
	grep -q 'error in line 2' "$LOGS/literal_fuzzer.log"
}

# bats test_tags=slow
@test "the target is fuzzed, whatever stands in the place of its words file" {
	plain
	mkdir "$STATE/dictionaries"
	mkfifo "$STATE/dictionaries/literal_fuzzer.dict"
	fuzz literal_fuzzer 10
	[ "$status" -eq 0 ]
	[ "$(value cov)" -gt 100 ]
	rm -r "$STATE/dictionaries"
	mkdir -p "$STATE/dictionaries/literal_fuzzer.dict/x"
	fuzz literal_fuzzer 3
	[ "$(value reason)" != startup-failed ]
	rm -r "$STATE/dictionaries"
	: >"$STATE/dictionaries"
	fuzz literal_fuzzer 3
	[ "$(value reason)" != startup-failed ]
	rm "$STATE/dictionaries"
	mkdir "$STATE/dictionaries"
	printf '# 9 9 literal\n"\\q"\n# 1 1 literal\n"good"\n"bad\n\0\377' >"$STATE/dictionaries/literal_fuzzer.dict"
	fuzz literal_fuzzer 10
	[ "$status" -eq 0 ]
	[ "$(value cov)" -gt 100 ]
	words | grep -q '^"good"$'
	# The engine accepts every byte that a word may have.
	printf '# 9 9 learned\n"\\x00\\xFF\\"\\\\ ~\\x0A"\n' >"$STATE/dictionaries/literal_fuzzer.dict"
	fuzz literal_fuzzer 3
	grep -Eq '^Dictionary: [0-9]+ entries' "$LOGS/literal_fuzzer.log"
	words | grep -qxF '"\x00\xFF\"\\ ~\x0A"'
}

# bats test_tags=slow
@test "words are kept from run to run" {
	plain
	fuzz literal_fuzzer 5
	words | grep -B 1 '^"OPEN-SESAME:"$' >"$WORK/first"
	fuzz literal_fuzzer 3
	words | grep -B 1 '^"OPEN-SESAME:"$' >"$WORK/second"
	cat "$WORK/first" "$WORK/second"
	[ "$(awk 'NR == 1 { print $3 }' "$WORK/second")" -gt "$(awk 'NR == 1 { print $3 }' "$WORK/first")" ]
}
