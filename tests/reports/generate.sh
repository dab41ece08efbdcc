#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Crash reports of planted bugs: builds bugs.c and its neighbours, and bugs.cc, with each installed
# clang and every sanitizer.  Runs every line of expected.table, and keeps the output of each
# process with its expected reading, for tests/reports/check.c.
#
# usage: tests/reports/generate.sh OUT [CLANG...]     default: 14 16 19
#
#   OUT/CLANG-FLAVOUR-LANGUAGE/BUG.RUN   reports; RUN: see run_as()
#   OUT/expected.jsonl                   one object a report
#   OUT/bin/                             the programs
#
# Status 1 when a program could not be built or no clang is installed.  When a bug did not end as
# its line says, its object has the difference ("ended").  CASES=REGEX: only lines that match.
set -u -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
here=tests/reports

# Sets the properties of a flavour: build, the sanitizer of its program; kind, the kind of its own
# reports; and options, which follow the options of every run.
flavour() {
	build=${1%%-*}
	extra=
	case $1 in
	address*) kind=asan ;;
	undefined*) kind=ubsan ;;
	memory*) kind=msan ;;
	thread*) kind=tsan ;;
	leak*) kind=lsan ;;
	none) kind=ubsan ;; # libFuzzer brings that runtime, which reports the signals
	esac
	case $1 in
	*-strict) # the options of the big platforms; also lines that are noise for us
		extra=handle_abort=1:handle_sigill=1:allocator_may_return_null=0
		extra+=:print_scariness=1:dedup_token_length=3:verbosity=1 ;;
	*-on) extra=halt_on_error=0 ;;
	*-bare) extra=print_stacktrace=0 ;;
	*-default) extra=stack_trace_format=DEFAULT ;;
	*-origins) build=memory-origins ;;
	fast* | extensive*) kind=asan ;; # libc++'s hardening
	esac
}

# Sets the properties of an end: its statuses, and the beginning of its artifact's name ("-": no
# artifact, "?": any).
end_is() {
	case $1 in
	sanitizer) statuses=76 artifact=crash ;;
	race) statuses=76 artifact='?' ;;
	runs-on) statuses='0|76' artifact='?' ;;
	signal | exit | const) statuses=77 artifact=crash ;;
	# Not always by libFuzzer: LSan finds a leak that is still on the stack at exit, when
	# libFuzzer names the empty input.
	leak) statuses='76|77' artifact='?' ;;
	timeout) statuses=70 artifact=timeout ;;
	oom) statuses=71 artifact=oom ;;
	interrupted) statuses=72 artifact=- ;;
	trap) statuses=133 artifact=- ;;
	torn) statuses=139 artifact=- ;; # the runtime died while it reported
	slow) statuses=0 artifact=slow-unit ;;
	clean) statuses=0 artifact=- ;;
	*) statuses="an unknown end, '$1'" artifact='?' ;;
	esac
}

# --- building -----------------------------------------------------------------

c_sources=("$here"/{bugs,shapes,ends,undefined,threads}.c)
cc_sources=("$here"/{bugs,ends}.cc)
llvm=/usr/lib/llvm-14 # a library that programs can be linked with

# Succeeds if this clang, and the sources of the program, are installed.
is_here() { # CLANG LANGUAGE
	case $2 in
	c | cc) ;;
	trap) [[ $1 -ge 19 ]] ;; # it has __builtin_verbose_trap()
	hard) [[ $1 -ge 19 && -d /usr/lib/llvm-$1/include/c++/v1 ]] ;;
	log) [[ -e /usr/include/glog/logging.h && -d /usr/include/absl && -d $llvm/include/llvm ]] ;;
	rust) command -v rustc >/dev/null ;;
	esac
}

# The programs other than the two large ones: each is a file with its own table.
build_other() {
	case $language in
	trap) "clang-$clang" -std=c11 "${flags[@]}" -o "$program" "$here/traps.c" ;;
	# libFuzzer is built with libstdc++, so both C++ libraries are linked.
	hard)
		"clang++-$clang" -std=c++20 -stdlib=libc++ "${flags[@]/fuzzer,/fuzzer-no-link,}" \
			"-D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_${build^^}" -c -o "$program.o" "$here/hardened.cc" &&
			"clang++-$clang" "${flags[@]}" -o "$program" "$program.o" \
				"-L/usr/lib/llvm-$clang/lib" "-Wl,-rpath,/usr/lib/llvm-$clang/lib" -lc++ -lc++abi
		;;
	log)
		"clang++-$clang" -std=c++17 "${flags[@]}" "-I$llvm/include" -o "$program" "$here/loggers.cc" \
			-lglog -labsl_raw_logging_internal -lcrypto "-L$llvm/lib" -lLLVM-14
		;;
	rust) # each clang's object has a hash of its own
		rustc -O -C debuginfo=0 -C metadata="$clang" -C panic=abort --crate-type staticlib \
			-o "$program.a" "$here/objects.rs" &&
			"clang-$clang" "${flags[@]}" -o "$program" \
				-Wl,--whole-archive "$program.a" -Wl,--no-whole-archive -lpthread -ldl -lm
		;;
	esac
}

# build_one CLANG BUILD LANGUAGE
build_one() {
	local clang=$1 build=$2 language=$3 program=$out/bin/$1-$2-$3
	local flags=(-I. -D_GNU_SOURCE -g -O1 -fno-omit-frame-pointer -w)

	is_here "$clang" "$language" || return 0
	case $build in
	fast | extensive) flags+=('-fsanitize=fuzzer,address') ;;
	none) flags+=(-fsanitize=fuzzer -fstack-protector-strong -D_FORTIFY_SOURCE=2) ;;
	memory-origins) flags+=('-fsanitize=fuzzer,memory' -fsanitize-memory-track-origins=2) ;;
	*) flags+=("-fsanitize=fuzzer,$build") ;;
	esac
	if [[ $language == cc ]]; then
		flags+=(-std=c++17 -D_GLIBCXX_SANITIZE_VECTOR -fsized-deallocation)
		flags+=(-fno-sanitize-recover=all) # in C by halt_on_error
		clang++-"$clang" "${flags[@]}" -o "$program" "${cc_sources[@]}" -lpthread
	elif [[ $language != c ]]; then
		build_other
	else
		clang-"$clang" -std=c11 "${flags[@]}" -o "$program" "${c_sources[@]}" -lpthread
	fi || return 1
	# Older runtimes do not start under the randomisation of newer kernels.
	: >"$program.wrap"
	for _ in 1 2 3 4; do
		timeout 20 "$program" -runs=0 >/dev/null 2>&1 </dev/null || echo setarch -R >"$program.wrap"
	done
}

# --- running ------------------------------------------------------------------

# The variables of libfuzzer_env() in runner/engine/, except for the symbolizer.
set_options() {
	local forced=symbolize=$symbolize:exitcode=76:abort_on_error=0:handle_abort=0:color=never
	local name

	forced+=:print_summary=1:halt_on_error=1:allocator_may_return_null=1${extra:+:$extra}
	export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:max_uar_stack_size_log=16
	ASAN_OPTIONS+=:detect_odr_violation=0:quarantine_size_mb=33:$forced
	export UBSAN_OPTIONS=print_stacktrace=1:silence_unsigned_overflow=1:$forced
	export MSAN_OPTIONS=$forced
	export TSAN_OPTIONS=report_signal_unsafe=0:report_thread_leaks=0:$forced
	export LSAN_OPTIONS=print_suppressions=0:$forced
	for name in ASAN UBSAN MSAN TSAN LSAN; do
		export "${name}_SYMBOLIZER_PATH=$symbolizer"
	done
}

# Sets symbolize and the engine's arguments for the run RUN of a case.  Each report is made twice,
# in different environments, which must not get into a signature.
run_as() {
	symbolize=1
	libc=
	unset BUG
	case $1 in
	file) args=(in) ;;
	again) args=(in) libc=no ;;
	seed) args=(-runs=1 seeds) libc=no ;;
	file-raw | again-raw) symbolize=0 args=(in) ;;
	seed-raw) symbolize=0 args=(-runs=1 seeds) ;;
	merge) args=(-merge=1 new seeds) ;;
	fork) args=(-fork=1 -runs=20 -max_total_time=10 new) ;;
	minimize) args=(-minimize_crash=1 -runs=20 -max_total_time=10 in) ;;
	esac
	case $1 in
	fork | minimize) export BUG=$bug ;;
	esac
}

# One process in a directory of its own, with limits on time, memory and files.
limited() {
	local program=$1 wrap
	shift
	read -r -a wrap <"$program.wrap" || true

	cd "$tmp" || exit 1
	export TMPDIR=$tmp # of forks and merges
	ulimit -t 20 -f 65536 -c 0
	# Whether libc has debug information here must not matter either.
	[[ -z $libc ]] || export LLVM_SYMBOLIZER_OPTS=--debug-file-directory=/nonexistent
	exec timeout -k 2 15 "${wrap[@]}" "$program" -rss_limit_mb=256 -timeout=$limit -seed=1 \
		-report_slow_units=1 -artifact_prefix=artifacts/ -print_funcs=0 "$@" </dev/null 2>&1
}

# Sets the process's status.  It runs in its own process group, because the children of a stopped
# fork stay.
execute() {
	local pid

	set -m
	limited "$@" &
	pid=$!
	set +m
	wait "$pid"
	status=$?
	kill -KILL -- -"$pid"
}

# ended RUN END STATUS: sets said to the difference from the expected end; empty without one.
ended() {
	local run=$1 status=$3 statuses artifact name

	said=
	end_is "$2"
	case $run in
	merge | minimize) statuses=0 artifact='?' ;;
	fork) [[ $2 == clean ]] || artifact='?' ;;
	file* | again*) [[ $artifact == '?' ]] || artifact=- ;;
	esac
	[[ "|$statuses|" == *"|$status|"* ]] || said="status $status, not $statuses;"
	[[ $artifact != '?' ]] || return 0
	for name in "$tmp"/artifacts/*; do
		name=${name##*/}
	done
	[[ ${name/#\*/-} == "$artifact"* ]] || said+=" artifact '$name', not '$artifact'"
}

# report RUN: makes one report and its object.
report() {
	local run=$1 status said file=$group/$bug.$1

	run_as "$run"
	limit=10
	[[ $end != timeout ]] || limit=1
	set_options
	rm -rf "$tmp"
	mkdir -p "$tmp/seeds" "$tmp/artifacts" "$tmp/new"
	printf %s "$bug" >"$tmp/in"
	cp "$tmp/in" "$tmp/seeds/in"
	# Without bash's message about a process that a signal ended.
	{ execute "$program" "${args[@]}" >"$out/$file"; } 2>/dev/null
	ended "$run" "$end" "$status"
	# One write: two processes write to this file.
	printf '{%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s}\n' \
		"\"report\": \"$file\"" "\"clang\": \"$clang\"" "\"flavour\": \"$flavour\"" \
		"\"language\": \"$language\"" "\"bug\": \"$bug\"" "\"run\": \"$run\"" \
		"\"frames\": \"$frames\"" "\"type\": \"${type//\//\\n}\"" "\"kind\": \"$kind\"" \
		"\"security\": \"$security\"" "\"remarks\": \"$remarks\"" "\"ended\": \"$said\""
}

# one_case CLANG 'LANGUAGE|FLAVOUR|BUG|...', of expected.table, without blanks around '|'
one_case() {
	local clang=$1 line=$2 run

	IFS='|' read -r language flavour bug frames type said_kind security end remarks <<<"$line"
	flavour "$flavour"
	[[ $said_kind == = ]] || kind=$said_kind
	program=$out/bin/$clang-$build-$language
	[[ -x $program ]] || return 0 # reported when it was built
	symbolizer=$(command -v "llvm-symbolizer-$clang" || command -v llvm-symbolizer)
	group=$clang-$flavour-$language
	tmp=$out/tmp/$group-$bug
	second=seed
	[[ " $remarks " != *' alone '* ]] || second=again
	for run in file $second file-raw $second-raw; do
		[[ $run == *-raw && " $remarks " == *' named '* ]] || report "$run"
	done
	for run in fork merge minimize; do
		[[ " $remarks " != *" $run "* ]] || report "$run"
	done
	rm -rf "$tmp"
}

# --- all of it ------------------------------------------------------------------

# The table's lines without comments and blanks, one for each flavour.
cases() {
	sed -E '/^(#|$)/d; s/ *\| */|/g' "$here/expected.table" | grep -E -- "${CASES:-.}" |
		awk -F'|' -v OFS='|' '{ n = split($2, f, ","); for (i = 1; i <= n; i++) { $2 = f[i]; print } }'
}

programs() {
	cases | while IFS='|' read -r language flavour _; do
		flavour "$flavour"
		echo "$build $language"
	done | sort -u
}

if [[ ${1:-} == --case ]]; then
	out=$2
	one_case "$3" "$4"
	exit
elif [[ ${1:-} == --build ]]; then
	out=$2
	build_one "$3" "$4" "$5"
	exit
fi

out=$(realpath -m "${1:?usage: tests/reports/generate.sh OUT [CLANG...]}")
shift
[[ $# -gt 0 ]] || set -- 14 16 19
clangs=()
for clang in "$@"; do
	[[ -z $(command -v "clang-$clang") ]] || clangs+=("$clang")
done
[[ ${#clangs[@]} -gt 0 ]] || { echo 'generate: no clang here' >&2; exit 1; }
rm -rf "$out"
mkdir -p "$out/bin" "$out/tmp"

status=0
for clang in "${clangs[@]}"; do
	programs | sed "s/^/$clang /"
done | xargs -P 2 -L 1 "$here/generate.sh" --build "$out" || status=1
for clang in "${clangs[@]}"; do
	cases | while IFS='|' read -r language flavour _; do
		mkdir -p "$out/$clang-$flavour-$language"
	done
	cases | sed "s/^/$clang\n/"
done | tr '\n' '\0' | xargs -0 -P 2 -n 2 "$here/generate.sh" --case "$out" >"$out/expected.jsonl" || status=1
rm -rf "$out/tmp"
exit "$status"
