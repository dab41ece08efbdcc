# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  `make bench-schedule` compares the scheduling policies on invented
# and on recorded fleets.
# SEED=n REPLICATES=n HOURS=n; QUICK=1: takes seconds; SENSITIVITY=1: also other parameters;
# SHARDS=1: only the part about many machines.
$B/bench/schedule: $(patsubst %.c,$B/o/%.o,$(wildcard tests/bench/schedule_*.c))

bench-schedule: $B/bench/schedule
	$B/bench/schedule $(if $(QUICK),--quick) $(if $(SENSITIVITY),--sensitivity) \
		$(if $(SHARDS),--shards) $(if $(SEED),--seed=$(SEED)) $(if $(REPLICATES),--replicates=$(REPLICATES)) \
		$(if $(HOURS),--hours=$(HOURS))

# The same for real targets in real cells, outside of CI: an hour and a half for each mix on two
# cores.  FLEET=dir: output of tests/fleet/build.sh; default: builds it.  OUT=dir: results; an
# interrupted benchmark continues there.  BUDGET= and others: see tests/fleet/run.sh.
bench-fleet: all
	$(if $(FLEET),,tests/fleet/build.sh $B/fleet)
	FUZZCELL=$B/fuzzcell tests/fleet/run.sh $(or $(FLEET),$B/fleet) $(or $(OUT),$B/fleet-run)

# Two days of runs of usual length of the same targets, compared with a script.  A seed takes an
# hour with runs of 10 minutes.  FLEET=, OUT=, RUN=seconds, SEEDS="1 2 3": see tests/fleet/days.sh.
bench-days: all
	$(if $(FLEET),,tests/fleet/build.sh $B/fleet)
	FUZZCELL=$B/fuzzcell tests/fleet/days.sh $(or $(FLEET),$B/fleet) $(or $(OUT),$B/fleet-days)

# Fuzzing strategies against none, on ten targets of the same fleet: an hour on two cores.  FLEET=,
# OUT= and others: see tests/bench/strategies.sh.
bench-strategies: all
	$(if $(FLEET),,tests/fleet/build.sh $B/fleet)
	FUZZCELL=$B/fuzzcell tests/bench/strategies.sh $(or $(FLEET),$B/fleet) $(or $(OUT),$B/fleet-strategies)

# libFuzzer and AFL++ under one budget against each alone, on the same fleet: hours.  FLEET=, OUT=,
# TARGETS="a_fuzzer ..." and others: see tests/bench/ensemble.sh.
bench-ensemble: all
	FUZZCELL=$B/fuzzcell tests/bench/ensemble.sh $(or $(FLEET),$B/fleet-engines) $(or $(OUT),$B/fleet-ensemble)

# Shards against one machine in real cells, on targets of the same fleet: two hours.  FLEET=, OUT=,
# SHARDS=4, TIME=seconds of a shard, REPEATS= and others: see tests/bench/shards.sh.
bench-shards: all
	$(if $(FLEET),,tests/fleet/build.sh $B/fleet)
	FUZZCELL=$B/fuzzcell tests/bench/shards.sh $(or $(FLEET),$B/fleet) $(or $(OUT),$B/fleet-shards)

.PHONY: bench-shards bench-ensemble bench-schedule bench-fleet bench-days bench-strategies
