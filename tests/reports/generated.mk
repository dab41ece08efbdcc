# SPDX-License-Identifier: Apache-2.0
# Included by the top Makefile.  `make reports` plants bugs, builds them with every clang
# that is here and every sanitizer, runs them, and checks what the parser reads in the
# reports.  REPORT_CLANGS: versions; CASES: a regex over lines of expected.table.
REPORT_CLANGS ?= 14 16 19

$B/reports-check: $B/t/tests/reports/check.o $B/t/lib.a
	$(CC) $(CFLAGS_ALL) -pie -o $@ $^ $(LIBS)

reports: $B/reports-check
	tests/reports/generate.sh $B/reports $(REPORT_CLANGS)
	$B/reports-check $B/reports

.PHONY: reports
