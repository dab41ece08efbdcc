# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  The project's checks; ci/check.sh has the order in which `make
# check` runs them.
PROVE := prove --timer -j2

# cmocka and the corpora's replays print TAP; prove also sees crashes and exit codes.
unit: $(TESTS) $(REPLAY)
	$(if $(TESTS),$(PROVE) --exec '' $(TESTS))
	$(if $(REPLAY),$(PROVE) --exec ci/replay.sh $(REPLAY))

# The same by clang, under ASan and UBSan; unit.h does not compile without them.
SAN_MAKE = $(MAKE) CC=clang SAN=1 B=$B-san
unit-san: ; +$(SAN_MAKE) unit

unit-built: $(TESTS) $(REPLAY)
unit-san-built: ; +$(SAN_MAKE) unit-built

# In real cells, on this machine's cgroup layout; needs root.  Several files run at a time, because
# tests mostly wait.  TAGS=slow: tests that take more than 5 seconds; TAGS='!slow': the others.
# E2E=tests/e2e/NAME.bats: one file.  The files with the most slow tests begin, so that both workers
# are busy until the end.
E2E ?= $(shell grep -c 'test_tags=.*slow' tests/e2e/*.bats | sort -t: -k2,2nr -k1,1 | cut -d: -f1)
e2e: all targets
	FUZZCELL=$(abspath $B/fuzzcell) TARGETS=$(abspath $B/targets) \
		bats --tap -T --jobs $(shell nproc) --no-parallelize-within-files \
		$(if $(TAGS),--filter-tags '$(TAGS)') $(E2E)

# Runs the tests that depend on the machine in a Debian with the unified layout.  VM_NOT has the
# suites that do not run there: they take minutes here, and would take an hour in an emulator.
# `after` still tests the steps after fuzzing there, and the remaining suites test verdicts.  The
# tag "host" excludes single tests that would show nothing else there.
VM_NOT   := afl afl_isolation bisect bugs build build_cell builds ci claims control corpus corpus_commands corpus_intree coverage crash disk doctor go \
	    fetch_limits health \
	    history json metrics notify odd_files operations outbox owner partners push regress serve shards shared strategies terminal timeouts \
	    token_env triage trigger truth variants verdict words
VM_TESTS := $(filter-out $(VM_NOT:%=tests/e2e/%.bats),$(wildcard tests/e2e/*.bats))
vm: all targets
	ci/vm.sh --binary $B/fuzzcell --targets $B/targets --timeout 3300 \
		-- bats --tap -T --filter-tags "!host" $(VM_TESTS)

lint:  ; B=$B ci/lint.sh
bench: all targets examples $B/bench/deltas $B/bench/start $B/bench/serve $B/bench/parse $B/bench/whole $B/fuzz/libfuzzer_line_fuzzer ; B=$B ci/bench.sh
check: ; @B=$B ci/check.sh soon
check-all: ; @B=$B ci/check.sh all
demo:  ; B=$B ci/demo.sh

-include tests/fuzz/fuzz.mk

.PHONY: unit unit-san unit-built unit-san-built e2e vm lint bench check check-all demo
