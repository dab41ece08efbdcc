# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  Measuring programs for `make bench`, of the
# product's own objects: no fault points, the same flags.
$B/bench/%: $B/o/tests/bench/%.o $(OBJ)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(LDHARD) -o $@ $^ $(LIBS)

$B/bench/sample $B/bench/start: $B/o/tests/bench/host.o

# All of them, so that CI notices when one no longer compiles.
bench-programs: $(addprefix $B/bench/,deltas parse sample schedule serve start whole words)

# The cost of sampling 64 cells once a second; fails above half a per cent of a core.  Needs root
# and crun.  SAMPLES=n: number of samples; CELLS=n.
bench-sample: $B/bench/sample
	$B/bench/sample $(or $(SAMPLES),20) $(or $(CELLS),64)

# When a target counts as done under CPU pressure; takes about half an hour, on one core.  Needs
# root and crun.  RUNS=, NEIGHBOURS=, CORE=, PRICE=; PARTS="contention accounting gate".
bench-contention: all targets examples
	B=$B tests/bench/contention.sh $(PARTS)

# The cost of the dashboard for 1,000 runs of 100 targets; fails above its limits.
bench-serve: $B/bench/serve
	@dir=$$(mktemp -d) && status=0 && { $B/bench/serve $$dir || status=$$?; } && rm -rf $$dir && exit $$status

# The memory of fuzzcell with 64 living cells that fail, flood and fuzz; fails at 32 MiB.
# Needs root and crun; takes a minute or two.  CELLS=n.
bench-memory: all targets
	B=$B tests/bench/memory.sh $(or $(CELLS),64)

# How many of 20 memory bombs have their input saved, for each number of threads, limit and
# sanitizer; fails below 19.  Needs root and crun; takes a quarter of an hour.  BOMBS=n.
bench-bombs: all targets
	FUZZCELL=$(abspath $B/fuzzcell) TARGETS=$(abspath $B/targets) \
		FUZZCELL_TEST_BOMBS=$(or $(BOMBS),20) bats --tap -f 'bombs?( |,).*input saved' tests/e2e/memory.bats

# How the cost grows with the number of targets, inputs and crashes.  Needs root and crun; takes a
# quarter of an hour.  PARTS="targets inputs crashes", BUSY=1 and others: see tests/bench/growth.sh.
bench-growth: all targets $B/fuzz/libfuzzer_line_fuzzer
	B=$B tests/bench/growth.sh $(PARTS)

# New edges with and without the words of a program, at equal numbers of executions.
# TARGETS="dir/a_fuzzer ...", default: our own parsers.  RUNS=, SEEDS=, MOST=, CORPORA=, OUT=.
bench-dictionary: $B/bench/words $(if $(TARGETS),,fuzz-targets)
	B=$B tests/bench/dictionary.sh $(or $(TARGETS),$(FUZZ_NAMES:%=$B/fuzz/%_fuzzer))

# The size of minimised reproducers, compared with libFuzzer's own minimiser in the same time.
bench-minimize: all ; B=$B tests/bench/minimize.sh

# The size of a corpus's cover, and the loss when fuzzing starts from it.  Takes a quarter of an
# hour, on one core.  TARGETS="dir/a_fuzzer ...", default: our own parsers.
# SECONDS_EACH=, RUNS=, EXECS=.
bench-cover: all $(if $(TARGETS),,fuzz-targets)
	B=$B tests/bench/cover.sh $(or $(TARGETS),$(FUZZ_NAMES:%=$B/fuzz/%_fuzzer))

# The cost of fuzzing past a known crash; takes some minutes.  RUNS=, STAGES=.
bench-behind: all ; B=$B tests/bench/behind.sh

.PHONY: bench-programs bench-behind bench-cover bench-dictionary bench-minimize bench-growth bench-bombs bench-memory bench-sample bench-contention bench-serve
