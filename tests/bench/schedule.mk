# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  `make bench-schedule`: what the scheduling policies do with
# invented and with recorded fleets, by the product's own objects of runner/policy, which
# need nobody else.  SEED=n REPLICATES=n HOURS=n; QUICK=1: in seconds; SENSITIVITY=1: with
# other parameters, too.
SCHEDULE := $(patsubst %.c,$B/o/%.o,$(wildcard tests/bench/schedule*.c runner/policy/*.c))
$B/bench/schedule: $(SCHEDULE)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(LDHARD) -o $@ $^ -lm

bench-schedule: $B/bench/schedule
	$B/bench/schedule $(if $(QUICK),--quick) $(if $(SENSITIVITY),--sensitivity) \
		$(if $(SEED),--seed=$(SEED)) $(if $(REPLICATES),--replicates=$(REPLICATES)) \
		$(if $(HOURS),--hours=$(HOURS))

# The same question to real targets in real cells, outside of CI: an hour and a half for each
# mix on two cores.  FLEET=dir: what tests/fleet/build.sh built, else it is built; OUT=dir,
# where it goes on when it was interrupted; BUDGET= and others: see tests/fleet/run.sh.
bench-fleet: all
	$(if $(FLEET),,tests/fleet/build.sh $B/fleet)
	FUZZCELL=$B/fuzzcell tests/fleet/run.sh $(or $(FLEET),$B/fleet) $(or $(OUT),$B/fleet-run)

# Two days of runs of usual length of the same targets, against a script: an hour for a seed with
# runs of 10 minutes.  FLEET=, OUT=, RUN=seconds, SEEDS="1 2 3": see tests/fleet/days.sh.
bench-days: all
	$(if $(FLEET),,tests/fleet/build.sh $B/fleet)
	FUZZCELL=$B/fuzzcell tests/fleet/days.sh $(or $(FLEET),$B/fleet) $(or $(OUT),$B/fleet-days)

.PHONY: bench-schedule bench-fleet bench-days
