/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_LEDGER_INTERNAL_H
#define RUNNER_CRASH_LEDGER_INTERNAL_H

/* Shared by the files of the ledger. */
#include "base/buf.h"
#include "base/json.h"
#include "runner/crash/ledger/input.h"
#include "runner/crash/ledger/parsed.h"
#include "runner/crash/report/report.h"

enum { LEDGER_VERSION = 2 }; /* of a record with "found_by" */

/* An entry: c.by[i] of a record is &entry->c. */
struct found {
	struct known_crash c;		/* issue_url, note, merged_into, aliases, similar: "" */
	json_t *extra;			/* fields that are not ours, or NULL */
	bool adopt[LEDGER_INPUT_COUNT]; /* noted or seen to fail, but without its digest */
};

/* c owns the signature, `targets`, `by`, and the crash's own fields (by the table).  The other
 * fields of c are borrowed from the leading entry: ledger_summarize(). */
struct record {
	struct known_crash c;
	json_t *extra; /* fields that are not ours, or NULL */
	struct ledger_run *runs;
	json_t *reports; /* by target: results of the parser that record.json may lack, or NULL */
	bool changed;	 /* record.json lacks the changes */
	bool given;	 /* a child process is writing them */
};

/* Maps a name to its record.  The tree of search.h, so no set of names makes it slow.  Names are
 * borrowed from the records. */
struct index {
	void *root;
};

struct ledger {
	struct record **v; /* by signature */
	size_t n, cap;
	struct index aliases;  /* signatures without their own record */
	struct index raw_keys; /* "<target>:<key>" */
	json_t *foreign;       /* top-level values that are not crashes */
	bool dirty;
	bool keep_file; /* the file on disk holds data that was not loaded */
	unsigned warnings;
	char warning[500];
};

/* --- record.c: texts and lists -------------------------------------- */

extern char ledger_empty[1]; /* shared by all empty texts: never freed, never written to */

/* Text as the ledger keeps it: valid UTF-8 without control characters (lines: newlines
 * and tabs stay), at most max bytes.  NULL is "". */
void ledger_set(char **p, const char *text, size_t max, bool lines);
void ledger_unset(char **p);
/* Whether ledger_set() would keep the text unchanged. */
bool ledger_is_clean(struct slice text, size_t max, bool lines);

/* Takes ownership of text. */
void ledger_list_take(struct ledger_list *l, char *text);
void ledger_list_add(struct ledger_list *l, const char *text);
/* The text's index, or l->n. */
size_t ledger_list_at(const struct ledger_list *l, const char *text);
void ledger_list_drop(struct ledger_list *l, size_t at);
/* Removes the text from the list; the caller owns it. */
char *ledger_list_steal(struct ledger_list *l, size_t at);
void ledger_list_sort(struct ledger_list *l);
void ledger_list_done(struct ledger_list *l);

void ledger_add(uint64_t *sum, uint64_t n); /* saturates at INT64_MAX, JSON's limit */
void ledger_set_seen(struct ledger_seen *seen, uint64_t time, const char *commit, const char *run);

/* --- record.c: the fields of a crash -------------------------------- */

enum field_type { FIELD_TEXT, FIELD_LINES, FIELD_LIST, FIELD_NUMBER, FIELD_FLAG };

struct field {
	const char *group; /* the object in the crash that holds the field, or NULL */
	const char *key;
	size_t offset; /* in struct known_crash */
	size_t max;    /* bytes of a text, entries of a list */
	enum field_type type;
	bool always;   /* written also when empty */
	bool of_crash; /* a field of the crash, not of its entries */
};

const struct field *ledger_fields(size_t *ret_n);
void *ledger_field_of(struct known_crash *c, const struct field *f);

/* Makes a record without an entry: the first entry must follow. */
struct record *ledger_record_new(const char *signature);
void ledger_record_free(struct record *n); /* NULL is fine */

/* --- record.c: entries ---------------------------------------------- */

struct found *ledger_entry_at(const struct record *n, size_t i);
struct found *ledger_entry_of(const struct record *n, const char *target); /* or NULL */
/* Adds an entry at the end; -ENOSPC: there are LEDGER_TARGETS. */
MUST_CHECK int ledger_entry_add(struct record *n, const char *target, struct found **ret,
				struct err *e);
void ledger_entry_drop(struct ledger *l, struct record *n, size_t i);
/* Call it after each change of an entry. */
void ledger_summarize(struct record *n);
/* The rank of a severity: a higher one is worse. */
unsigned ledger_rank(const char *severity);

/* --- ledger.c: an index of records by name --------------------------- */

struct record *ledger_index_get(const struct index *x, const char *name);
/* name must live in the record as long as it is in the index.  If the name is there already, the
 * old record stays, and is the result; else NULL. */
struct record *ledger_index_put(struct index *x, const char *name, struct record *n);
void ledger_index_drop(struct index *x, const char *name);

/* --- ledger.c -------------------------------------------------------------- */

struct ledger *ledger_new(void);
/* The record with exactly this signature. */
struct record *ledger_exact(const struct ledger *l, const char *signature);
/* The record that a signature stands for, through aliases; NULL: none. */
struct record *ledger_head(const struct ledger *l, const char *signature);
/* Makes room for one more record, so that ledger_insert() cannot fail; -ENOSPC at the limit. */
MUST_CHECK int ledger_reserve(struct ledger *l, const char *signature, struct err *e);
void ledger_insert(struct ledger *l, struct record *n);
/* "<target>:<key>"; false: one of them is empty, too long, or not clean text. */
bool ledger_raw_name(const char *target, const char *raw_key, char out[LEDGER_TEXT_MAX + 1]);
/* -EINVAL: empty, too long, not UTF-8, with control characters. */
MUST_CHECK int ledger_check_signature(const char *signature, struct err *e);

/* --- read.c --------------------------------------------------------- */

/* The most JSON values of a text.  Each takes some 60 bytes: 64 MiB of "0," would be 2 GiB. */
enum { LEDGER_VALUES_MAX = 4000000 };
/* The values of a JSON text, before it is parsed.  Commas in texts count as well. */
size_t ledger_count_values(struct slice text);

/* --- parsed.c ------------------------------------------------------- */

/* Takes "reports" out of a record. */
void parsed_drop(json_t *record);
/* Puts "reports" into a record. */
void parsed_put(json_t *record, json_t *reports);
/* The results for the record's targets: those noted, else those of record.json. */
MUST_CHECK int parsed_of_record(const struct record *n, int state_dirfd, json_t **ret,
				struct err *e);
/* Keeps the result for a target until record.json is written. */
void parsed_note(struct record *n, const char *target, json_t *report);

/* --- note.c --------------------------------------------------------- */

/* Takes a raw key away from a record.  `key` may not be a text of that record. */
void ledger_give_up_key(struct ledger *l, struct record *old, const char *key);

/* --- merge.c -------------------------------------------------------- */

/* Makes an entry of head for each target that found n.  An entry of head takes the state of n's
 * entry, unless fixed_stays protects it.  Counts do not change. */
MUST_CHECK int ledger_join(struct record *head, const struct record *n, bool fixed_stays,
			   struct err *e);

/* --- input.c -------------------------------------------------------- */

/* 40 lower-case hexadecimal digits. */
bool ledger_is_sha1(const char *text);
/* Takes the digests of reproducers that were noted without one.  A file with another size than the
 * noted one is skipped: the next replay reports it. */
void ledger_adopt_inputs(struct ledger *l, int state_dirfd);

/* --- ledger.c: states ------------------------------------------------ */

enum ledger_event {
	EVENT_SEEN_WELL,
	EVENT_SEEN,
	EVENT_SEEN_FLAKY,
	EVENT_NEXT_RUN,
	EVENT_FIXED,
	EVENT_IGNORE,
	EVENT_UNIGNORE,
	EVENT_COUNT,
};
enum ledger_state ledger_next(enum ledger_state s, enum ledger_event ev);
enum ledger_state ledger_first(enum ledger_event ev);
bool ledger_state_of(struct slice name, enum ledger_state *ret);
/* The kind of sighting, by the measured rate. */
enum ledger_event ledger_sighting_of(const struct known_crash *c);
/* The state of a crash with two entries in these states. */
enum ledger_state ledger_worst(enum ledger_state a, enum ledger_state b);

#endif
