/* SPDX-License-Identifier: Apache-2.0 */
/* Traps with a message in the name of a frame.  UBSan in trap mode and -fbounds-safety write such
 * messages since clang 20; here the builtin of clang 19 writes the same texts. */
#include "tests/reports/bugs.h"

#define TRAP(name, category, message)                              \
	static int name(void)                                      \
	{                                                          \
		if (HIDE(1))                                       \
			__builtin_verbose_trap(category, message); \
		return HIDE(1);                                    \
	}
#define UBSAN(name, message) TRAP(name, "Undefined Behavior Sanitizer", message)

UBSAN(add_traps, "Integer addition overflowed")
UBSAN(index_traps, "Array index out of bounds")
UBSAN(shift_traps, "shift exponent 40 is too large in 'a << b'")
UBSAN(reach_traps, "_builtin_unreachable(), execution reached an unreachable program point")
TRAP(bounds_traps, "Bounds check failed", "Dereferencing above bounds")
TRAP(path_traps, "mine", "wrong size/length of /etc header")
TRAP(line_traps, "mine", "wrong length\n")

static const struct bug bugs[] = {
    BUG(add_traps),    BUG(index_traps), BUG(shift_traps), BUG(reach_traps),
    BUG(bounds_traps), BUG(path_traps),	 BUG(line_traps),  BUG_END,
};

#include "tests/reports/one_table.h"
