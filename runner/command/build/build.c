/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/build/build.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/sys.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/targets/build/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* --- builds of all sources ------------------------------------------------ */

/* The number of build logs that are kept. */
enum { LOGS_KEPT = 20, LOG_NAME_MAX = 40 };
#define LOG_BEGINS "build-"

bool builds_wanted(const struct session *s)
{
	size_t n;
	const struct config_source *v = config_sources(s->common.config, &n);

	for (size_t i = 0; !s->common.targets_dir && i < n; i++)
		if (build_wanted(&v[i]))
			return true;
	return false;
}

static bool is_log(const char *name)
{
	return strncmp(name, LOG_BEGINS, strlen(LOG_BEGINS)) == 0;
}

/* Removes the oldest logs. Their names are times, so they sort by age. */
static void sweep_logs(int logs)
{
	for (;;) {
		CLEANUP(closedir_p) DIR *d = sys_opendirat(logs, ".");
		const struct dirent *ent;
		char oldest[LOG_NAME_MAX] = "";
		size_t n = 0;

		while (d && (ent = sys_readdir(d))) {
			if (!is_log(ent->d_name) || strlen(ent->d_name) >= LOG_NAME_MAX)
				continue;
			n++;
			if (!*oldest || strcmp(ent->d_name, oldest) < 0)
				snprintf(oldest, sizeof(oldest), "%.39s", ent->d_name);
		}
		if (n <= LOGS_KEPT || sys_unlinkat(logs, oldest, 0) < 0)
			return;
	}
}

static int build_open_log(const struct state *s, char name[LOG_NAME_MAX])
{
	_autoclose_ int logs = sys_openat(s->dirfd, "logs", O_RDONLY | O_DIRECTORY, 0);
	time_t t = (time_t)(clock_real_us() / USEC_PER_SEC);
	struct tm tm;
	int fd = -1;
	struct err e;

	snprintf(name, LOG_NAME_MAX, LOG_BEGINS "unknown.log");
	if (gmtime_r(&t, &tm))
		(void)strftime(name, LOG_NAME_MAX, LOG_BEGINS "%Y%m%d-%H%M%S.log", &tm);
	if (logs >= 0 && fs_open_file(logs, name, O_WRONLY | O_CREAT | O_APPEND, 0640, &fd, &e) < 0)
		warn("no log of the build: %s", e.msg);
	if (fd >= 0)
		sweep_logs(logs);
	return fd;
}

static void print_build_begin(const struct config_source *s)
{
	char shown[ESCAPE_MAX];

	for (size_t i = 0; i < s->project_notes.n; i++)
		printf("note: %s\n", escape(s->project_notes.v[i], shown));
	if (s->build.n == 0) {
		printf("build of %s: %s build", escape(s->path, shown),
		       s->bazel ? s->bazel : "bazel");
		for (size_t i = 0; i < s->bazel_flags.n; i++)
			printf(" %s", escape(s->bazel_flags.v[i], shown));
		printf("%s\n", s->bazel_flags.n ? "" : " " DISCOVER_BAZEL_FLAGS);
		fflush(stdout);
		return;
	}
	printf("build of %s:", escape(s->path, shown));
	if (s->variants.n > 0)
		printf(" SANITIZER=%s", s->variant);
	if (s->build_shown)
		printf(" %s", s->build_shown);
	for (size_t i = 0; !s->build_shown && i < s->build.n; i++)
		printf(" %s", escape(s->build.v[i], shown));
	printf("\n");
	fflush(stdout);
}

static void print_build_end(const struct build_result *r, const char *log)
{
	char time[UNITS_MAX], shown[ESCAPE_MAX], more[ESCAPE_MAX];

	for (size_t i = 0; i < r->built.n; i++)
		printf("  built   %s\n", escape(r->built.v[i], shown));
	for (size_t i = 0; i < r->failed.labels.n && i < r->failed.whys.n; i++)
		printf("  failed  %s: %s\n", escape(r->failed.labels.v[i], shown),
		       escape(r->failed.whys.v[i], more));
	if (r->ok)
		printf("built in %s\n", units_time(r->us, time));
	else
		warn("the build failed after %s: %s (%s)", units_time(r->us, time), r->why, log);
	fflush(stdout);
}

static json_t *texts_json(const struct strv *v)
{
	json_t *all = json_array();

	for (size_t i = 0; i < v->n; i++)
		(void)json_array_append_new(all, answer_text(v->v[i]));
	return all;
}

static json_t *build_failures_json(const struct discover_built *f)
{
	json_t *all = json_array();

	for (size_t i = 0; i < f->labels.n && i < f->whys.n; i++)
		(void)json_array_append_new(all, json_pack("{s:o, s:o}", "label",
							   answer_text(f->labels.v[i]), "why",
							   answer_text(f->whys.v[i])));
	return all;
}

static void note_build(const struct config_source *src, const struct build_result *r, json_t *all)
{
	if (!all)
		return;
	(void)json_array_append_new(
	    all, json_pack("{s:o, s:b, s:f, s:o, s:o, s:o}", "path", answer_text(src->path), "ok",
			   r->ok, "seconds", (double)r->us / USEC_PER_SEC, "built",
			   texts_json(&r->built), "failed", build_failures_json(&r->failed), "why",
			   answer_text(r->ok ? "" : r->why)));
}

/* Builds the source, and finds the names of the targets that were not built. */
static int build_named(const struct session *s, const struct config_source *src,
		       const struct tool_group *group, int log, struct build_result *ret,
		       struct err *e)
{
	CLEANUP(discover_built_done) struct discover_built was = {0};
	CLEANUP(strv_done) struct strv known = {0};
	int r;

	if (build_record_load(s->state->dirfd, src, 1, &was, e) < 0)
		discover_built_done(&was); /* the file is damaged; this build replaces it */
	build_known(src, &was, &known);
	r = build_source(src, group, log, ret, e);
	if (r == 0)
		build_missing(src, &known, ret);
	return r;
}

static int build_one(struct session *s, const struct config_source *src, int log,
		     const char *log_name, struct builds *io)
{
	const struct tool_group *group;
	struct build_result r;
	char where[400];
	struct err e;
	int rc = common_group(&s->common, src, &group);

	if (rc != EXIT_DONE)
		return rc;
	print_build_begin(src);
	rc = build_named(s, src, group, log, &r, &e);
	if (rc < 0)
		return fail(rc == -EINTR ? EXIT_BUILD : EXIT_MACHINE, "%s", e.msg);
	snprintf(where, sizeof(where), "%.300s/logs/%s", s->state->path, log_name);
	print_build_end(&r, log >= 0 ? where : "the log could not be created");
	note_build(src, &r, io->sources_json);
	io->sources++;
	io->failed += !r.ok;
	io->nothing += !r.ok && src->build.n == 0 && r.built.n == 0;
	rc = build_record_save(s->state->dirfd, src, &r, &e);
	build_result_done(&r);
	/* Without the record, a later command would fuzz the files of an earlier build as if they
	 * were new. */
	return rc < 0 ? fail(EXIT_MACHINE, "%s", e.msg) : EXIT_DONE;
}

int builds_all(struct session *s, struct builds *io)
{
	size_t n;
	const struct config_source *v = config_sources(s->common.config, &n);
	char log_name[LOG_NAME_MAX];
	_autoclose_ int log = build_open_log(s->state, log_name);
	int r = EXIT_DONE;

	*io = (struct builds){.sources_json = io->sources_json};
	for (size_t i = 0; r == EXIT_DONE && i < n; i++)
		if (build_wanted(&v[i]))
			r = build_one(s, &v[i], log, log_name, io);
	return r;
}

/* --- the command ---------------------------------------------------------- */

struct args {
	struct session session;
	bool json;
	json_t *answer; /* NULL: no build was started */
};

static const struct option_spec specs[] = {
    STATE_OPTIONS(struct args, session.common),
    {"json", NULL, "print JSON", OPTION_AT(struct args, json)},
};

/* Prints which targets a run would find now. */
static int build_conclude(const struct session *s, const struct builds *b, json_t *answer)
{
	char text[UNITS_OF_MAX];
	size_t unbuilt = 0;

	for (size_t i = 0; i < s->plan.n; i++)
		unbuilt += s->plan.v[i].target->unbuilt != NULL;
	printf("%s can be fuzzed, %zu can not\n",
	       units_of(s->plan.n - unbuilt, "target", "targets", text), unbuilt);
	(void)json_object_set_new(answer, "targets", json_integer((json_int_t)s->plan.n));
	(void)json_object_set_new(answer, "unbuilt", json_integer((json_int_t)unbuilt));
	if (b->failed && unbuilt == s->plan.n)
		return fail(EXIT_BUILD, "nothing was built");
	return b->failed || unbuilt ? EXIT_NOT_FUZZED : EXIT_DONE;
}

static int build(struct args *a)
{
	struct session *s = &a->session;
	struct builds b = {0};
	int r = session_load(s);

	if (r == EXIT_DONE && !builds_wanted(s))
		return fail(
		    EXIT_USAGE,
		    "nothing to build: no source is of the type \"bazel\", "
		    "\"oss-fuzz\" or \"go\", or has a \"build\" command (docs/discovery.md)");
	if (r == EXIT_DONE)
		r = session_lock(s);
	if (r != EXIT_DONE)
		return r;
	a->answer = json_pack("{s:[]}", "sources");
	b.sources_json = json_object_get(a->answer, "sources");
	r = builds_all(s, &b);
	if (r != EXIT_DONE)
		return r;
	r = b.nothing == b.sources ? EXIT_BUILD : session_plan(s);
	if (r == EXIT_DONE)
		return build_conclude(s, &b, a->answer);
	return b.failed ? fail(EXIT_BUILD, "nothing was built") : r;
}

int command_build(int argc, char **argv)
{
	struct args a = {0};
	int at = options_parse(argc, argv, "build [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "build: unexpected '%s'", argv[at]);
	begun = answer_begin(a.json);
	r = build(&a);
	session_close(&a.session);
	return answer_end(begun, a.answer, r);
}
