# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile, after its first rule.  `make examples` builds the
# real targets of the demo into $B/demo/targets, in the OSS-Fuzz layout: an output
# directory a sanitizer.  Sources and logs are in $B/demo/targets.work.
B      ?= build
FUZZCC ?= clang

examples:
	FUZZCC=$(FUZZCC) examples/build.sh $B/demo/targets address undefined memory coverage

.PHONY: examples
