/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a change, for CI: builds it, replays what is known, fuzzes what it affects, and says which
 * crashes are new.  The steps are commands of their own, which run as children. */
#include "runner/command/ci/internal.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/tool.h"
#include "base/units.h"
#include "runner/ci/formats.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/revisions.h"
#include "runner/command/crash/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { ANSWER_MAX = 256 << 20, OUTPUT_MAX = 64 << 20, EVENT_MAX = 4 << 20, ARGS_MAX = 32 };
#define TIME_US	 (UINT64_C(600) * USEC_PER_SEC)
#define LEAST_US (UINT64_C(10) * USEC_PER_SEC)

#define AT(member) OPTION_AT(struct ci, member)
static const struct option_spec specs[] = {
    STATE_OPTIONS(struct ci, session.common),
    {"base", "COMMIT", "what the change starts from (default: as the CI service says)",
     AT(base_text)},
    {"head", "COMMIT", "the change; it must be checked out (default: HEAD)", AT(head_text)},
    {"time", "TIME", "for replaying and fuzzing together (default: 10m)", AT(time_us)},
    {"seed", "N", "of all random choices (default: made of the head's name)", AT(seed_text)},
    {"sarif", "FILE", "write SARIF 2.1.0, for code scanning", AT(sarif)},
    {"junit", "FILE", "write JUnit XML", AT(junit)},
    {"quality", "FILE", "write GitLab's code quality report", AT(quality)},
    {"summary", "FILE", "append Markdown (default: $GITHUB_STEP_SUMMARY)", AT(summary)},
    {"artifacts", "DIR", "write the inputs and reports of new crashes", AT(artifacts)},
    {"json", NULL, "print JSON", AT(json)},
};

/* --- which change ------------------------------------------------------------------- */

static const char *variable(const char *name)
{
	const char *v = getenv(name);

	return v && *v ? v : NULL;
}

/* The base of a pull request or a push, from the event that GitHub describes in a file. */
static char *base_of_event(void)
{
	const char *path = variable("GITHUB_EVENT_PATH");
	_autojson_ json_t *event = NULL;
	const char *base;
	struct err ignored;

	if (!path || json_load(AT_FDCWD, path, EVENT_MAX, &event, &ignored) < 0)
		return NULL;
	base =
	    json_get_text(json_object_get(json_object_get(event, "pull_request"), "base"), "sha");
	if (!*base)
		base = json_get_text(event, "before"); /* zeros: of a new branch */
	return commit_ok(base) && strspn(base, "0") != strlen(base) ? xstrdup(base) : NULL;
}

static char *base_of_service(void)
{
	static const char *const gitlab[] = {"CI_MERGE_REQUEST_DIFF_BASE_SHA",
					     "CI_COMMIT_BEFORE_SHA"};
	char *base = base_of_event();

	for (size_t i = 0; !base && i < sizeof(gitlab) / sizeof(gitlab[0]); i++) {
		const char *v = variable(gitlab[i]);

		if (v && commit_ok(v) && strspn(v, "0") != strlen(v))
			base = xstrdup(v);
	}
	return base;
}

static int ci_seed(struct ci *a)
{
	struct slice in = slice_of(a->seed_text ? a->seed_text : a->head);

	if (a->seed_text)
		return scan_u64(&in, 10, UINT32_MAX, &a->seed) && in.n == 0 && a->seed
			   ? EXIT_DONE
			   : fail(EXIT_USAGE, "ci: --seed: '%s' is not 1 to %u", a->seed_text,
				  UINT32_MAX);
	in.n = 7;
	(void)scan_u64(&in, 16, UINT32_MAX, &a->seed);
	a->seed += a->seed == 0;
	return EXIT_DONE;
}

static int ci_commits(struct ci *a, const struct revision_tree *t, struct err *e)
{
	_autofree_ char *told = a->base_text ? NULL : base_of_service();
	const char *base = a->base_text ? a->base_text : told;
	char head[COMMIT_MAX], wanted[COMMIT_MAX];
	int r;

	if (!base)
		return err_set(e, EINVAL, "ci: give --base COMMIT, what the change starts from");
	r = revision_find(t, "HEAD", a->head, e);
	if (r == 0)
		r = revision_find(t, a->head_text ? a->head_text : "HEAD", head, e);
	if (r == 0 && strcmp(head, a->head) != 0)
		r = err_set(e, EINVAL, "'%.200s' is at %.12s: check %.12s out first",
			    revision_top(t), a->head, head);
	if (r == 0)
		r = revision_dirty(t, e);
	if (r > 0)
		return err_set(e, EINVAL, "'%.200s' has changes that no commit has",
			       revision_top(t));
	if (r == 0)
		r = revision_find(t, base, wanted, e);
	if (r == 0)
		r = revision_fork(t, wanted, a->head, a->base, e);
	return r == 0 && strcmp(a->base, a->head) == 0
		   ? err_set(e, EINVAL,
			     "ci: the base %.12s has the head %.12s already: there is no "
			     "change to judge",
			     wanted, a->head)
		   : r;
}

/* --- children ------------------------------------------------------------------------ */

static int ci_take(void *arg, struct slice block, struct err *e)
{
	buf_put(arg, block);
	return buf_check(arg, e);
}

static void ci_show(void *arg, struct slice block)
{
	(void)arg;
	(void)sys_write_all(STDERR_FILENO, block.p, block.n);
}

/* Runs "fuzzcell WORDS --json" on the same state (words end with NULL). *ret: its answer, or NULL.
 * Returns its exit status; negative: it did not end by itself. */
static int ci_child(const struct ci *a, const char *const *words, json_t **ret, struct err *e)
{
	const char *argv[ARGS_MAX] = {"/proc/self/exe"};
	_autobuf_ struct buf answer = BUF_INIT(ANSWER_MAX);
	_autoclose_ int here = sys_openat(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY, 0);
	struct tool_end *end = xcalloc(1, sizeof(*end));
	struct tool t = {.argv = argv,
			 .dir = here,
			 .out = ci_take,
			 .errors = ci_show,
			 .arg = &answer,
			 .log_fd = -1};
	struct err ignored;
	size_t n = 1;
	int r;

	*ret = NULL;
	while (*words && n < ARGS_MAX - 6)
		argv[n++] = *words++;
	argv[n++] = "--json";
	argv[n++] = "--state-dir";
	argv[n++] = a->session.state->path;
	if (a->session.common.config_path) {
		argv[n++] = "--config";
		argv[n++] = a->session.common.config_path;
	}
	r = tool_run(&t, end, e);
	if (r == 0)
		r = WIFEXITED(end->status) ? WEXITSTATUS(end->status)
					   : err_set(e, EPROTO, "fuzzcell %s: ended by signal %d",
						     argv[1], WTERMSIG(end->status));
	if (r >= 0 && answer.n > 0 && json_parse(buf_slice(&answer), ret, &ignored) < 0)
		*ret = NULL;
	free(end);
	return r;
}

/* A child did not end by itself. */
static int ci_ended(int r, const struct err *e)
{
	return r == -EINTR ? fail(EXIT_NOT_FUZZED, "ci: stopped")
			   : fail(EXIT_INTERNAL, "%s", e->msg);
}

static void heading(const char *text)
{
	printf("\n%s\n", text);
	fflush(stdout);
}

/* --- building ------------------------------------------------------------------------- */

static int ci_build(struct ci *a)
{
	static const char *const words[] = {"build", NULL};
	_autojson_ json_t *answer = NULL;
	const json_t *sources;
	struct err e;
	int r;

	heading("build");
	r = ci_child(a, words, &answer, &e);
	if (r < 0)
		return ci_ended(r, &e);
	if (r != EXIT_DONE && r != EXIT_BUILD && r != EXIT_NOT_FUZZED)
		return r;
	sources = json_object_get(answer, "sources");
	for (size_t i = 0; i < json_array_size(sources); i++)
		if (!json_is_true(json_object_get(json_array_get(sources, i), "ok")) &&
		    !*a->not_built)
			snprintf(a->not_built, sizeof(a->not_built), "%.599s",
				 json_get_text(json_array_get(sources, i), "why"));
	if (r == EXIT_BUILD && !*a->not_built)
		snprintf(a->not_built, sizeof(a->not_built), "nothing was built");
	return EXIT_DONE;
}

static int ci_list(struct ci *a)
{
	static const char *const words[] = {"list", NULL};
	_autojson_ json_t *answer = NULL;
	const json_t *list;
	struct err e;
	int r = ci_child(a, words, &answer, &e);

	if (r < 0)
		return ci_ended(r, &e);
	list = json_object_get(answer, "targets");
	if ((!json_is_array(list) || json_array_size(list) == 0) && !*a->not_built)
		snprintf(a->not_built, sizeof(a->not_built), "the build made no target");
	a->n_targets = json_array_size(list);
	a->targets = xcalloc(a->n_targets + 1, sizeof(*a->targets));
	for (size_t i = 0; i < a->n_targets; i++) {
		const json_t *t = json_array_get(list, i);
		const char *unbuilt = json_get_text(t, "unbuilt");

		a->targets[i] = (struct ci_target){.name = xstrdup(json_get_text(t, "name")),
						   .unbuilt = *unbuilt ? xstrdup(unbuilt) : NULL,
						   .size = json_get_u64(t, "bytes")};
		if (*unbuilt && !*a->not_built)
			snprintf(a->not_built, sizeof(a->not_built), "%.599s", unbuilt);
	}
	return EXIT_DONE;
}

/* --- replaying and fuzzing ----------------------------------------------------------------- */

static struct ci_target *ci_target_named(const struct ci *a, const char *name)
{
	for (size_t i = 0; i < a->n_targets; i++)
		if (strcmp(a->targets[i].name, name) == 0)
			return &a->targets[i];
	return NULL;
}

/* A target with an unknown failure is fuzzed, too: so the failure is triaged. */
static void ci_take_replay(struct ci *a, const json_t *target)
{
	struct ci_target *t = ci_target_named(a, json_get_text(target, "target"));
	const json_t *failures = json_object_get(target, "failures");
	const char *why = json_get_text(target, "why");

	if (*why && !*a->not_replayed && (!t || !t->unbuilt))
		snprintf(a->not_replayed, sizeof(a->not_replayed), "%.100s: %.190s",
			 json_get_text(target, "target"), why);
	for (size_t i = 0; t && i < json_array_size(failures); i++) {
		const char *status = json_get_text(json_array_get(failures, i), "status");

		if (strcmp(status, "new") == 0 || strcmp(status, "regressed") == 0) {
			t->fuzz = t->affected = true;
			snprintf(t->why, sizeof(t->why), "one of its known inputs fails");
		}
	}
}

static char *seconds_of(uint64_t us)
{
	return xasprintf("%llus", (unsigned long long)(us / USEC_PER_SEC ? us / USEC_PER_SEC : 1));
}

static uint64_t ci_left(const struct ci *a)
{
	uint64_t spent = clock_mono_us() - a->began_us;
	uint64_t least = a->time_us < LEAST_US ? a->time_us : LEAST_US;

	return spent + least < a->time_us ? a->time_us - spent : least;
}

static int ci_replay(struct ci *a)
{
	_autofree_ char *time = seconds_of(a->time_us / 2);
	const char *const words[] = {"regress", "--commit", a->head, "--time", time, NULL};
	const json_t *targets;
	struct err e;
	int r;

	heading("known inputs");
	r = ci_child(a, words, &a->replayed, &e);
	if (r < 0)
		return ci_ended(r, &e);
	if (r != EXIT_DONE && r != EXIT_CRASHES && r != EXIT_NOT_FUZZED)
		return r;
	targets = json_object_get(a->replayed, "targets");
	for (size_t i = 0; i < json_array_size(targets); i++)
		ci_take_replay(a, json_array_get(targets, i));
	return json_is_true(json_object_get(a->replayed, "stopped"))
		   ? fail(EXIT_NOT_FUZZED, "stopped")
		   : EXIT_DONE;
}

static int by_lines(const void *x, const void *y)
{
	const struct ci_target *a = x, *b = y;

	if (a->lines != b->lines)
		return a->lines > b->lines ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void ci_take_fuzzed(struct ci *a, const json_t *row)
{
	struct ci_target *t = ci_target_named(a, json_get_text(row, "name"));

	if (!t)
		return;
	t->fuzzed = json_is_true(json_object_get(row, "fuzzed"));
	free(t->end);
	t->end = xstrdup(json_get_text(row, "reason"));
	t->seconds = (double)json_get_us(row, "wall_seconds") / USEC_PER_SEC;
	t->execs = json_get_u64(row, "execs");
	t->edges = json_get_u64(row, "cov");
	t->checks_left = json_get_u64(row, "checks_left");
}

/* Never green if a target did not really fuzz. */
static void ci_find_problems(struct ci *a)
{
	for (size_t i = 0; i < a->n_targets; i++) {
		struct ci_target *t = &a->targets[i];

		if (t->fuzz && !t->unbuilt && !t->fuzzed)
			snprintf(t->problem, sizeof(t->problem), "it was not fuzzed: %.250s",
				 t->end ? t->end : "it had no turn");
	}
}

/* Failures for which the run had no time. */
static int ci_triage(struct ci *a, const char *names)
{
	const char *const words[] = {"crash", "triage", "--filter", names, NULL};
	_autojson_ json_t *answer = NULL;
	struct err e;
	int r;

	heading("failures that wait");
	r = ci_child(a, words, &answer, &e);
	if (r < 0)
		return ci_ended(r, &e);
	if ((r != EXIT_DONE && r != EXIT_CRASHES) || json_get_u64(answer, "left") > 0)
		snprintf(a->not_replayed, sizeof(a->not_replayed),
			 "there were failures that could not be triaged");
	return EXIT_DONE;
}

static int ci_fuzz(struct ci *a)
{
	_autofree_ char *time = seconds_of(ci_left(a));
	_autofree_ char *seed = xasprintf("%llu", (unsigned long long)a->seed);
	_autobuf_ struct buf names = BUF_INIT(1 << 20);
	_autojson_ json_t *answer = NULL;
	const json_t *rows;
	struct err e;
	int r;

	qsort(a->targets, a->n_targets, sizeof(*a->targets), by_lines);
	for (size_t i = 0; i < a->n_targets; i++)
		if (a->targets[i].fuzz && !a->targets[i].unbuilt)
			buf_printf(&names, "%s%s", names.n ? "," : "", a->targets[i].name);
	if (names.n == 0)
		return EXIT_DONE;
	heading("fuzzing");
	const char *const words[] = {
	    "run",	     "--plain", "--no-build", "--commit",	  a->head, "--filter",
	    buf_str(&names), "--seed",	seed,	      "--max-total-time", time,	   NULL};
	r = ci_child(a, words, &answer, &e);
	if (r < 0)
		return ci_ended(r, &e);
	rows = json_object_get(answer, "targets");
	for (size_t i = 0; i < json_array_size(rows); i++)
		ci_take_fuzzed(a, json_array_get(rows, i));
	ci_find_problems(a);
	if (r != EXIT_DONE && r != EXIT_CRASHES && r != EXIT_NOT_FUZZED)
		return r;
	return json_get_u64(answer, "untriaged") > 0 ? ci_triage(a, buf_str(&names)) : EXIT_DONE;
}

/* --- the result ---------------------------------------------------------------------------- */

static size_t ci_count(const struct ci *a, enum ci_status s)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n_crashes; i++)
		n += a->crashes[i].status == s;
	return n;
}

static const char *ci_problem(const struct ci *a)
{
	for (size_t i = 0; i < a->n_targets; i++)
		if (*a->targets[i].problem)
			return a->targets[i].problem;
	return a->not_replayed;
}

/* "green" alone is good. */
static const char *ci_judge(const struct ci *a, char verdict[1200], int *ret_exit)
{
	size_t new = ci_count(a, CI_NEW), old = ci_count(a, CI_OLD), fixed = ci_count(a, CI_FIXED);
	char n[3][UNITS_OF_MAX];

	if (*a->not_built) {
		snprintf(verdict, 1200, "Not built: %.900s", a->not_built);
		*ret_exit = EXIT_BUILD;
		return "not-built";
	}
	snprintf(verdict, 1200, "%s by this change, %s that the base has, too, %s fixed.",
		 units_of(new, "new crash", "new crashes", n[0]),
		 units_of(old, "crash", "crashes", n[1]),
		 units_of(fixed, "crash is", "crashes are", n[2]));
	*ret_exit = EXIT_CRASHES;
	if (new)
		return "red";
	*ret_exit = EXIT_NOT_FUZZED;
	if (*ci_problem(a)) {
		snprintf(verdict, 1200, "Not all was tested: %.900s", ci_problem(a));
		return "not-fuzzed";
	}
	*ret_exit = EXIT_DONE;
	return "green";
}

static json_t *ci_target_json(const struct ci_target *t)
{
	return json_pack("{s:o, s:b, s:o, s:b, s:o, s:o, s:o, s:I, s:f, s:I, s:I, s:I}", "name",
			 answer_text(t->name), "affected", t->affected, "why", answer_text(t->why),
			 "fuzzed", t->fuzzed, "end", answer_text(t->end ? t->end : ""), "unbuilt",
			 answer_text(t->unbuilt ? t->unbuilt : ""), "problem",
			 answer_text(t->problem), "lines", (json_int_t)t->lines, "seconds",
			 t->seconds, "execs", (json_int_t)t->execs, "edges", (json_int_t)t->edges,
			 "checks_left", (json_int_t)t->checks_left);
}

static json_t *ci_result(const struct ci *a, const char *status, const char *verdict)
{
	json_t *targets = json_array(), *crashes = json_array();

	for (size_t i = 0; i < a->n_targets; i++)
		(void)json_array_append_new(targets, ci_target_json(&a->targets[i]));
	for (size_t i = 0; i < a->n_crashes; i++)
		(void)json_array_append_new(crashes, ci_crash_json(a, &a->crashes[i]));
	return json_pack(
	    "{s:s, s:o, s:s, s:s, s:s, s:I, s:f, s:o, s:o, s:{s:I, s:I, s:I, s:I}}", "status",
	    status, "verdict", answer_text(verdict), "version", FUZZCELL_VERSION, "base", a->base,
	    "head", a->head, "seed", (json_int_t)a->seed, "seconds",
	    (double)(clock_mono_us() - a->began_us) / USEC_PER_SEC, "targets", targets, "crashes",
	    crashes, "replayed", "inputs", (json_int_t)json_get_u64(a->replayed, "inputs"),
	    "passed", (json_int_t)json_get_u64(a->replayed, "passed"), "failed",
	    (json_int_t)json_get_u64(a->replayed, "failed"), "left_out",
	    (json_int_t)json_get_u64(a->replayed, "not_run"));
}

/* --- files ------------------------------------------------------------------------------------ */

/* A user's path: links are followed. */
static int ci_write(const char *path, int flags, struct slice text)
{
	_autoclose_ int fd = -1;
	struct err e;

	if (fs_open_file(AT_FDCWD, path, O_WRONLY | O_CREAT | flags, 0644, &fd, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	return sys_write_all(fd, text.p, text.n) < 0
		   ? fail(EXIT_MACHINE, "write '%s': %s", path, strerror(errno))
		   : EXIT_DONE;
}

/* Takes j. */
static int ci_write_json(const char *path, json_t *j)
{
	_autofree_ char *text = NULL;
	struct err e;
	int r = json_print(j, 1, &text, &e);

	json_decref(j);
	return r < 0 ? fail(EXIT_INTERNAL, "%s", e.msg) : ci_write(path, O_TRUNC, slice_of(text));
}

static int ci_write_reports(const struct ci *a, const json_t *result)
{
	_autobuf_ struct buf junit = BUF_INIT(OUTPUT_MAX), text = BUF_INIT(OUTPUT_MAX);
	const char *summary = a->summary ? a->summary : variable("GITHUB_STEP_SUMMARY");
	json_t *sarif = NULL;
	struct err e;
	int r = EXIT_DONE;

	if (a->sarif)
		r = ci_sarif(result, &sarif, &e) < 0 ? fail(EXIT_INTERNAL, "%s", e.msg)
						     : ci_write_json(a->sarif, sarif);
	if (r == EXIT_DONE && a->quality)
		r = ci_write_json(a->quality, ci_quality(result));
	ci_junit(result, &junit);
	ci_markdown(result, &text);
	if (buf_check(&junit, &e) < 0 || buf_check(&text, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	if (r == EXIT_DONE && a->junit)
		r = ci_write(a->junit, O_TRUNC, buf_slice(&junit));
	if (r == EXIT_DONE && summary)
		r = ci_write(summary, O_APPEND, buf_slice(&text));
	return r;
}

static void ci_copy_artifact(const struct ci *a, int dir, const char *from, const char *crash,
			     const char *target, const char *what)
{
	_autofree_ char *to = xasprintf("%s-%s.%s", target, crash, what);
	struct err e;

	if (*from && fs_copy(a->session.state->dirfd, from, dir, to, OUTPUT_MAX, &e) < 0)
		warn("%s", e.msg);
}

/* Writes "<target>-<crash>.input" and ".report.txt" for each new crash. */
static int ci_write_artifacts(const struct ci *a)
{
	_autoclose_ int dir = -1;
	struct err e;

	if (!a->artifacts)
		return EXIT_DONE;
	if (fs_mkdirs(AT_FDCWD, a->artifacts, 0755, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	dir = sys_openat(AT_FDCWD, a->artifacts, O_RDONLY | O_DIRECTORY, 0);
	if (dir < 0)
		return fail(EXIT_MACHINE, "open '%s': %s", a->artifacts, strerror(errno));
	for (size_t i = 0; i < a->n_crashes; i++) {
		const struct known_crash *c = a->crashes[i].entry;
		const char *slash = strrchr(c->crash_file, '/');
		_autofree_ char *report = NULL;

		if (a->crashes[i].status != CI_NEW || !slash || strchr(c->signature, '/'))
			continue;
		report = xasprintf("%.*s/report.txt", (int)(slash - c->crash_file), c->crash_file);
		ci_copy_artifact(a, dir, c->crash_file, c->signature, c->fuzzer, "input");
		ci_copy_artifact(a, dir, c->minimized, c->signature, c->fuzzer, "minimized");
		ci_copy_artifact(a, dir, report, c->signature, c->fuzzer, "report.txt");
	}
	return EXIT_DONE;
}

static int ci_conclude(struct ci *a, json_t **ret)
{
	_autobuf_ struct buf text = BUF_INIT(OUTPUT_MAX);
	char verdict[1200];
	int status, r;
	const char *name = ci_judge(a, verdict, &status);

	*ret = ci_result(a, name, verdict);
	ci_markdown(*ret, &text);
	printf("\n%s", buf_str(&text));
	r = ci_write_reports(a, *ret);
	if (r == EXIT_DONE)
		r = ci_write_artifacts(a);
	return r == EXIT_DONE ? status : r;
}

/* --- all steps -------------------------------------------------------------------------------- */

/* A report that cannot be written is a mistake to know before an hour of work. */
static int ci_check_outputs(const struct ci *a)
{
	const char *const files[] = {a->sarif, a->junit, a->quality, a->summary};
	int r = EXIT_DONE;

	for (size_t i = 0; r == EXIT_DONE && i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i])
			r = ci_write(files[i], i == 3 ? O_APPEND : O_TRUNC, SLICE(""));
	return r;
}

static int ci_begin(struct ci *a, struct buf *before, struct buf *after)
{
	struct revisions repository = {.builds = 0};
	struct err e;
	char time[UNITS_MAX];
	int r = ci_check_outputs(a);

	if (r == EXIT_DONE)
		r = session_load(&a->session);
	if (r == EXIT_DONE)
		r = session_make(&a->session);
	if (r == EXIT_DONE)
		r = revisions_open(&repository, &a->session, NULL);
	if (r == EXIT_DONE)
		a->root = xstrdup(revision_top(repository.tree));
	if (r == EXIT_DONE && ci_commits(a, repository.tree, &e) < 0)
		r = fail(EXIT_USAGE, "%s", e.msg);
	if (r == EXIT_DONE && (revision_diff(repository.tree, a->base, a->head, before, &e) < 0 ||
			       revision_diff(repository.tree, a->head, a->base, after, &e) < 0))
		r = fail(EXIT_MACHINE, "%s", e.msg);
	revisions_close(&repository);
	if (r == EXIT_DONE)
		r = ci_seed(a);
	if (r == EXIT_DONE)
		r = crash_ledger(a->session.state, &a->before);
	if (r == EXIT_DONE)
		printf("%.12s against %.12s, seed %llu, %s\n", a->head, a->base,
		       (unsigned long long)a->seed, units_time(a->time_us, time));
	return r;
}

static int ci_test(struct ci *a, struct slice before, struct slice after)
{
	int r;

	a->began_us = clock_mono_us();
	r = ci_choose(a, before, after);
	if (r == EXIT_DONE)
		r = ci_replay(a);
	if (r == EXIT_DONE)
		r = ci_fuzz(a);
	if (r == EXIT_DONE)
		r = crash_ledger(a->session.state, &a->after);
	if (r != EXIT_DONE)
		return r;
	ci_collect(a);
	return ci_ask(a);
}

static int ci(struct ci *a, json_t **ret)
{
	_autobuf_ struct buf before = BUF_INIT(REVISION_DIFF_MAX);
	_autobuf_ struct buf after = BUF_INIT(REVISION_DIFF_MAX);
	int r = ci_begin(a, &before, &after);

	if (r == EXIT_DONE)
		r = ci_build(a);
	if (r == EXIT_DONE)
		r = ci_list(a);
	/* What was built is tested, too; the result is "not-built" in any case. */
	if (r == EXIT_DONE && a->n_targets > 0)
		r = ci_test(a, buf_slice(&before), buf_slice(&after));
	return r == EXIT_DONE ? ci_conclude(a, ret) : r;
}

void ci_target_done(struct ci_target *t)
{
	free(t->name);
	free(t->unbuilt);
	free(t->end);
}

static void ci_done(struct ci *a)
{
	for (size_t i = 0; i < a->n_targets; i++)
		ci_target_done(&a->targets[i]);
	free(a->targets);
	free(a->crashes);
	free(a->root);
	json_decref(a->replayed);
	ledger_free(a->before);
	ledger_free(a->after);
	session_close(&a->session);
}

int command_ci(int argc, char **argv)
{
	struct ci a = {.time_us = TIME_US};
	int at = options_parse(argc, argv, "ci [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	json_t *result = NULL;
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "ci: unexpected '%s'", argv[at]);
	begun = answer_begin(a.json);
	a.began_us = clock_mono_us();
	a.began_s = clock_real_us() / USEC_PER_SEC;
	r = ci(&a, &result);
	ci_done(&a);
	return answer_end(begun, result, r);
}
