/* SPDX-License-Identifier: Apache-2.0 */
/* An issue's title and body. */
#include "runner/publish/render/render.h"

#include "base/cleanup.h"
#include "runner/publish/render/internal.h"

#include <stdio.h>
#include <string.h>

enum {
	NAME_MAX_SHOWN = 300,
	TITLE_NAME = 80,
	TITLE_TYPE = 70,
	TITLE_FRAME = 60,
	TITLE_ROOM = 8192,
	URL_MAX = 8192,
};

#define U(n) ((unsigned long long)(n))

/* --- title ------------------------------------------------------------------- */

/* A title is plain text.  Mentions, code and line breaks are removed all the same. */
static int title_part(const char *text, size_t max, struct buf *out, struct err *e)
{
	_autobuf_ struct buf clean = BUF_INIT(RENDER_BODY_MAX);
	int r = render_clean((struct slice){text, strnlen(text, max + 1)}, RENDER_LINE, NULL,
			     &clean, e);
	struct slice s = render_cut(buf_slice(&clean), max);

	for (size_t i = 0; r == 0 && i < s.n; i++)
		if (s.p[i] == '@')
			r = buf_add(out, SLICE("(at)"), e);
		else
			r = buf_add(out, s.p[i] == '`' ? SLICE("'") : (struct slice){s.p + i, 1},
				    e);
	return r;
}

int render_title(const struct render_crash *r, struct buf *out, struct err *e)
{
	const struct known_crash *c = r->crash;
	_autobuf_ struct buf text = BUF_INIT(TITLE_ROOM);
	int rc = buf_add(&text, SLICE("Fuzzing crash: "), e);

	if (rc == 0)
		rc = title_part(*c->fuzzer ? c->fuzzer : "?", TITLE_NAME, &text, e);
	if (rc == 0)
		rc = buf_add(&text, SLICE(" \xe2\x80\x94 "), e);
	if (rc == 0 && r->redacted)
		rc = buf_addf(&text, e, "security-relevant, %.40s", r->name);
	else if (rc == 0)
		rc = title_part(*c->crash_type ? c->crash_type : "crash", TITLE_TYPE, &text, e);
	if (rc == 0 && !r->redacted && *c->top_frame)
		rc = buf_add(&text, SLICE(" in "), e);
	if (rc == 0 && !r->redacted && *c->top_frame)
		rc = title_part(c->top_frame, TITLE_FRAME, &text, e);
	return rc == 0 ? buf_add(out, render_cut(buf_slice(&text), RENDER_TITLE_MAX), e) : rc;
}

/* --- the facts ----------------------------------------------------------------- */

static const char *render_sanitizer(const char *kind)
{
	static const char *const names[][2] = {
	    {"asan", "AddressSanitizer"},    {"ubsan", "UndefinedBehaviorSanitizer"},
	    {"msan", "MemorySanitizer"},     {"tsan", "ThreadSanitizer"},
	    {"lsan", "LeakSanitizer"},	     {"engine", "libFuzzer"},
	    {"assert", "an assertion"},	     {"signal", "a signal"},
	    {"panic", "a language runtime"}, {"cell", "the cell's limits"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(kind, names[i][0]) == 0)
			return names[i][1];
	return "unknown";
}

/* "**Name:** `value`" */
static int fact(const char *name, const char *value, struct buf *out, struct err *e)
{
	int r;

	if (!*value)
		return 0;
	r = buf_addf(out, e, "**%s:** ", name);
	if (r == 0)
		r = render_code(value, NAME_MAX_SHOWN, out, e);
	return r == 0 ? buf_add(out, SLICE("\n"), e) : r;
}

static int fuzzers(const struct known_crash *c, struct buf *out, struct err *e)
{
	enum { SHOWN = 8 };
	int r = buf_add(out, SLICE("**Fuzzer:** "), e);

	if (r == 0)
		r = render_code(c->fuzzer, NAME_MAX_SHOWN, out, e);
	for (size_t i = 0; r == 0 && i < c->targets.n && i < SHOWN; i++) {
		r = buf_add(out, i ? SLICE(", ") : SLICE("; also "), e);
		if (r == 0)
			r = render_code(c->targets.v[i], NAME_MAX_SHOWN, out, e);
	}
	return r == 0 ? buf_add(out, SLICE("\n"), e) : r;
}

/* `src/a.c:12`, as a link if possible. */
static int place(const struct render_crash *r, const struct render_place *at, struct buf *out,
		 struct err *e)
{
	_autobuf_ struct buf url = BUF_INIT(URL_MAX);
	char text[SOURCE_PATH_MAX + 24];
	bool linked = r->link && r->built_of && at->line > 0 &&
		      source_link(r->link, r->built_of, at->path, at->line, &url, e) == 0;
	int rc = linked ? buf_add(out, SLICE("["), e) : 0;

	(void)snprintf(text, sizeof(text), at->line ? "%s:%llu" : "%s", at->path, U(at->line));
	if (rc == 0)
		rc = render_code(text, sizeof(text), out, e);
	return rc == 0 && linked ? buf_addf(out, e, "](%s)", buf_str(&url)) : rc;
}

static int places(const struct render_crash *r, struct buf *out, struct err *e)
{
	int rc = r->n_places > 0 ? buf_add(out, SLICE("**In the sources:** "), e) : 0;

	for (size_t i = 0; rc == 0 && i < r->n_places; i++) {
		rc = i > 0 ? buf_add(out, SLICE(", called from "), e) : 0;
		if (rc == 0)
			rc = place(r, &r->places[i], out, e);
	}
	return rc == 0 && r->n_places > 0 ? buf_add(out, SLICE("\n"), e) : rc;
}

static int type(const struct known_crash *c, struct buf *out, struct err *e)
{
	int r = buf_add(out, SLICE("**Crash type:** "), e);

	if (r == 0)
		r = render_code(*c->crash_type ? c->crash_type : "unknown", NAME_MAX_SHOWN, out, e);
	if (r == 0 && *c->signal) {
		r = buf_add(out, SLICE(" ("), e);
		if (r == 0)
			r = render_code(c->signal, NAME_MAX_SHOWN, out, e);
		if (r == 0)
			r = buf_add(out, SLICE(")"), e);
	}
	return r == 0 ? buf_add(out, SLICE("\n"), e) : r;
}

static int render_rate(const struct known_crash *c, struct buf *out, struct err *e)
{
	uint64_t tries = c->reproduction.tries, hits = c->reproduction.hits;

	if (!tries)
		return buf_add(out, SLICE("**Reproduces:** not measured\n"), e);
	if (!hits)
		return buf_addf(out, e, "**Reproduces:** never in %llu replays\n", U(tries));
	return buf_addf(out, e, "**Reproduces:** %llu of %llu times\n", U(hits), U(tries));
}

static int severity(const struct known_crash *c, struct buf *out, struct err *e)
{
	static const char *const known[] = {"none", "low", "medium", "high"};
	const char *name = "unknown";

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(c->severity, known[i]) == 0)
			name = known[i];
	return buf_addf(out, e, "**Severity:** %s%s\n", name,
			c->security ? ", security-relevant" : "");
}

static int render_seen(const struct known_crash *c, struct buf *out, struct err *e)
{
	char date[32], last[32];
	int r = buf_addf(out, e, "**Date:** %s\n", render_time(c->first_seen.time, date));

	if (r == 0 && c->count > 1)
		r = buf_addf(out, e, "**Seen:** %llu times, last %s\n", U(c->count),
			     render_time(c->last_seen.time, last));
	return r;
}

static const char *render_text_of(const char *s)
{
	return s ? s : "";
}

static int render_facts(const struct render_crash *r, struct buf *out, struct err *e)
{
	const struct known_crash *c = r->crash;
	int rc = fuzzers(c, out, e);

	if (rc == 0)
		rc = fact("Label", render_text_of(r->label), out, e);
	if (rc == 0)
		rc = fact("Corpus", render_text_of(r->corpus), out, e);
	if (rc == 0)
		rc = type(c, out, e);
	if (rc == 0)
		rc = fact("Where", c->top_frame, out, e);
	if (rc == 0)
		rc = places(r, out, e);
	if (rc == 0)
		rc = severity(c, out, e);
	if (rc == 0)
		rc = buf_addf(out, e, "**Found by:** %s\n", render_sanitizer(c->kind));
	if (rc == 0)
		rc = render_rate(c, out, e);
	if (rc == 0)
		rc = fact("Commit", c->first_seen.commit, out, e);
	if (rc == 0)
		rc = fact("Last commit that was fuzzed without it", render_text_of(r->clean_at),
			  out, e);
	if (rc == 0)
		rc = render_seen(c, out, e);
	if (rc == 0)
		rc = fact("Crash", c->signature, out, e);
	return rc == 0 ? fact("Likely the same as", c->similar, out, e) : rc;
}

/* --- body ---------------------------------------------------------------------- */

static int render_head(const struct render_crash *r, struct buf *out, struct err *e)
{
	return buf_addf(out, e, "<!-- fuzzcell-signature: %s -->\n## Fuzzing crash report\n\n",
			r->name);
}

static const char footer[] =
    "\n---\nFiled by fuzzcell. Add the label `ignore` to hear no more of this crash, or the "
    "label `wrong` to keep fuzzcell from closing this issue.\n";

static int redacted(const struct render_crash *r, struct buf *out, struct err *e)
{
	_autobuf_ struct buf command = BUF_INIT(RENDER_BODY_MAX);
	int rc = render_head(r, out, e);

	if (rc == 0)
		rc = fuzzers(r->crash, out, e);
	if (rc == 0)
		rc = render_seen(r->crash, out, e);
	if (rc == 0)
		rc = fact("Crash", r->crash->signature, out, e);
	if (rc == 0)
		rc = buf_add(out,
			     SLICE("\nThis crash is security-relevant: its type, its stack and its "
				   "input are not published here. On the machine that fuzzes:\n\n"),
			     e);
	if (rc == 0)
		rc = render_local(r, &command, e);
	if (rc == 0)
		rc = render_fence(buf_slice(&command), "sh", out, e);
	return rc == 0 ? buf_add(out, slice_of(footer), e) : rc;
}

static int stats(const struct render_crash *r, struct buf *out, struct err *e)
{
	if (!r->stats.known)
		return 0;
	return buf_addf(out, e,
			"\n### Fuzzer stats\n\n- Executions: %llu\n- Coverage: %llu edges\n"
			"- Corpus size: %llu inputs\n",
			U(r->stats.execs), U(r->stats.cov), U(r->stats.corpus));
}

/* The part after the stack; the stack gets the remaining room. */
static int tail(const struct render_crash *r, struct buf *out, struct err *e)
{
	int rc = buf_add(out, SLICE("\n" RENDER_INPUT_BEGIN "\n"), e);

	if (rc == 0)
		rc = render_input(r, out, e);
	if (rc == 0)
		rc = buf_add(out, SLICE(RENDER_INPUT_END "\n"), e);
	if (rc == 0)
		rc = render_commands(r, out, e);
	if (rc == 0)
		rc = stats(r, out, e);
	return rc == 0 ? buf_add(out, slice_of(footer), e) : rc;
}

int render_body(const struct render_crash *r, struct buf *out, struct err *e)
{
	_autobuf_ struct buf first = BUF_INIT(RENDER_BODY_MAX), last = BUF_INIT(RENDER_BODY_MAX);
	int rc;

	if (r->redacted)
		return redacted(r, out, e);
	rc = render_head(r, &first, e);
	if (rc == 0)
		rc = render_facts(r, &first, e);
	if (rc == 0)
		rc = tail(r, &last, e);
	if (rc == 0)
		rc = buf_add(out, buf_slice(&first), e);
	if (rc == 0)
		rc = render_stack(
		    r, first.n + last.n < RENDER_BODY_MAX ? RENDER_BODY_MAX - first.n - last.n : 0,
		    out, e);
	return rc == 0 ? buf_add(out, buf_slice(&last), e) : rc;
}

/* --- comments ------------------------------------------------------------------- */

static int at_commit(const struct ledger_seen *s, bool redacted, struct buf *out, struct err *e)
{
	char date[32];
	int r = 0;

	if (*s->commit && !redacted) {
		r = buf_add(out, SLICE(" on commit "), e);
		if (r == 0)
			r = render_code(s->commit, NAME_MAX_SHOWN, out, e);
	}
	return r == 0 ? buf_addf(out, e, " (%s)", render_time(s->time, date)) : r;
}

static int how_often(const struct known_crash *c, struct buf *out, struct err *e)
{
	int r = buf_addf(out, e, ".\n\nSeen %llu times in all.", U(c->count));

	if (r == 0 && c->reproduction.tries)
		r = buf_addf(out, e, " Its input fails %llu of %llu times.",
			     U(c->reproduction.hits), U(c->reproduction.tries));
	return r == 0 ? buf_add(out, SLICE("\n"), e) : r;
}

/* Lists the crash's state in each of its targets; for a single target no list is needed. */
static int in_targets(const struct known_crash *c, struct buf *out, struct err *e)
{
	enum { SHOWN = 20 };
	int r = c->n_by > 1 ? buf_add(out, SLICE("\n"), e) : 0;

	for (size_t i = 0; r == 0 && c->n_by > 1 && i < c->n_by && i < SHOWN; i++) {
		r = buf_add(out, SLICE("- "), e);
		if (r == 0)
			r = render_code(c->by[i]->fuzzer, NAME_MAX_SHOWN, out, e);
		if (r == 0)
			r = buf_addf(out, e, ": %s\n", ledger_state_name(c->by[i]->state));
	}
	if (r == 0 && c->n_by > SHOWN)
		r = buf_addf(out, e, "- and %zu more targets\n", c->n_by - SHOWN);
	return r;
}

static int found_details(const struct render_crash *r, struct buf *out, struct err *e)
{
	_autobuf_ struct buf last = BUF_INIT(RENDER_BODY_MAX);
	int rc = render_facts(r, out, e);

	if (rc == 0)
		rc = render_input(r, &last, e);
	if (rc == 0)
		rc = render_commands(r, &last, e);
	if (rc == 0)
		rc = render_stack(
		    r, last.n < RENDER_BODY_MAX / 2 ? RENDER_BODY_MAX / 2 - last.n : 0, out, e);
	return rc == 0 ? buf_add(out, buf_slice(&last), e) : rc;
}

int render_found(const struct render_crash *r, const struct known_crash *c, struct buf *out,
		 struct err *e)
{
	int rc = buf_add(out, SLICE("One more target finds this crash: "), e);

	if (rc == 0)
		rc = render_code(r->crash->fuzzer, NAME_MAX_SHOWN, out, e);
	if (rc == 0)
		rc = buf_add(out, SLICE(".\n"), e);
	if (rc == 0)
		rc = in_targets(c, out, e);
	if (rc == 0)
		rc = buf_add(out, SLICE("\n"), e);
	return rc < 0 || r->redacted ? rc : found_details(r, out, e);
}

int render_comment(const struct render_crash *r, enum render_event what, struct buf *out,
		   struct err *e)
{
	static const char *const begin[] = {
	    [RENDER_AGAIN] = "This crash is still there: it was seen again",
	    [RENDER_FIXED] = "This crash is fixed: its inputs pass",
	    [RENDER_REGRESSED] = "This crash came back: it was seen again",
	    [RENDER_PARTLY] = "This crash is fixed in some of its targets, not in all: inputs pass",
	};
	const struct known_crash *c = r->crash;
	bool is_fix = what == RENDER_FIXED || what == RENDER_PARTLY;
	int rc = buf_add(out, slice_of(begin[what]), e);

	if (rc == 0)
		rc = at_commit(is_fix ? &c->fixed : &c->last_seen, r->redacted, out, e);
	if (rc == 0 && what == RENDER_REGRESSED && c->fixed.time) {
		rc = buf_add(out, SLICE("; it was found fixed"), e);
		if (rc == 0)
			rc = at_commit(&c->fixed, r->redacted, out, e);
	}
	if (rc < 0)
		return rc;
	if (!is_fix)
		rc = how_often(c, out, e);
	else
		rc = buf_add(out,
			     SLICE(", so often that chance is no explanation. They are run again "
				   "in every later run.\n"),
			     e);
	return rc == 0 ? in_targets(c, out, e) : rc;
}
