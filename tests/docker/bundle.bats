#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The archives of `fuzzcell crash export`, on a system that has only the packages of their
# Dockerfile: reproduce.sh runs them in Docker.  ci/docker.sh starts the daemon.
load ../e2e/lib
bats_require_minimum_version 1.5.0

setup_file() {
	docker tag "$FUZZCELL_BASE" debian:bookworm-slim
}

setup() {
	e2e_setup
	config '"minimize_time": "off"'
	mkdir "$WORK/bin" "$WORK/there"
	# The daemon has no network of its own.
	cat >"$WORK/bin/docker" <<-END
		#!/bin/sh
		[ "\$1" != build ] || { shift && set -- build --network host "\$@"; }
		exec $(command -v docker) "\$@"
	END
	chmod +x "$WORK/bin/docker"
}
teardown() { e2e_teardown; }

# reproduces TARGET KIND TEXT TYPE: the crash of an input in a queue, from its archive alone.
reproduces() {
	local sig
	queue "$1" "$2" "$3"
	run timeout $((300 * SLOW)) "$FUZZCELL" crash triage --state-dir "$STATE" --targets "$TARGETS" --filter "$1"
	echo "$output"
	[ "$status" -eq 0 ]
	sig=$(ledger 'keys[0]')
	[[ $(ledger '.[].crash_type') == "$4"* ]]
	"$FUZZCELL" crash export "$sig" --state-dir "$STATE" --targets "$TARGETS" -o "$WORK/it.tgz"
	tar -xzf "$WORK/it.tgz" -C "$WORK/there"
	rm -r "$STATE" "$WORK/it.tgz"
	run env -i PATH="$WORK/bin:/usr/bin:/bin" HOME="$WORK" DOCKER_HOST="$DOCKER_HOST" \
		DOCKER_BUILDKIT=0 sh "$WORK/there/$1-$sig/reproduce.sh"
	echo "$output" | tail -n 60
	[ "$status" -eq 1 ]
	[[ $output == *"reproduce.sh: crash $sig, by what its report says" ]]
	printf harmless >"$WORK/harmless"
	run env PATH="$WORK/bin:$PATH" sh "$WORK/there/$1-$sig/reproduce.sh" "$WORK/harmless"
	[ "$status" -eq 0 ]
	[[ $output == *'reproduce.sh: it passes' ]]
}

@test "an archive reproduces in Docker: AddressSanitizer" {
	reproduces uaf_fuzzer crash 'UA first' Heap-use-after-free
}

@test "an archive reproduces in Docker: UndefinedBehaviorSanitizer" {
	reproduces ub_fuzzer crash U Integer-overflow
}

@test "an archive reproduces in Docker: MemorySanitizer" {
	reproduces uninit_fuzzer crash V Use-of-uninitialized-value
}

@test "an archive reproduces in Docker: a leak" {
	reproduces leak_fuzzer leak L Direct-leak
}

@test "an archive reproduces in Docker: a timeout" {
	reproduces timeout_fuzzer timeout T Timeout
}

@test "an archive reproduces in Docker: out of memory" {
	reproduces bigmalloc_fuzzer oom B Out-of-memory
}
