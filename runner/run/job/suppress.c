/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/job/suppress.h"

#include <stdio.h>
#include <string.h>

/* --- a function ------------------------------------------------------------ */

enum {
	PARTS_MAX = 4, /* so many last parts of a name may have template arguments */
	PATTERN_MAX = 1024,
};

struct name {
	const char *whole;
	const char *parts[PARTS_MAX]; /* beginnings of the last parts, the last part first */
	size_t n;
};

/* Splits a name like "a::b::c". */
static struct name suppress_split(const char *function)
{
	struct name ret = {.whole = function};
	const char *at = function + strlen(function);

	while (ret.n < PARTS_MAX && at > function) {
		const char *p = at - 1;

		while (p > function && !(p[0] == ':' && p[-1] == ':'))
			p--;
		ret.parts[ret.n++] = p > function ? p + 1 : p;
		at = p > function ? p - 1 : p;
	}
	return ret;
}

/* Bit i of templates: the i-th part from the end has template arguments. */
static void add_pattern(const char *type, const struct name *name, unsigned templates,
			struct buf *ret)
{
	char text[PATTERN_MAX];
	size_t n = 0;

	for (const char *p = name->whole; *p && n + 8 < sizeof(text); p++) {
		for (size_t i = 0; i + 1 < name->n; i++)
			if (templates & 2U << i && p == name->parts[i] - 2) {
				memcpy(text + n, "<*>", 3);
				n += 3;
			}
		text[n++] = *p;
	}
	text[n] = '\0';
	/* The name of a function template begins with the result type. */
	if (templates & 1)
		buf_printf(ret, "%s:* %s<*\n%s:^%s<*\n", type, text, type, text);
	else
		buf_printf(ret, "%s:^%s$\n%s:^%s(*\n", type, text, type, text);
}

/* "{lambda}" stands for many names. */
static bool suppress_is_plain(const char *function)
{
	return *function && !strpbrk(function, "\r\n{}*^$") && strlen(function) < PATTERN_MAX / 2;
}

void suppress_function(const char *type, const char *function, struct buf *ret)
{
	struct name name = suppress_split(function);

	if (!suppress_is_plain(function))
		return;
	for (unsigned t = 0; t < 1U << name.n; t++)
		add_pattern(type, &name, t, ret);
}

/* --- leaks ------------------------------------------------------------------ */

/* For example "xmalloc", "my_strdup", "PoolAllocator::get". */
static bool is_allocation(const char *function)
{
	static const char *const words[] = {"alloc", "dup"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(function, words[i]))
			return true;
	return false;
}

const char *suppress_leaking(const struct ledger_list *frames)
{
	size_t i = 0;

	while (i + 1 < frames->n && is_allocation(frames->v[i]))
		i++;
	return i < frames->n && *frames->v[i] ? frames->v[i] : NULL;
}

/* The target's own entry of the crash, if it is open and of that kind; otherwise NULL. */
static const struct known_crash *suppress_open_crash(const struct known_crash *c,
						     const char *target, const char *kind)
{
	const struct known_crash *own = ledger_entry(c, target);

	return own && strcmp(own->kind, kind) == 0 && own->state != LEDGER_FIXED ? own : NULL;
}

void suppress_leaks(const struct ledger *l, const char *target, struct buf *ret)
{
	for (size_t i = 0; i < ledger_count(l); i++) {
		const struct known_crash *own =
		    suppress_open_crash(ledger_at(l, i), target, "lsan");
		const char *function = own ? suppress_leaking(&own->frames) : NULL;

		if (function)
			suppress_function("leak", function, ret);
	}
}

/* --- undefined behaviour ------------------------------------------------------ */

/* The crash types of runner/crash/report/kind_ubsan.c after which a program can go on, and UBSan's
 * names of their checks (compiler-rt/lib/ubsan/ubsan_checks.inc).  An unknown name ends the
 * program, so these are names that LLVM 14 to 19 have.  A bad index or a null pointer is missing:
 * the access itself comes after the check. */
static const struct {
	const char *crash_type;
	const char *checks[5];
} goes_on[] = {
    {"Float-cast-overflow", {"float-cast-overflow"}},
    {"Implicit-conversion",
     {"implicit-unsigned-integer-truncation", "implicit-signed-integer-truncation",
      "implicit-integer-sign-change",
      "implicit-signed-integer-truncation,implicit-integer-sign-change"}},
    {"Integer-overflow", {"signed-integer-overflow"}},
    {"Invalid-bool-value", {"bool", "enum"}},
    {"Invalid-builtin-use", {"invalid-builtin-use"}},
    {"Invalid-enum-value", {"enum"}},
    {"Invalid-null-argument", {"nonnull-attribute", "nullability-arg"}},
    {"Invalid-null-return", {"returns-nonnull-attribute", "nullability-return"}},
    {"Misaligned-address", {"alignment"}},
    {"Pointer-overflow", {"pointer-overflow"}},
    {"Undefined-shift", {"shift-base", "shift-exponent"}},
    {"Unsigned-integer-overflow", {"unsigned-integer-overflow"}},
};

bool suppress_goes_on(const struct known_crash *own)
{
	for (size_t i = 0; i < sizeof(goes_on) / sizeof(goes_on[0]); i++)
		if (strcmp(own->kind, "ubsan") == 0 && own->frames.n > 0 &&
		    suppress_is_plain(own->frames.v[0]) &&
		    strcmp(own->crash_type, goes_on[i].crash_type) == 0)
			return true;
	return false;
}

static void suppress_crash(const struct known_crash *own, struct buf *ret)
{
	for (size_t i = 0; i < sizeof(goes_on) / sizeof(goes_on[0]); i++) {
		const char *const *check = goes_on[i].checks;

		if (strcmp(own->crash_type, goes_on[i].crash_type) != 0)
			continue;
		for (; *check; check++)
			suppress_function(*check, own->frames.v[0], ret);
	}
}

enum {
	NOT_MAX = sizeof(((struct suppress_not *)0)->signatures) /
		  sizeof(((struct suppress_not *)0)->signatures[0])
};

void suppress_not_add(struct suppress_not *io, const char *signature)
{
	for (size_t i = 0; i < io->n; i++)
		if (strcmp(io->signatures[i], signature) == 0)
			return;
	if (io->n < NOT_MAX)
		snprintf(io->signatures[io->n++], sizeof(io->signatures[0]), "%s", signature);
}

static bool is_left_out(const struct suppress_not *without, const char *signature)
{
	for (size_t i = 0; i < without->n; i++)
		if (without->n == NOT_MAX || strcmp(without->signatures[i], signature) == 0)
			return true;
	return false;
}

void suppress_undefined(const struct ledger *l, const char *target,
			const struct suppress_not *without, struct buf *ret)
{
	for (size_t i = 0; i < ledger_count(l); i++) {
		const struct known_crash *own =
		    suppress_open_crash(ledger_at(l, i), target, "ubsan");

		if (own && own->frames.n > 0 && !is_left_out(without, own->signature))
			suppress_crash(own, ret);
	}
}
