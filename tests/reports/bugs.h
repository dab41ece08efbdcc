/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_REPORTS_BUGS_H
#define TESTS_REPORTS_BUGS_H

/* Planted bugs, which show how sanitizers and libFuzzer report them.  An input is the name of the
 * bug that it starts; other inputs do nothing.  Each bug is a function of that name.
 * expected.table has the reading that the parser must produce for its report.
 *
 * No bug may depend on the optimiser, or the clangs' stacks would differ: values go through HIDE(),
 * helpers are NOINLINE, and no call that a stack must show is a tail call (it has no frame).
 *
 * Loops are bounded by time and memory by a cap, here as well as from outside. */

#include <stddef.h>
#include <stdint.h>

#define NOINLINE __attribute__((noinline))

/* Hides the value of x from the compiler.  For integers and pointers. */
#define HIDE(x)                                                 \
	__extension__({                                         \
		__typeof__(x) hidden_ = (x);                    \
		__asm__ volatile("" : "+r"(hidden_)::"memory"); \
		hidden_;                                        \
	})

struct bug {
	const char *name;
	int (*run)(void);
};

#define BUG(name)            \
	{                    \
#name, name, \
	}
#define BUG_END      \
	{            \
		0, 0 \
	}

#ifdef __cplusplus
extern "C" {
#endif
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each table ends with BUG_END. */
extern const struct bug memory_bugs[];
extern const struct bug shape_bugs[];
extern const struct bug ending_bugs[];
extern const struct bug undefined_bugs[];
extern const struct bug thread_bugs[];

/* The current input, for the bug that overwrites it. */
extern const uint8_t *unit;
#ifdef __cplusplus
}
extern const struct bug kind_bugs[]; /* of C++, by its kind and not its function's name */
#endif

#endif
