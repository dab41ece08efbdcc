# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  `make agree` compares the report parser with a mature triage system
# on real reports, which are not part of the project.
REPORTS ?= ../shared/testdata/crash-reports

$B/reports/agree: $B/o/tests/reports/agree.o $(OBJ)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(LDHARD) -o $@ $^ $(LIBS)

# As TAP.
agree: $B/reports/agree
	@echo 1..1
	@if [ ! -e $(REPORTS)/expected.json ]; then \
		echo 'ok 1 - agree # SKIP no reports in $(REPORTS)'; \
	elif $< $(REPORTS); then echo 'ok 1 - agree'; \
	else echo 'not ok 1 - agree'; exit 1; fi

.PHONY: agree
