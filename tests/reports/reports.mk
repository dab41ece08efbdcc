# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  `make agree` compares the report parser with a mature
# triage system on real reports, which are not part of the project.
REPORTS ?= ../shared/testdata/crash-reports

$B/reports/agree: $B/o/tests/reports/agree.o $(OBJ)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(LDHARD) -o $@ $^ $(LIBS)

agree: $B/reports/agree
	@if [ -e $(REPORTS)/expected.json ]; then $< $(REPORTS); \
	else echo "agree: skipped, no reports in $(REPORTS)"; fi

.PHONY: agree
