/* SPDX-License-Identifier: Apache-2.0 */
/* Parses every report of generate.sh, compares the result with expected.table, and then compares
 * the keys of the reports with each other.  Prints TAP.
 *
 * usage: check OUT [CLANG...]    versions without a report are skipped tests */
#include "tests/reports/check.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "runner/crash/similar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	REPORTS_MAX = 8192,
	REPORT_BYTES_MAX = 64 << 20,
	FAULTS_SHOWN = 40, /* a test */
};

static struct item items[REPORTS_MAX];
static size_t n_items;
static unsigned n_tests, n_failed, faults;

/* --- TAP -------------------------------------------------------------------- */

void fault(const char *fmt, ...)
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

/* Ends a test.  The test failed if fault() was called since the last test. */
static void test_done(const char *what, const char *who, size_t n)
{
	if (faults > FAULTS_SHOWN)
		printf("# ... %u more\n", faults - FAULTS_SHOWN);
	printf("%s %u - %s: %s (%zu)\n", faults ? "not ok" : "ok", ++n_tests, who, what, n);
	n_failed += faults != 0;
	faults = 0;
}

/* --- expectations ------------------------------------------------------------- */

static bool same(const struct item *a, const struct item *b, const char *key)
{
	return is(a, key, field(b, key));
}

/* Writes the value of a remark "NAME=VALUE" to buf; "" without this remark. */
static const char *remark(const struct item *i, const char *name, char *buf, size_t size)
{
	const char *at = strstr(field(i, "remarks"), name);

	buf[0] = '\0';
	if (at && at[strlen(name)] == '=')
		snprintf(buf, size, "%.*s", (int)strcspn(at + strlen(name) + 1, " "),
			 at + strlen(name) + 1);
	return buf;
}

/* --- keys of two reports ------------------------------------------------------------ */

/* Two reports of one bug in one program. */
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

/* Declared as one crash by the remark "same". */
static bool said_same(const struct item *a, const struct item *b)
{
	char of_a[64], of_b[64];

	remark(a, "same", of_a, sizeof(of_a));
	remark(b, "same", of_b, sizeof(of_b));
	return of_a[0] && strcmp(of_a, of_b) == 0;
}

/* Reports of two bugs in one program. */
static void check_different_sites(const struct item *a, const struct item *b)
{
	if (is_raw(a) && is_raw(b) && has_site(a) && has_site(b) && !said_same(a, b) &&
	    a->is.raw_key[0] && strcmp(a->is.raw_key, b->is.raw_key) == 0)
		fault("%s, %s: one raw key", field(a, "report"), field(b, "bug"));
}

/* One of the reports is of a clang that shows another stack. */
static bool is_apart(const struct item *a, const struct item *b)
{
	char of_a[64], of_b[64];

	return is(a, "clang", remark(a, "apart", of_a, sizeof(of_a))) ||
	       is(b, "clang", remark(b, "apart", of_b, sizeof(of_b)));
}

/* Symbolized reports of two clangs, or of two bugs. */
static void check_signatures(const struct item *a, const struct item *b)
{
	bool equal = strcmp(a->is.signature, b->is.signature) == 0;
	bool wanted = same(a, b, "bug") || said_same(a, b);

	if (same(a, b, "bug") && is_apart(a, b))
		return;
	if (equal != wanted)
		fault("%s, %s: %s", field(a, "report"), field(b, "report"),
		      equal ? "one signature" : "two signatures");
}

static size_t state_of(const struct item *i, const char *ret[CRASH_STATE_MAX])
{
	for (size_t k = 0; k < i->is.n_state; k++)
		ret[k] = i->is.state[k];
	return i->is.n_state;
}

/* Two bugs share the dispatcher and the harness: this does not make them likely one bug. */
static void check_links(const struct item *a, const struct item *b)
{
	const char *of_a[CRASH_STATE_MAX], *of_b[CRASH_STATE_MAX];
	size_t n_a = state_of(a, of_a), n_b = state_of(b, of_b);

	if (!same(a, b, "bug") && strcmp(a->is.state[0], b->is.state[0]) != 0 &&
	    similar_states(of_a, n_a, of_b, n_b))
		fault("%s, %s: likely the same", field(a, "report"), field(b, "report"));
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
			if (counts_for_signature(a, &items[k])) {
				check_signatures(&items[i], &items[k]);
				check_links(&items[i], &items[k]);
			}
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
		crash_parse((struct slice){text, n}, &options, &i->is);
	if (r == 0)
		r = check_prefixed(i, (struct slice){text, n}, &options, (unsigned)n_items, e);
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

static void test_here(const char *clang)
{
	for (size_t i = 0; i < n_items; i++)
		if (is(&items[i], "clang", clang))
			return;
	printf("ok %u - clang %s # SKIP no clang-%s here\n", ++n_tests, clang, clang);
}

int main(int argc, char **argv)
{
	struct err e;

	if (argc < 2) {
		fprintf(stderr, "usage: check OUT [CLANG...]\n");
		return 2;
	}
	if (read_all(argv[1], &e) < 0) {
		printf("Bail out! %s\n", e.msg);
		forget_all();
		return 2;
	}
	for (int i = 2; i < argc; i++)
		test_here(argv[i]);
	for (size_t i = 0; i < n_items; i++)
		if (is_first(i, in_program))
			test_program(i);
	for (size_t i = 0; i < n_items; i++)
		if (is_first(i, in_flavour))
			test_flavour(i);
	printf("1..%u\n", n_tests);
	forget_all();
	return n_failed > 0 || n_items == 0;
}
