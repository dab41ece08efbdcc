/* SPDX-License-Identifier: Apache-2.0 */
/* A ledger file with any content: the loaded data is valid, and survives writing and reading
 * again. */
#include "base/cleanup.h"
#include "runner/crash/ledger/ledger.h"
#include "tests/fuzz/must.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

DEFINE_CLEANUP(struct ledger *, ledger_free)

static void check_list(const struct ledger_list *l, size_t max)
{
	MUST(l->n <= max);
	for (size_t i = 0; i < l->n; i++)
		MUST(l->v[i] && strlen(l->v[i]) <= LEDGER_TEXT_MAX);
}

static void check_names(const struct ledger *l, const struct known_crash *c)
{
	const struct known_crash *head = ledger_find(l, c->signature);

	MUST(ledger_record(l, c->signature) == c);
	MUST(head && !*head->merged_into);
	MUST((head == c) == !*c->merged_into);
	for (size_t i = 0; i < c->aliases.n; i++)
		MUST(ledger_find(l, c->aliases.v[i]) == head);
}

static void check_keys(const struct ledger *l, const struct known_crash *c,
		       const struct known_crash *entry)
{
	const struct known_crash *head = ledger_find(l, c->signature);

	for (size_t i = 0; i < entry->raw_keys.n; i++) {
		char *target = strdup(entry->raw_keys.v[i]), *colon;

		MUST(target);
		colon = strchr(target, ':');
		if (colon && colon > target && colon[1]) {
			*colon = '\0';
			MUST(ledger_find_raw(l, target, colon + 1) == head);
		}
		free(target);
	}
}

static void check_fields(const struct known_crash *c)
{
	MUST(c->signature && *c->signature && strlen(c->signature) <= LEDGER_SIGNATURE_MAX);
	MUST(c->state < LEDGER_STATE_COUNT);
	MUST(strlen(c->crash_type) <= LEDGER_TEXT_MAX && strlen(c->note) <= LEDGER_NOTE_MAX);
	MUST(c->reproduction.hits <= c->reproduction.tries);
	MUST(c->n_runs <= LEDGER_RUNS);
	check_list(&c->targets, LEDGER_TARGETS);
	check_list(&c->crash_state, LEDGER_STATE_LINES);
	check_list(&c->frames, LEDGER_FRAMES);
	check_list(&c->artifacts, LEDGER_ARTIFACTS);
	check_list(&c->raw_keys, LEDGER_RAW_KEYS);
	check_list(&c->aliases, LEDGER_ALIASES);
}

/* Each target has one entry, and the summary agrees with the entries. */
static void check_crash(const struct ledger *l, const struct known_crash *c)
{
	bool open = false, same = false;

	check_fields(c);
	check_names(l, c);
	MUST(c->n_by > 0 && c->n_by <= LEDGER_TARGETS && c->targets.n == c->n_by - 1);
	for (size_t i = 0; i < c->n_by; i++) {
		const struct known_crash *t = c->by[i];

		check_fields(t);
		check_keys(l, c, t);
		MUST(t->n_by == 0 && strcmp(t->signature, c->signature) == 0);
		MUST(ledger_entry(c, t->fuzzer) == t);
		MUST(c->count >= t->count);
		MUST(c->security >= t->security || !ledger_state_open(t->state));
		open |= ledger_state_open(t->state);
		same |= t->state == c->state;
	}
	MUST(same && open == ledger_state_open(c->state));
}

static void check(const struct ledger *l)
{
	for (size_t i = 0; i < ledger_count(l); i++) {
		check_crash(l, ledger_at(l, i));
		if (i > 0)
			MUST(strcmp(ledger_at(l, i - 1)->signature, ledger_at(l, i)->signature) <
			     0);
	}
	for (const char *p = ledger_warning(l); *p; p++)
		MUST(*p >= ' ' && *p <= '~');
}

/* Writing and reading again gives the same data, without repairs. */
static void check_text(const struct ledger *l)
{
	CLEANUP(ledger_free_p) struct ledger *again = NULL;
	_autofree_ char *text = NULL, *text_again = NULL;
	size_t n, n_again;
	struct err e;

	MUST(ledger_print(l, &text, &n, &e) == 0);
	MUST(ledger_parse((struct slice){text, n}, &again, &e) == 0);
	MUST(!ledger_dirty(again));
	MUST(ledger_count(again) == ledger_count(l));
	check(again);
	MUST(ledger_print(again, &text_again, &n_again, &e) == 0);
	MUST(n == n_again && memcmp(text, text_again, n) == 0);
}

static const char *signature_at(const struct ledger *l, size_t i)
{
	return i < ledger_count(l) ? ledger_at(l, i)->signature : "none";
}

/* The possible next operations, on any loaded state. */
static void change(struct ledger *l, struct slice in)
{
	_autofree_ char *text = strndup(in.p ? in.p : "", in.n);
	_autofree_ char *first = strdup(signature_at(l, 0));
	_autofree_ char *second = strdup(signature_at(l, 1));
	const char *lines[] = {text, "b"};
	struct crash_sighting s = {
	    .signature = first,
	    .target = "t",
	    .run = "r",
	    .time = 7,
	    .raw_key = text,
	    .artifact = text,
	    .crash_type = text,
	    .crash_state = lines,
	    .n_crash_state = 2,
	    .frames = lines,
	    .n_frames = 2,
	    .crash_file = in.n % 2 ? text : NULL,
	    .tries = 7,
	    .hits = in.n % 8,
	};
	struct ledger_noted noted;
	struct err e;

	MUST(text && first && second);
	MUST(ledger_note(l, &s, &noted, &e) == 0 && noted.entry->count > 0);
	MUST(strcmp(noted.entry->fuzzer, "t") == 0);
	s.target = "u";
	MUST(ledger_note(l, &s, &noted, &e) == 0 && noted.crash->n_by > 1);
	(void)!ledger_passed(l, first, "t", text, 3, 3, &e);
	(void)!ledger_passed(l, second, "t", text, 3, 3, &e);
	(void)!ledger_fixed(l, first, "t", 7, "c", "r", &e);
	(void)!ledger_ignore(l, first, in.n % 2 ? "u" : NULL, in.n % 3, text, &e);
	s.signature = text;
	if (ledger_note(l, &s, &noted, &e) == 0)
		MUST(noted.crash == ledger_find(l, text));
	if (ledger_merge(l, first, second, &e) == 0)
		MUST(ledger_find(l, first) == ledger_find(l, second));
	check(l);
	(void)!ledger_split(l, second, &e);
	s.signature = second;
	s.target = "t";
	if (ledger_note(l, &s, &noted, &e) == 0)
		MUST(noted.entry->reproduction.clean == 0);
	check_text(l);
	if (ledger_split(l, first, &e) == 0)
		MUST(ledger_find(l, first) == ledger_record(l, first));
	ledger_next_run(l, "s");
	check(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(ledger_free_p) struct ledger *l = NULL;
	struct slice in = {(const char *)data, size};
	struct err e;

	if (ledger_parse(in, &l, &e) < 0) {
		MUST(e.code == ENOTSUP || (e.code == EBADMSG && strncmp(e.msg, "line ", 5) == 0));
		return 0;
	}
	check(l);
	check_text(l);
	change(l, in);
	check_text(l);
	return 0;
}
