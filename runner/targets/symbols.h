/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_SYMBOLS_H
#define RUNNER_TARGETS_SYMBOLS_H

#include "runner/targets/elf.h"

/* The functions in a program's symbol table.  The file is hostile: see elf.h. */

struct symbols_function {
	uint64_t begin, end; /* addresses; end is behind the function */
	const char *name;    /* points into symbols.names */
};

struct symbols {
	struct symbols_function *v; /* by address, then by end; one may have several names */
	size_t n;
	char *names;
};

/* False: the program is stripped, or the table is too large or damaged.  Otherwise the caller frees
 * *ret with symbols_done(). */
bool symbols_read(const struct elf_file *m, struct symbols *ret);
void symbols_done(struct symbols *s);

#endif
