/* SPDX-License-Identifier: Apache-2.0 */
/* The facts about a crash, as its report names them: type, severity, relevance for security. */
#include "runner/crash/report/internal.h"

/* The facts about the crash, and when a newer report replaces them: a report of another process
 * always, a report of the same process if its kind does so. */

bool verdict_known(const struct crash_parser *p)
{
	return p->v.type[0] && !p->stale;
}

bool verdict_is(const struct crash_parser *p, const char *type)
{
	return verdict_known(p) && strcmp(p->v.type, type) == 0;
}

void verdict_clear(struct crash_parser *p)
{
	memset(&p->v, 0, sizeof(p->v));
	state_clear(&p->state);
	stack_restart(&p->stack, true);
	stack_restart(&p->other, false);
	p->can_go_back = false;
	p->stale = false;
}

static void freshen(struct crash_parser *p)
{
	if (p->stale)
		verdict_clear(p);
}

void verdict_reset(struct crash_parser *p)
{
	freshen(p);
	p->v.address[0] = '\0';
	p->v.access_size = 0;
	p->v.cause[0] = '\0';
	p->v.headline[0] = '\0';
	p->v.by_engine = false;
	p->v.echo = false;
	p->v.ended = false;
	state_clear(&p->state);
	stack_restart(&p->stack, true);
	stack_restart(&p->other, false);
}

/* Types that a later report does not replace. */
static unsigned verdict_rank(struct slice type)
{
	if (slice_eq(type, SLICE("V8 sandbox violation")))
		return 2;
	return slice_eq(type, SLICE("Timeout")) ? 1 : 0;
}

void verdict_type(struct crash_parser *p, struct slice type, enum crash_kind kind,
		  struct slice line)
{
	freshen(p);
	if (verdict_rank(type) < verdict_rank(slice_of(p->v.type)))
		return;
	text_copy(p->v.type, sizeof(p->v.type), text_trim(type));
	p->v.kind = kind;
	if (!p->v.headline[0])
		text_copy(p->v.headline, sizeof(p->v.headline), text_trim(line));
}

void verdict_new(struct crash_parser *p, const char *type, enum crash_kind kind, struct slice line)
{
	verdict_reset(p);
	verdict_type(p, slice_of(type), kind, line);
}

void verdict_address(struct crash_parser *p, struct slice address)
{
	text_copy(p->v.address, sizeof(p->v.address), text_trim(address));
}

/* Values differ from run to run: digits become '#'. */
void verdict_cause(struct crash_parser *p, struct slice text)
{
	size_t n = 0;

	text = text_trim(text);
	for (size_t i = 0; i < text.n && n + 1 < sizeof(p->v.cause); i++) {
		char c = text.p[i];

		if (text_digit(c) && n > 0 && p->v.cause[n - 1] == '#')
			continue;
		if (text_digit(c))
			c = '#';
		else if (c < ' ' || c > '~')
			c = '?';
		p->v.cause[n++] = c;
	}
	p->v.cause[n] = '\0';
}

/* --- security -------------------------------------------------------------- */

/* Whether a crash matters for security, by the big platforms' rules in their order, and how much.
 *
 * Severity intentionally differs from theirs.  They have none for Global-buffer-overflow,
 * Stack-use-after-return, Stack-use-after-scope, Invalid-free, Stack-buffer-underflow and some
 * more.  Here every crash that matters has a severity: that of similar types. */

static bool verdict_one_of(const char *type, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(type, list[i]) == 0)
			return true;
	return false;
}

#define ONE_OF(type, list) verdict_one_of(type, list, sizeof(list) / sizeof((list)[0]))

static const char *const never[] = {
    "Stack-overflow",
    "Fatal-signal",
    "Missing-library",
    "Overwrites-const-input",
    "Ill",
    "Illegal-instruction",
    "Floating-point-exception",
    "Timeout",
    "Out-of-memory",
    "Unexpected-exit",
    "Test failure",
    "RUNTIME_ASSERT",
    "Security CHECK failure",
    "V8 correctness failure",
    "Fatal error",
    "Unreachable code",
    "Uncaught exception",
    "Sanitizer CHECK failure",
    "Data race",
    "Lock-order-inversion",
    "V8 API error",
    "Stack overflow",
    "Abrt",
    "Bus",
    "Trap",
};

static const char *const ubsan_yes[] = {"Bad-cast", "Index-out-of-bounds",
					"Incorrect-function-pointer-type",
					"Non-positive-vla-bound-value", "Object-size"};

static const char *const always[] = {"Command injection", "Arbitrary file open",
				     "Arbitrary DNS resolution", "PySecSan"};

static const char *const ubsan_no[] = {
    "Assumption-violation",   "Divide-by-zero",	    "Float-cast-overflow",
    "Implicit-conversion",    "Integer-overflow",   "Invalid-bool-value",
    "Invalid-builtin-use",    "Invalid-enum-value", "Invalid-null-argument",
    "Invalid-null-return",    "Misaligned-address", "No-return-value",
    "Pointer-overflow",	      "Undefined-shift",    "Unsigned-integer-overflow",
    "Upcast-of-null-pointer",
};

/* A fault near zero, or at an address that assertions use.  A fault at an address that the machine
 * cannot have is printed without one. */
static bool harmless_address(const struct crash_report *r)
{
	static const uint64_t asserts[] = {0xbbadbeef, 0xfbadbeef, 0x1f75b7dd, 0x977537dd,
					   0x9f7537dd};
	struct slice in = slice_of(r->address);
	uint64_t v;

	scan_lit(&in, SLICE("0x"));
	if (!scan_u64(&in, 16, UINT64_MAX, &v))
		return strcmp(r->signal, "SIGSEGV") != 0;
	for (size_t i = 0; i < sizeof(asserts) / sizeof(asserts[0]); i++)
		if (v == asserts[i])
			return true;
	return v < 0x1000;
}

static bool is_generic(const char *type)
{
	return strncmp(type, "UNKNOWN", 7) == 0 || strncmp(type, "Null-dereference", 16) == 0 ||
	       strcmp(type, "READ") == 0 || strcmp(type, "WRITE") == 0;
}

static bool by_type(const struct crash_parser *p, const char *first, const struct crash_report *r)
{
	if (strcmp(first, "CHECK failure") == 0)
		return p->o.checks_are_security;
	if (strcmp(first, "DCHECK failure") == 0 || strcmp(first, "Security DCHECK failure") == 0)
		return true;
	if (strcmp(first, "ASSERT") == 0)
		return p->o.asserts_are_security;
	if (ONE_OF(first, never) || strstr(first, "-leak") || ONE_OF(first, ubsan_no))
		return false;
	if (ONE_OF(first, ubsan_yes))
		return true;
	if (r->kind == CRASH_PANIC)
		return strcmp(first, "Security exception") == 0;
	if (r->kind == CRASH_TSAN && strncmp(first, "Heap-use-after-free", 19) != 0)
		return false;
	if (ONE_OF(first, always))
		return true;
	if (p->v.no_bug_signal)
		return false;
	return !is_generic(first) || !harmless_address(r);
}

static void first_line(const char *type, char *to, size_t cap)
{
	struct slice in = slice_of(type), line = {"", 0};

	scan_line(&in, &line);
	text_copy(to, cap, line);
}

void report_security(const struct crash_parser *p, struct crash_report *r)
{
	char first[sizeof(r->type)];

	first_line(r->type, first, sizeof(first));
	if (p->v.miracle)
		r->security = false;
	else if (p->v.issue || p->v.pc_null)
		r->security = true;
	else
		r->security = by_type(p, first, r);
}

enum crash_severity report_severity(const struct crash_report *r)
{
	static const char *const high[] = {
	    "Bad-cast",
	    "Heap-double-free",
	    "Heap-use-after-free",
	    "Security DCHECK failure",
	    "Use-after-poison",
	    "Stack-use-after-return",
	    "Stack-use-after-scope",
	    "Invalid-free",
	    "Command injection",
	    "Security exception",
	};
	static const char *const low[] = {
	    "ASSERT",
	    "CHECK failure",
	    "DCHECK failure",
	    "V8 sandbox violation",
	    "Alloc-dealloc-mismatch (malloc vs operator delete)",
	};
	enum crash_severity s = CRASH_SEVERITY_MEDIUM;
	char first[sizeof(r->type)];

	if (!r->security)
		return CRASH_SEVERITY_NONE;
	first_line(r->type, first, sizeof(first));
	if (ONE_OF(first, high))
		s = CRASH_SEVERITY_HIGH;
	else if (ONE_OF(first, low) || strncmp(first, "Alloc-dealloc-mismatch", 22) == 0 ||
		 strncmp(first, "Null-dereference", 16) == 0)
		s = CRASH_SEVERITY_LOW;
	/* A write raises the severity by one. */
	if (r->access == CRASH_ACCESS_WRITE && s < CRASH_SEVERITY_HIGH)
		s++;
	return s;
}
