/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/coverage/report.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/memory.h"
#include "runner/coverage/blockers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCE_MAX = 160 };

/* Names of files and functions may hold any bytes. */
static json_t *report_text(const char *s)
{
	char shown[ESCAPE_MAX];

	return json_string(escape(s, shown));
}

/* --- totals ------------------------------------------------------------------------------- */

static const char *const measures[] = {"lines", "functions", "regions", "branches"};

enum { MEASURES = sizeof(measures) / sizeof(measures[0]) };

/* {"lines": {"count", "covered"}, ...} of a summary of llvm-cov.  False: it has no such numbers. */
static bool report_add_measures(const json_t *summary, json_t *to)
{
	for (size_t i = 0; i < MEASURES; i++) {
		const json_t *m = json_object_get(summary, measures[i]);
		uint64_t count = json_get_u64(m, "count"), covered = json_get_u64(m, "covered");

		if (!json_is_object(m) || covered > count)
			return false;
		(void)json_object_set_new(to, measures[i],
					  json_pack("{s:I, s:I}", "count", (json_int_t)count,
						    "covered", (json_int_t)covered));
	}
	return true;
}

static bool report_add_file(const json_t *file, json_t *to)
{
	const json_t *name = json_object_get(file, "filename");
	json_t *o = json_object();

	(void)json_array_append_new(to, o);
	return json_is_string(name) &&
	       json_object_set_new(o, "path", report_text(json_string_value(name))) == 0 &&
	       report_add_measures(json_object_get(file, "summary"), o);
}

static int report_add_summary(int out, json_t *to, struct err *e)
{
	_autojson_ json_t *j = NULL;
	const json_t *data, *file;
	json_t *totals = json_object(), *files = json_array();
	size_t i;
	bool ok;
	int r;

	(void)json_object_set_new(to, "totals", totals);
	(void)json_object_set_new(to, "files", files);
	r = json_load(out, "summary.json", REPORT_SUMMARY_MAX, &j, e);
	if (r < 0)
		return r;
	data = json_array_get(json_object_get(j, "data"), 0);
	ok = report_add_measures(json_object_get(data, "totals"), totals);
	json_array_foreach(json_object_get(data, "files"), i, file) ok =
	    ok && (i >= REPORT_FILES_MAX || report_add_file(file, files));
	if (!ok)
		return err_set(e, EBADMSG, "the summary of llvm-cov is not as expected");
	if (json_get_u64(json_object_get(totals, "lines"), "count") == 0)
		return err_set(e, ENODATA,
			       "the program maps its counters to no source line: build it with "
			       "-fprofile-instr-generate -fcoverage-mapping");
	if (json_get_u64(json_object_get(totals, "lines"), "covered") == 0)
		return err_set(e, EBADMSG,
			       "no line was reached: the profile is of another program (was it "
			       "built meanwhile?)");
	return 0;
}

/* --- what stands in the way ------------------------------------------------------------------- */

/* A text file of the tools, and what it was parsed to. */
struct report_detail {
	char *tracefile, *source;
	struct lcov lcov;
	struct listing listing;
};

static void report_detail_done(struct report_detail *d)
{
	lcov_done(&d->lcov);
	listing_done(&d->listing);
	free(d->tracefile);
	free(d->source);
}

static int report_read(int out, struct report_detail *ret, struct err *e)
{
	size_t n = 0, n_source = 0;
	int r = fs_read(out, "lcov.info", REPORT_TEXT_MAX, &ret->tracefile, &n, e);

	if (r == 0)
		r = lcov_parse((struct slice){ret->tracefile, n}, &ret->lcov, e);
	if (r == 0)
		r = fs_read(out, "listing", REPORT_TEXT_MAX, &ret->source, &n_source, e);
	if (r == 0)
		listing_parse((struct slice){ret->source, n_source},
			      ret->lcov.n == 1 ? ret->lcov.v[0].path : NULL, &ret->listing);
	return r;
}

/* A line of source text, without the blanks and the carriage return around it. */
static json_t *report_source(struct slice line)
{
	char text[SOURCE_MAX + 1];
	size_t n;

	scan_blanks(&line);
	while (line.n > 0 && strchr(" \t\r", line.p[line.n - 1]) && line.p[line.n - 1])
		line.n--;
	n = line.n < SOURCE_MAX ? line.n : SOURCE_MAX;
	memcpy(text, line.p, n);
	text[n] = '\0';
	return report_text(text);
}

/* llvm-cov writes counts near UINT64_MAX when it subtracted more than there was. */
static json_int_t report_count(uint64_t n)
{
	return n < INT64_MAX ? (json_int_t)n : INT64_MAX;
}

static json_t *report_blocker(const struct blocker *b)
{
	return json_pack("{s:o, s:I, s:o, s:o, s:b, s:I, s:I, s:I}", "path",
			 report_text(b->file->path), "line", (json_int_t)b->line, "function",
			 report_text(b->function->name), "source", report_source(b->text),
			 "missing", b->missing, "evaluated", report_count(b->evaluated), "lines",
			 (json_int_t)b->lines, "functions", (json_int_t)b->functions);
}

static void report_add_blockers(struct report_detail *d, json_t *to)
{
	json_t *list = json_array();
	struct blocker *v;
	size_t n;

	blockers_find(&d->lcov, &d->listing, &v, &n);
	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(list, report_blocker(&v[i]));
	free(v);
	(void)json_object_set_new(to, "blockers", list);
	(void)json_object_set_new(to, "sources", json_boolean(d->listing.n > 0));
}

/* --- functions that were and are reached ----------------------------------------- */

/* A function: its file and its name.  Instances of one name count as one. */
struct known_function {
	const char *path, *name;
	bool reached;
};

struct known_functions {
	struct known_function *v; /* sorted, each once */
	size_t n;
};

static int known_compare(const void *a, const void *b)
{
	const struct known_function *x = a, *y = b;
	int r = strcmp(x->path, y->path);

	return r != 0 ? r : strcmp(x->name, y->name);
}

static struct known_functions known_of(const struct lcov *l)
{
	struct known_functions k = {0};
	size_t all = 0, n = 0;

	for (size_t i = 0; i < l->n; i++)
		all += l->v[i].n_functions;
	k.v = xcalloc(all + 1, sizeof(*k.v));
	for (size_t i = 0; i < l->n; i++)
		for (size_t f = 0; f < l->v[i].n_functions; f++)
			k.v[k.n++] =
			    (struct known_function){l->v[i].path, l->v[i].functions[f].name,
						    l->v[i].functions[f].count > 0};
	if (k.n > 0)
		qsort(k.v, k.n, sizeof(*k.v), known_compare);
	for (size_t i = 0; i < k.n; i++) {
		if (n > 0 && known_compare(&k.v[n - 1], &k.v[i]) == 0)
			k.v[n - 1].reached |= k.v[i].reached;
		else
			k.v[n++] = k.v[i];
	}
	k.n = n;
	return k;
}

static const struct known_function *known_find(const struct known_functions *k,
					       const struct known_function *f)
{
	return k->n ? bsearch(f, k->v, k->n, sizeof(*k->v), known_compare) : NULL;
}

/* The functions that are reached in `a` and not in `b`.  gone: also those that b does not have. */
static json_t *report_difference(const struct known_functions *a, const struct known_functions *b,
				 bool gone, uint64_t *ret_n)
{
	json_t *list = json_array();

	*ret_n = 0;
	for (size_t i = 0; i < a->n; i++) {
		const struct known_function *other = known_find(b, &a->v[i]);

		if (!a->v[i].reached || (other ? other->reached : !gone))
			continue;
		if (++*ret_n <= REPORT_CHANGES_MAX)
			(void)json_array_append_new(
			    list, json_pack("{s:o, s:o}", "path", report_text(a->v[i].path),
					    "function", report_text(a->v[i].name)));
	}
	return list;
}

/* A function that left the program is not lost. */
static json_t *report_change(const struct lcov *was, const struct lcov *is, const json_t *before)
{
	struct known_functions old = known_of(was), new = known_of(is);
	uint64_t n_newly, n_lost;
	json_t *newly = report_difference(&new, &old, true, &n_newly);
	json_t *lost = report_difference(&old, &new, false, &n_lost);

	free(old.v);
	free(new.v);
	return json_pack("{s:I, s:O?, s:I, s:o, s:I, s:o}", "since",
			 (json_int_t)json_get_u64(before, "time"), "commit",
			 json_object_get(before, "commit"), "newly_reached", (json_int_t)n_newly,
			 "newly", newly, "no_longer_reached", (json_int_t)n_lost, "lost", lost);
}

/* "change": null if there is no report before that can be read. */
static void report_add_change(int before, const struct lcov *is, json_t *to)
{
	_autojson_ json_t *old = NULL;
	_autofree_ char *text = NULL;
	_autolcov_ struct lcov was = {0};
	json_t *change = NULL;
	struct err e;
	size_t n;

	if (before >= 0 && json_load(before, "report.json", REPORT_JSON_MAX, &old, &e) == 0 &&
	    fs_read(before, "lcov.info", REPORT_TEXT_MAX, &text, &n, &e) == 0 &&
	    lcov_parse((struct slice){text, n}, &was, &e) == 0)
		change = report_change(&was, is, old);
	(void)json_object_set_new(to, "change", change ? change : json_null());
}

/* --- the report ------------------------------------------------------------------ */

static json_t *report_begin(const struct report_facts *f)
{
	return json_pack("{s:s, s:o, s:I, s:o, s:{s:I, s:I, s:I, s:o}, s:o}", "target", f->target,
			 "commit", f->commit ? report_text(f->commit) : json_null(), "time",
			 (json_int_t)f->time, "llvm", f->llvm ? json_integer(f->llvm) : json_null(),
			 "inputs", "ran", (json_int_t)f->ran, "failed", (json_int_t)f->failed,
			 "left_out", (json_int_t)f->left_out, "why", report_text(f->why), "notes",
			 report_text(f->notes));
}

int report_make(int out, int before, const struct report_facts *f, json_t **ret, struct err *e)
{
	CLEANUP(report_detail_done) struct report_detail d = {0};
	_autojson_ json_t *j = report_begin(f);
	int r = j ? report_add_summary(out, j, e) : err_set(e, EILSEQ, "a name is not UTF-8");

	if (r == 0)
		r = report_read(out, &d, e);
	if (r < 0)
		return r;
	report_add_blockers(&d, j);
	report_add_change(before, &d.lcov, j);
	*ret = json_incref(j);
	return 0;
}

json_t *report_history_line(const json_t *report)
{
	const json_t *change = json_object_get(report, "change");

	return json_pack(
	    "{s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?}", "time",
	    json_object_get(report, "time"), "commit", json_object_get(report, "commit"), "totals",
	    json_object_get(report, "totals"), "inputs", json_object_get(report, "inputs"),
	    "newly_reached", json_object_get(change, "newly_reached"), "newly",
	    json_object_get(change, "newly"), "no_longer_reached",
	    json_object_get(change, "no_longer_reached"), "lost", json_object_get(change, "lost"));
}

static json_t *report_first(const json_t *list)
{
	json_t *some = json_array();

	for (size_t i = 0; i < json_array_size(list) && i < REPORT_SUMMARY_ROWS; i++)
		(void)json_array_append(some, json_array_get(list, i));
	return some;
}

json_t *report_summary(const json_t *report)
{
	const json_t *change = json_object_get(report, "change");
	json_t *s = report_history_line(report);

	(void)json_object_set(s, "target", json_object_get(report, "target"));
	(void)json_object_set(s, "sources", json_object_get(report, "sources"));
	(void)json_object_set_new(s, "blockers", report_first(json_object_get(report, "blockers")));
	(void)json_object_set_new(s, "newly", report_first(json_object_get(change, "newly")));
	(void)json_object_set_new(s, "lost", report_first(json_object_get(change, "lost")));
	return s;
}
