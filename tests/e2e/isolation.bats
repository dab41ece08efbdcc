# SPDX-License-Identifier: Apache-2.0
# Things that a cell must not see, change or reach.
load lib
load isolation
setup() { e2e_setup; }
teardown() { e2e_teardown; }

# bats test_tags=slow
@test "no network: no address can be reached" {
	reaches_no_network 5
}

# bats test_tags=slow
@test "no network: a socket in a directory that a cell sees is not reached" {
	mkdir "$WORK/out"
	cp "$TARGETS/network_fuzzer" "$WORK/out"
	perl -MIO::Socket::UNIX -e '
		my $s = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1) or die; sleep 300' \
		"$WORK/out/socket" 3>&- &
	outside=$!
	wait_until 10 test -S "$WORK/out/socket"
	chmod 0777 "$WORK/out/socket"
	config '"env": {"PLANTED_SOCKET": "/target/socket"}'
	TARGETS=$WORK/out
	fuzz network_fuzzer 5
	kill "$outside"
	grep -aq '^planted: connect AF_UNIX path' "$LOGS/$TARGET.log"
	[ "$(successes | grep -vc 'socket AF_UNIX')" -eq 0 ]
	[ "$(value failures_total)" -eq 0 ]
}

# bats test_tags=slow
@test "no escape: files, privileges, kernel" {
	does_not_escape 6
}

@test "a forbidden system call is refused and named, and its input is saved" {
	config '"max_crashes": 1'
	fuzz syscall_fuzzer 60
	[[ $(value syscalls_refused) == *bpf* ]]
	[ "$(failures syscall)" -ge 1 ]
	[ "$(artifacts syscall)" -ge 1 ]
}

# bats test_tags=host,slow
@test "a call that was already refused at the start is a finding of the first input that makes it" {
	config '"env": {"CALL_OTHERS": "1"}'
	fuzz startcall_fuzzer 5
	[ "$(value reason)" = time-limit ]
	[ "$(failures syscall)" -eq 1 ]
	[ "$(value failures_total)" -eq 1 ]
	[ "$(artifacts syscall)" -eq 1 ]
	[ "$(ledger '.[] | [.crash_type, .crash_state[0], .state] | join(" ")')" = \
		"Refused-system-call bpf new" ]
}

# bats test_tags=host
@test "a refused call that does not reproduce keeps its name" {
	config '"max_crashes": 1, "env": {"CALL_AFTER": "10"}'
	fuzz startcall_fuzzer 60
	[ "$(artifacts syscall)" -eq 1 ]
	[ "$(ledger '.[] | [.crash_type, .crash_state[0], .state] | join(" ")')" = \
		"Refused-system-call bpf flaky" ]
}

# bats test_tags=slow
@test "system calls of the other ABI do not bypass the filter" {
	fuzz syscall32_fuzzer 5
	[ -z "$(successes)" ]
}

@test "a target that deletes its corpus damages only its own copy" {
	eats_only_its_copy 4
}

@test "output that imitates the engine changes no verdict" {
	fuzz forge_fuzzer 4
	[ "$(value reason)" = time-limit ]
	[ "$(value failures_total)" -eq 0 ]
}

@test "the symbolizer works behind the system call filter" {
	command -v llvm-symbolizer >/dev/null || skip 'no llvm-symbolizer here'
	mkdir "$WORK/out"
	cp "$TARGETS/crash_fuzzer" "$WORK/out/symbols"
	cat >"$WORK/out/symbolize_fuzzer" <<-'END'
		#!/bin/sh
		# LLVMFuzzerTestOneInput
		llvm-symbolizer --obj=/target/symbols "$ADDRESS" >&2
	END
	chmod 0755 "$WORK/out/symbolize_fuzzer"
	address=0x$(nm "$WORK/out/symbols" | sed -n 's/ T LLVMFuzzerTestOneInput$//p')
	config '"env": {"ADDRESS": "'"$address"'"}'
	TARGETS=$WORK/out
	fuzz symbolize_fuzzer 10
	grep -q '^LLVMFuzzerTestOneInput$' "$LOGS/$TARGET.log"
	[ "$(value syscalls_refused)" = "" ]
}
