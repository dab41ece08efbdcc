/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the fields of a crash, or of an entry, by their table.  Fields that are read are removed
 * from the parsed object. */
#include "base/json.h"
#include "base/memory.h"
#include "runner/crash/ledger/internal.h"

#include <stdio.h>

static void mend_field(const struct reading *rd, const struct field *f, const char *why)
{
	char key[64];

	snprintf(key, sizeof(key), "%s%s%s", f->group ? f->group : "", f->group ? "." : "", f->key);
	ledger_mend(rd->l, rd->signature, key, why);
}

static struct slice ledger_read_fields_text_of(const json_t *j)
{
	return (struct slice){json_string_value(j), json_string_length(j)};
}

static int read_text(const struct reading *rd, const struct field *f, const json_t *j)
{
	bool lines = f->type == FIELD_LINES;

	if (!json_is_string(j)) {
		mend_field(rd, f, "is no text");
		return 0;
	}
	if (!ledger_is_clean(ledger_read_fields_text_of(j), f->max, lines))
		mend_field(rd, f, "is too long or has control characters");
	return ledger_set(ledger_field_of(rd->c, f), json_string_value(j), f->max, lines, rd->e);
}

/* A list that is too long keeps its last entries. */
static int read_list(const struct reading *rd, const struct field *f, const json_t *j)
{
	struct ledger_list *list = ledger_field_of(rd->c, f);
	size_t n = json_array_size(j);
	bool lines = f->type == FIELD_SIGNATURES;
	int r = 0;

	if (!json_is_array(j))
		mend_field(rd, f, "is no list");
	if (n > f->max)
		mend_field(rd, f, "is too long");
	for (size_t i = n > f->max ? n - f->max : 0; i < n && r == 0; i++) {
		const json_t *v = json_array_get(j, i);

		if (!json_is_string(v) ||
		    !ledger_is_clean(ledger_read_fields_text_of(v), LEDGER_TEXT_MAX, lines))
			mend_field(rd, f, "holds an entry that is no text, too long, or not plain");
		if (json_is_string(v))
			r = ledger_list_add(list, json_string_value(v), lines, rd->e);
	}
	return r;
}

static bool ledger_read_fields_is_number(const json_t *j)
{
	return json_is_integer(j) && json_integer_value(j) >= 0;
}

static int ledger_read_fields_read_field(const struct reading *rd, const struct field *f,
					 const json_t *j)
{
	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_LINES:
		return read_text(rd, f, j);
	case FIELD_LIST:
	case FIELD_SIGNATURES:
		return read_list(rd, f, j);
	case FIELD_NUMBER:
		if (ledger_read_fields_is_number(j))
			*(uint64_t *)ledger_field_of(rd->c, f) = (uint64_t)json_integer_value(j);
		else
			mend_field(rd, f, "is no number from 0 up");
		return 0;
	case FIELD_FLAG:
		if (json_is_boolean(j))
			*(bool *)ledger_field_of(rd->c, f) = json_is_true(j);
		else
			mend_field(rd, f, "is neither true nor false");
		return 0;
	}
	return 0;
}

/* Some writers use null for "none". */
static int take_field(const struct reading *rd, const struct field *f, json_t *crash)
{
	json_t *in = f->group ? json_object_get(crash, f->group) : crash;
	json_t *j = json_object_get(in, f->key);
	int r = 0;

	if (f->group && in && !json_is_object(in)) {
		ledger_mend(rd->l, rd->signature, f->group, "is no object");
		json_object_del(crash, f->group);
		return 0;
	}
	if (!j)
		return 0;
	if (!json_is_null(j))
		r = ledger_read_fields_read_field(rd, f, j);
	json_object_del(in, f->key);
	if (f->group && json_object_size(in) == 0)
		json_object_del(crash, f->group);
	return r;
}

static void take_state(const struct reading *rd, json_t *crash)
{
	const json_t *j = json_object_get(crash, "state");

	/* Without another state the crash is known. */
	rd->c->state = LEDGER_KNOWN;
	if (!j)
		return;
	if (!json_is_string(j) || !ledger_state_of(ledger_read_fields_text_of(j), &rd->c->state))
		ledger_mend(rd->l, rd->signature, "state", "is none; taken as \"known\"");
	json_object_del(crash, "state");
}

static int take_run(const struct reading *rd, const json_t *j)
{
	const json_t *run = json_object_get(j, "run"), *count = json_object_get(j, "count");
	struct known_crash *c = rd->c;
	struct ledger_run *to = &c->runs[c->n_runs];

	if (!json_is_string(run) || !ledger_read_fields_is_number(count)) {
		ledger_mend(rd->l, rd->signature, "runs", "holds an invalid run");
		return 0;
	}
	if (!ledger_is_clean(ledger_read_fields_text_of(run), LEDGER_TEXT_MAX, false) ||
	    json_object_size(j) > 2)
		ledger_mend(rd->l, rd->signature, "runs", "has more than names and counts");
	*to = (struct ledger_run){ledger_empty, (uint64_t)json_integer_value(count)};
	c->n_runs++;
	return ledger_set(&to->run, json_string_value(run), LEDGER_TEXT_MAX, false, rd->e);
}

static int take_runs(const struct reading *rd, json_t *crash)
{
	const json_t *j = json_object_get(crash, "runs");
	size_t n = json_array_size(j);
	int r = 0;

	if (!j)
		return 0;
	if (!json_is_array(j) || n > LEDGER_RUNS)
		ledger_mend(rd->l, rd->signature, "runs", "is no list, or too long");
	if (n > 0)
		rd->c->runs = xcalloc(LEDGER_RUNS, sizeof(*rd->c->runs));
	for (size_t i = n > LEDGER_RUNS ? n - LEDGER_RUNS : 0; i < n && r == 0; i++)
		r = take_run(rd, json_array_get(j, i));
	json_object_del(crash, "runs");
	return r;
}

/* The older layout has two fields for when and where a crash was first seen.  They stay in the
 * file for other readers of that layout. */
static int look_at_older(const struct reading *rd, const json_t *crash)
{
	const json_t *date = json_object_get(crash, "date");
	const json_t *commit = json_object_get(crash, "commit");
	struct ledger_seen *first = &rd->c->first_seen;
	int r = 0;

	if (first->time == 0 && ledger_read_fields_is_number(date))
		first->time = (uint64_t)json_integer_value(date);
	else if (first->time == 0 && json_is_string(date))
		(void)ledger_date(ledger_read_fields_text_of(date), &first->time);
	if (!*first->commit && json_is_string(commit))
		r = ledger_set(&first->commit, json_string_value(commit), LEDGER_TEXT_MAX, false,
			       rd->e);
	return r;
}

static void check_sha1(const struct reading *rd, const char *key, char **p)
{
	if (!**p || ledger_is_sha1(*p))
		return;
	ledger_mend(rd->l, rd->signature, key, "is no SHA-1");
	ledger_unset(p);
}

static void check_sense(const struct reading *rd)
{
	struct known_crash *c = rd->c;

	if (c->reproduction.hits > c->reproduction.tries) {
		ledger_mend(rd->l, rd->signature, "reproduction", "has more hits than tries");
		c->reproduction.hits = c->reproduction.tries;
	}
	check_sha1(rd, "input_sha1", &c->input_sha1);
	check_sha1(rd, "minimized_sha1", &c->minimized_sha1);
}

/* Drops counters of the older layout. */
static void drop_older(json_t *crash)
{
	json_t *in = json_object_get(crash, "reproduction");

	json_object_del(in, "clean_others");
	if (json_is_object(in) && json_object_size(in) == 0)
		json_object_del(crash, "reproduction");
}

int ledger_read_entry(const struct reading *rd, json_t *from, struct found *t)
{
	struct reading of = *rd;
	size_t n_fields;
	const struct field *f = ledger_fields(&n_fields);
	int r = 0;

	of.c = &t->c;
	drop_older(from);
	for (size_t i = 0; i < n_fields && r == 0; i++)
		if (!f[i].of_crash)
			r = take_field(&of, &f[i], from);
	if (r == 0)
		r = take_runs(&of, from);
	if (r == 0)
		r = look_at_older(&of, from);
	if (r < 0)
		return r;
	take_state(&of, from);
	check_sense(&of);
	return 0;
}

void ledger_drop_summary(json_t *crash)
{
	size_t n_fields;
	const struct field *f = ledger_fields(&n_fields);

	drop_older(crash);
	for (size_t i = 0; i < n_fields; i++) {
		json_t *in = f[i].group ? json_object_get(crash, f[i].group) : crash;

		if (f[i].of_crash)
			continue;
		json_object_del(in, f[i].key);
		if (f[i].group && json_is_object(in) && json_object_size(in) == 0)
			json_object_del(crash, f[i].group);
	}
	json_object_del(crash, "runs");
	json_object_del(crash, "state");
}

int ledger_read_own(const struct reading *rd, json_t *crash)
{
	size_t n_fields;
	const struct field *f = ledger_fields(&n_fields);
	int r = 0;

	for (size_t i = 0; i < n_fields && r == 0; i++)
		if (f[i].of_crash)
			r = take_field(rd, &f[i], crash);
	return r;
}
