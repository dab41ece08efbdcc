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
static void title_part(const char *text, size_t max, struct buf *out)
{
	_autobuf_ struct buf clean = BUF_INIT(RENDER_BODY_MAX);
	struct slice s;

	render_clean((struct slice){text, strnlen(text, max + 1)}, RENDER_LINE, NULL, &clean);
	out->full |= clean.full;
	s = render_cut(buf_slice(&clean), max);
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '@')
			buf_puts(out, "(at)");
		else
			buf_put(out, s.p[i] == '`' ? SLICE("'") : (struct slice){s.p + i, 1});
}

void render_title(const struct render_crash *r, struct buf *out)
{
	const struct known_crash *c = r->crash;
	_autobuf_ struct buf text = BUF_INIT(TITLE_ROOM);
	buf_puts(&text, "Fuzzing crash: ");

	title_part(*c->fuzzer ? c->fuzzer : "?", TITLE_NAME, &text);
	buf_puts(&text, " \xe2\x80\x94 ");
	if (r->redacted)
		buf_printf(&text, "security-relevant, %.40s", r->name);
	else
		title_part(*c->crash_type ? c->crash_type : "crash", TITLE_TYPE, &text);
	if (!r->redacted && *c->top_frame) {
		buf_puts(&text, " in ");
		title_part(c->top_frame, TITLE_FRAME, &text);
	}
	out->full |= text.full;
	buf_put(out, render_cut(buf_slice(&text), RENDER_TITLE_MAX));
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
static void fact(const char *name, const char *value, struct buf *out)
{

	if (!*value)
		return;
	buf_printf(out, "**%s:** ", name);
	render_code(value, NAME_MAX_SHOWN, out);
	buf_puts(out, "\n");
}

static void fuzzers(const struct known_crash *c, struct buf *out)
{
	enum { SHOWN = 8 };
	buf_puts(out, "**Fuzzer:** ");

	render_code(c->fuzzer, NAME_MAX_SHOWN, out);
	for (size_t i = 0; i < c->targets.n && i < SHOWN; i++) {
		buf_put(out, i ? SLICE(", ") : SLICE("; also "));
		render_code(c->targets.v[i], NAME_MAX_SHOWN, out);
	}
	buf_puts(out, "\n");
}

/* `src/a.c:12`, as a link if possible. */
static void place(const struct render_crash *r, const struct render_place *at, struct buf *out)
{
	_autobuf_ struct buf url = BUF_INIT(URL_MAX);
	char text[SOURCE_PATH_MAX + 24];
	struct err e;
	bool linked = r->link && r->built_of && at->line > 0 &&
		      source_link(r->link, r->built_of, at->path, at->line, &url, &e) == 0;

	if (linked)
		buf_puts(out, "[");
	(void)snprintf(text, sizeof(text), at->line ? "%s:%llu" : "%s", at->path, U(at->line));
	render_code(text, sizeof(text), out);
	if (linked)
		buf_printf(out, "](%s)", buf_str(&url));
}

static void places(const struct render_crash *r, struct buf *out)
{
	for (size_t i = 0; i < r->n_places; i++) {
		buf_puts(out, i == 0 ? "**In the sources:** " : ", called from ");
		place(r, &r->places[i], out);
	}
	if (r->n_places > 0)
		buf_puts(out, "\n");
}

static void type(const struct known_crash *c, struct buf *out)
{
	buf_puts(out, "**Crash type:** ");

	render_code(*c->crash_type ? c->crash_type : "unknown", NAME_MAX_SHOWN, out);
	if (*c->signal) {
		buf_puts(out, " (");
		render_code(c->signal, NAME_MAX_SHOWN, out);
		buf_puts(out, ")");
	}
	buf_puts(out, "\n");
}

static void render_rate(const struct known_crash *c, struct buf *out)
{
	uint64_t tries = c->reproduction.tries, hits = c->reproduction.hits;

	if (!tries)
		buf_puts(out, "**Reproduces:** not measured\n");
	else if (!hits)
		buf_printf(out, "**Reproduces:** never in %llu replays\n", U(tries));
	else
		buf_printf(out, "**Reproduces:** %llu of %llu times\n", U(hits), U(tries));
}

static void severity(const struct known_crash *c, struct buf *out)
{
	static const char *const known[] = {"none", "low", "medium", "high"};
	const char *name = "unknown";

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(c->severity, known[i]) == 0)
			name = known[i];
	buf_printf(out, "**Severity:** %s%s\n", name, c->security ? ", security-relevant" : "");
}

static void render_seen(const struct known_crash *c, struct buf *out)
{
	char date[32], last[32];
	buf_printf(out, "**Date:** %s\n", render_time(c->first_seen.time, date));

	if (c->count > 1)
		buf_printf(out, "**Seen:** %llu times, last %s\n", U(c->count),
			   render_time(c->last_seen.time, last));
}

static const char *render_text_of(const char *s)
{
	return s ? s : "";
}

static void render_facts(const struct render_crash *r, struct buf *out)
{
	const struct known_crash *c = r->crash;
	fuzzers(c, out);

	fact("Label", render_text_of(r->label), out);
	fact("Corpus", render_text_of(r->corpus), out);
	type(c, out);
	fact("Where", c->top_frame, out);
	places(r, out);
	severity(c, out);
	buf_printf(out, "**Found by:** %s\n", render_sanitizer(c->kind));
	render_rate(c, out);
	fact("Commit", c->first_seen.commit, out);
	fact("Last commit that was fuzzed without it", render_text_of(r->clean_at), out);
	render_seen(c, out);
	fact("Crash", c->signature, out);
	fact("Likely the same as", c->similar, out);
}

/* --- body ---------------------------------------------------------------------- */

static void render_head(const struct render_crash *r, struct buf *out)
{
	buf_printf(out, "<!-- fuzzcell-signature: %s -->\n## Fuzzing crash report\n\n", r->name);
}

static const char footer[] =
    "\n---\nFiled by fuzzcell. Add the label `ignore` to hear no more of this crash, or the "
    "label `wrong` to keep fuzzcell from closing this issue.\n";

static void redacted(const struct render_crash *r, struct buf *out)
{
	_autobuf_ struct buf command = BUF_INIT(RENDER_BODY_MAX);
	render_head(r, out);

	fuzzers(r->crash, out);
	render_seen(r->crash, out);
	fact("Crash", r->crash->signature, out);
	buf_puts(out, "\nThis crash is security-relevant: its type, its stack and its input are "
		      "not published here. On the machine that fuzzes:\n\n");
	render_local(r, &command);
	out->full |= command.full;
	render_fence(buf_slice(&command), "sh", out);
	buf_puts(out, footer);
}

static void stats(const struct render_crash *r, struct buf *out)
{
	if (!r->stats.known)
		return;
	buf_printf(out,
		   "\n### Fuzzer stats\n\n- Executions: %llu\n- Coverage: %llu edges\n"
		   "- Corpus size: %llu inputs\n",
		   U(r->stats.execs), U(r->stats.cov), U(r->stats.corpus));
}

/* The part after the stack; the stack gets the remaining room. */
static void tail(const struct render_crash *r, struct buf *out)
{
	buf_puts(out, "\n" RENDER_INPUT_BEGIN "\n");

	render_input(r, out);
	buf_puts(out, RENDER_INPUT_END "\n");
	render_commands(r, out);
	stats(r, out);
	buf_puts(out, footer);
}

void render_body(const struct render_crash *r, struct buf *out)
{
	_autobuf_ struct buf first = BUF_INIT(RENDER_BODY_MAX), last = BUF_INIT(RENDER_BODY_MAX);

	if (r->redacted) {
		redacted(r, out);
		return;
	}
	render_head(r, &first);
	render_facts(r, &first);
	tail(r, &last);
	out->full |= first.full || last.full;
	buf_put(out, buf_slice(&first));
	render_stack(r, first.n + last.n < RENDER_BODY_MAX ? RENDER_BODY_MAX - first.n - last.n : 0,
		     out);
	buf_put(out, buf_slice(&last));
}

/* --- comments ------------------------------------------------------------------- */

static void at_commit(const struct ledger_seen *s, bool redacted, struct buf *out)
{
	char date[32];
	if (*s->commit && !redacted) {
		buf_puts(out, " on commit ");
		render_code(s->commit, NAME_MAX_SHOWN, out);
	}
	buf_printf(out, " (%s)", render_time(s->time, date));
}

static void how_often(const struct known_crash *c, struct buf *out)
{
	buf_printf(out, ".\n\nSeen %llu times in all.", U(c->count));

	if (c->reproduction.tries)
		buf_printf(out, " Its input fails %llu of %llu times.", U(c->reproduction.hits),
			   U(c->reproduction.tries));
	buf_puts(out, "\n");
}

/* Lists the crash's state in each of its targets; for a single target no list is needed. */
static void in_targets(const struct known_crash *c, struct buf *out)
{
	enum { SHOWN = 20 };
	if (c->n_by <= 1)
		return;
	buf_puts(out, "\n");
	for (size_t i = 0; i < c->n_by && i < SHOWN; i++) {
		buf_puts(out, "- ");
		render_code(c->by[i]->fuzzer, NAME_MAX_SHOWN, out);
		buf_printf(out, ": %s\n", ledger_state_name(c->by[i]->state));
	}
	if (c->n_by > SHOWN)
		buf_printf(out, "- and %zu more targets\n", c->n_by - SHOWN);
}

static void found_details(const struct render_crash *r, struct buf *out)
{
	_autobuf_ struct buf last = BUF_INIT(RENDER_BODY_MAX);
	render_facts(r, out);

	render_input(r, &last);
	render_commands(r, &last);
	out->full |= last.full;
	render_stack(r, last.n < RENDER_BODY_MAX / 2 ? RENDER_BODY_MAX / 2 - last.n : 0, out);
	buf_put(out, buf_slice(&last));
}

void render_found(const struct render_crash *r, const struct known_crash *c, struct buf *out)
{
	buf_puts(out, "One more target finds this crash: ");

	render_code(r->crash->fuzzer, NAME_MAX_SHOWN, out);
	buf_puts(out, ".\n");
	in_targets(c, out);
	buf_puts(out, "\n");
	if (!r->redacted)
		found_details(r, out);
}

void render_comment(const struct render_crash *r, enum render_event what, struct buf *out)
{
	static const char *const begin[] = {
	    [RENDER_AGAIN] = "This crash is still there: it was seen again",
	    [RENDER_FIXED] = "This crash is fixed: its inputs pass",
	    [RENDER_REGRESSED] = "This crash came back: it was seen again",
	    [RENDER_PARTLY] = "This crash is fixed in some of its targets, not in all: inputs pass",
	};
	const struct known_crash *c = r->crash;
	bool is_fix = what == RENDER_FIXED || what == RENDER_PARTLY;
	buf_puts(out, begin[what]);

	at_commit(is_fix ? &c->fixed : &c->last_seen, r->redacted, out);
	if (what == RENDER_REGRESSED && c->fixed.time) {
		buf_puts(out, "; it was found fixed");
		at_commit(&c->fixed, r->redacted, out);
	}
	if (!is_fix)
		how_often(c, out);
	else
		buf_puts(out, ", so often that chance is no explanation. They are run again in "
			      "every later run.\n");
	in_targets(c, out);
}
