/* SPDX-License-Identifier: Apache-2.0 */
/* `fuzzcell slurm status` and `fuzzcell slurm cancel`. */
#include "runner/command/rounds/slurm.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/scan.h"
#include "base/sys.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/crash/crash.h"
#include "runner/command/rounds/rounds.h"
#include "runner/rounds/delta.h"
#include "runner/rounds/past.h"
#include "runner/state/history.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT_MAX = 16 << 20, LINES = 100000, SHOWN = 3, SOURCES_MAX = 16 };

/* --- what is known of a round -------------------------------------------------------------- */

/* A state directory of a shard: it has another one when it began anew. */
struct source {
	char id[DELTA_SOURCE], node[64];
	uint64_t until; /* of its newest delta */
	bool last;
};

struct shard_row {
	char state[24]; /* Slurm's word in small letters; else ended, delivered, lost */
	char node[64];	/* where it runs; "": it does not */
	struct past_shard past;
	unsigned waiting;		    /* deltas that were not collected yet */
	bool last;			    /* its last one is among them */
	struct source sources[SOURCES_MAX]; /* those with collected deltas */
	size_t n_sources;
};

struct round_view {
	struct slurm_round r;
	struct shard_row *v; /* r.shards */
	char collector[24];  /* state of the job that collects; "": it is not in the queue */
	bool queued;	     /* a task of the array is in the queue */
};

static void view_done(struct round_view *w)
{
	free(w->v);
	*w = (struct round_view){0};
}

static void add_source(struct shard_row *s, const json_t *line)
{
	const char *id = json_get_text(line, "source");
	size_t i = 0;

	while (i < s->n_sources && strcmp(s->sources[i].id, id) != 0)
		i++;
	if (i == SOURCES_MAX)
		return;
	if (i == s->n_sources)
		snprintf(s->sources[s->n_sources++].id, DELTA_SOURCE, "%s", id);
	s->sources[i].last |= json_is_true(json_object_get(line, "last"));
	if (json_get_u64(line, "until") >= s->sources[i].until) {
		s->sources[i].until = json_get_u64(line, "until");
		snprintf(s->sources[i].node, sizeof(s->sources[i].node), "%s",
			 json_get_text(line, "node"));
	}
}

static void add_lines(struct round_view *w, const json_t *lines)
{
	for (size_t i = 0; i < json_array_size(lines); i++) {
		const json_t *j = json_array_get(lines, i);
		uint64_t shard = json_get_u64(j, "shard");
		struct shard_row *s;

		if (strcmp(json_get_text(j, "plan"), w->r.plan) != 0 ||
		    json_get_u64(j, "round") != w->r.round || shard < 1 || shard > w->r.shards)
			continue;
		s = &w->v[shard - 1];
		past_add(&s->past, j);
		add_source(s, j);
	}
}

/* "r7-s12-<source>-0003-last.delta.tar.gz": the shard, and whether it is its last delta. */
static bool parse_name(const char *name, uint64_t *ret_shard, bool *ret_last)
{
	struct slice in = slice_of(name);
	uint64_t n;

	if (in.n < 2 || in.p[0] != 'r')
		return false;
	in = (struct slice){in.p + 1, in.n - 1};
	if (!scan_u64(&in, 10, ROUND_MAX, &n) || in.n < 3 || in.p[0] != '-' || in.p[1] != 's')
		return false;
	in = (struct slice){in.p + 2, in.n - 2};
	*ret_last = strstr(name, "-last" DELTA_SUFFIX);
	return scan_u64(&in, 10, SHARDS_MAX_COUNT, ret_shard) && in.n > 0 && in.p[0] == '-';
}

static int add_waiting(struct round_view *w, int state, struct err *e)
{
	_autofree_ char *path = xasprintf("slurm/%llu/deltas", (unsigned long long)w->r.round);
	CLEANUP(closedir_p) DIR *d = sys_opendirat(state, path);
	const struct dirent *ent;

	while (d && (ent = sys_readdir(d))) {
		uint64_t shard;
		bool last;

		if (!parse_name(ent->d_name, &shard, &last) || shard < 1 || shard > w->r.shards)
			continue;
		w->v[shard - 1].waiting++;
		w->v[shard - 1].last |= last;
	}
	return errno && errno != ENOENT ? err_sys(e, "list '%s'", path) : 0;
}

static void lower(char *to, size_t room, struct slice word)
{
	size_t n = word.n < room - 1 ? word.n : room - 1;

	for (size_t i = 0; i < n; i++)
		to[i] = (char)tolower((unsigned char)word.p[i]);
	to[n] = '\0';
}

/* Takes the text before `end`, or all of it. */
static struct slice take_until(struct slice *io, char end)
{
	const char *at = io->n ? memchr(io->p, end, io->n) : NULL;
	struct slice ret = {io->p, at ? (size_t)(at - io->p) : io->n};
	size_t used = ret.n + (at != NULL);

	*io = (struct slice){io->p + used, io->n - used};
	return ret;
}

/* A line of squeue: "12_3 RUNNING n1". */
static void take_job(struct round_view *w, struct slice line)
{
	struct slice in = take_until(&line, ' '), state = take_until(&line, ' ');
	struct slice node = take_until(&line, ' ');
	uint64_t job, task;

	if (state.n == 0 || !scan_u64(&in, 10, UINT32_MAX, &job))
		return;
	if (job == w->r.collect && in.n == 0)
		lower(w->collector, sizeof(w->collector), state);
	if (job != w->r.array || in.n < 2 || in.p[0] != '_')
		return;
	in = (struct slice){in.p + 1, in.n - 1};
	if (!scan_u64(&in, 10, SHARDS_MAX_COUNT, &task) || in.n > 0 || task < 1 ||
	    task > w->r.shards)
		return;
	w->queued = true;
	lower(w->v[task - 1].state, sizeof(w->v[task - 1].state), state);
	if (node.n > 0)
		snprintf(w->v[task - 1].node, sizeof(w->v[task - 1].node), "%.*s", (int)node.n,
			 node.p);
}

static void take_jobs(struct round_view *w, const struct buf *queue)
{
	struct slice rest = buf_slice(queue);

	while (rest.n > 0)
		take_job(w, take_until(&rest, '\n'));
	for (unsigned i = 0; i < w->r.shards; i++) {
		struct shard_row *s = &w->v[i];

		if (*s->state)
			continue;
		snprintf(s->state, sizeof(s->state), "%s",
			 !s->last && !s->past.ended ? "lost"
			 : s->waiting		    ? "delivered"
						    : "ended");
	}
}

/* All jobs of this user: a number that Slurm forgot would be an error. */
static int ask_queue(struct buf *out, struct err *e)
{
	return slurm_call((const char *const[]){"squeue", "--me", "--noheader", "--array",
						"--format=%i %T %N", NULL},
			  out, e);
}

static int view_round(const struct state *s, uint64_t round, const json_t *lines,
		      const struct buf *queue, struct round_view *ret, struct err *e)
{
	int r = slurm_load(s->dirfd, round, &ret->r, e);

	if (r < 0)
		return r;
	ret->v = xcalloc(ret->r.shards, sizeof(*ret->v));
	add_lines(ret, lines);
	r = add_waiting(ret, s->dirfd, e);
	take_jobs(ret, queue);
	return r;
}

static int load_rounds(struct session *s, const char *command, uint64_t **ret, size_t *ret_n)
{
	struct err e;
	int r = session_load(s);

	if (r == EXIT_DONE)
		r = session_read(s);
	if (r == EXIT_DONE && slurm_rounds(s->state->dirfd, ret, ret_n, &e) < 0)
		r = fail(EXIT_MACHINE, "%s: %s", command, e.msg);
	return r;
}

/* --- status ---------------------------------------------------------------------------------- */

struct status_args {
	struct session session;
	bool json, all;
	json_t *rounds;
};

static const struct option_spec status_specs[] = {
    STATE_OPTIONS(struct status_args, session.common),
    {"all", NULL, "all rounds, not just the last three", OPTION_AT(struct status_args, all)},
    {"json", NULL, "print JSON", OPTION_AT(struct status_args, json)},
};

static const char *node_of(const struct shard_row *s)
{
	return *s->node ? s->node : s->past.node;
}

static void print_row(const struct shard_row *s, unsigned number, uint64_t now)
{
	const struct past_shard *p = &s->past;
	char ago[UNITS_MAX] = "-", cpu[UNITS_MAX];

	if (p->until > 0)
		units_time((now > p->until ? now - p->until : 0) * USEC_PER_SEC, ago);
	printf("%7u  %-11s  %-12s  %9u  %7u  %11s  %9s  %7llu  %7llu  %7llu\n", number, s->state,
	       *node_of(s) ? node_of(s) : "-", p->deltas, s->waiting, ago,
	       units_time((uint64_t)(p->cpu_seconds * USEC_PER_SEC), cpu),
	       (unsigned long long)p->inputs, (unsigned long long)p->edges,
	       (unsigned long long)p->crashes);
}

/* Whether the machine died with what it found after its newest delta. */
static bool died(const struct shard_row *s, const struct source *from)
{
	bool over = strcmp(s->state, "ended") == 0 || strcmp(s->state, "lost") == 0;

	return over && !from->last;
}

static void print_died(const struct shard_row *s, unsigned number)
{
	for (size_t i = 0; i < s->n_sources; i++) {
		char at[32];

		if (died(s, &s->sources[i]))
			printf("shard %u died on %s: what it found there after %s is lost\n",
			       number, s->sources[i].node, crash_time(s->sources[i].until, at));
	}
}

static json_t *died_json(const struct shard_row *s)
{
	json_t *all = json_array();

	for (size_t i = 0; i < s->n_sources; i++)
		if (died(s, &s->sources[i]))
			(void)json_array_append_new(
			    all, json_pack("{s:o, s:I}", "node", answer_text(s->sources[i].node),
					   "until", (json_int_t)s->sources[i].until));
	return all;
}

static void print_round(const struct round_view *w)
{
	uint64_t now = clock_real_us() / USEC_PER_SEC, edges = 0;
	unsigned lost = 0;

	for (unsigned i = 0; i < w->r.shards; i++) {
		lost += strcmp(w->v[i].state, "lost") == 0;
		edges += w->v[i].past.edges;
	}
	printf("round %llu: array job %llu, collecting job %llu%s%s%s; the shards gained %llu "
	       "edges\n",
	       (unsigned long long)w->r.round, (unsigned long long)w->r.array,
	       (unsigned long long)w->r.collect, *w->collector ? " (" : "", w->collector,
	       *w->collector ? ")" : "", (unsigned long long)edges);
	printf("%7s  %-11s  %-12s  %9s  %7s  %11s  %9s  %7s  %7s  %7s\n", "shard", "state", "node",
	       "collected", "waiting", "last delta", "CPU time", "inputs", "edges", "crashes");
	for (unsigned i = 0; i < w->r.shards; i++)
		print_row(&w->v[i], i + 1, now);
	for (unsigned i = 0; i < w->r.shards; i++)
		print_died(&w->v[i], i + 1);
	if (lost > 0)
		printf("%u of %u shards never came back (slurm/%llu/shard-*.log)\n", lost,
		       w->r.shards, (unsigned long long)w->r.round);
	putchar('\n');
}

static json_t *round_json(const struct round_view *w)
{
	json_t *shards = json_array();

	for (unsigned i = 0; i < w->r.shards; i++) {
		const struct shard_row *s = &w->v[i];

		(void)json_array_append_new(
		    shards,
		    json_pack("{s:I, s:s, s:o, s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:o}", "shard",
			      (json_int_t)i + 1, "state", s->state, "node", answer_text(node_of(s)),
			      "collected", (json_int_t)s->past.deltas, "waiting",
			      (json_int_t)s->waiting, "until", (json_int_t)s->past.until,
			      "cpu_seconds", s->past.cpu_seconds, "inputs",
			      (json_int_t)s->past.inputs, "edges", (json_int_t)s->past.edges,
			      "crashes", (json_int_t)s->past.crashes, "died", died_json(s)));
	}
	return json_pack("{s:I, s:s, s:I, s:I, s:s, s:I, s:o}", "round", (json_int_t)w->r.round,
			 "plan", w->r.plan, "array", (json_int_t)w->r.array, "collect",
			 (json_int_t)w->r.collect, "collector", w->collector, "submitted",
			 (json_int_t)w->r.submitted, "shards", shards);
}

static int status_show(struct status_args *a, const uint64_t *rounds, size_t n)
{
	const struct state *s = a->session.state;
	_autobuf_ struct buf queue = BUF_INIT(OUTPUT_MAX);
	_autojson_ json_t *lines = NULL;
	uint64_t damaged;
	struct err e;

	if (history_last(s, ROUND_HISTORY, LINES, &lines, &damaged, &e) < 0 ||
	    ask_queue(&queue, &e) < 0)
		return fail(EXIT_MACHINE, "slurm status: %s", e.msg);
	for (size_t i = a->all || n < SHOWN ? 0 : n - SHOWN; i < n; i++) {
		CLEANUP(view_done) struct round_view w = {0};

		if (view_round(s, rounds[i], lines, &queue, &w, &e) < 0) {
			printf("round %llu: %s\n\n", (unsigned long long)rounds[i], e.msg);
			continue;
		}
		print_round(&w);
		(void)json_array_append_new(a->rounds, round_json(&w));
	}
	return EXIT_DONE;
}

int slurm_status(int argc, char **argv)
{
	struct status_args a = {0};
	int at = options_parse(argc, argv, "slurm status [OPTION]...", status_specs,
			       sizeof(status_specs) / sizeof(status_specs[0]), NULL, &a);
	_autofree_ uint64_t *rounds = NULL;
	json_t *j = NULL;
	size_t n = 0;
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "slurm status: unexpected '%s'", argv[at]);
	begun = answer_begin(a.json);
	a.rounds = json_array();
	r = load_rounds(&a.session, "slurm status", &rounds, &n);
	if (r == EXIT_DONE && n == 0)
		printf("no round was submitted (fuzzcell slurm submit)\n");
	else if (r == EXIT_DONE)
		r = status_show(&a, rounds, n);
	if (r == EXIT_DONE)
		j = json_pack("{s:O}", "rounds", a.rounds);
	json_decref(a.rounds);
	session_close(&a.session);
	return answer_end(begun, j, r);
}

/* --- cancel ---------------------------------------------------------------------------------- */

struct cancel_args {
	struct session session;
	bool json;
	json_t *rounds; /* those that were cancelled */
};

static const struct option_spec cancel_specs[] = {
    STATE_OPTIONS(struct cancel_args, session.common),
    {"json", NULL, "print JSON", OPTION_AT(struct cancel_args, json)},
};

static int cancel_array(const struct slurm_round *r, struct err *e)
{
	_autobuf_ struct buf out = BUF_INIT(OUTPUT_MAX);
	char job[32];

	snprintf(job, sizeof(job), "%llu", (unsigned long long)r->array);
	return slurm_call((const char *const[]){"scancel", job, NULL}, &out, e);
}

/* The job that collects still runs: what was delivered is not lost. */
static int cancel_rounds(const struct cancel_args *a, const uint64_t *rounds, size_t n)
{
	const struct state *s = a->session.state;
	_autobuf_ struct buf queue = BUF_INIT(OUTPUT_MAX);
	_autojson_ json_t *lines = json_array();
	_autoclose_ int dir = -1;
	struct err e;

	if (fs_open_dir(s->dirfd, "slurm", &dir, &e) < 0 ||
	    fs_replace(dir, "stop", SLICE(""), &e) < 0 || ask_queue(&queue, &e) < 0)
		return fail(EXIT_MACHINE, "slurm cancel: %s", e.msg);
	for (size_t i = 0; i < n; i++) {
		CLEANUP(view_done) struct round_view w = {0};

		if (view_round(s, rounds[i], lines, &queue, &w, &e) < 0 || !w.queued)
			continue;
		if (cancel_array(&w.r, &e) < 0)
			return fail(EXIT_MACHINE, "slurm cancel: %s", e.msg);
		printf("round %llu is cancelled; job %llu collects what was delivered\n",
		       (unsigned long long)w.r.round, (unsigned long long)w.r.collect);
		(void)json_array_append_new(a->rounds, json_integer((json_int_t)w.r.round));
	}
	if (json_array_size(a->rounds) == 0)
		printf("no round is in Slurm's queue; no further one is submitted\n");
	return EXIT_DONE;
}

int slurm_cancel(int argc, char **argv)
{
	struct cancel_args a = {0};
	int at = options_parse(argc, argv, "slurm cancel [OPTION]...", cancel_specs,
			       sizeof(cancel_specs) / sizeof(cancel_specs[0]), NULL, &a);
	_autofree_ uint64_t *rounds = NULL;
	json_t *j = NULL;
	size_t n = 0;
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "slurm cancel: unexpected '%s'", argv[at]);
	begun = answer_begin(a.json);
	a.rounds = json_array();
	r = load_rounds(&a.session, "slurm cancel", &rounds, &n);
	if (r == EXIT_DONE && n == 0)
		r = fail(EXIT_USAGE, "slurm cancel: no round was submitted");
	if (r == EXIT_DONE)
		r = cancel_rounds(&a, rounds, n);
	if (r == EXIT_DONE)
		j = json_pack("{s:O}", "cancelled", a.rounds);
	json_decref(a.rounds);
	session_close(&a.session);
	return answer_end(begun, j, r);
}
