/* SPDX-License-Identifier: Apache-2.0 */
/* Names undefined behaviour and violated control flow. */
#include "runner/crash/report/internal.h"

/* UBSan's "FILE:LINE:COL: runtime error: MESSAGE" and CFI.  A binary that recovers continues after
 * it, so it counts only if no other crash is known. */

/* In the platforms' order; the first match counts. */
static const struct {
	struct slice message;
	struct slice also; /* "", or a text that must follow anywhere */
	const char *type;
} messages[] = {
#define M(message, also, type)                                                 \
	{                                                                      \
		{message, sizeof(message) - 1}, {also, sizeof(also) - 1}, type \
	}
    M("division by zero", "", "Divide-by-zero"),
    M("outside the range of representable values", "", "Float-cast-overflow"),
    M("implicit conversion from type", "", "Implicit-conversion"),
    M("through pointer to incorrect function type", "", "Incorrect-function-pointer-type"),
    M("out of bounds for type", "", "Index-out-of-bounds"),
    M("not a valid value for type '", "bool'", "Invalid-bool-value"),
    M("not a valid value for type '", "BOOL'", "Invalid-bool-value"),
    M("not a valid value for type '", "_Bool'", "Invalid-bool-value"), /* theirs: enum */
    M(", which is not a valid argument", "", "Invalid-builtin-use"),
    M("misaligned address", "", "Misaligned-address"),
    M("reached the end of a value-returning function", "", "No-return-value"),
    M("null pointer passed as ", ", which is declared to never be null", "Invalid-null-argument"),
    M("load of null pointer", "", "Null-dereference READ"),
    M("binding to null pointer", "", "Null-dereference"),
    M("access within null pointer", "", "Null-dereference"),
    M("call on null pointer", "", "Null-dereference"),
    M("store to null pointer", "", "Null-dereference WRITE"),
    M("address ", " with insufficient space for an object of type", "Object-size"),
    M("addition of unsigned offset ", "", "Pointer-overflow"),
    M("subtraction of unsigned offset ", "", "Pointer-overflow"),
    M("pointer index expression with base ", "", "Pointer-overflow"),
    M("applying non-zero offset ", " to null pointer", "Pointer-overflow"),
    M("applying non-zero offset ", " produced null pointer", "Pointer-overflow"),
    M("applying zero offset to null pointer", "", "Pointer-overflow"),
    M("null pointer returned from function declared to never return null", "",
      "Invalid-null-return"),
    M("shift", "", "Undefined-shift"),
    M("execution reached an unreachable program point", "", "Unreachable code"),
    M("unsigned integer overflow", "", "Unsigned-integer-overflow"),
    M("upcast of null pointer", "", "Upcast-of-null-pointer"),
    M("variable length array bound evaluates to non-positive value", "",
      "Non-positive-vla-bound-value"),
    M("not a valid value for type", "", "Invalid-enum-value"),
    M("integer overflow", "", "Integer-overflow"),
    M("negation of", "cannot be represented in type", "Integer-overflow"),
    M("division of", "cannot be represented in type", "Integer-overflow"),
    M("assumption is violated", "", "Assumption-violation"),
    M("assumption of", " failed", "Assumption-violation"),
#undef M
};

/* UBSan's type of a message; NULL: the message is not known. */
static const char *kind_ubsan_type(struct slice message)
{
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		struct slice rest = message;

		if (text_after(&rest, messages[i].message) &&
		    (messages[i].also.n == 0 || text_has(rest, messages[i].also)))
			return messages[i].type;
	}
	return NULL;
}

/* Go's "panic: runtime error: ", and "http: panic serving 127.0.0.1:1: runtime error: " of a server
 * that continued. */
static bool is_go(struct slice line)
{
	struct slice before = line;

	return text_cut(&before, SLICE(": runtime error: ")) &&
	       (text_ends(before, SLICE("panic")) || text_has(before, SLICE("panic serving ")));
}

bool kind_ubsan(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text, place;
	const char *type;

	if (!words_has(l->words, WORDS_UBSAN) || verdict_known(p) || is_go(l->text) ||
	    !text_after(&in, SLICE(": runtime error: ")))
		return false;
	type = kind_ubsan_type(in);
	verdict_new(p, type ? type : "UNKNOWN", CRASH_UBSAN, l->text);
	place = l->text;
	text_cut(&place, SLICE(":"));
	text_copy(p->v.place, sizeof(p->v.place), text_basename(place));
	return false;
}

static void begin_cast(struct crash_parser *p, struct slice to, const struct line *l)
{
	verdict_new(p, "Bad-cast", CRASH_UBSAN, l->text);
	state_set(&p->state, SLICE("Bad-cast to "), 0);
	to = text_strip(to, "'");
	if (to.n > 512)
		to.n = 512;
	state_add(&p->state, to);
	p->v.cast_open = true;
}

/* "member call on address 0x7f which does not point to an object of type 'B'" */
static bool on_vptr(struct crash_parser *p, struct slice in, const struct line *l)
{
	struct slice address;

	if (!scan_lit(&in, SLICE("member access within address ")) &&
	    !scan_lit(&in, SLICE("member call on address ")) &&
	    !scan_lit(&in, SLICE("downcast of address ")))
		return false;
	address = text_first_word(in);
	if (!text_begins(address, SLICE("0x")) || text_has(in, SLICE("insufficient space")) ||
	    !text_after(&in, SLICE(" of type ")))
		return false;
	begin_cast(p, in, l);
	verdict_address(p, address);
	return true;
}

/* "control flow integrity check for type 'B' failed during ..." */
static bool on_cfi(struct crash_parser *p, struct slice in, const struct line *l)
{
	struct slice type;

	if (!scan_lit(&in, SLICE("control flow integrity check for type ")))
		return false;
	type = in;
	if (!text_cut(&type, SLICE(" failed during ")))
		return false;
	begin_cast(p, type, l);
	if (text_after(&in, SLICE("vtable address ")))
		verdict_address(p, text_strip(text_first_word(in), ")"));
	return true;
}

/* The real type follows in a note, which ends the state's first line. */
static void on_note(struct crash_parser *p, struct slice line)
{
	struct slice in = line;
	bool ends = true;

	if (text_after(&in, SLICE("note: object is of type ")) ||
	    text_after(&in, SLICE("note: vtable is of type "))) {
		state_add(&p->state, SLICE(" from "));
		in = text_strip(text_trim(in), "'");
		state_add(&p->state, (struct slice){in.p, in.n < 512 ? in.n : 512});
	} else if (text_has(in, SLICE("note: object has invalid vptr")) ||
		   text_has(in, SLICE("note: invalid vtable"))) {
		state_add(&p->state, SLICE(" from invalid vptr"));
	} else if (text_after(&in, SLICE("at offset ")) &&
		   text_has(in, SLICE(" within object of type "))) {
		state_add(&p->state, SLICE(" from base class subobject at offset "));
		state_add(&p->state, text_first_word(in));
	} else {
		ends = text_has(line, SLICE("note: ")) && text_ends(line, SLICE(" defined here"));
	}
	if (!ends)
		return;
	p->v.cast_open = false;
	state_add(&p->state, SLICE("\n"));
	p->state.frames++;
}

bool kind_cast(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text;

	if (words_has(l->words, WORDS_UBSAN) && !verdict_known(p) &&
	    text_after(&in, SLICE(": runtime error: ")) && !on_vptr(p, in, l))
		on_cfi(p, in, l);
	if (words_has(l->words, WORDS_NOTE) && verdict_is(p, "Bad-cast") && p->v.cast_open)
		on_note(p, l->text);
	if (words_has(l->words, WORDS_CFI) && !verdict_known(p))
		verdict_new(p, "Bad-cast", CRASH_UBSAN, l->text);
	return false;
}

/* --- traps ----------------------------------------------------------------- */

/* Traps with a message: clang inlines a frame "__clang_trap_msg$CATEGORY$MESSAGE" at the trap.
 * libc++'s hardening, UBSan that traps, -fbounds-safety and __builtin_verbose_trap() do so. */

enum { TRAP_MESSAGE_MAX = 400 };

/* UBSan's messages in trap mode, in lower case; the first match counts (LLVM 20 to 22: short
 * messages, and longer ones with the expression). */
static const struct {
	struct slice message;
	const char *type;
} trap_messages[] = {
#define M(message, type)                             \
	{                                            \
		{message, sizeof(message) - 1}, type \
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

static const char *trap_ubsan_type(struct slice message)
{
	char lower[TRAP_MESSAGE_MAX];
	struct slice lowered = {lower, message.n};

	for (size_t i = 0; i < message.n; i++)
		lower[i] = text_lower(message.p[i]);
	for (size_t i = 0; i < sizeof(trap_messages) / sizeof(trap_messages[0]); i++)
		if (text_has(lowered, trap_messages[i].message))
			return trap_messages[i].type;
	return kind_ubsan_type(message);
}

/* The types of a signal's report when nothing else is known. */
static bool trap_is_signal_type(const struct crash_parser *p)
{
	return verdict_is(p, "Fatal-signal") || verdict_is(p, "Ill") || verdict_is(p, "Trap");
}

static void trap_set_type(struct crash_parser *p, const char *type, enum crash_kind kind,
			  struct slice message)
{
	p->v.headline[0] = '\0';
	verdict_type(p, slice_of(type), kind, message);
}

void kind_trap(struct crash_parser *p, const struct frame *f)
{
	struct slice message = f->function, category;
	const char *type = NULL;

	if (!scan_lit(&message, SLICE(FRAME_TRAP)) || !trap_is_signal_type(p) || p->state.n > 0)
		return;
	category = message;
	text_cut(&category, SLICE("$"));
	if (!text_after(&message, SLICE("$")) || text_trim(message).n == 0)
		message = category;
	message = text_trim(message);
	if (message.n > TRAP_MESSAGE_MAX)
		message.n = TRAP_MESSAGE_MAX;
	if (slice_eq(category, SLICE("Undefined Behavior Sanitizer")))
		type = trap_ubsan_type(message);
	if (type) {
		trap_set_type(p, type, CRASH_UBSAN, message);
		return;
	}
	trap_set_type(p, "ASSERT", CRASH_ASSERT, message);
	/* libc++: "FILE:LINE: assertion EXPRESSION failed: TEXT" */
	if (text_has(message, SLICE(": assertion ")))
		text_after(&message, SLICE(" failed: "));
	state_set(&p->state, message, 1);
	state_add(&p->state, SLICE("\n"));
	verdict_cause(p, message);
}
