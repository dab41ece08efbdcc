#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The tests, in parts.  A failed part does not stop the parts after it.
#
# `make check` is the first tier, which finds most mistakes within minutes: packages, lint, build by
# gcc, unit tests (by clang, under ASan and UBSan), end-to-end tests in real cells on this machine
# that take less than 5 seconds each, and notifications against a fake GitHub server.
# `make check-all` is this and the rest: the slow end-to-end tests, the dashboard in a browser,
# Docker, rounds under Slurm, planted reports, the analysers, and virtual machines (the unified cgroup layout, systemd).
#
# usage: [B=build] ci/check.sh TIER|PART...      TIER: soon, rest or all; PART: see part() below
#
# Each part's output is kept in $B/check/PART.log, its TAP in $B/check/tap/PART.  The last line is
# "N passed, N failed, N skipped"; the status is 1 when a test failed.  With CI=true a skipped test
# counts as failed, unless may_skip has it.
set -u

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
B=${B:-build}
out=$B/check
make=${MAKE:-make}
# Do not inherit from a calling make: -j, its job server, its variables.
unset MAKEFLAGS MFLAGS MAKELEVEL

# Extended regular expressions over "FILE: REASON": tests that cannot run on CI's machine, each with
# the part that tests the same promise instead.
may_skip=(
	'^e2e(-slow)?: needs systemd on the unified layout$'       # vm runs it
	'^e2e(-slow)?: would add a user to this machine$'          # vm runs it
	'^e2e(-slow)?: a user has no limits on the hybrid layout$' # vm runs it
	'^vm: no llvm-symbolizer here$'                            # e2e runs it
	'^agree: no reports in '                                   # not part of the project
)

passed=0
failed=0
skipped=0
broken=()
pid=    # the running part
declare -A background=() # the processes of start(), by name

# begin TEXT: prints a heading and resets the time.
begin() {
	printf '\n==== %s\n' "$1"
	SECONDS=0
}

# count PART STATUS FILE...: adds TAP files to the sums.
count() {
	local part=$1 status=$2 p=0 f=0 s=0 reasons=$out/$1.skips extra=0 file
	shift 2

	: >"$reasons"
	for file in "$@"; do
		[[ -s $file ]] || { echo "# ${file##*/}: no output"; extra=$((extra + 1)); }
	done
	[[ $# -eq 0 ]] ||
		read -r p f s < <(awk -v reasons="$reasons" -f ci/tap.awk "$@" 2>"$out/$part.bad")
	f=$((f + extra))
	if [[ $status -ne 0 && $f -eq 0 ]]; then
		echo "# $part: status $status, though no test says that it failed"
		f=1
	elif [[ $status -eq 0 && $((p + f + s)) -eq 0 ]]; then
		echo "# $part: no test ran"
		f=1
	fi
	cat "$out/$part.bad" 2>/dev/null
	if [[ ${CI:-} == true ]]; then
		forbid_skips "$reasons"
	fi
	passed=$((passed + p))
	failed=$((failed + f))
	skipped=$((skipped + s))
	[[ $f -eq 0 ]] || broken+=("$part")
	printf -- '---- %s: %d passed, %d failed, %d skipped; %d s\n' "$part" "$p" "$f" "$s" "$SECONDS"
}

# Moves skips that may_skip does not allow from s to f, the sums of count().
forbid_skips() {
	local line allowed pattern

	while IFS= read -r line; do
		allowed=
		for pattern in "${may_skip[@]}"; do
			[[ ! $line =~ $pattern ]] || allowed=1
		done
		[[ -z $allowed ]] || continue
		echo "# skipped, which CI does not allow: $line"
		s=$((s - 1))
		f=$((f + 1))
	done <"$1"
}

# run PART SECONDS COMMAND...: shows and logs the command's output, and sets status.
run() {
	local part=$1 limit=$2
	shift 2

	begin "$part: $*"
	: >"$out/$part.log" # must exist before tail starts
	timeout --kill-after=10 "$limit" "$@" </dev/null >"$out/$part.log" 2>&1 &
	pid=$!
	# Not a pipe to tee: a process that stays behind would keep the pipe open.  And the shell
	# handles a signal at once only in `wait`.
	tail -f -n +1 -s 0.2 --pid="$pid" "$out/$part.log" &
	shown=$!
	wait "$pid"
	status=$?
	pid=
	wait "$shown"
	[[ $status -ne 124 ]] || echo "# $part: not finished after $limit s"
}

# A part that is one test.
single() {
	run "$@"
	if [[ $status -eq 0 ]]; then
		printf '1..1\nok 1 - %s\n' "$1" >"$out/tap/$1"
	else
		printf '1..1\nnot ok 1 - %s\n' "$1" >"$out/tap/$1"
	fi
	count "$1" "$status" "$out/tap/$1"
}

# A part that runs under prove, which keeps each test's TAP.
proved() {
	local part=$1 files

	rm -rf "$out/tap/$part"
	mkdir -p "$out/tap/$part"
	PERL_TEST_HARNESS_DUMP_TAP=$out/tap/$part run "$@"
	mapfile -t files < <(find "$out/tap/$part" -type f | sort)
	count "$part" "$status" "${files[@]}"
}

# A part that prints TAP, possibly with other lines in between.
printed() {
	run "$@"
	tap_of "$1"
	count "$1" "$status" "$out/tap/$1"
}

tap_of() {
	grep -E '^(1\.\.[0-9]|ok( |$)|not ok|Bail out!)' "$out/$1.log" >"$out/tap/$1"
}

# start NAME SECONDS COMMAND...: runs it in the background.  The output goes to NAME.log, the exit
# status and the seconds to NAME.status.
start() {
	local name=$1 limit=$2 one=
	shift 2

	begin "$name: start in the background"
	rm -f "$out/$name.status"
	{
		trap 'kill $one 2>/dev/null; wait; exit 143' TERM
		timeout --kill-after=30 "$limit" "$@" </dev/null >"$out/$name.log" 2>&1 &
		one=$!
		wait "$one"
		echo "$? $SECONDS" >"$out/$name.status"
	} &
	background[$name]=$!
}

# hear NAME: waits for what start() began, and shows and counts its output.
hear() {
	begin "$1: in the background"
	wait "${background[$1]}"
	status=1
	read -r status SECONDS <"$out/$1.status"
	cat "$out/$1.log"
	tap_of "$1"
	count "$1" "$status" "$out/tap/$1"
}

# timeout passes the signal on to its whole process group, including ci/vm.sh.
cleanup() {
	local p

	for p in $pid "${background[@]}"; do
		kill "$p" 2>/dev/null
	done
	wait
}

# excerpt PART: which of its tests failed, and the first and last lines that each of them printed.
excerpt() {
	cat "$out/$1.bad" 2>/dev/null
	awk '
		function finish() {
			for (i = n > 18 ? n - 11 : 7; i <= n; i++)
				print line[i]
			n = 0
		}
		/^(not )?ok / { finish(); failed = /^not ok/ && !/# *[Ss][Kk][Ii][Pp]/; if (failed) print; next }
		failed && /^#/ { line[++n] = $0; if (n <= 6) print }
		END { finish() }' "$out/$1.log" | tail -n 120
}

# The parts of a tier.  The slow end-to-end tests measure seconds, so no other part runs beside them
# but the analysers, which take what is idle.  The virtual machines share the rest's time: each uses
# a core or two, and the second one starts when the other parts have ended.
plan() {
	case $1 in
	soon) echo deps lint build unit agree e2e publish ;;
	rest) echo deps-all analyse-start e2e-slow slurm vm-start formats web docker reports systemd-start analyse-end vm-end systemd-end ;;
	all) plan soon && plan rest ;;
	*) echo "$1" ;;
	esac
}

part() {
	case $1 in
	deps) single deps 1200 ci/deps.sh check ;;
	deps-all) single deps-all 1200 ci/deps.sh check-all ;;
	lint) printed lint 600 env B="$B" ci/lint.sh quick ;;
	build) single build 600 "$make" -s -j2 B="$B" all ;;
	unit)
		single unit-build 1200 "$make" -s -j2 B="$B" unit-san-built
		proved unit 1800 "$make" -s B="$B" unit-san
		;;
	agree) printed agree 600 "$make" -s -j2 B="$B" agree ;;
	e2e)
		single targets 900 "$make" -s -j2 B="$B" targets
		printed e2e 1800 "$make" -s B="$B" e2e TAGS='!slow'
		;;
	e2e-slow) printed e2e-slow 3300 "$make" -s B="$B" e2e TAGS=slow ;;
	analyse-start) start analyse 5000 chrt --idle 0 env B="$B" ci/lint.sh slow ;;
	vm-start) start vm 3500 "$make" -s B="$B" vm ;;
	systemd-start) start systemd 2400 "$make" -s B="$B" systemd-tests ;;
	reports) printed reports 2400 "$make" -s -j2 B="$B" reports ;;
	analyse) printed analyse 3000 env B="$B" ci/lint.sh slow ;;
	analyse-end) hear analyse ;;
	publish) printed publish 1200 "$make" -s -j2 B="$B" publish-tests ;;
	formats) printed formats 600 "$make" -s -j2 B="$B" formats-tests ;;
	web) printed web 1800 "$make" -s -j2 B="$B" web-tests ;;
	slurm) printed slurm 1500 "$make" -s -j2 B="$B" slurm-tests ;;
	docker) printed docker 1800 "$make" -s -j2 B="$B" docker-tests ;;
	vm-end) hear vm ;;
	systemd-end) hear systemd ;;
	*)
		echo "check: no part '$1'" >&2
		exit 2
		;;
	esac
}

mkdir -p "$out/tap"
rm -f "$out"/*.bad
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
parts=()
for name in "$@"; do
	read -r -d '' -a more < <(plan "$name")
	parts+=("${more[@]}")
done
for name in "${parts[@]}"; do
	part "$name"
done

[[ ${#broken[@]} -eq 0 ]] || printf '\nfailed: %s (see %s)\n' "${broken[*]}" "$out"
for name in "${broken[@]}"; do
	excerpt "$name"
done
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[[ $failed -eq 0 ]]
