#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks whether the container is healthy: its configurations are valid, and the state of each can
# be read and written.  Its first process lives, or this would not run.
#
# usage: health.sh [FILE]     FILE: the first process's /proc/PID/cmdline
set -eu

# Prints the values of an option, one per line.
given() { # OPTION
	tr '\0' '\n' <"$cmdline" | while IFS= read -r word; do
		case $word in
		"$1="*) printf '%s\n' "${word#*=}" ;;
		"$1") IFS= read -r word && printf '%s\n' "$word" ;;
		esac
	done
}

check() { # OPTION...
	dir=$(fuzzcell config state "$@")
	fuzzcell outbox list "$@" >/dev/null
	echo healthy >"$dir/.health"
	rm "$dir/.health"
}

cmdline=${1:-/proc/1/cmdline}
state=$(given --state-dir | tail -n 1)
configs=$(given --config)
[ -n "$configs" ] || check ${state:+--state-dir "$state"} # fuzzcell's own default
printf '%s\n' "$configs" | while IFS= read -r config; do
	[ -z "$config" ] || check --config "$config" ${state:+--state-dir "$state"}
done
