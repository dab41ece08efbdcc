/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_INSTRUMENTED_H
#define RUNNER_TARGETS_INSTRUMENTED_H

/* Whether a compiler instrumented only a program's harness, or also a library under test.
 *
 * The addresses of the instrumented functions are in a table (pcs.h), their names in the symbol
 * table.  Functions of a library can be called from other files.  A harness has its entry points
 * (LLVMFuzzer...), functions that are local to its file, and what it instantiates of
 * FuzzedDataProvider and the C++ standard library.  Another function of the harness that is not
 * static looks like a library's.
 *
 * The file is hostile: see runner/targets/elf.h.  Its content only decides about a warning. */
enum instrumented {
	INSTRUMENTED_UNKNOWN, /* stripped, of another format, damaged, or beyond our bounds */
	INSTRUMENTED_HARNESS,
	INSTRUMENTED_LIBRARY, /* also functions that are not the harness's own */
};
/* fd: a regular file, open for reading.  Blocks while it reads.  With more edges than
 * INSTRUMENTED_EDGES_MAX it is not known: they are compared with each symbol. */
enum { INSTRUMENTED_EDGES_MAX = 128 };
enum instrumented instrumented_in(int fd);

#endif
