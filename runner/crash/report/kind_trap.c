/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/internal.h"

/* Traps with a message: clang inlines a frame "__clang_trap_msg$CATEGORY$MESSAGE" at the trap.
 * libc++'s hardening, UBSan that traps, -fbounds-safety and __builtin_verbose_trap() do so. */

enum { MESSAGE_MAX = 400 };

/* UBSan's messages in trap mode, in lower case; the first match counts (LLVM 20 to 22: short
 * messages, and longer ones with the expression). */
static const struct {
	struct slice said;
	const char *type;
} messages[] = {
#define M(said, type)                          \
	{                                      \
		{said, sizeof(said) - 1}, type \
	}
    M("division by zero", "Divide-by-zero"),
    M("unsigned integer", "Unsigned-integer-overflow"),
    M("integer addition overflow", "Integer-overflow"),
    M("integer subtraction overflow", "Integer-overflow"),
    M("integer multiplication overflow", "Integer-overflow"),
    M("integer negation overflow", "Integer-overflow"),
    M("integer division overflow", "Integer-overflow"),
    M("integer divide or remainder overflow", "Integer-overflow"),
    M("reached an unreachable program point", "Unreachable code"),
    M("control flow integrity check failed", "Bad-cast"),
    M("dynamic type cache miss", "Bad-cast"),
    M("invalid objective-c cast", "Bad-cast"),
    M("floating-point to integer conversion overflow", "Float-cast-overflow"),
    M("called with mismatched signature", "Incorrect-function-pointer-type"),
    M("implicit integer conversion", "Implicit-conversion"),
    M("invalid use of builtin", "Invalid-builtin-use"),
    M("loaded an invalid or uninitialized value", "Invalid-enum-value"),
    M("reached the end of a value-returning function", "No-return-value"),
    M("passing null", "Invalid-null-argument"),
    M("returning null", "Invalid-null-return"),
    M("array index out of bounds", "Index-out-of-bounds"),
    M("pointer arithmetic overflow", "Pointer-overflow"),
    M("shift", "Undefined-shift"),
    M("alignment assumption", "Assumption-violation"),
    M("variable length array bound", "Non-positive-vla-bound-value"),
#undef M
};

static const char *ubsan_type(struct slice message)
{
	char lower[MESSAGE_MAX];
	struct slice said = {lower, message.n};

	for (size_t i = 0; i < message.n; i++)
		lower[i] = text_lower(message.p[i]);
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		if (text_has(said, messages[i].said))
			return messages[i].type;
	return kind_ubsan_type(message);
}

/* The types of a signal's report when nothing else is known. */
static bool is_signal_type(const struct crash_parser *p)
{
	return verdict_is(p, "Fatal-signal") || verdict_is(p, "Ill") || verdict_is(p, "Trap");
}

static void set_type(struct crash_parser *p, const char *type, enum crash_kind kind,
		     struct slice message)
{
	p->v.headline[0] = '\0';
	verdict_type(p, slice_of(type), kind, message);
}

void kind_trap(struct crash_parser *p, const struct frame *f)
{
	struct slice message = f->function, category;
	const char *type = NULL;

	if (!scan_lit(&message, SLICE(FRAME_TRAP)) || !is_signal_type(p) || p->state.n > 0)
		return;
	category = message;
	text_cut(&category, SLICE("$"));
	if (!text_after(&message, SLICE("$")) || text_trim(message).n == 0)
		message = category;
	message = text_trim(message);
	if (message.n > MESSAGE_MAX)
		message.n = MESSAGE_MAX;
	if (slice_eq(category, SLICE("Undefined Behavior Sanitizer")))
		type = ubsan_type(message);
	if (type) {
		set_type(p, type, CRASH_UBSAN, message);
		return;
	}
	set_type(p, "ASSERT", CRASH_ASSERT, message);
	/* libc++: "FILE:LINE: assertion EXPRESSION failed: TEXT" */
	if (text_has(message, SLICE(": assertion ")))
		text_after(&message, SLICE(" failed: "));
	state_set(&p->state, message, 1);
	state_add(&p->state, SLICE("\n"));
	verdict_cause(p, message);
}
