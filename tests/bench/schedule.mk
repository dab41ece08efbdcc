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

.PHONY: bench-schedule
