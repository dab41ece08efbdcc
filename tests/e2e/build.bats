# SPDX-License-Identifier: Apache-2.0
# Targets are built before they are fuzzed: a Bazel workspace (tests/bazel, with the distribution's
# Bazel, offline), or the output of a configured command.
load lib

setup_file() {
	export WS=$BATS_FILE_TMPDIR/ws OUT=$BATS_FILE_TMPDIR/out
	command -v bazel >/dev/null || skip 'no bazel here'
	mkdir "$OUT"
	chmod 0755 "$BATS_FILE_TMPDIR"
	cp -r "$BATS_TEST_DIRNAME/../bazel" "$WS"
}

setup() {
	e2e_setup
	sources "$(bazel_source)"
}

teardown() {
	[ ! -d "$WS" ] || cp "$BATS_TEST_DIRNAME/../bazel/broken/half.cc" "$WS/broken/half.cc"
	e2e_teardown
}

# Each command starts a Bazel server, which lives for seconds: JIT optimisation does not pay.
QUICK='"--host_jvm_args=-XX:TieredStopAtLevel=1", "--host_jvm_args=-XX:+UseSerialGC"'

# bazel_source [KEY VALUE...]: a Bazel source, with more keys in JSON.
bazel_source() {
	local more=
	while [ $# -gt 0 ]; do
		more+=", \"$1\": $2"
		shift 2
	done
	echo "{\"type\": \"bazel\", \"path\": \"$WS\", \"build_as_root\": true,
		\"startup_options\": [\"--output_user_root=$OUT\", $QUICK]$more}"
}

sources() { # JSON
	config ''
	jq --argjson s "[$1]" '.discovery = $s' "$STATE/config.json" >"$STATE/config.new"
	mv "$STATE/config.new" "$STATE/config.json"
}

cell() { # COMMAND [OPTION...]: runs fuzzcell; Bazel's server inherits none of bats' descriptors
	run timeout $((300 * SLOW)) "$FUZZCELL" "$1" --state-dir "$STATE" "${@:2}" 3>&-
	echo "$output"
	LOGS=$(last_logs)
}

mend() { echo '#define MENDED' >"$WS/broken/new" && cat "$WS/broken/half.cc" >>"$WS/broken/new" &&
	mv "$WS/broken/new" "$WS/broken/half.cc"; }

row() { # TARGET KEY: of the last run
	TARGET=$1
	value "$2"
}

# bats test_tags=slow
@test "bazel: targets are found with the corpora and dictionaries of their rules" {
	cell list --json
	[ "$status" -eq 0 ]
	json=$output
	[ "$(jq -r '[.targets[].name] | join(" ")' <<<"$json")" = \
		'half_fuzzer line_fuzzer pair_fuzzer words_fuzzer' ]
	[ "$(jq -r '.targets[] | select(.name == "pair_fuzzer").dictionary' <<<"$json")" = \
		"$WS/text/pair.dict" ]
	jq -r '.notes[] | select(.warning).why' <<<"$json" | grep -q '//text:line_fuzzer_bin is not built'
	no_server "$OUT"
}

# bats test_tags=slow
@test "bazel: a target that fails to build is named, the others are fuzzed from their corpora" {
	cell run --plain --max-fuzzer-time 4s
	[ "$status" -eq 5 ]
	[[ $output == *"failed  //broken:half_fuzzer: an action of //broken:half failed"* ]]
	[[ $output == *"half_fuzzer was NOT FUZZED (no-binary): //broken:half_fuzzer did not build: an action of //broken:half failed: broken/half.cc:3:2: error: \"this does not compile\""* ]]
	[ "$(row half_fuzzer reason)" = no-binary ]
	for t in line_fuzzer pair_fuzzer words_fuzzer; do
		[ "$(row "$t" reason)" = time-limit ]
		[ "$(row "$t" seeds)" -ge 1 ]
	done
	[ "$(row line_fuzzer seeds)" -eq 2 ]
	grep -q 'Dictionary: 1 entries' "$LOGS/pair_fuzzer.log"
	cell doctor --json --filter half_fuzzer
	[ "$status" -eq 5 ]
	[[ $(jq -r '.targets[].findings[] | select(.code == "no-binary").reason' <<<"$output") == *"did not build"* ]]
	grep -q 'does not compile' "$STATE"/logs/build-*.log
	grep -q AddressSanitizer "$LOGS/line_fuzzer.log" ||
		nm -D "$OUT"/*/execroot/fuzzed/bazel-out/*/bin/text/line_fuzzer_bin | grep -q __asan
}

# bats test_tags=slow
@test "bazel: the stale binary of an earlier build is never fuzzed" {
	mend
	cell build
	[ "$status" -eq 0 ]
	[[ $output == *"built   //broken:half_fuzzer"* ]]
	[[ $output == *"4 targets can be fuzzed, 0 can not"* ]]
	cp "$BATS_TEST_DIRNAME/../bazel/broken/half.cc" "$WS/broken/half.cc"
	cell build
	[ "$status" -eq 5 ]
	[ -n "$(find "$OUT" -name half_fuzzer -type f -perm /100)" ] # the stale binary exists
	cell run --plain --no-build --filter half_fuzzer --max-fuzzer-time 3s
	[ "$status" -eq 5 ]
	[[ $output != *"build of"* ]]
	[ "$(row half_fuzzer reason)" = no-binary ]
	cell regress --filter half_fuzzer
	[ "$status" -eq 5 ]
	[[ $output == *"//broken:half_fuzzer did not build"* ]]
	mend
	cell run --plain --filter half_fuzzer --max-fuzzer-time 3s
	[ "$status" -eq 0 ]
	[ "$(row half_fuzzer reason)" = time-limit ]
}

# bats test_tags=slow
@test "bazel: a build without any target ends with 6 and Bazel's error, without a run" {
	sources "$(bazel_source flags '["--config=no_such_config"]')"
	cell run --plain
	[ "$status" -eq 6 ]
	[[ $output == *"no_such_config"* ]]
	[ -z "$LOGS" ]
	sources "$(bazel_source query '"no_such_function(//...)"')"
	cell build
	[ "$status" -eq 6 ]
	[[ $output == *"no_such_function"* ]]
	sources "$(bazel_source query '"//broken:half_fuzzer"')"
	cell run --plain
	[ "$status" -eq 6 ]
	[ -z "$LOGS" ]
}

@test "bazel: a Bazel version that is not installed is named" {
	echo 7.1.0 >"$WS/.bazelversion"
	cell list
	rm "$WS/.bazelversion"
	[ "$status" -eq 2 ]
	[[ $output == *"requires Bazel 7.1.0 (specified in $WS/.bazelversion)"* ]]
	[[ $output != *"x1b"* ]]
}

@test "bazel: list ends with 5 when a package could not be loaded" {
	cat >"$WORK/bazel" <<-'END'
		#!/bin/sh
		case $* in
		*output=label*) echo //p:a && echo 'ERROR: wrong/BUILD: no such rule' >&2 && exit 3 ;;
		*output=xml*) echo '<query/>' ;;
		*cquery*) printf '//p:a\tout/a\n' ;;
		*info*) echo /nowhere ;;
		esac
	END
	chmod 0755 "$WORK/bazel"
	sources "$(bazel_source bazel "\"$WORK/bazel\"")"
	cell list
	[ "$status" -eq 5 ]
	[[ $output == *"there may be more targets: wrong/BUILD: no such rule"* ]]
	sed -i 's/exit 3/exit 0/' "$WORK/bazel"
	cell list
	[ "$status" -eq 0 ]
}

# bats test_tags=slow
@test "bazel: a crash keeps its label, its corpus and the command that builds the target" {
	mkdir -p "$WORK/ws/p/uaf_fuzzer_corpus"
	touch "$WORK/ws/WORKSPACE"
	echo 0 >"$WORK/code"
	echo seed >"$WORK/ws/p/uaf_fuzzer_corpus/seed"
	cat >"$WORK/bazel" <<-END
		#!/bin/sh
		case \$* in
		*output=label*) echo //p:uaf_fuzzer && exit \$(cat "$WORK/code") ;;
		*output=xml*) echo '<query/>' ;;
		*cquery*) printf '//p:uaf_fuzzer\t%s\n' "${TARGETS##*/}/uaf_fuzzer" ;;
		*info*) echo "${TARGETS%/*}" ;;
		esac
	END
	chmod 0755 "$WORK/bazel"
	sources "{\"type\": \"bazel\", \"path\": \"$WORK/ws\", \"build_as_root\": true,
		\"bazel\": \"$WORK/bazel\", \"flags\": [\"--config=fuzz\", \"--copt=-g\"]}"
	local label=//p:uaf_fuzzer corpus=p/uaf_fuzzer_corpus
	local build="bazel build --config=fuzz --copt=-g $label"
	cell list --all
	[ "$status" -eq 0 ]
	[[ $output == *"in-tree  $label"*"in-tree $WORK/ws/$corpus"*"build   $build"* ]]
	cell list --json
	[ "$(jq -r '.targets[0] | "\(.label) \(.in_tree[0]) \(.build)"' <<<"$output")" = \
		"$label $WORK/ws/$corpus $build" ]
	cell run --no-build --plain --max-fuzzer-time 5s
	[ "$(row uaf_fuzzer seeds)" -ge 1 ]
	local crash
	crash=$(jq -r 'keys[0]' "$STATE/known_crashes.json")
	run "$FUZZCELL" crash show --state-dir "$STATE" "$crash"
	echo "$output"
	[[ $output == *"label         $label"*"corpus        $corpus"*"build         $build"* ]]
	run "$FUZZCELL" crash show --json --state-dir "$STATE" "$crash"
	[ "$(jq -r '"\(.label) \(.corpus) \(.build)"' <<<"$output")" = "$label $corpus $build" ]
	run "$FUZZCELL" crash export -o "$WORK/x.tgz" --state-dir "$STATE" "$crash" 3>&-
	echo "$output"
	[ "$status" -eq 0 ]
	tar -xzOf "$WORK/x.tgz" --wildcards '*/environment' >"$WORK/environment"
	[ "$(grep -E '^(label|corpus|build): ' "$WORK/environment")" = \
		"label: $label"$'\n'"corpus: $corpus"$'\n'"build: $build" ]
	cell regress --allow-known
	[ "$status" -eq 0 ]
	echo 3 >"$WORK/code"
	cell regress --allow-known # there may be more targets
	[ "$status" -eq 5 ]
}

# bats test_tags=slow
@test "bazel: another query, for the rules that cc_fuzz_test() makes" {
	sources "$(bazel_source query '"attr(generator_function, \"^cc_fuzz_test$\", kind(fuzzing_binary, //...))"')"
	cell run --plain --max-fuzzer-time 3s
	[ "$status" -eq 0 ]
	[ "$(row tested reason)" = time-limit ]
	[ "$(row tested seeds)" -eq 1 ]
}

# bats test_tags=slow
@test "bazel: a broken package is reported, and targets outside of it are fuzzed" {
	mkdir "$WS/wrong"
	echo 'fail("no rule for x")' >"$WS/wrong/BUILD"
	cell run --plain --filter line_fuzzer --max-fuzzer-time 3s
	rm -r "$WS/wrong"
	[ "$status" -eq 5 ]
	[[ $output == *"there may be more targets: "*"wrong/BUILD"*"Error in fail: no rule for x"* ]]
	[ "$(row line_fuzzer reason)" = time-limit ]
}

# bats test_tags=slow
@test "bazel: another user's workspace is built as that user, not as root" {
	id nobody >/dev/null || skip 'no user nobody'
	mkdir "$WORK/out"
	cp -r "$BATS_TEST_DIRNAME/../bazel" "$WORK/ws"
	chown -R nobody "$WORK/ws" "$WORK/out"
	WS=$WORK/ws OUT=$WORK/out
	sources "$(bazel_source query '"//text:line_fuzzer_bin"')"
	cell run --plain --max-fuzzer-time 3s
	[ "$status" -eq 0 ]
	[ "$(row line_fuzzer reason)" = time-limit ]
	[ -z "$(find "$WORK/out" "$WORK/ws" -user root -print -quit)" ]
	no_server "$WORK/out"
}

# Succeeds if no Bazel server of this output root outlived its command.
no_server() { # ROOT
	! pgrep -r D,R,S,T -f "$1/" >/dev/null
}

# A source with a build command, for the targets in $WORK/from.
command_source() { # SCRIPT
	mkdir -p "$WORK/built" "$WORK/from"
	jq -n --arg built "$WORK/built" --arg from "$WORK/from" --arg script "$1" \
		'{type: "directory", path: $built, build: ["sh", "-c", $script], build_dir: $from,
		  build_time: "10m", build_as_root: true}'
}

@test "a build command starts in build_dir and fills the output directory" {
	sources "$(command_source "install \$PWD/*_fuzzer $WORK/built; env >$WORK/env")"
	cp "$TARGETS/healthy_fuzzer" "$WORK/from"
	UNIT_TEST_TOKEN=secret cell run --plain --max-fuzzer-time 3s
	[ "$status" -eq 0 ]
	[ "$(row healthy_fuzzer reason)" = time-limit ]
	[ "$(grep -c secret "$WORK/env")" -eq 0 ]
}

@test "config check accepts a directory that a build will make, and refuses a missing one otherwise" {
	sources '{"type": "directory", "path": "'"$WORK"'/made", "build": ["true"], "build_as_root": true}'
	cell config check
	[ "$status" -eq 0 ]
	[[ $output == *"note: $WORK/made is missing: build it first"*'configuration is good'* ]]
	mkdir "$WORK/made" # and empty
	cell config check
	[ "$status" -eq 0 ]
	[[ $output != *'build it first'* ]]
	sources '{"type": "directory", "path": "'"$WORK"'/other"}'
	cell config check
	[ "$status" -eq 2 ]
	[[ $output == *"$WORK/other"* ]]
}

@test "a failed build command: its fresh targets are fuzzed, its stale targets are not" {
	sources "$(command_source "install \$PWD/*_fuzzer $WORK/built; echo 'no compiler' >&2; exit 2")"
	cp "$TARGETS/healthy_fuzzer" "$WORK/from"
	install "$TARGETS/twenty_fuzzer" "$WORK/built"
	sleep 0.2
	cell run --plain --max-fuzzer-time 3s
	[ "$status" -eq 5 ]
	[[ $output == *"sh ended with 2: no compiler"* ]]
	[[ $output == *"not fuzzed; a build failed;"* ]]
	[ "$(jq .build_failed "$STATE"/logs/*/summary.json)" = true ]
	[ "$("$FUZZCELL" report --state-dir "$STATE" last | grep -c 'a build failed')" -eq 1 ]
	[ "$(row healthy_fuzzer reason)" = time-limit ]
	[ "$(row twenty_fuzzer reason)" = no-binary ]
	[[ $output == *"did not write these again: twenty_fuzzer; they are not fuzzed"* ]]
	rm "$WORK/from/healthy_fuzzer"
	sleep 0.2
	cell run --plain
	[ "$status" -eq 6 ]
	[[ $output == *"nothing was built, nothing is fuzzed"* ]]
	[[ $output == *"did not write these again: healthy_fuzzer, twenty_fuzzer; they"* ]]
}

@test "the build command of the manual: one broken target does not stop the others" {
	# docs/discovery.md: a fresh directory, and on after what fails.
	sources "$(command_source 'rm -rf out && mkdir out && make -s -k fuzzers OUT=out')"
	jq --arg out "$WORK/from/out" '.discovery[0].path = $out' "$STATE/config.json" >"$WORK/c" &&
		cp "$WORK/c" "$STATE/config.json"
	cp "$TARGETS/healthy_fuzzer" "$TARGETS/twenty_fuzzer" "$WORK/from"
	printf '%s\n' 'fuzzers: $(OUT)/healthy_fuzzer $(OUT)/twenty_fuzzer' \
		'$(OUT)/%_fuzzer: %_fuzzer ; @install $< $@' >"$WORK/from/Makefile"
	cell build
	[ "$status" -eq 0 ]
	rm "$WORK/from/twenty_fuzzer"
	sleep 0.2
	cell run --plain --max-fuzzer-time 3s
	[ "$status" -eq 5 ]
	[[ $output == *"sh ended with 2: make: *** No rule to make target"* ]]
	[[ $output != *"did not write these again"* ]]
	[ "$(row healthy_fuzzer reason)" = time-limit ]
}

@test "a build that takes too long or is stopped ends with all its processes" {
	sources "$(command_source "echo \$\$ >$WORK/pid; sleep 1000 & wait")"
	jq '.discovery[0].build_time = "4s"' "$STATE/config.json" >"$WORK/c" &&
		cp "$WORK/c" "$STATE/config.json"
	cell build
	[ "$status" -eq 6 ]
	[[ $output == *"took more than 4s"* ]]
	wait_until 60 group_gone
	rm "$WORK/pid"
	sources "$(command_source "echo \$\$ >$WORK/pid; sleep 1000 & wait")"
	"$FUZZCELL" run --plain --state-dir "$STATE" >"$WORK/log" 2>&1 3>&- &
	PID=$!
	wait_until 60 test -s "$WORK/pid"
	# The lock is held meanwhile: no second build in the same place.
	run "$FUZZCELL" build --state-dir "$STATE"
	[ "$status" -eq 4 ]
	kill -TERM "$PID"
	status=0
	wait "$PID" || status=$?
	PID=
	cat "$WORK/log"
	[ "$status" -eq 6 ]
	grep -q 'stopped by signal 15' "$WORK/log"
	wait_until 60 group_gone
	[ -z "$(last_logs)" ]
}

# No process of the group runs.  Zombies do not count: their new parent reaps them later.
group_gone() { ! pgrep -r D,R,S,T -g "$(cat "$WORK/pid")" >/dev/null; }

# bats test_tags=slow
@test "bazel: a build that is stopped leaves the workspace to the next one" {
	printf '#define MENDED\nint after(int n) { return n; }\n' >"$WS/broken/half.cc"
	mkdir -p "$WS/slow"
	SLEEP="sleep 1000.$$" # unique: no other process has this command line
	cat >"$WS/slow/BUILD" <<-END
		genrule(name = "slow", outs = ["slow.cc"], cmd = "$SLEEP; cp \$(location //text:line_fuzzer.cc) \$@",
			srcs = ["//text:line_fuzzer.cc"])
		cc_binary(name = "slow_fuzzer", srcs = ["slow.cc"], linkopts = ["-fsanitize=fuzzer"],
			tags = ["fuzz_target"])
	END
	"$FUZZCELL" build --state-dir "$STATE" >"$WORK/log" 2>&1 3>&- &
	PID=$!
	wait_until 240 is_slow # a server may have to start
	kill -INT "$PID"
	status=0
	wait "$PID" || status=$?
	PID=
	cat "$WORK/log"
	rm -r "$WS/slow"
	[ "$status" -eq 6 ]
	wait_until 60 eval '! is_slow'
	cell build
	[ "$status" -eq 0 ]
}

is_slow() { pgrep -f "$SLEEP; cp text" >/dev/null; }

@test "build without a build command is wrong usage; run continues without a build" {
	sources "{\"type\": \"directory\", \"path\": \"$TARGETS\"}"
	cell build
	[ "$status" -eq 2 ]
	[[ $output == *"nothing to build"* ]]
	cell run --plain --dry-run
	[ "$status" -eq 0 ]
}
