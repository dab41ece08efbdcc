/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of a crash's fields in the file: for reading, writing and freeing. */
#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/crash/ledger/internal.h"

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
#define LINES(key, member, max)		FIELD(NULL, key, LINES, member, max, false)
#define NUMBER(key, member)		FIELD(NULL, key, NUMBER, member, 0, false)
#define FLAG(key, member)		FIELD(NULL, key, FLAG, member, 0, false)
#define LIST(key, member, max)		FIELD(NULL, key, LIST, member, max, false)
#define MEASURED(key, member)							\
	FIELD("reproduction", key, NUMBER, reproduction.member, 0, false)

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
	OF_CRASH("issue_url", TEXT, issue_url, LEDGER_TEXT_MAX, true),
	OF_CRASH("note", LINES, note, LEDGER_NOTE_MAX, false),
	LINES("similar", similar, LEDGER_SIGNATURE_MAX),
	OF_CRASH("merged_into", LINES, merged_into, LEDGER_SIGNATURE_MAX, false),
	OF_CRASH("aliases", SIGNATURES, aliases, LEDGER_ALIASES, false),
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
	return f->type == FIELD_LIST || f->type == FIELD_SIGNATURES;
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

void ledger_fields_init(struct known_crash *p)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (ledger_fields_is_text(&fields[i]))
			*(char **)ledger_field_of(p, &fields[i]) = ledger_empty;
	p->signature = ledger_empty;
}

DEFINE_CLEANUP(struct record *, ledger_record_free)

int ledger_record_new(const char *signature, struct record **ret, struct err *e)
{
	CLEANUP(ledger_record_free_p) struct record *n = xcalloc(1, sizeof(*n));
	int r;

	ledger_fields_init(&n->c);
	r = ledger_set(&n->c.signature, signature, LEDGER_SIGNATURE_MAX, true, e);
	if (r < 0)
		return r;
	*ret = take_ptr(&n);
	return 0;
}

void ledger_entry_free(struct found *t)
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
