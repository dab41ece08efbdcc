/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames are left out of a stack: the runtime's, the engine's, those that only report. */
#include "runner/crash/report/frame.h"

#include "runner/crash/report/text.h"

enum how { IS, LIBC, BEGINS, ROOT, TEXT, HAS, LOGS, TAKES, PATH };

enum {
	S = FRAME_VIEW_STATE,
	O = FRAME_VIEW_OWN | FRAME_VIEW_WIDE,
	L = FRAME_VIEW_OWN,
	R = O | FRAME_VIEW_REPORTER,
};

enum { RULE_TEXT_MAX = 45 };

/* The table holds the texts themselves, so that a search through all rules reads little memory. */
static const struct rule {
	unsigned char how, views, n;
	char text[RULE_TEXT_MAX];
} rules[] = {
#define RULE(how, text, views) {how, views, sizeof(text) - 1, text},
#include "runner/crash/report/frame_libc.inc"
#include "runner/crash/report/frame_rules.inc"
#undef RULE
};

/* "logging::LogMessage", "logging::(anonymous)::CheckLogMessage" */
static bool logs(struct slice name)
{
	return text_after(&name, SLICE("logging::")) && text_has(name, SLICE("LogMessage"));
}

/* The pairs of neighbouring characters in a text, as bits that several pairs may share.  Most texts
 * lack the pairs of a rule, and are not searched. */
struct pairs {
	uint64_t bits[4];
};

static unsigned pair_bit(const char *p)
{
	return ((unsigned char)p[0] * 7U + (unsigned char)p[1] * 31U) % 256;
}

static void add_pairs(struct pairs *to, struct slice s)
{
	for (size_t i = 0; i + 1 < s.n; i++) {
		unsigned bit = pair_bit(s.p + i);

		to->bits[bit / 64] |= UINT64_C(1) << bit % 64;
	}
}

static bool may_have(const struct pairs *p, struct slice needle)
{
	uint64_t all = 1;

	for (size_t i = 0; i + 1 < needle.n && all; i++) {
		unsigned bit = pair_bit(needle.p + i);

		all &= p->bits[bit / 64] >> bit % 64;
	}
	return all;
}

struct subject {
	struct slice name;     /* function name without arguments */
	struct slice function; /* with arguments */
	struct slice file;     /* file and module: the place */
	struct slice module;   /* the function, if the module is missing and the function is a
				* library's name */
	struct slice text;
	bool has_line;
	struct pairs of_name; /* of name and function */
	struct pairs of_place;
};

/* Whether the name begins with text, which must end a word. */
static bool frame_rules_begins(struct slice name, struct slice text)
{
	if (!text_begins(name, text))
		return false;
	return name.n == text.n || !text_word(text.p[text.n - 1]) || text.p[0] == '_' ||
	       text.p[text.n - 1] == '_' || !text_word(name.p[text.n]);
}

static bool hits(const struct rule *r, const struct subject *s)
{
	struct slice text = {r->text, r->n};

	switch ((enum how)r->how) {
	case IS:
		return slice_eq(s->name, text);
	case LIBC:
		return !s->has_line && slice_eq(s->name, text);
	case BEGINS:
		return frame_rules_begins(s->name, text);
	case HAS:
		return may_have(&s->of_name, text) && text_has(s->name, text);
	case LOGS:
		return may_have(&s->of_name, SLICE("logging::")) && logs(s->name);
	case TAKES:
		return may_have(&s->of_name, text) && text_has(s->function, text);
	case PATH:
		return may_have(&s->of_place, text) &&
		       (text_has(s->file, text) || text_has(s->module, text));
	case ROOT:
		return text_begins(s->file, text);
	case TEXT:
		return text_begins(s->text, text);
	}
	return false;
}

static char first_of(struct slice s)
{
	char c = '\n'; /* no rule has it */

	if (s.n > 0)
		c = s.p[0];
	return c;
}

static bool any_hits(const struct subject *s, enum frame_view view)
{
	/* For rules about a beginning: the subject's first character; 0: any. */
	const char first[PATH + 1] = {
	    [IS] = first_of(s->name),	[LIBC] = first_of(s->name), [BEGINS] = first_of(s->name),
	    [ROOT] = first_of(s->file), [TEXT] = first_of(s->text),
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *r = &rules[i];

		if ((r->views & (unsigned)view) &&
		    (!first[r->how] || first[r->how] == r->text[0]) && hits(r, s))
			return true;
	}
	return false;
}

/* The function as printed, up to its arguments: the state's rules check the beginning of the
 * printed text, return type included. */
static struct slice printed_name(struct slice function)
{
	static const struct slice names[] = {{"(anonymous namespace)", 21},
					     {"(anonymous class)", 17}};

	for (size_t i = 0; i < function.n; i++) {
		struct slice at = {function.p + i, function.n - i};

		if (at.p[0] != '(' || i == 0)
			continue;
		if (scan_lit(&at, names[0]) || scan_lit(&at, names[1]))
			i = (size_t)(at.p - function.p) - 1;
		else
			return text_trim((struct slice){function.p, i});
	}
	return text_trim(function);
}

/* Removes Abseil's inline namespace, "absl::lts_20230802::" or "absl::debian3::": it names a
 * version of the library. */
static void drop_inline_namespace(char *name)
{
	static const struct slice tags[] = {{"lts_", 4}, {"debian", 6}, {"head", 4}};
	struct slice rest = slice_of(name);

	if (!scan_lit(&rest, SLICE("absl::")))
		return;
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		struct slice after = rest;

		if (!scan_lit(&after, tags[i]))
			continue;
		while (after.n > 0 && text_digit(after.p[0]))
			text_skip(&after, 1);
		if (scan_lit(&after, SLICE("::")))
			memmove(name + strlen("absl::"), after.p, after.n + 1);
		return;
	}
}

enum { PATH_LOOKED_AT = 512 };

/* Replaces '\\' by '/'. */
static struct slice slashes(struct slice path, char to[PATH_LOOKED_AT])
{
	if (path.n == 0 || path.n > PATH_LOOKED_AT || !memchr(path.p, '\\', path.n))
		return path;
	memcpy(to, path.p, path.n);
	for (size_t i = 0; i < path.n; i++)
		if (to[i] == '\\')
			to[i] = '/';
	return (struct slice){to, path.n};
}

bool frame_ignored(const struct frame *f, enum frame_view view)
{
	char name[FRAME_NAME_MAX], path[PATH_LOOKED_AT];
	struct subject s = {.function = f->function,
			    .file = slashes(f->file, path),
			    .module = f->module,
			    .text = f->text,
			    .has_line = f->line > 0};

	s.name = printed_name(f->function);
	if (view != FRAME_VIEW_STATE && !text_begins(f->function, SLICE("__interceptor_")) &&
	    !text_begins(f->function, SLICE("___interceptor_"))) {
		frame_name(f->function, name);
		drop_inline_namespace(name);
		s.name = slice_of(name);
	}
	add_pairs(&s.of_name, s.name);
	add_pairs(&s.of_name, s.function);
	add_pairs(&s.of_place, s.file);
	add_pairs(&s.of_place, s.module);
	return any_hits(&s, view);
}
