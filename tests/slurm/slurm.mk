# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  `make slurm-tests` runs rounds of shards under a Slurm of its own on
# this machine, as TAP.  Needs root.
slurm-tests: all targets
	FUZZCC=$(FUZZCC) examples/build.sh $B/demo/targets address >&2
	FUZZCELL=$(abspath $B/fuzzcell) TARGETS=$(abspath $B/targets) \
		REAL=$(abspath $B/demo/targets/address) bats --tap -T tests/slurm

.PHONY: slurm-tests
