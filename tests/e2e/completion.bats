# SPDX-License-Identifier: Apache-2.0
# Shell completion, which is generated from the program's own --help.
# bats file_tags=host
load lib
load inputs

setup() {
	e2e_setup
	mkdir "$WORK/bin"
	ln -s "$FUZZCELL" "$WORK/bin/fuzzcell"
	PATH=$WORK/bin:$PATH
	# shellcheck source=/dev/null
	source "$BATS_TEST_DIRNAME/../../docs/fuzzcell.bash"
}
teardown() { e2e_teardown; }

# offers WORD...: prints the completions of the last word; "" is a new word.
offers() {
	COMP_WORDS=(fuzzcell "$@")
	COMP_CWORD=$#
	_fuzzcell
	printf '%s\n' "${COMPREPLY[@]}"
}

@test "commands and subcommands, each of them" {
	[ "$(offers ru)" = run ]
	[ "$(offers crash rep)" = reproduce ]
	[ "$(offers help cra)" = crash ]
	[ "$(offers help crash ex)" = export ]
	# Each completion is a command, and no command is missing.
	for word in $(offers ""); do
		fuzzcell help "$word" >/dev/null
	done
	[ "$(offers "" | sort)" = "$(sed -n 's/^    {"\([a-z]*\)", .*/\1/p' "$BATS_TEST_DIRNAME/../../runner/command/commands.c" | sort)" ]
}

@test "options of a command and of a subcommand" {
	[ "$(offers run --fail)" = --fail-on-crash ]
	[ "$(offers crash export --out)" = --output ]
	[ "$(offers run --targets out --work | head -n 1)" = --workers ]
	[[ $(offers regress --) == *--allow-known* ]]
	[ -z "$(offers run --nothing)" ]
}

@test "known crashes are completed; otherwise files, as by the shell" {
	queue uaf_fuzzer crash UA1
	export FUZZCELL_STATE_DIR=$STATE
	timeout $((300 * SLOW)) "$FUZZCELL" crash triage --targets "$TARGETS" --filter uaf_fuzzer
	sig=$(jq -r 'keys[0]' "$STATE/known_crashes.json")
	[ "$(offers crash show "${sig:0:4}")" = "$sig" ]
	[ -z "$(offers crash parse --target "")" ]
}
