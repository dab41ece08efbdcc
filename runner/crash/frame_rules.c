/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/frame_rules.h"

#include "runner/crash/text.h"

enum how { IS, LIBC, BEGINS, HAS, LOGS, TAKES, PATH, ROOT, TEXT };

enum { S = FRAME_VIEW_STATE, O = FRAME_VIEW_OWN | FRAME_VIEW_WIDE, L = FRAME_VIEW_OWN };

static const struct rule {
	struct slice text;
	enum how how;
	unsigned views;
} rules[] = {
#define RULE(how, text, views) {{text, sizeof(text) - 1}, how, views},
#include "runner/crash/frame_libc.inc"
#include "runner/crash/frame_rules.inc"
#undef RULE
};

/* "logging::LogMessage", "logging::(anonymous)::CheckLogMessage" */
static bool logs(struct slice name)
{
	return text_after(&name, SLICE("logging::")) && text_has(name, SLICE("LogMessage"));
}

struct subject {
	struct slice name;     /* without arguments */
	struct slice function; /* with them */
	struct slice file;     /* and module: where it is */
	struct slice module;   /* or the function, when it is a library's name */
	struct slice text;
	bool has_line;
};

/* A name that begins with text, which is a whole word or ends one. */
static bool begins(struct slice name, struct slice text)
{
	if (!text_begins(name, text))
		return false;
	return name.n == text.n || !text_word(text.p[text.n - 1]) || text.p[0] == '_' ||
	       text.p[text.n - 1] == '_' || !text_word(name.p[text.n]);
}

static bool hits(const struct rule *r, const struct subject *s)
{
	switch (r->how) {
	case IS:
		return slice_eq(s->name, r->text);
	case LIBC:
		return !s->has_line && slice_eq(s->name, r->text);
	case BEGINS:
		return begins(s->name, r->text);
	case HAS:
		return text_has(s->name, r->text);
	case LOGS:
		return logs(s->name);
	case TAKES:
		return text_has(s->function, r->text);
	case PATH:
		return text_has(s->file, r->text) || text_has(s->module, r->text);
	case ROOT:
		return text_begins(s->file, r->text);
	case TEXT:
		return text_begins(s->text, r->text);
	}
	return false;
}

/* As printed up to its arguments: the state's rules look at the beginning of what was
 * printed, return type included. */
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

enum { PATH_LOOKED_AT = 512 };

/* With '/' for '\\'. */
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
		s.name = slice_of(name);
	}
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if ((rules[i].views & (unsigned)view) && hits(&rules[i], &s))
			return true;
	return false;
}
