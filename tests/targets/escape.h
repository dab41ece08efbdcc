/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TARGETS_ESCAPE_H
#define TESTS_TARGETS_ESCAPE_H

/* The attempts of escape_fuzzer: escape_files.c tries paths, escape_kernel.c
 * tries system calls. */

#include "planted.h"

struct attempt {
	const char *what;	     /* NULL ends a list */
	int (*run)(const char *arg); /* 0: it succeeded; otherwise an errno */
	const char *arg;	     /* printed after what, unless NULL */
};

extern const struct attempt escape_files[];
extern const struct attempt escape_kernel[];

#endif
