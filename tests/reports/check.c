/* SPDX-License-Identifier: Apache-2.0 */
/* Reads every report that generate.sh made with the parser, and compares with what
 * expected.table says of it; then the keys of reports with each other.  Prints TAP.
 *
 * usage: check OUT */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "runner/crash/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	REPORTS_MAX = 8192,
	REPORT_BYTES_MAX = 64 << 20,
	FAULTS_SHOWN = 40, /* a test */
};

/* One report: its object of expected.jsonl, and what the parser read. */
struct item {
	json_t *json;
	struct crash_report is;
};

static struct item items[REPORTS_MAX];
static size_t n_items;
static unsigned n_tests, n_failed, faults;

/* --- TAP -------------------------------------------------------------------- */

__attribute__((format(printf, 1, 2))) static void fault(const char *fmt, ...)
{
	va_list ap;

	if (++faults > FAULTS_SHOWN)
		return;
	fputs("# ", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* Ends a test, which failed when fault() was called since the last one. */
static void test_done(const char *what, const char *who, size_t n)
{
	if (faults > FAULTS_SHOWN)
		printf("# ... %u more\n", faults - FAULTS_SHOWN);
	printf("%s %u - %s: %s (%zu)\n", faults ? "not ok" : "ok", ++n_tests, who, what, n);
	n_failed += faults != 0;
	faults = 0;
}

/* --- what is expected --------------------------------------------------------- */

static const char *field(const struct item *i, const char *key)
{
	const char *text = json_string_value(json_object_get(i->json, key));

	return text ? text : "";
}

static bool is(const struct item *i, const char *key, const char *value)
{
	return strcmp(field(i, key), value) == 0;
}

static bool same(const struct item *a, const struct item *b, const char *key)
{
	return is(a, key, field(b, key));
}

/* The value of a remark "NAME=VALUE" in buf, "" without. */
static const char *remark(const struct item *i, const char *name, char *buf, size_t size)
{
	const char *at = strstr(field(i, "remarks"), name);

	buf[0] = '\0';
	if (at && at[strlen(name)] == '=')
		snprintf(buf, size, "%.*s", (int)strcspn(at + strlen(name) + 1, " "),
			 at + strlen(name) + 1);
	return buf;
}

static bool is_raw(const struct item *i)
{
	return strstr(field(i, "run"), "-raw") != NULL;
}

static bool is_crash(const struct item *i)
{
	return !is(i, "kind", "none");
}

static bool has_frames(const struct item *i)
{
	return !is(i, "frames", "-");
}

/* Timeouts and the like: of the stack nothing is said, so neither of its keys. */
static bool has_site(const struct item *i)
{
	return has_frames(i) && field(i, "frames")[0] != '.';
}

/* --- one report ----------------------------------------------------------------- */

/* Whole names in C; in C++ and after '~' a part of the name. */
static bool name_is(const struct item *i, const char *got, struct slice want)
{
	bool part = is(i, "language", "cc");

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

	if (!is(i, "kind", crash_kind_name(r->kind)))
		fault("%s: kind is '%s', not '%s'", field(i, "report"), crash_kind_name(r->kind),
		      field(i, "kind"));
	if (!is(i, "type", r->type))
		fault("%s: type is '%s', not '%s'", field(i, "report"), r->type, field(i, "type"));
	if (!is(i, "security", "-") && is(i, "security", "yes") != r->security)
		fault("%s: security is %d, not '%s'", field(i, "report"), r->security,
		      field(i, "security"));
	if (!r->signature[0])
		fault("%s: no signature", field(i, "report"));
}

static void check_report(const struct item *i)
{
	const struct crash_report *r = &i->is;

	if (!is(i, "ended", ""))
		fault("%s: the bug ended with %s", field(i, "report"), field(i, "ended"));
	if (r->found != is_crash(i))
		fault("%s: found is %d, not %d", field(i, "report"), r->found, is_crash(i));
	if (!r->found || !is_crash(i))
		return;
	check_verdict(i);
	if (!has_frames(i)) {
		if (r->n_frames > 0)
			fault("%s: frame '%s', where there is none", field(i, "report"),
			      r->frames[0].function);
	} else if (r->unsymbolized != is_raw(i)) {
		fault("%s: unsymbolized is %d", field(i, "report"), r->unsymbolized);
	} else if (!is_raw(i)) {
		check_frames(i);
	}
}

/* --- keys of two reports ------------------------------------------------------------ */

/* Of one bug in one program. */
static void check_repeated(const struct item *a, const struct item *b)
{
	bool same_signature = strcmp(a->is.signature, b->is.signature) == 0;

	if (is_raw(a) != is_raw(b)) {
		if (has_site(a) && same_signature)
			fault("%s, %s: one signature, symbolized and not", field(a, "report"),
			      field(b, "run"));
		return;
	}
	if (!same_signature)
		fault("%s, %s: signatures %s and %s", field(a, "report"), field(b, "run"),
		      a->is.signature, b->is.signature);
	if (has_site(a) && is_raw(a) && strcmp(a->is.raw_key, b->is.raw_key) != 0)
		fault("%s, %s: raw keys '%s' and '%s'", field(a, "report"), field(b, "run"),
		      a->is.raw_key, b->is.raw_key);
	if (has_site(a) && is_raw(a) && !a->is.raw_key[0])
		fault("%s: no raw key", field(a, "report"));
}

/* Of two bugs in one program. */
static void check_different_sites(const struct item *a, const struct item *b)
{
	if (is_raw(a) && is_raw(b) && has_site(a) && has_site(b) && a->is.raw_key[0] &&
	    strcmp(a->is.raw_key, b->is.raw_key) == 0)
		fault("%s, %s: one raw key", field(a, "report"), field(b, "bug"));
}

/* Symbolized reports of two clangs, or of two bugs. */
static void check_signatures(const struct item *a, const struct item *b)
{
	char of_a[64], of_b[64];
	bool equal = strcmp(a->is.signature, b->is.signature) == 0;
	bool wanted = same(a, b, "bug");

	if (wanted && !same(a, b, "clang")) {
		if (is(a, "clang", remark(a, "apart", of_a, sizeof(of_a))) ||
		    is(b, "clang", remark(b, "apart", of_b, sizeof(of_b))))
			return;
	} else if (!wanted) {
		remark(a, "same", of_a, sizeof(of_a));
		wanted = of_a[0] && strcmp(of_a, remark(b, "same", of_b, sizeof(of_b))) == 0;
	}
	if (equal != wanted)
		fault("%s, %s: %s", field(a, "report"), field(b, "report"),
		      equal ? "one signature" : "two signatures");
}

/* --- groups --------------------------------------------------------------------------- */

static bool in_program(const struct item *a, const struct item *b)
{
	return same(a, b, "clang") && same(a, b, "flavour") && same(a, b, "language");
}

static void test_program(size_t first)
{
	const struct item *a = &items[first];
	char who[128];
	size_t n = 0;

	snprintf(who, sizeof(who), "clang %s, %s, %s", field(a, "clang"), field(a, "flavour"),
		 field(a, "language"));
	for (size_t i = first; i < n_items; i++) {
		if (in_program(a, &items[i])) {
			check_report(&items[i]);
			n++;
		}
	}
	test_done("reports are read", who, n);
	for (size_t i = first; i < n_items; i++) {
		if (!in_program(a, &items[i]) || !items[i].is.found)
			continue;
		for (size_t k = i + 1; k < n_items; k++) {
			if (!in_program(a, &items[k]) || !items[k].is.found)
				continue;
			if (same(&items[i], &items[k], "bug"))
				check_repeated(&items[i], &items[k]);
			else
				check_different_sites(&items[i], &items[k]);
		}
	}
	test_done("a bug's keys are stable, its own", who, n);
}

static bool in_flavour(const struct item *a, const struct item *b)
{
	return same(a, b, "flavour") && same(a, b, "language");
}

static bool counts_for_signature(const struct item *a, const struct item *i)
{
	return in_flavour(a, i) && is(i, "run", "file") && i->is.found;
}

static void test_flavour(size_t first)
{
	const struct item *a = &items[first];
	char who[128];
	size_t n = 0;

	snprintf(who, sizeof(who), "%s, %s", field(a, "flavour"), field(a, "language"));
	for (size_t i = first; i < n_items; i++) {
		if (!counts_for_signature(a, &items[i]))
			continue;
		n++;
		for (size_t k = i + 1; k < n_items; k++)
			if (counts_for_signature(a, &items[k]))
				check_signatures(&items[i], &items[k]);
	}
	test_done("one signature a bug with all clangs, another than other bugs'", who, n);
}

/* --- all of it -------------------------------------------------------------------------- */

static int read_one(int dirfd, struct slice line, struct err *e)
{
	static const struct crash_options options = {.target = "bugs"};
	struct item *i = &items[n_items];
	_autofree_ char *text = NULL;
	size_t n = 0;
	int r;

	if (n_items == REPORTS_MAX)
		return err_set(e, E2BIG, "more than %d reports", REPORTS_MAX);
	r = json_parse(line, &i->json, e);
	if (r < 0)
		return r;
	n_items++;
	r = fs_read(dirfd, field(i, "report"), REPORT_BYTES_MAX, &text, &n, e);
	if (r == 0)
		r = crash_parse((struct slice){text, n}, &options, &i->is, e);
	return r < 0 ? err_wrap(e, "'%s'", field(i, "report")) : 0;
}

static int read_all(const char *out, struct err *e)
{
	_autofree_ char *text = NULL;
	_autoclose_ int dirfd = open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct slice rest = {0}, line;
	int r;

	if (dirfd < 0)
		return err_sys(e, "open '%s'", out);
	r = fs_read(dirfd, "expected.jsonl", REPORT_BYTES_MAX, &text, &rest.n, e);
	rest.p = text;
	while (r == 0 && scan_line(&rest, &line))
		r = read_one(dirfd, line, e);
	return r;
}

static void forget_all(void)
{
	for (size_t i = 0; i < n_items; i++) {
		json_decref(items[i].json);
		crash_report_done(&items[i].is);
	}
}

static bool is_first(size_t at, bool (*in_group)(const struct item *, const struct item *))
{
	for (size_t i = 0; i < at; i++)
		if (in_group(&items[i], &items[at]))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	struct err e;

	if (argc != 2) {
		fprintf(stderr, "usage: check OUT\n");
		return 2;
	}
	if (read_all(argv[1], &e) < 0) {
		printf("Bail out! %s\n", e.msg);
		forget_all();
		return 2;
	}
	for (size_t i = 0; i < n_items; i++)
		if (is_first(i, in_program))
			test_program(i);
	for (size_t i = 0; i < n_items; i++)
		if (is_first(i, in_flavour))
			test_flavour(i);
	printf("1..%u\n", n_tests);
	forget_all();
	return n_failed > 0 || n_tests == 0;
}
