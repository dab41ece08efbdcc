# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completes fuzzcell's commands, options and crashes in bash, and in zsh after
# "autoload -U +X bashcompinit && bashcompinit".  All words come from the program's help, which is
# made from its option tables, and from `fuzzcell crash list`.

# The first words of indented lines: commands, or subcommands.
_fuzzcell_commands() { sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p;s/^  \([a-z][a-z-]*\)$/\1/p'; }

_fuzzcell_options() { grep -oE '^  (-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+'; }

_fuzzcell() {
	local program=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]} words='' help
	local -a named=("${COMP_WORDS[@]:1:COMP_CWORD-1}")

	COMPREPLY=()
	[[ ${named[0]-} == help ]] && named=("${named[@]:1}")
	if [[ ${#named[@]} -eq 0 ]]; then
		words=$("$program" help 2>/dev/null | _fuzzcell_commands)
	else
		help=$("$program" help "${named[@]:0:2}" 2>/dev/null) || help=$("$program" help "${named[0]}" 2>/dev/null)
		if [[ $cur == -* ]]; then
			words=$(_fuzzcell_options <<<"$help")
		elif [[ ${#named[@]} -eq 1 ]]; then
			words=$(_fuzzcell_commands <<<"$help")
		elif [[ ${named[0]} == crash && ${named[*]: -1} != --* ]]; then
			words=$("$program" crash list 2>/dev/null | sed -n 's/^\([0-9a-f]\{16\}\) .*/\1/p')
		fi
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o bashdefault -o default -F _fuzzcell fuzzcell
