/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the event of a crash, which is written once. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/crash/ledger/input.h"
#include "runner/crash/ledger/parsed.h"
#include "runner/crash/vault.h"
#include "runner/publish/internal.h"
#include "runner/publish/render/render.h"
#include "runner/publish/webhook.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The material for a body. */
struct gathered {
	struct render_crash r;
	char *report, *input;
	struct crash_report parsed; /* what the parser read in the report */
	char binary[NAME_MAX + 3];
	struct engine_cmd command;
	struct publish_past past;
	json_t *meta; /* the report's meta.json */
};

static void gathered_done(struct gathered *g)
{
	free(g->report);
	crash_report_done(&g->parsed);
	free(g->input);
	engine_cmd_done(&g->command);
	json_decref(g->meta);
}

/* --- gathering: unreadable parts are left out ----------------------------------- */

static void gather_report(const struct publish_case *k, struct gathered *g)
{
	const char *signature = k->crash->signature, *target = k->entry->fuzzer;
	struct err e;
	size_t n;

	if (vault_read(k->p->state_dirfd, slice_of(signature), target, VAULT_REPORT, &g->report, &n,
		       &e) < 0)
		return;
	g->r.report = (struct slice){g->report, n};
	parsed_read(k->p->state_dirfd, signature, target, g->r.report, &g->parsed);
	g->r.headline = g->parsed.headline;
}

static int gather_input_bytes(int fd, struct gathered *g, struct err *e)
{
	size_t n = 0;

	g->input = xmalloc(RENDER_INLINE_MAX + 1);
	while (n <= RENDER_INLINE_MAX) {
		ssize_t got = sys_pread(fd, g->input + n, RENDER_INLINE_MAX + 1 - n, (off_t)n);

		if (got < 0)
			return err_sys(e, "read an input");
		if (got == 0) {
			g->r.input = (struct slice){g->input, n};
			return 0;
		}
		n += (size_t)got;
	}
	return 0; /* too large for a body */
}

/* The minimised input, else the original.  An input that differs from its record counts as
 * missing. */
static void gather_input(const struct publish_case *k, struct gathered *g)
{
	const struct known_crash *c = k->entry;
	bool is_small = *ledger_input_path(c, LEDGER_MINIMIZED) != '\0';
	_autoclose_ int fd = -1;
	struct stat st;
	struct err e;

	if (is_small && ledger_input_open(k->p->state_dirfd, c, LEDGER_MINIMIZED, &fd, &e) < 0)
		is_small = false;
	if (!is_small && (!*ledger_input_path(c, LEDGER_INPUT) ||
			  ledger_input_open(k->p->state_dirfd, c, LEDGER_INPUT, &fd, &e) < 0))
		return;
	g->r.minimized = is_small;
	g->r.input_path = is_small ? c->minimized : c->crash_file;
	g->r.input_bytes = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
	if (g->r.input_bytes <= RENDER_INLINE_MAX)
		(void)!gather_input_bytes(fd, g, &e);
}

/* The commit of the build that printed the report.  Other targets' builds, or the build of the
 * first sighting, may be of other commits. */
static void gather_commit(const struct publish_case *k, struct gathered *g)
{
	_autofree_ char *text = NULL;
	struct err e;
	size_t n;

	if (vault_read(k->p->state_dirfd, slice_of(k->crash->signature), k->entry->fuzzer,
		       VAULT_META, &text, &n, &e) == 0)
		(void)!json_parse((struct slice){text, n}, &g->meta, &e);
	g->r.built_of = json_get_text(g->meta, "commit");
}

/* The places of the stack's first functions that are in the repository. */
static void gather_places(const struct publish_case *k, struct gathered *g)
{
	const struct sources *from = k->p->sources;

	if (!from)
		return;
	for (size_t i = 0; i < g->parsed.n_frames && g->r.n_places < RENDER_PLACES; i++) {
		const struct crash_frame *f = &g->parsed.frames[i];
		struct render_place *at = &g->r.places[g->r.n_places];

		if (!source_path(from, f->file, at->path))
			continue;
		at->line = f->line;
		g->r.n_places++;
	}
	g->r.link = from->link;
	gather_commit(k, g);
}

static void gather_past(const struct publish_case *k, struct gathered *g)
{
	const struct publish *p = k->p;

	if (!p->past)
		return;
	p->past(p->arg, k->entry, &g->past);
	g->r.stats.known = g->past.known;
	g->r.stats.execs = g->past.execs;
	g->r.stats.cov = g->past.cov;
	g->r.stats.corpus = g->past.corpus;
	g->r.clean_at = *g->past.clean_at ? g->past.clean_at : NULL;
}

/* The target's program and build command, as a user types them in the build directory. */
static void gather_target(const struct publish_target *t, struct gathered *g)
{
	const char *slash = t->binary ? strrchr(t->binary, '/') : NULL;
	const char *name = slash ? slash + 1 : t->binary;

	g->r.build = t->build;
	g->r.label = t->label;
	g->r.corpus = t->corpus;
	if (name && t->binary[0] != '/')
		g->r.binary = t->binary;
	if (g->r.binary)
		return;
	if (!name || !*name || strlen(name) > NAME_MAX)
		return;
	snprintf(g->binary, sizeof(g->binary), "./%s", name);
	g->r.binary = g->binary;
}

static void gather_command(const struct publish_case *k, struct gathered *g)
{
	const struct publish *p = k->p;
	struct err e;

	if (!p->command || p->command(p->arg, k->entry->fuzzer, &g->command, &e) < 0)
		return;
	g->r.env = (const char *const *)g->command.env.v;
	g->r.argv = (const char *const *)g->command.argv.v;
}

/* crash: the crash itself, or the entry alone. */
static void gather(const struct publish_case *k, const struct known_crash *crash,
		   struct gathered *g)
{
	const struct publish *p = k->p;

	g->r.crash = crash;
	g->r.target = k->crash->n_by > 1 ? k->entry->fuzzer : NULL;
	g->r.name = k->name;
	g->r.hide.state_dir = p->state_path;
	g->r.hide.source_dir = p->sources ? p->sources->dir : NULL;
	g->r.inline_bytes = p->github->inline_bytes;
	g->r.upload = p->github->upload == UPLOAD_CONTENTS;
	for (size_t i = 0; i < p->n_targets; i++)
		if (strcmp(p->targets[i].name, k->entry->fuzzer) == 0)
			gather_target(&p->targets[i], g);
	if (g->r.redacted)
		return;
	gather_command(k, g);
	gather_report(k, g);
	gather_input(k, g);
	if (p->github->upload == UPLOAD_NONE)
		g->r.input_path = NULL;
	gather_places(k, g);
	gather_past(k, g);
}

/* --- for GitHub ----------------------------------------------------------------- */

static bool event_is_elsewhere(const struct publish_case *k)
{
	const struct github_config *g = k->p->github;

	return k->crash->security && g->security == SECURITY_REPOSITORY && g->security_repository;
}

/* An issue stays where it was filed. */
static const char *event_repository(const struct publish_case *k)
{
	const char *was = json_get_text(k->record, "repository");

	if (*was)
		return was;
	return event_is_elsewhere(k) ? k->p->github->security_repository : k->p->github->repository;
}

/* An issue that was filed before the crash was known to be security-relevant stays public. */
bool publish_case_redacted(const struct publish_case *k)
{
	const char *private = event_is_elsewhere(k) ? k->p->github->security_repository : "";
	const char *at = event_repository(k);

	return (k->crash->security || k->entry->security) &&
	       k->p->github->security != SECURITY_FULL && (!at || strcmp(at, private) != 0);
}

static const char *event_action(const struct publish_case *k, enum publish_what w)
{
	static const char *const names[] = {
	    [ISSUE_NONE] = "none", [ISSUE_COMMENT] = "comment", [ISSUE_ACT] = "act"};
	enum issue_action a = w == PUBLISH_FIXED ? k->p->github->on_fixed : k->p->github->on_again;

	/* New facts are sent, whatever the configuration says about known crashes. */
	if (w == PUBLISH_SMALLER)
		return names[ISSUE_ACT];
	if (w == PUBLISH_BISECTED)
		return names[ISSUE_COMMENT];
	if (w == PUBLISH_PARTLY || (w == PUBLISH_FOUND && a == ISSUE_NONE))
		a = ISSUE_COMMENT;
	return w == PUBLISH_NEW || a >= ISSUE_COUNT ? "none" : names[a];
}

static int event_set(json_t *j, const char *key, json_t *v, struct err *e)
{
	return json_object_set_new(j, key, v) < 0 ? err_set(e, ENOMEM, "build JSON") : 0;
}

static int event_set_text(json_t *j, const char *key, const struct buf *b, struct err *e)
{
	return event_set(j, key, json_string(buf_str(b)), e);
}

/* Describes the last target that found the crash, from its own cells' output. */
static int event_found_comment(const struct publish_case *k, bool redacted, struct buf *out,
			       struct err *e)
{
	struct gathered g = {.r = {.redacted = redacted}};
	struct publish_case last;
	size_t at = publish_case_named(k);

	while (at + 1 < k->crash->n_by && !ledger_state_open(k->crash->by[at]->state))
		at++;
	publish_case_init(k->p, k->crash, k->crash->by[at < k->crash->n_by ? at : 0], NULL, &last);
	gather(&last, last.entry, &g);
	g.r.upload = false;
	render_found(&g.r, k->crash, out);
	gathered_done(&g);
	return buf_check(out, e);
}

static int event_comment(const struct publish_case *k, const struct gathered *g,
			 enum publish_what w, struct buf *out, struct err *e)
{
	static const enum render_event as[] = {
	    [PUBLISH_NEW] = RENDER_AGAIN,     [PUBLISH_AGAIN] = RENDER_AGAIN,
	    [PUBLISH_FIXED] = RENDER_FIXED,   [PUBLISH_REGRESSED] = RENDER_REGRESSED,
	    [PUBLISH_PARTLY] = RENDER_PARTLY,
	};

	if (w == PUBLISH_SMALLER)
		return 0;
	if (w == PUBLISH_BISECTED) {
		render_bisected(&g->r, out);
		return buf_check(out, e);
	}
	if (w == PUBLISH_FOUND)
		return event_found_comment(k, g->r.redacted, out, e);
	render_comment(&g->r, as[w], out);
	return buf_check(out, e);
}

/* Every event has a title and a body, because a missing issue is opened again. */
static int event_texts(const struct publish_case *k, const struct gathered *g, enum publish_what w,
		       json_t *j, struct err *e)
{
	_autobuf_ struct buf title = BUF_INIT(RENDER_BODY_MAX), body = BUF_INIT(RENDER_BODY_MAX),
			     comment = BUF_INIT(RENDER_BODY_MAX);
	int r;

	render_title(&g->r, &title);
	render_body(&g->r, &body);
	r = buf_check(&title, e);
	if (r == 0)
		r = buf_check(&body, e);
	if (r == 0)
		r = event_comment(k, g, w, &comment, e);
	if (r == 0)
		r = event_set_text(j, "title", &title, e);
	if (r == 0)
		r = event_set_text(j, "body", &body, e);
	return r == 0 ? event_set_text(j, "comment", &comment, e) : r;
}

static json_t *event_labels(const struct publish *p)
{
	json_t *a = json_array();

	for (size_t i = 0; i < p->github->labels.n; i++)
		(void)!json_array_append_new(a, json_string(p->github->labels.v[i]));
	return a;
}

static json_t *event_upload(const struct gathered *g)
{
	if (g->r.redacted || !g->r.upload || !g->r.input_path || render_is_inline(&g->r))
		return json_null();
	return json_pack("{s:s, s:I}", "path", g->r.input_path, "bytes",
			 (json_int_t)g->r.input_bytes);
}

/* What the issue shows then, so that later news can be told from it. */
static int event_set_shown(const struct publish_case *k, enum publish_what w,
			   const struct render_crash *shows, json_t *j, struct err *e)
{
	char edges[PUBLISH_EDGES];
	int r = 0;

	publish_case_edges(k, edges);
	if (w == PUBLISH_NEW || w == PUBLISH_FOUND)
		r = event_set(j, "entries", json_integer((json_int_t)k->crash->n_by), e);
	if (r == 0 && (w == PUBLISH_NEW || w == PUBLISH_SMALLER))
		r = event_set(
		    j, "minimized",
		    json_boolean(shows->minimized || shows->redacted || !shows->input_bytes), e);
	if (r == 0 && (w == PUBLISH_NEW || w == PUBLISH_BISECTED) && *edges && !shows->redacted)
		r = event_set(j, "edges", json_string(edges), e);
	return r;
}

static int event_for_github(const struct publish_case *k, enum publish_what w, json_t *j,
			    struct err *e)
{
	struct gathered g = {.r = {.redacted = publish_case_redacted(k)}};
	int r;

	gather(k, k->crash, &g);
	r = event_texts(k, &g, w, j, e);
	if (r == 0)
		r = event_set_shown(k, w, &g.r, j, e);
	if (r == 0)
		r = event_set(j, "labels", event_labels(k->p), e);
	if (r == 0)
		r = event_set(j, "repository", json_string(event_repository(k)), e);
	if (r == 0)
		r = event_set(j, "action", json_string(event_action(k, w)), e);
	if (r == 0)
		r = event_set(j, "upload", event_upload(&g), e);
	gathered_done(&g);
	return r;
}

int publish_preview(const struct publish *p, struct outbox *o, const struct known_crash *c,
		    struct buf *title, struct buf *body, struct err *e)
{
	struct gathered g = {0};
	struct publish_case k;
	int r = 0;

	publish_case_init(p, c, NULL, NULL, &k);
	if (o)
		r = publish_case_load(&k, o, e);
	if (r < 0)
		return r;
	g.r.redacted = publish_case_redacted(&k);
	gather(&k, c, &g);
	g.r.upload = false; /* its URL is not known yet */
	render_title(&g.r, title);
	render_body(&g.r, body);
	r = buf_check(title, e);
	if (r == 0)
		r = buf_check(body, e);
	gathered_done(&g);
	publish_case_done(&k);
	return r;
}

/* --- for a webhook -------------------------------------------------------------- */

/* A webhook gets a target's entry while the entry is new. */
static const struct known_crash *event_subject(const struct publish_case *k, enum publish_what w)
{
	return k->hook && w == PUBLISH_NEW && k->crash->n_by > 1 ? k->entry : k->crash;
}

static const struct ledger_seen *event_when(const struct publish_case *k, enum publish_what w)
{
	const struct known_crash *c = event_subject(k, w);

	if (w == PUBLISH_FOUND)
		return &k->crash->by[k->crash->n_by - 1]->first_seen;
	if (w == PUBLISH_PARTLY)
		return &c->fixed;
	return w == PUBLISH_NEW ? &c->first_seen : w == PUBLISH_FIXED ? &c->fixed : &c->last_seen;
}

static int event_for_hook(const struct publish_case *k, enum publish_what w, const char *id,
			  json_t *j, struct err *e)
{
	const struct ledger_seen *s = event_when(k, w);
	const struct webhook_message m = {.event = publish_what_name(w),
					  .id = id,
					  .time = s->time,
					  .crash = event_subject(k, w),
					  .issue_url = k->crash->issue_url,
					  .run = s->run,
					  .commit = s->commit};
	json_t *payload = NULL;
	int r = webhook_payload(k->hook->format, &m, &payload, e);

	return r == 0 ? event_set(j, "payload", payload, e) : r;
}

int publish_event(const struct publish_case *k, enum publish_what w, const char *id, json_t **ret,
		  struct err *e)
{
	const struct ledger_seen *s = event_when(k, w);
	_autojson_ json_t *j =
	    json_pack("{s:s, s:s, s:s, s:b, s:I, s:s}", "event", publish_what_name(w), "signature",
		      k->name, "target", event_subject(k, w)->fuzzer, "security",
		      k->crash->security, "time", (json_int_t)s->time, "commit", s->commit);
	int r;

	if (!j)
		return err_set(e, ENOMEM, "build JSON");
	r = k->hook ? event_for_hook(k, w, id, j, e) : event_for_github(k, w, j, e);
	if (r < 0)
		return err_wrap(e, "crash '%.64s'", k->name);
	*ret = take_ptr(&j);
	return 0;
}
