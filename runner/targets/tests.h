/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_TESTS_H
#define RUNNER_TARGETS_TESTS_H

#include "base/scan.h"
#include "base/strv.h"

#include <stdbool.h>

/* The fuzz tests in a program, from a table that the linker put into it: the program is not
 * executed.  The table has the layout of Go's testing.InternalFuzzTarget, which `go test` writes as
 * main.fuzzTargets (src/cmd/go/internal/load/test.go): a slice of a name and a function each. */
struct tests {
	struct strv names;
	size_t odd;	/* tests that were left out: their names are not usable */
	bool sanitized; /* the program has the runtime of ThreadSanitizer or AddressSanitizer */
	bool none;	/* it has no test at all */
};

enum { TESTS_MAX = 512, TESTS_NAME_MAX = 100, TESTS_FILE_MAX = 65536 };

/* fd: a regular file, open for reading.  symbol: the table's name.  Returns NULL and fills *ret
 * (free it with strv_done(&ret->names)), or the reason why the tests are not known, a text that
 * follows "the program".  The file is hostile: see runner/targets/elf.h.  Blocks while it reads. */
const char *tests_in(int fd, const char *symbol, struct tests *ret);

bool tests_has(const struct tests *all, const char *name);

/* The names of tests that do not stand in the program.  A list of them is a file beside it,
 * <program>TESTS_SUFFIX, with a name a line, "Suite.Test": a build writes it. */
#define TESTS_SUFFIX ".tests"
/* [A-Za-z0-9_]+ with dots between, at most TESTS_NAME_MAX bytes */
bool tests_name_ok(struct slice name);
/* As tests_in(), for such a list. */
const char *tests_listed(int fd, struct tests *ret);

#endif
