/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/session.h"
#include "runner/command/corpus/corpus.h"
#include "runner/state/history.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct stats {
	struct session session;
	bool json, history;
	json_t
	    *targets; /* name: {"files", "bytes", "quarantined", "generations", "history": [...]} */
};

static const struct option_spec specs[] = {
    COMMON_OPTIONS(struct stats, session.common),
    {"history", NULL, "also what each merge made of it", OPTION_AT(struct stats, history)},
    {"json", NULL, "print JSON", OPTION_AT(struct stats, json)},
};

/* --- what is on disk ------------------------------------------------------------- */

struct size {
	uint64_t files, bytes, dirs;
};

/* Measures one directory, which may be missing. */
static int corpus_stats_measure(int at, const char *parent, const char *name, struct size *ret,
				struct err *e)
{
	_autofree_ char *path = xasprintf("%s/%s", parent, name);
	CLEANUP(closedir_p) DIR *d = sys_opendirat(at, path);
	const struct dirent *ent;
	struct stat st;

	*ret = (struct size){0};
	if (!d && errno != ENOENT)
		return err_sys(e, "open '%s/%s'", parent, name);
	while (d && (ent = sys_readdir(d))) {
		if (ent->d_name[0] == '.' ||
		    fstatat(dirfd(d), ent->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISREG(st.st_mode)) {
			ret->files++;
			ret->bytes += (uint64_t)st.st_size;
		} else if (S_ISDIR(st.st_mode))
			ret->dirs++;
	}
	return d && errno ? err_sys(e, "list '%s'", path) : 0;
}

static int corpus_stats_add_target(struct stats *a, const char *name, struct err *e)
{
	int at = a->session.state->dirfd;
	struct size corpus = {0}, quarantine = {0}, retry = {0}, generations = {0};
	int r = corpus_stats_measure(at, "corpus", name, &corpus, e);

	if (r == 0)
		r = corpus_stats_measure(at, "quarantine", name, &quarantine, e);
	if (r == 0)
		r = corpus_stats_measure(at, "retry", name, &retry, e);
	if (r == 0)
		r = corpus_stats_measure(at, "generations", name, &generations, e);
	if (r < 0)
		return r;
	if (json_object_set_new(
		a->targets, name,
		json_pack("{s:s, s:I, s:I, s:I, s:I, s:[]}", "name", name, "files",
			  (json_int_t)corpus.files, "bytes", (json_int_t)corpus.bytes,
			  "quarantined", (json_int_t)quarantine.files + (json_int_t)retry.files,
			  "generations", (json_int_t)generations.dirs, "history")) < 0)
		return err_set(e, EILSEQ, "corpus '%s': its name is not UTF-8", name);
	return 0;
}

static bool corpus_stats_wanted(const struct stats *a, const char *name)
{
	const char *filter = a->session.common.filter;

	return name[0] != '.' && (!filter || fnmatch(filter, name, 0) == 0);
}

static int corpus_stats_add_targets(struct stats *a, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(a->session.state->dirfd, "corpus");
	const struct dirent *ent;
	int r = 0;

	if (!d && errno == ENOENT)
		return 0;
	if (!d)
		return err_sys(e, "open 'corpus'");
	while (r == 0 && (ent = sys_readdir(d)))
		if (corpus_stats_wanted(a, ent->d_name))
			r = corpus_stats_add_target(a, ent->d_name, e);
	return r;
}

/* --- history ----------------------------------------------------------------------- */

static int corpus_stats_on_line(void *arg, const json_t *line, struct err *e)
{
	struct stats *a = arg;
	const char *name = json_string_value(json_object_get(line, "target"));
	json_t *target = name ? json_object_get(a->targets, name) : NULL;

	(void)e;
	if (target)
		(void)json_array_append_new(json_object_get(target, "history"),
					    json_deep_copy(line));
	return 0;
}

static int corpus_stats_collect(struct stats *a, uint64_t *damaged, struct err *e)
{
	int r = corpus_stats_add_targets(a, e);

	return r == 0 ? history_each(a->session.state, "corpus_history.jsonl", corpus_stats_on_line,
				     a, damaged, e)
		      : r;
}

/* --- printing --------------------------------------------------------------------- */

static void print_line(const json_t *line)
{
	time_t t = (time_t)json_get_u64(line, "time");
	const char *verdict = json_string_value(json_object_get(line, "verdict"));
	char when[32] = "?", bytes[UNITS_MAX], cover[UNITS_MAX], shown[ESCAPE_MAX];
	const json_t *before = json_object_get(line, "before");
	struct tm tm;

	if (gmtime_r(&t, &tm))
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
	printf("  %s  %-9s %8llu -> %llu files, %s, %s cover, %llu edges, %llu features\n", when,
	       escape(verdict ? verdict : "?", shown),
	       (unsigned long long)json_get_u64(before, "files"),
	       (unsigned long long)json_get_u64(line, "files"),
	       units_size(json_get_u64(line, "bytes"), bytes),
	       known_exact(json_object_get(line, "cover"), "files", cover),
	       (unsigned long long)json_get_u64(line, "edges"),
	       (unsigned long long)json_get_u64(line, "features"));
}

/* Returns the last line with a measurement. */
static const json_t *last_measured(const json_t *history)
{
	for (size_t i = json_array_size(history); i-- > 0;) {
		const json_t *line = json_array_get(history, i);

		if (json_get_u64(line, "features"))
			return line;
	}
	return NULL;
}

static void corpus_stats_print_target(const struct stats *a, const char *name, const json_t *t)
{
	const json_t *history = json_object_get(t, "history");
	const json_t *last = last_measured(history);
	char bytes[UNITS_MAX], shown[ESCAPE_MAX];
	char cover[UNITS_MAX], edges[UNITS_MAX], features[UNITS_MAX];

	printf("%-32s %8llu files %9s %8s cover %7s edges %8s features %5llu quarantined %2llu "
	       "generations\n",
	       escape(name, shown), (unsigned long long)json_get_u64(t, "files"),
	       units_size(json_get_u64(t, "bytes"), bytes),
	       known_exact(json_object_get(last, "cover"), "files", cover),
	       known_exact(last, "edges", edges), known_exact(last, "features", features),
	       (unsigned long long)json_get_u64(t, "quarantined"),
	       (unsigned long long)json_get_u64(t, "generations"));
	for (size_t i = 0; a->history && i < json_array_size(history); i++)
		print_line(json_array_get(history, i));
}

static int corpus_stats_by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* free() the result; its names belong to the object. */
static const char **sorted_names(const struct stats *a, size_t *ret_n)
{
	const char **names = xcalloc(json_object_size(a->targets) + 1, sizeof(*names));
	const char *name;
	size_t n = 0;
	json_t *t;

	json_object_foreach(a->targets, name, t) names[n++] = name;
	qsort(names, n, sizeof(*names), corpus_stats_by_name);
	*ret_n = n;
	return names;
}

static void corpus_stats_print_text(const struct stats *a, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		corpus_stats_print_target(a, names[i], json_object_get(a->targets, names[i]));
}

static int corpus_stats_print_json(const struct stats *a, const char *const *names, size_t n)
{
	_autojson_ json_t *all = json_pack("{s:[]}", "targets");

	for (size_t i = 0; i < n; i++)
		(void)json_array_append(json_object_get(all, "targets"),
					json_object_get(a->targets, names[i]));
	return answer_print(all);
}

static int corpus_stats_print(const struct stats *a)
{
	size_t n = 0;
	_autofree_ const char **names = sorted_names(a, &n);

	if (a->json)
		return corpus_stats_print_json(a, names, n);
	corpus_stats_print_text(a, names, n);
	return EXIT_DONE;
}

static int corpus_stats_show(struct stats *a)
{
	uint64_t damaged = 0;
	struct err e;

	a->targets = json_object();
	if (corpus_stats_collect(a, &damaged, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	if (damaged)
		(void)fail(EXIT_DONE,
			   "stats/corpus_history.jsonl: %llu damaged lines were left out",
			   (unsigned long long)damaged);
	return corpus_stats_print(a);
}

int corpus_stats(int argc, char **argv)
{
	struct stats a = {0};
	int at = options_parse(argc, argv, "corpus stats [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	int r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "corpus stats: unexpected '%s'", argv[at]);
	r = session_load(&a.session);
	if (r == EXIT_DONE)
		r = session_read(&a.session);
	if (r == EXIT_DONE)
		r = corpus_stats_show(&a);
	json_decref(a.targets);
	session_close(&a.session);
	return r;
}
