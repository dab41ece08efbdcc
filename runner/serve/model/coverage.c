/* SPDX-License-Identifier: Apache-2.0 */
/* The source coverage of a target (docs/coverage.md): its report as JSON, and llvm-cov's pages. */
#include "runner/coverage/report.h"
#include "runner/coverage/shelf.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/serve/model/model.h"
#include "runner/state/history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { HISTORY_LINES = 60 };

/* "all" in paths stands for all targets together: '@' would need an escape. */
static const char *report_name(const char *name)
{
	return strcmp(name, "all") == 0 ? SHELF_ALL : name;
}

/* The share of lines that the newest reports cover, oldest first. */
static json_t *coverage_trend(struct serve_site *s, const char *name)
{
	_autofree_ char *file = xasprintf("coverage/%s.jsonl", name);
	_autojson_ json_t *lines = NULL;
	json_t *all = json_array();
	uint64_t damaged;
	struct err ignored;

	if (history_last(s->state, file, HISTORY_LINES, &lines, &damaged, &ignored) < 0)
		return all;
	for (size_t i = 0; i < json_array_size(lines); i++) {
		const json_t *totals = json_object_get(json_array_get(lines, i), "totals");
		const json_t *of = json_object_get(totals, "lines");
		double count = get_number(of, "count");

		if (count > 0)
			json_array_append_new(all, json_real(get_number(of, "covered") / count));
	}
	return all;
}

static bool coverage_has_pages(struct serve_site *s, const char *name)
{
	_autoclose_ int fd = -1;
	struct err ignored;

	return shelf_open_page(s->state, name, SLICE("index.html"), &fd, &ignored) == 0;
}

/* The summary of the newest report; JSON null: there is none, or it cannot be read. */
json_t *coverage_part(struct serve_site *s, const char *name)
{
	const char *in_path = strcmp(name, SHELF_ALL) == 0 ? "all" : name;
	json_t *m = NULL;
	struct err ignored;
	uint64_t time;

	if (shelf_summary(s->state, name, &m, &ignored) < 0 || !json_is_object(m)) {
		json_decref(m);
		return json_null();
	}
	time = get_count(m, "time");
	make_time(m, "time", time);
	make_href(m, "api", "api/v1/coverage/", in_path, ".json");
	if (coverage_has_pages(s, name))
		make_href(m, "href", "coverage/", in_path, "/index.html");
	make_set(m, "trend", coverage_trend(s, name));
	return m;
}

int model_coverage(struct serve_site *s, const char *name, json_t **ret, struct err *e)
{
	_autojson_ json_t *m = json_object();
	_autoclose_ int dir = -1;
	json_t *report = NULL;
	int r = shelf_open(s->state, report_name(name), &dir, e);

	if (r == 0 && dir < 0)
		return err_set(e, ENOENT, "this target has no coverage report");
	if (r == 0)
		r = json_load(dir, "report.json", REPORT_JSON_MAX, &report, e);
	if (r < 0)
		return err_set(e, EBADMSG, "%s", e->msg);
	make_number(m, "v", 1);
	make_set(m, "report", report);
	make_set(m, "trend", coverage_trend(s, report_name(name)));
	*ret = take_ptr(&m);
	return 0;
}

/* --- pages ---------------------------------------------------------------------------------- */

static const char *page_type(struct slice path)
{
	static const char *const types[][2] = {{".html", "text/html; charset=utf-8"},
					       {".css", "text/css; charset=utf-8"}};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t n = strlen(types[i][0]);

		if (path.n > n && memcmp(path.p + path.n - n, types[i][0], n) == 0)
			return types[i][1];
	}
	return NULL;
}

int coverage_page(struct serve_site *s, const char *name, struct slice path, struct serve_answer *a,
		  struct err *e)
{
	_autoclose_ int fd = -1;
	_autofree_ char *bytes = NULL;
	struct stat st;
	ssize_t n;
	int r;

	a->type = page_type(path);
	if (!a->type)
		return err_set(e, ENOENT, "no such page");
	a->foreign = true;
	r = shelf_open_page(s->state, report_name(name), path, &fd, e);
	if (r < 0)
		return r == -ENOENT ? r : err_set(e, ENOENT, "no such page");
	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat the page");
	if (st.st_size > SERVE_BODY_MAX)
		return err_set(e, ENOENT,
			       "this page is larger than %d MiB: fuzzcell coverage --html writes "
			       "it to a directory",
			       SERVE_BODY_MAX >> 20);
	bytes = xmalloc((size_t)st.st_size + 1);
	n = sys_pread_all(fd, bytes, (size_t)st.st_size, 0);
	if (n < 0)
		return err_sys(e, "read the page");
	buf_put(&a->body, (struct slice){bytes, (size_t)n});
	return buf_check(&a->body, e);
}
