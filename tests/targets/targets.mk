# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile, after its first rule.  `make targets` builds the planted targets into
# $B/targets, an output directory in the OSS-Fuzz layout: one executable and its
# side files a target.  Needs clang with libFuzzer, and zip (ci/deps.sh demo).
B      ?= build
FUZZCC ?= clang

PLANTED_DIR    := tests/targets
PLANTED_NAMES  := $(patsubst $(PLANTED_DIR)/%.c,%,$(wildcard $(PLANTED_DIR)/*_fuzzer.c))
PLANTED_CFLAGS := -std=c11 -D_GNU_SOURCE -g -O1 -fno-omit-frame-pointer -Wall -Wextra -Werror
PLANTED_HEADS  := $(wildcard $(PLANTED_DIR)/*.h)
PLANTED_SIDE   := $(patsubst $(PLANTED_DIR)/%,$B/targets/%,$(wildcard $(PLANTED_DIR)/*.dict \
                  $(PLANTED_DIR)/*.options)) $(patsubst $(PLANTED_DIR)/%,$B/targets/%.zip, \
                  $(wildcard $(PLANTED_DIR)/*_seed_corpus))

# The flags of a target: coverage and a sanitizer for compiling; the engine and the same sanitizer
# for linking.
PLANTED_SAN   = address
PLANTED_COVER = -fsanitize=fuzzer-no-link
PLANTED_RECOVERS = -fno-sanitize-recover=all
planted_san   = $(if $(PLANTED_SAN),-fsanitize=$(PLANTED_SAN) $(PLANTED_RECOVERS))

$B/targets/ub_fuzzer:      PLANTED_SAN = undefined
$B/targets/uninit_fuzzer:  PLANTED_SAN = memory
$B/targets/behind_fuzzer:  PLANTED_SAN = address,undefined
$B/targets/behind_fuzzer:  PLANTED_RECOVERS =
$B/targets/chain_fuzzer:   PLANTED_SAN = address,undefined
$B/targets/chain_fuzzer:   PLANTED_RECOVERS =
$B/targets/plain_fuzzer:   PLANTED_SAN =
$B/targets/membomb_bare_fuzzer: PLANTED_SAN =
$B/targets/noinstr_fuzzer: PLANTED_COVER =

$B/targets/escape_fuzzer: $(PLANTED_DIR)/escape_files.c $(PLANTED_DIR)/escape_kernel.c

$B/targets/%_fuzzer: $(PLANTED_DIR)/%_fuzzer.c $(PLANTED_HEADS) $(PLANTED_DIR)/targets.mk
	@mkdir -p $B/targets
	$(call brief,CC)$(FUZZCC) $(PLANTED_CFLAGS) $(PLANTED_COVER) $(planted_san) -c -o $@.o $<
	$(if $(V),,@)$(FUZZCC) $(PLANTED_CFLAGS) -fsanitize=fuzzer $(planted_san) -o $@.new $@.o \
		$(filter-out $<,$(filter %.c,$^))
	@rm -f $@.o
	@mv $@.new $@

# The library that library_fuzzer opens at its start, instrumented like the target itself.
$B/targets/library_fuzzer: $B/targets/liblibrary.so
$B/targets/liblibrary.so: $(PLANTED_DIR)/library_code.c $(PLANTED_HEADS) $(PLANTED_DIR)/targets.mk
	@mkdir -p $B/targets
	$(call brief,LD)$(FUZZCC) $(PLANTED_CFLAGS) -fPIC -shared -fsanitize=fuzzer-no-link,address \
		-fno-sanitize-recover=all -o $@.new $<
	@mv $@.new $@

$B/targets/%.dict: $(PLANTED_DIR)/%.dict
	@mkdir -p $B/targets
	$(if $(V),,@)cp $< $@

$B/targets/%.options: $(PLANTED_DIR)/%.options
	@mkdir -p $B/targets
	$(if $(V),,@)cp $< $@

$B/targets/%_seed_corpus.zip: $(PLANTED_DIR)/%_seed_corpus $(wildcard $(PLANTED_DIR)/*_seed_corpus/*)
	@mkdir -p $B/targets
	$(if $(V),,@)cd $< && rm -f $(abspath $@) && zip -q -X $(abspath $@) *

# One target with several builds, in the layout of OSS-Fuzz's builds.
VARIANTS := $(patsubst %,$B/variants/%/sanitizers_fuzzer,address undefined memory coverage)

$(VARIANTS): PLANTED_BUILD = -fsanitize=$(notdir $(@D)) -fno-sanitize-recover=all
$B/variants/coverage/sanitizers_fuzzer: PLANTED_BUILD = -fprofile-instr-generate -fcoverage-mapping
$(VARIANTS): $(PLANTED_DIR)/sanitizers_variant.c $(PLANTED_HEADS) $(PLANTED_DIR)/targets.mk
	@mkdir -p $(@D)
	$(call brief,CC)$(FUZZCC) $(PLANTED_CFLAGS) -fsanitize=fuzzer $(PLANTED_BUILD) -o $@.new $<
	@mv $@.new $@

COVERED := $(patsubst %,$B/covered/%/covered_fuzzer,address coverage)

$B/covered/address/covered_fuzzer: PLANTED_BUILD = -fsanitize=address
$B/covered/coverage/covered_fuzzer: PLANTED_BUILD = -fprofile-instr-generate -fcoverage-mapping
$(COVERED): $(PLANTED_DIR)/covered_variant.c $(PLANTED_HEADS) $(PLANTED_DIR)/targets.mk
	@mkdir -p $(@D)
	$(call brief,CC)$(FUZZCC) $(PLANTED_CFLAGS) -fsanitize=fuzzer $(PLANTED_BUILD) -o $@.new $<
	@mv $@.new $@

# A main build with a gate that it cannot see, and another build, which gets behind the gate.
GATED := $(patsubst %,$B/gated/%/gated_fuzzer,main open strict)

$B/gated/open/gated_fuzzer: PLANTED_BUILD = -DGATED_OPEN
$B/gated/strict/gated_fuzzer: PLANTED_BUILD = -DGATED_STRICT
$(GATED): $(PLANTED_DIR)/gated_variant.c $(PLANTED_HEADS) $(PLANTED_DIR)/targets.mk
	@mkdir -p $(@D)
	$(call brief,CC)$(FUZZCC) $(PLANTED_CFLAGS) -fsanitize=fuzzer,address $(PLANTED_BUILD) -o $@.new $<
	@mv $@.new $@

targets: $(PLANTED_NAMES:%=$B/targets/%) $(PLANTED_SIDE) $(VARIANTS) $(COVERED) $(GATED)

.PHONY: targets
