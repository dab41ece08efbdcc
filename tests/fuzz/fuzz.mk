# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  `make fuzz-targets` builds our own parsers' fuzz
# targets into $B/fuzz, an output directory in the OSS-Fuzz layout: `fuzzcell run`
# can fuzz it.  `make fuzz T=20` runs each for T seconds, without cells.  Needs clang
# with libFuzzer, and zip or bsdtar (ci/deps.sh demo).
T ?= 20

FUZZ_NAMES  := $(FSRC:tests/fuzz/fuzz_%.c=%)
FUZZ_CFLAGS := -std=c11 -g -O1 -fno-omit-frame-pointer -Wall -Wextra -Werror
FUZZ_SAN    := address,undefined -fno-sanitize-recover=all
FUZZ_SIDE   := $(patsubst tests/fuzz/fuzz_%.dict,$B/fuzz/%_fuzzer.dict,$(wildcard tests/fuzz/fuzz_*.dict)) \
	$(foreach n,$(FUZZ_NAMES),$(if $(wildcard tests/corpus/$n/*),$B/fuzz/$n_fuzzer_seed_corpus.zip))

# The parsers with coverage and sanitizers; neither the product nor its tests.
$B/z/%.o: %.c
	@mkdir -p $(@D)
	$(FUZZCC) $(FUZZ_CFLAGS) $(CPPFLAGS) -MMD -MP -fsanitize=fuzzer-no-link,$(FUZZ_SAN) -c -o $@ $<

$B/z/lib.a: $(SRC:%.c=$B/z/%.o)
	@rm -f $@
	ar rcs $@ $^

$B/fuzz/%_fuzzer: $B/z/tests/fuzz/fuzz_%.o $B/z/lib.a
	@mkdir -p $(@D)
	$(FUZZCC) $(FUZZ_CFLAGS) -fsanitize=fuzzer,$(FUZZ_SAN) -o $@ $^ $(LIBS)

$B/fuzz/%_fuzzer.dict: tests/fuzz/fuzz_%.dict
	@mkdir -p $(@D)
	cp $< $@

# A corpus changes by its files: always packed again, replaced when it differs.
$B/fuzz/%_fuzzer_seed_corpus.zip: FORCE
	@mkdir -p $(@D)
	@cd tests/corpus/$* && rm -f $(abspath $@).new && \
	if command -v zip >/dev/null; then zip -q -X $(abspath $@).new *; \
	else bsdtar --format zip -cf $(abspath $@).new *; fi
	@if cmp -s $@ $@.new; then rm $@.new; else mv $@.new $@; fi

fuzz-targets: $(FUZZ_NAMES:%=$B/fuzz/%_fuzzer) $(FUZZ_SIDE)

# New inputs go to the first directory: a scratch one, never among the seeds.
fuzz: fuzz-targets
	@for n in $(FUZZ_NAMES); do \
		d=$(abspath $B)/fuzz-work/$$n; mkdir -p $$d/corpus; \
		seeds=tests/corpus/$$n; [ -d $$seeds ] || seeds=; \
		$B/fuzz/$${n}_fuzzer -max_total_time=$(T) -timeout=10 -rss_limit_mb=1024 \
			-print_final_stats=1 -artifact_prefix=$$d/ $$d/corpus $$seeds \
			>$$d/log 2>&1 || { tail -n 40 $$d/log; echo "fuzz: $$n failed ($$d/log)"; exit 1; }; \
		echo "fuzz: $$n: $$(grep -E '^#[0-9]+.DONE' $$d/log)"; \
	done

.PHONY: fuzz fuzz-targets FORCE
