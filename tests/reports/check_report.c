/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/reports/check.h"

/* The type on one line. */
static const char *flat(const char *type, char *buf, size_t size)
{
	snprintf(buf, size, "%s", type);
	for (char *p = buf; *p; p++)
		if (*p == '\n')
			*p = '/';
	return buf;
}

/* The name without template arguments; the < of "operator<" is no bracket. */
static const char *plain(const char *name, char *buf, size_t size)
{
	static const struct slice word = {"operator", 8};
	size_t n = 0, depth = 0;

	for (const char *p = name; *p && n + 1 < size; p++) {
		bool angle = *p == '<' || (*p == '>' && depth > 0);
		size_t run = n;

		while (run > 0 && strchr("<>-=", buf[run - 1]))
			run--;
		if (depth == 0 && run >= word.n && memcmp(buf + run - word.n, word.p, word.n) == 0)
			angle = false;
		if (!angle && depth == 0)
			buf[n++] = *p;
		if (angle)
			depth += *p == '<' ? 1 : (size_t)-1;
	}
	buf[n] = '\0';
	return buf;
}

/* In C whole names are compared; in other languages and after '~' a part of the name. */
static bool name_is(const struct item *i, const char *full, struct slice want)
{
	bool part = !is(i, "language", "c") && !is(i, "language", "trap");
	char buf[CRASH_NAME_MAX];
	const char *got = plain(full, buf, sizeof(buf));

	if (want.n > 0 && want.p[0] == '~') {
		want = (struct slice){want.p + 1, want.n - 1};
		part = true;
	}
	if (slice_eq(want, SLICE("=")))
		want = slice_of(field(i, "bug"));
	return part ? memmem(got, strlen(got), want.p, want.n) != NULL
		    : slice_eq(slice_of(got), want);
}

static void check_frame(const struct item *i, size_t at, struct slice want)
{
	const char *got = at < i->is.n_frames ? i->is.frames[at].function : "(none)";

	if (!name_is(i, got, want))
		fault("%s: frame %zu is '%s', not '%.*s'", field(i, "report"), at, got, (int)want.n,
		      want.p);
	if (at == 0 && !name_is(i, i->is.top_frame, want))
		fault("%s: top frame is '%s', not '%.*s'", field(i, "report"), i->is.top_frame,
		      (int)want.n, want.p);
}

/* "a < b < =" or "a ..." */
static void check_frames(const struct item *i)
{
	const char *p = field(i, "frames");
	const char *more = strstr(p, "...");
	const char *end = more ? more : p + strlen(p);
	size_t at = 0;

	while (end > p && end[-1] == ' ')
		end--;
	while (p < end) {
		const char *next = strstr(p, " < ");
		size_t n = (size_t)((next && next < end ? next : end) - p);

		check_frame(i, at++, (struct slice){p, n});
		p += n + strlen(" < ");
	}
	if (more)
		return;
	check_frame(i, at++, SLICE("dispatch"));
	check_frame(i, at++, SLICE("LLVMFuzzerTestOneInput"));
	if (i->is.n_frames != at)
		fault("%s: %zu frames, not %zu", field(i, "report"), i->is.n_frames, at);
}

static void check_verdict(const struct item *i)
{
	const struct crash_report *r = &i->is;
	char got[sizeof(r->type)], want[sizeof(r->type)];

	if (!is(i, "kind", crash_kind_name(r->kind)))
		fault("%s: kind is '%s', not '%s'", field(i, "report"), crash_kind_name(r->kind),
		      field(i, "kind"));
	if (!is(i, "type", r->type))
		fault("%s: type is '%s', not '%s'", field(i, "report"),
		      flat(r->type, got, sizeof(got)), flat(field(i, "type"), want, sizeof(want)));
	if (!is(i, "security", "-") && is(i, "security", "yes") != r->security)
		fault("%s: security is %d, not '%s'", field(i, "report"), r->security,
		      field(i, "security"));
	if (!r->signature[0])
		fault("%s: no signature", field(i, "report"));
	if (r->n_state == 0 || !r->state[0][0])
		fault("%s: no state", field(i, "report"));
}

/* The report has "READ 4" twice. */
static void check_access(const struct item *i)
{
	static const char *const words[CRASH_ACCESS_COUNT] = {
	    [CRASH_ACCESS_READ] = "READ", [CRASH_ACCESS_WRITE] = "WRITE"};
	const struct crash_report *r = &i->is;
	const char *word = words[r->access];
	char text[64];

	if (!strpbrk(field(i, "type"), "\n") || strstr(field(i, "type"), "{*}"))
		return;
	snprintf(text, sizeof(text), "\n%s %llu", word ? word : "?",
		 (unsigned long long)r->access_size);
	if (!strstr(r->type, text))
		fault("%s: access is '%s', %llu bytes", field(i, "report"),
		      crash_access_name(r->access), (unsigned long long)r->access_size);
}

static bool is_crash(const struct item *i)
{
	return !is(i, "kind", "none");
}

void check_report(const struct item *i)
{
	const struct crash_report *r = &i->is;

	if (!is(i, "ended", ""))
		fault("%s: the bug ended with %s", field(i, "report"), field(i, "ended"));
	if (r->found != is_crash(i))
		fault("%s: found is %d, not %d", field(i, "report"), r->found, is_crash(i));
	if (i->prefixed[0])
		fault("%s: behind a log's prefix %s", field(i, "report"), i->prefixed);
	if (!r->found || !is_crash(i))
		return;
	check_verdict(i);
	check_access(i);
	if (!has_frames(i)) {
		if (r->n_frames > 0)
			fault("%s: frame '%s', where there is none", field(i, "report"),
			      r->frames[0].function);
	} else if (r->unsymbolized != is_raw(i) && has_site(i)) {
		fault("%s: unsymbolized is %d", field(i, "report"), r->unsymbolized);
	} else if (!is_raw(i)) {
		check_frames(i);
	}
}
