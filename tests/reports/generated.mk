# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  `make reports` builds planted bugs with every installed clang and
# every sanitizer, runs them, and checks the parser's reading of the reports.
# REPORT_CLANGS: which; CASES: a regex over lines of expected.table.
REPORT_CLANGS ?= 14 16 19

$B/reports/check: $B/o/tests/reports/check.o $B/o/tests/reports/check_report.o \
		$B/o/tests/reports/check_prefix.o $(OBJ)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -pie -o $@ $^ $(LIBS)

# As TAP.
reports: $B/reports/check
	tests/reports/generate.sh $B/reports/generated $(REPORT_CLANGS)
	$B/reports/check $B/reports/generated $(REPORT_CLANGS)

.PHONY: reports
