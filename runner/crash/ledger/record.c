/* SPDX-License-Identifier: Apache-2.0 */
/* Records in memory: their texts and lists, their fields, their entries. */
#include "base/memory.h"
#include "runner/crash/ledger/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

/* --- texts and lists ------------------------------------------------------- */

/* A target's output may hold any bytes, but JSON is UTF-8. */

char ledger_empty[1] = "";

/* Well-formed UTF-8 by its first two bytes (RFC 3629, section 4: shortest form, no
 * surrogates, up to U+10FFFF); further bytes are 0x80 to 0xbf. */
static const struct {
	unsigned char first, last; /* of the first byte */
	unsigned char low, high;   /* of the second */
	unsigned char n;
} utf8[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
    {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

static bool ledger_text_is_in(char c, unsigned char low, unsigned char high)
{
	return (unsigned char)c >= low && (unsigned char)c <= high;
}

/* Bytes of the character that s begins with; 0: it begins with none. */
static size_t utf8_length(struct slice s)
{
	size_t i = 0, n;

	if (ledger_text_is_in(s.p[0], 0, 0x7f))
		return 1;
	while (i < sizeof(utf8) / sizeof(utf8[0]) &&
	       !ledger_text_is_in(s.p[0], utf8[i].first, utf8[i].last))
		i++;
	if (i == sizeof(utf8) / sizeof(utf8[0]) || s.n < utf8[i].n ||
	    !ledger_text_is_in(s.p[1], utf8[i].low, utf8[i].high))
		return 0;
	n = utf8[i].n;
	while (n > 2 && ledger_text_is_in(s.p[n - 1], 0x80, 0xbf))
		n--;
	return n == 2 ? utf8[i].n : 0;
}

static bool is_control(char c, bool lines)
{
	if (lines && (c == '\n' || c == '\t'))
		return false;
	return (unsigned char)c < 0x20 || c == 0x7f;
}

/* The next character of s in the form that the ledger keeps, and its length in s. */
static size_t clean_next(struct slice s, bool lines, struct slice *ret)
{
	size_t n = utf8_length(s);

	*ret = (struct slice){s.p, n};
	if (n == 0)
		*ret = SLICE("?");
	else if (n == 1 && is_control(s.p[0], lines))
		*ret = SLICE(" ");
	return n ? n : 1;
}

bool ledger_is_clean(struct slice text, size_t max, bool lines)
{
	if (text.n > max)
		return false;
	while (text.n > 0) {
		struct slice c;
		size_t n = clean_next(text, lines, &c);

		if (c.p != text.p)
			return false;
		text.p += n;
		text.n -= n;
	}
	return true;
}

void ledger_set(char **p, const char *text, size_t max, bool lines)
{
	struct slice in = {text, text ? strnlen(text, max + 4) : 0};
	char *out;
	size_t n = 0;

	if (in.n == 0) {
		ledger_unset(p);
		return;
	}
	out = xmalloc(max < in.n ? max + 1 : in.n + 1);
	while (in.n > 0) {
		struct slice c;
		size_t took = clean_next(in, lines, &c);

		if (n + c.n > max)
			break;
		memcpy(out + n, c.p, c.n);
		n += c.n;
		in.p += took;
		in.n -= took;
	}
	out[n] = '\0';
	ledger_unset(p);
	*p = out;
}

void ledger_unset(char **p)
{
	if (*p != ledger_empty)
		free(*p);
	*p = ledger_empty;
}

void ledger_list_take(struct ledger_list *l, char *text)
{
	/* The array doubles at each power of two. */
	if ((l->n & (l->n - 1)) == 0)
		l->v = xreallocarray(l->v, l->n ? l->n * 2 : 1, sizeof(char *));
	l->v[l->n++] = text;
}

void ledger_list_add(struct ledger_list *l, const char *text)
{
	char *copy = ledger_empty;

	ledger_set(&copy, text, LEDGER_TEXT_MAX, false);
	ledger_list_take(l, copy);
}

size_t ledger_list_at(const struct ledger_list *l, const char *text)
{
	size_t i = 0;

	while (i < l->n && strcmp(l->v[i], text) != 0)
		i++;
	return i;
}

char *ledger_list_steal(struct ledger_list *l, size_t at)
{
	char *text = l->v[at];

	l->n--;
	memmove(l->v + at, l->v + at + 1, (l->n - at) * sizeof(char *));
	return text;
}

void ledger_list_drop(struct ledger_list *l, size_t at)
{
	char *text = ledger_list_steal(l, at);

	ledger_unset(&text);
}

static int ledger_text_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void ledger_list_sort(struct ledger_list *l)
{
	if (l->n > 1)
		qsort(l->v, l->n, sizeof(char *), ledger_text_compare);
}

void ledger_list_done(struct ledger_list *l)
{
	while (l->n > 0)
		ledger_list_drop(l, l->n - 1);
	free(l->v);
	l->v = NULL;
}

void ledger_add(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum) || *sum > INT64_MAX)
		*sum = INT64_MAX;
}

void ledger_set_seen(struct ledger_seen *seen, uint64_t time, const char *commit, const char *run)
{
	ledger_set(&seen->commit, commit, LEDGER_TEXT_MAX, false);
	ledger_set(&seen->run, run, LEDGER_TEXT_MAX, false);
	seen->time = time > INT64_MAX ? INT64_MAX : time;
}

/* --- fields ---------------------------------------------------------------- */

/* The one table of a crash's fields in the file: for reading, writing and freeing. */
#define AT(member) offsetof(struct known_crash, member)
#define FIELD(group, key, type, member, max, always)                     \
	{                                                                \
		group, key, AT(member), max, FIELD_##type, always, false \
	}
#define OF_CRASH(key, type, member, max, always)                       \
	{                                                              \
		NULL, key, AT(member), max, FIELD_##type, always, true \
	}

/* clang-format off */
#define TEXT(key, member)		FIELD(NULL, key, TEXT, member, LEDGER_TEXT_MAX, false)
#define TEXT_ALWAYS(key, member)	FIELD(NULL, key, TEXT, member, LEDGER_TEXT_MAX, true)
#define NUMBER(key, member)		FIELD(NULL, key, NUMBER, member, 0, false)
#define FLAG(key, member)		FIELD(NULL, key, FLAG, member, 0, false)
#define LIST(key, member, max)		FIELD(NULL, key, LIST, member, max, false)
#define MEASURED(key, member)							\
	FIELD("reproduction", key, NUMBER, reproduction.member, 0, false)

/* An answer of a bisection; X is CULPRIT or FIX. */
#define EDGE(X)									\
	X("kind", TEXT, kind), X("commit", TEXT, commit),			\
	X("before", TEXT, before), X("commits", NUMBER, commits),		\
	X("author", TEXT, author), X("subject", TEXT, subject),			\
	X("time", NUMBER, time), X("text", TEXT, text), X("from", TEXT, from)
#define CULPRIT(key, type, member)						\
	FIELD("culprit", key, type, culprit.member, LEDGER_TEXT_MAX, false)
#define FIX(key, type, member)							\
	FIELD("fix", key, type, fix.member, LEDGER_TEXT_MAX, false)

/* Without `state` and `runs`, which have their own code. */
static const struct field fields[] = {
	TEXT_ALWAYS("fuzzer", fuzzer),
	FIELD(NULL, "crash_type", LINES, crash_type, LEDGER_TEXT_MAX, true),
	TEXT_ALWAYS("top_frame", top_frame),
	TEXT("kind", kind),
	TEXT("access", access),
	NUMBER("access_size", access_size),
	TEXT("signal", signal),
	FLAG("security", security),
	TEXT("severity", severity),
	LIST("crash_state", crash_state, LEDGER_STATE_LINES),
	LIST("frames", frames, LEDGER_FRAMES),
	TEXT("bug", bug),
	TEXT("place", place),
	TEXT("caller", caller),
	TEXT("build_of", build_of),
	FLAG("unsymbolized", unsymbolized),
	FIELD("first_seen", "time", NUMBER, first_seen.time, 0, false),
	FIELD("first_seen", "commit", TEXT, first_seen.commit, LEDGER_TEXT_MAX, false),
	FIELD("first_seen", "run", TEXT, first_seen.run, LEDGER_TEXT_MAX, false),
	FIELD("last_seen", "time", NUMBER, last_seen.time, 0, false),
	FIELD("last_seen", "commit", TEXT, last_seen.commit, LEDGER_TEXT_MAX, false),
	FIELD("last_seen", "run", TEXT, last_seen.run, LEDGER_TEXT_MAX, false),
	FIELD("fixed", "time", NUMBER, fixed.time, 0, false),
	FIELD("fixed", "commit", TEXT, fixed.commit, LEDGER_TEXT_MAX, false),
	FIELD("fixed", "run", TEXT, fixed.run, LEDGER_TEXT_MAX, false),
	TEXT("uncounted", uncounted),
	FIELD(NULL, "count", NUMBER, count, 0, true),
	OF_CRASH("targets", LIST, targets, LEDGER_TARGETS, false),
	TEXT_ALWAYS("crash_file", crash_file),
	TEXT("minimized", minimized),
	NUMBER("input_bytes", input_bytes),
	NUMBER("minimized_bytes", minimized_bytes),
	TEXT("input_sha1", input_sha1),
	TEXT("minimized_sha1", minimized_sha1),
	NUMBER("minimize_ms", minimize_ms),
	FLAG("minimize_ended", minimize_ended),
	MEASURED("tries", tries),
	MEASURED("hits", hits),
	MEASURED("clean", clean),
	MEASURED("clean_minimized", clean_minimized),
	FIELD("reproduction", "clean_commit", TEXT, reproduction.clean_commit, LEDGER_TEXT_MAX,
	      false),
	EDGE(CULPRIT),
	EDGE(FIX),
	OF_CRASH("issue_url", TEXT, issue_url, LEDGER_TEXT_MAX, true),
	OF_CRASH("note", LINES, note, LEDGER_NOTE_MAX, false),
	TEXT("similar", similar),
	OF_CRASH("merged_into", TEXT, merged_into, LEDGER_SIGNATURE_MAX, false),
	OF_CRASH("aliases", LIST, aliases, LEDGER_ALIASES, false),
	LIST("raw_keys", raw_keys, LEDGER_RAW_KEYS),
	LIST("artifacts", artifacts, LEDGER_ARTIFACTS),
};
/* clang-format on */

const struct field *ledger_fields(size_t *ret_n)
{
	*ret_n = sizeof(fields) / sizeof(fields[0]);
	return fields;
}

void *ledger_field_of(struct known_crash *c, const struct field *f)
{
	return (char *)c + f->offset;
}

static bool ledger_fields_is_text(const struct field *f)
{
	return f->type == FIELD_TEXT || f->type == FIELD_LINES;
}

static bool is_list(const struct field *f)
{
	return f->type == FIELD_LIST;
}

/* Frees the texts and lists that p owns: all of an entry's, but only a crash's own ones. */
static void done(struct known_crash *p, bool of_entry)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (!of_entry && !fields[i].of_crash)
			continue;
		if (ledger_fields_is_text(&fields[i]))
			ledger_unset(ledger_field_of(p, &fields[i]));
		else if (is_list(&fields[i]))
			ledger_list_done(ledger_field_of(p, &fields[i]));
	}
}

static void ledger_fields_init(struct known_crash *p)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (ledger_fields_is_text(&fields[i]))
			*(char **)ledger_field_of(p, &fields[i]) = ledger_empty;
	p->signature = ledger_empty;
}

struct record *ledger_record_new(const char *signature)
{
	struct record *n = xcalloc(1, sizeof(*n));

	ledger_fields_init(&n->c);
	ledger_set(&n->c.signature, signature, LEDGER_SIGNATURE_MAX, false);
	return n;
}

/* NULL is fine */
static void ledger_entry_free(struct found *t)
{
	if (!t)
		return;
	done(&t->c, true);
	for (size_t i = 0; i < t->c.n_runs; i++)
		ledger_unset(&t->c.runs[i].run);
	free(t->c.runs);
	json_decref(t->extra);
	free(t);
}

void ledger_record_free(struct record *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->c.n_by; i++)
		ledger_entry_free(ledger_entry_at(n, i));
	free(n->c.by);
	free(n->runs);
	done(&n->c, false);
	ledger_unset(&n->c.signature);
	json_decref(n->extra);
	json_decref(n->reports);
	free(n);
}

/* --- entries --------------------------------------------------------------- */

/* The entries of a crash, one for each target that found it, and their summary. */

struct found *ledger_entry_at(const struct record *n, size_t i)
{
	return (struct found *)n->c.by[i]; /* the entry's first member */
}

static size_t ledger_entry_place(const struct known_crash *c, const char *target)
{
	size_t i = 0;

	while (i < c->n_by && strcmp(c->by[i]->fuzzer, target) != 0)
		i++;
	return i;
}

const struct known_crash *ledger_entry(const struct known_crash *c, const char *target)
{
	size_t i = c ? ledger_entry_place(c, target) : 0;

	return c && i < c->n_by ? c->by[i] : NULL;
}

const struct known_crash *ledger_find_entry(const struct ledger *l, const char *signature,
					    const char *target)
{
	return ledger_entry(ledger_find(l, signature), target);
}

struct found *ledger_entry_of(const struct record *n, const char *target)
{
	size_t i = ledger_entry_place(&n->c, target);

	return i < n->c.n_by ? ledger_entry_at(n, i) : NULL;
}

static int ledger_entry_reserve(struct known_crash *c, struct err *e)
{
	if (c->n_by >= LEDGER_TARGETS)
		return err_set(e, ENOSPC, "more than %d targets found crash '%.100s'",
			       LEDGER_TARGETS, c->signature);
	if ((c->n_by & (c->n_by - 1)) == 0) /* the array doubles at each power of two */
		c->by =
		    xreallocarray(c->by, c->n_by ? c->n_by * 2 : 1, sizeof(struct known_crash *));
	return 0;
}

int ledger_entry_add(struct record *n, const char *target, struct found **ret, struct err *e)
{
	struct found *t;
	int r = ledger_entry_reserve(&n->c, e);

	if (r < 0)
		return r;
	t = xcalloc(1, sizeof(*t));
	ledger_fields_init(&t->c);
	ledger_set(&t->c.fuzzer, target, LEDGER_TEXT_MAX, false);
	t->c.signature = n->c.signature;
	n->c.by[n->c.n_by++] = &t->c;
	*ret = t;
	return 0;
}

void ledger_entry_drop(struct ledger *l, struct record *n, size_t i)
{
	const struct ledger_list *keys = &n->c.by[i]->raw_keys;

	for (size_t k = 0; k < keys->n; k++)
		ledger_index_drop(&l->raw_keys, keys->v[k]);
	ledger_entry_free(ledger_entry_at(n, i));
	n->c.n_by--;
	memmove(n->c.by + i, n->c.by + i + 1, (n->c.n_by - i) * sizeof(struct known_crash *));
}

/* --- the summary ------------------------------------------------------------ */

unsigned ledger_rank(const char *severity)
{
	static const char *const order[] = {"low", "medium", "high", "critical"};

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (strcasecmp(severity, order[i]) == 0)
			return i + 1;
	return 0;
}

static size_t leading(const struct known_crash *c)
{
	size_t open = c->n_by, kept = c->n_by;

	for (size_t i = 0; i < c->n_by; i++) {
		bool has_input = *c->by[i]->crash_file;

		if (ledger_state_open(c->by[i]->state)) {
			if (has_input)
				return i;
			open = open < c->n_by ? open : i;
		}
		kept = has_input && kept == c->n_by ? i : kept;
	}
	return kept < c->n_by ? kept : open < c->n_by ? open : 0;
}

static void list_targets(struct known_crash *c)
{
	ledger_list_done(&c->targets);
	for (size_t i = 0; i < c->n_by; i++)
		if (i != c->lead)
			ledger_list_add(&c->targets, c->by[i]->fuzzer);
}

/* Run ids begin with the time, so this is the order of time. */
static int by_run(const void *a, const void *b)
{
	return strcmp(((const struct ledger_run *)a)->run, ((const struct ledger_run *)b)->run);
}

/* Lists the runs of all entries, each once; the entries own the texts.  A single entry's list is
 * used as it is. */
static void list_runs(struct record *n)
{
	struct known_crash *c = &n->c;
	struct ledger_run *v;
	size_t all = 0, k = 0;

	free(n->runs);
	n->runs = NULL;
	for (size_t i = 0; i < c->n_by; i++)
		all += c->by[i]->n_runs;
	if (c->n_by == 1 || all == 0)
		return;
	v = n->runs = xcalloc(all, sizeof(*v));
	for (size_t i = 0; i < c->n_by; i++)
		for (size_t m = 0; m < c->by[i]->n_runs; m++)
			v[k++] = c->by[i]->runs[m];
	qsort(v, all, sizeof(*v), by_run);
	k = 0;
	for (size_t i = 1; i < all; i++)
		if (strcmp(v[k].run, v[i].run) == 0)
			ledger_add(&v[k].count, v[i].count);
		else
			v[++k] = v[i];
	c->n_runs = k + 1 < LEDGER_RUNS ? k + 1 : LEDGER_RUNS;
	c->runs = v + (k + 1 - c->n_runs);
}

/* Borrows the entry's fields; the crash's own fields stay. */
static void ledger_entry_borrow(struct known_crash *c, const struct known_crash *from)
{
	struct known_crash own = *c;

	*c = *from;
	c->signature = own.signature;
	c->targets = own.targets;
	c->by = own.by;
	c->n_by = own.n_by;
	c->lead = own.lead;
	c->issue_url = own.issue_url;
	c->note = own.note;
	c->merged_into = own.merged_into;
	c->aliases = own.aliases;
}

static void sum_up(struct known_crash *c)
{
	c->first_seen = c->by[0]->first_seen;
	c->count = 0;
	for (size_t i = 0; i < c->n_by; i++) {
		const struct known_crash *t = c->by[i];

		c->state = ledger_worst(c->state, t->state);
		ledger_add(&c->count, t->count);
		if (t->last_seen.time > c->last_seen.time)
			c->last_seen = t->last_seen;
		if (t->fixed.time > c->fixed.time)
			c->fixed = t->fixed;
	}
}

/* Sums up the open entries; when none is open, all of them. */
static void sum_up_danger(struct known_crash *c)
{
	bool any_open = ledger_state_open(c->state);

	for (size_t i = 0; i < c->n_by; i++) {
		const struct known_crash *t = c->by[i];

		if (any_open && !ledger_state_open(t->state))
			continue;
		c->security |= t->security;
		if (ledger_rank(t->severity) > ledger_rank(c->severity))
			c->severity = t->severity;
	}
}

void ledger_summarize(struct record *n)
{
	struct known_crash *c = &n->c;

	c->lead = leading(c);
	ledger_entry_borrow(c, c->by[c->lead]);
	sum_up(c);
	sum_up_danger(c);
	list_targets(c);
	list_runs(n);
}
