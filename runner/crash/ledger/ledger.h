/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_LEDGER_LEDGER_H
#define RUNNER_CRASH_LEDGER_LEDGER_H

#include "base/err.h"
#include "base/json.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* In the state directory. */
#define LEDGER_NAME  "known_crashes.json"
#define LEDGER_STALE "known_crashes.stale" /* there: the file is older than the records */

/* The known crashes.  Each one's record.json (runner/crash/vault.h) is the truth about it.
 * known_crashes.json in the state directory is an index, so that reading all crashes is one read:
 * one object, signature -> record, with one record on each line.  It may be removed, and is made
 * again from the records.  A caller of ledger_save() holds the state directory's lock
 * (runner/state/state.h).  Reading needs no lock: each file is replaced whole.
 *
 *   signature   identifies a failure by its report, across builds and targets
 *   record      the data of one signature
 *   crash       a record that is not merged into another record, with the records that are merged
 *               into it.  Their signatures are the aliases of the crash.
 *   entry       the part of a record that belongs to one target
 *   sighting    one failure of a target with a signature
 *   reproducer  the input of an entry that is kept to repeat the failure
 *   pass        a replay of a reproducer without the failure
 *   raw key     identifies a failure of one target in one build without symbol names
 *               (crash_report.raw_key)
 *
 * Unknown fields, and top-level values that are not crashes, keep their values as long as the file
 * is there.  A save moves them behind the known fields and the crashes.
 *
 * A failure is identified by its target and its signature.  A signature alone is not enough: it
 * comes from a target's output, and a target can print any report.  So a record has an entry for
 * each target that found the crash.  The entry has its own state, sightings, description,
 * reproducer, rate and passes.  An action of one target never changes another target's entry.  The
 * other fields of a record are a summary of its entries, for display.
 *
 * In the file a record with several entries has them in "found_by", and "v": 2.  Its other fields
 * are the summary, which each load computes again.  A record with one entry has no "found_by": its
 * fields are those of the entry.
 *
 * States of an entry, and the state after each event.  Column "none": the target has no entry yet.
 * "-": the event needs an entry.
 *
 *			none	new	known	fixed	  regressed  flaky   ignored
 *	seen, well	new	new	known	regressed regressed  known   ignored
 *	seen		new	new	known	regressed regressed  flaky   ignored
 *	seen, flaky	flaky	flaky	flaky	regressed regressed  flaky   ignored
 *	next run	-	known	known	fixed	  regressed  flaky   ignored
 *	fixed		-	fixed	fixed	fixed	  fixed	     fixed   ignored
 *	ignore		-	ignored	ignored	ignored	  ignored    ignored ignored
 *	unignore	-	new	known	fixed	  regressed  flaky   known
 *
 * "well" and "flaky" are the verdict on the reproducer's measured rate after the sighting
 * (runner/crash/odds.h).  The verdict on a failure that no replay repeated is "flaky".  Plain
 * "seen": the rate is not measured, or undecided.
 *
 * Exceptions: A sighting from before the fix changes no state; a killed run's sightings may be
 * collected late.  "next run" needs an entry that an exit status has counted (ledger_next_run()).
 * "unignore" makes an ignored entry flaky if the verdict on its rate is "flaky". */

enum ledger_state {
	LEDGER_NEW,	  /* no earlier run found it */
	LEDGER_KNOWN,	  /* an earlier run found it */
	LEDGER_FIXED,	  /* its inputs pass (ledger_fixed()) */
	LEDGER_REGRESSED, /* seen again after it was fixed */
	LEDGER_FLAKY,	  /* open like "known", but fails only sometimes, or no longer */
	LEDGER_IGNORED,	  /* by a user's decision */
	LEDGER_STATE_COUNT,
};
const char *ledger_state_name(enum ledger_state s);
bool ledger_state_open(enum ledger_state s); /* neither fixed nor ignored */
/* The state of a crash is the worst state of its open entries: regressed, new, known, flaky.
 * Without open entries it is ignored if one entry is, else fixed. */

/* Limits.  Longer texts are cut.  Of runs, artifacts and raw keys only the last ones are kept, of
 * crash_state and frames only the first.  Further crashes, entries and aliases are refused. */
#define LEDGER_FILE_MAX (UINT64_C(64) << 20) /* bytes */
enum {
	LEDGER_CRASHES_MAX = 100000,
	LEDGER_SIGNATURE_MAX = 1024, /* bytes; a longer one is refused, never cut */
	LEDGER_TEXT_MAX = 1024,	     /* bytes of any other text */
	LEDGER_NOTE_MAX = 4096,	     /* bytes of a note */
	LEDGER_STATE_LINES = 3,	     /* lines of crash_state */
	LEDGER_FRAMES = 8,
	LEDGER_RUNS = 20,      /* runs of an entry */
	LEDGER_ARTIFACTS = 50, /* artifacts of an entry */
	LEDGER_RAW_KEYS = 64,  /* raw keys of an entry */
	LEDGER_TARGETS = 1000, /* entries of a record */
	LEDGER_ALIASES = 1000, /* aliases of a crash */
};

struct ledger_list {
	char **v;
	size_t n;
};

struct ledger_seen {
	uint64_t time; /* Unix seconds; 0 unknown */
	char *commit;
	char *run; /* its id */
};

/* The commit with which a crash began or ended in a target, found by bisection
 * (runner/crash/bisect/search.h).  All "": not known. */
struct ledger_edge {
	char *kind; /* bisect_kind_name(): "commit", "range", "added", "all" */
	/* With which it began, or ended.  Of a range: the newest commit in it. */
	char *commit;
	char *before;		/* the newest commit that is certainly before the edge; "": none */
	uint64_t commits;	/* of a range: how many commits it has; else 1 */
	char *author, *subject; /* of `commit` */
	uint64_t time;		/* of `commit`, Unix seconds */
	char *text;		/* one sentence for people, with what is not certain */
	char *from;		/* the commit at which the search began */
};

struct ledger_run {
	char *run;	/* its id */
	uint64_t count; /* sightings in this run */
};

/* A record, or an entry of a record; read-only.  It is valid until the ledger is freed.  Its texts
 * and lists are valid until the next call that changes the ledger.  Texts are never NULL: "" is
 * none.
 *
 * A record with several entries shows type, frames, reproducer and rate of its leading entry.  The
 * leading entry is the first that is open and has a reproducer; else the first with a reproducer;
 * else the first that is open.  count and runs are sums over the entries.  severity and security
 * are the worst of the open entries or, if none is open, of all entries. */
struct known_crash {
	char *signature;
	char *fuzzer;		    /* of an entry: its target; of a record: `lead`'s target */
	struct ledger_list targets; /* of a record: the targets of the other entries */
	/* Of a record: its entries, at least one, in the order in which the targets found the
	 * crash.  Of an entry: none. */
	struct known_crash **by;
	size_t n_by, lead; /* number of entries; index of the leading entry */
	char *crash_type;  /* may have several lines */
	char *kind, *access, *signal;
	uint64_t access_size; /* bytes; 0 unknown */
	char *top_frame;
	struct ledger_list crash_state; /* up to LEDGER_STATE_LINES */
	struct ledger_list frames;	/* functions, for display */
	char *bug;			/* crash_report.bug; "": not known */
	char *place, *caller;		/* crash_place; "": not known */
	/* Of an entry of another build than the main build: the target's name (target.of); "": of a
	 * main build. */
	char *build_of;
	enum ledger_state state;
	struct ledger_seen first_seen, last_seen; /* sightings */
	struct ledger_seen fixed;		  /* the last fix; run "" and time 0: never */
	/* The run that found the entry new or regressed, until the exit status of a run counts the
	 * entry.  (A killed run has no exit status.)  "": an exit status counted the entry, or it
	 * was fixed or ignored.  A new entry stays new until then. */
	char *uncounted;
	uint64_t count;		 /* sightings in all runs */
	struct ledger_run *runs; /* the last runs with sightings, oldest first */
	size_t n_runs;
	struct ledger_list artifacts; /* paths in the state directory, oldest first */
	char *crash_file;	      /* path of the reproducer */
	char *minimized;	      /* path of the minimised reproducer */
	/* Sizes of these two files; 0: not known, or the file is empty. */
	uint64_t input_bytes, minimized_bytes;
	/* SHA-1 of the contents of these two files, in hexadecimal; "": not known. */
	char *input_sha1, *minimized_sha1;
	uint64_t minimize_ms; /* time spent on minimising the reproducer */
	bool minimize_ended;  /* the reproducer is 1-minimal, or later runs should not continue */
	struct {
		uint64_t tries, hits; /* replays of the reproducer, and how many of them failed */
		/* Passes since the last sighting, on clean_commit: of the reproducer, and of the
		 * minimised reproducer. */
		uint64_t clean, clean_minimized;
		char *clean_commit;
	} reproduction;
	struct ledger_edge culprit, fix;
	bool security;	   /* the failure may be a vulnerability */
	bool unsymbolized; /* the signature is made of offsets: another build has another one */
	char *severity;
	char *issue_url;	     /* of a record: the issue for this crash */
	char *note;		     /* of a record: a user's text */
	char *similar;		     /* signature of another crash that is likely the same bug */
	char *merged_into;	     /* signature of the crash; "": the record is not merged */
	struct ledger_list aliases;  /* signatures that stand for this crash, too */
	struct ledger_list raw_keys; /* "<target>:<raw key>" */
};

struct ledger;

/* Loads the ledger of the state directory.  If its file is missing, damaged, above a limit, stale,
 * or has no crash, or wrong values, the records in crashes/ are read instead.  Without crashes
 * there, too, the ledger is empty.  A file in which only single values are wrong is mended.
 * ledger_warning() describes what was read from crashes/ or mended.
 *
 * Loading writes nothing.  Before the first ledger_save() replaces a damaged or mended file, it
 * keeps that file as known_crashes.json.damaged-<n>.  A file that cannot be read (I/O, memory, not
 * a regular file) is an error: with an empty ledger all crashes would be new again. */
MUST_CHECK int ledger_load(int state_dirfd, struct ledger **ret, struct err *e);
/* Makes a ledger from a text like that of the file, without crashes/.  -EBADMSG: the text is not a
 * ledger; the message is like "line 3, column 7: why". */
MUST_CHECK int ledger_parse(struct slice text, struct ledger **ret, struct err *e);
void ledger_free(struct ledger *l); /* NULL is fine */

/* One line about the damage of the file that was loaded; "": it was not damaged. */
const char *ledger_warning(const struct ledger *l);

/* Writes the records that changed, then the file.  0: both are on disk.  After a failure or a kill
 * each record is the old or the new one, and the file is made again from the records: try again
 * later.
 *
 * If the text is larger than LEDGER_FILE_MAX, the lists of raw keys, artifacts and runs are cut to
 * their last few items, first in the crashes that were not seen for the longest time.  -EFBIG: the
 * text is still too large.
 */
MUST_CHECK int ledger_save(struct ledger *l, int state_dirfd, struct err *e);
bool ledger_dirty(const struct ledger *l); /* ledger_save() would write the file */
/* For a child process that saves the ledger.  The parent calls ledger_given() right after the fork,
 * and ledger_taken() when the child has ended.  saved: the child's ledger_save() gave 0. */
void ledger_given(struct ledger *l);
void ledger_taken(struct ledger *l, bool saved);

/* Prints the text of the file into a new string (free() it). */
MUST_CHECK int ledger_print(const struct ledger *l, char **ret, size_t *ret_n, struct err *e);

/* All records, also merged ones, in the order of their signatures. */
size_t ledger_count(const struct ledger *l);
const struct known_crash *ledger_at(const struct ledger *l, size_t i);

/* The crash of a signature: the record with that signature or, if that record is merged, the record
 * that it is merged into.  NULL: the signature is unknown. */
const struct known_crash *ledger_find(const struct ledger *l, const char *signature);
/* The record with exactly this signature, also if the record is merged.  NULL: there is none. */
const struct known_crash *ledger_record(const struct ledger *l, const char *signature);
/* The target's entry in the record c.  NULL: the target did not find the crash, or c is NULL. */
const struct known_crash *ledger_entry(const struct known_crash *c, const char *target);
/* ledger_entry() in ledger_find(). */
const struct known_crash *ledger_find_entry(const struct ledger *l, const char *signature,
					    const char *target);
/* The crash that a target's raw key belongs to.  NULL: the raw key is unknown, so triage must
 * decide. */
const struct known_crash *ledger_find_raw(const struct ledger *l, const char *target,
					  const char *raw_key);

/* One sighting of a crash, or several sightings that differ in nothing.  All texts are borrowed and
 * may hold any bytes: invalid UTF-8 and unprintable characters are replaced.  A field that is NULL
 * or 0 changes nothing in the ledger. */
struct crash_sighting {
	const char *signature;
	const char *target;
	const char *build_of; /* target.of: the target of which this is another build; or NULL */
	const char *run;      /* id of the run in which the target failed */
	const char *commit;   /* on which the target failed */
	/* If the sighting makes the entry new or regressed, the exit status of this run counts the
	 * entry. */
	const char *counted_by;
	uint64_t time;	      /* Unix seconds */
	uint64_t count;	      /* number of sightings; 0 counts as 1 */
	bool by_hand;	      /* a user ran a known input: known_crash.count does not grow */
	const char *raw_key;  /* of the report */
	const char *artifact; /* path in the state directory */

	/* Triage's description of the crash: fields as in struct known_crash. */
	const char *crash_type, *kind, *access, *signal, *top_frame, *severity;
	uint64_t access_size;
	const char *const *crash_state;
	size_t n_crash_state;
	const char *const *frames;
	size_t n_frames;
	bool security, unsymbolized;
	const char *similar, *bug, *place, *caller;

	/* crash_file not NULL: this input becomes the reproducer of the target's entry, and
	 * triage's description replaces the old one.  Otherwise the description only fills empty
	 * fields.  In both cases `security` stays set, and `severity` only rises.
	 *
	 * If the signature is that of a merged record, a crash_file becomes the reproducer of the
	 * target's entry in that merged record, with the description, tries and hits.  The sighting
	 * itself (state, counts, times) goes to the target's entry in the crash, which keeps its
	 * reproducer. */
	const char *crash_file, *minimized;
	uint64_t input_bytes, minimized_bytes;
	/* NULL: ledger_save() computes the SHA-1 from the file, if the file has the given size. */
	const char *input_sha1, *minimized_sha1;
	/* parsed_json() of the target's report.txt, if that file was replaced; NULL: it was not. */
	json_t *report;
	/* Replays of the reproducer, and how many of them failed.  With a crash_file they replace
	 * the entry's numbers.  Without it they are added to them; so give 0 if another input than
	 * the entry's reproducer was replayed. */
	uint64_t tries, hits;
};

struct ledger_noted {
	const struct known_crash *crash; /* the crash of the sighting's signature */
	const struct known_crash *entry; /* the target's entry in it */
	bool is_new;			 /* the sighting made the entry */
	enum ledger_state before; /* the entry's state before the sighting; is_new: after it */
	/* Another build of the target has the crash open, or ignored, already: a run counts the
	 * crash of a target once. */
	bool is_further;
};

/* Notes a sighting.  Only this function makes crashes and counts sightings.  It changes only the
 * entry of the sighting's target; without a target, the leading entry.
 *
 * The first sighting of a signature may have the `bug` of another crash.  Then the new record is
 * merged into that crash at once (into the oldest of several).  The same happens if another build
 * of the target has an entry with the same `place`, and with the same `caller` if both are known:
 * two sanitizers report one bug.  A record that ledger_split() took out of a crash is not merged
 * again.
 *
 * The first sighting in a build makes its entry known, not new, if another build of the target has
 * the crash open.  It makes the entry ignored if that is ignored.
 *
 * -EINVAL: the signature is empty, too long, or no clean text; -ENOSPC: LEDGER_CRASHES_MAX or
 * LEDGER_TARGETS is reached. */
MUST_CHECK int ledger_note(struct ledger *l, const struct crash_sighting *s,
			   struct ledger_noted *ret, struct err *e);

/* Whether two entries are of builds of one target. */
bool ledger_same_target(const struct known_crash *a, const struct known_crash *b);
/* Whether the i-th entry of the record is a further report: when it began, an entry of another
 * build of the target was not fixed. */
bool ledger_is_further(const struct known_crash *c, size_t i);

/* Whether an input is a better reproducer than that of the entry c.  `hits` of `tries` replays of
 * the input failed.  The input is better if
 *   - the entry has no reproducer; else
 *   - the entry is fixed, and the input fails at all; else
 *   - the input fails at a higher rate, or at the same rate and is smaller than the minimised
 *     reproducer (the reproducer if there is no minimised one). */
bool ledger_is_better(const struct known_crash *c, uint64_t tries, uint64_t hits, uint64_t bytes);

/* The functions below change a target's entry.  -ENOENT: there is no such crash, or the target did
 * not find it.
 *
 * A merged record keeps its own reproducers and their passes.  So the signature means:
 *   - for ledger_minimized(), ledger_minimize_writes(), ledger_minimize_tried(), ledger_passed():
 *     the entry in the record with exactly this signature, merged or not; if the target has no
 *     entry there, its entry in the crash;
 *   - for ledger_reproduced(): the entry in the record with exactly this signature; for an alias
 *     without a record, the entry in the crash;
 *   - for ledger_fixed(), ledger_edge(), ledger_ignore(), ledger_unignore(): the entry in the
 *     crash. */

/* Notes the file at path as the minimised reproducer of the target; ledger_save() computes its
 * SHA-1. */
MUST_CHECK int ledger_minimized(struct ledger *l, const char *signature, const char *target,
				const char *path, uint64_t bytes, struct err *e);
/* Call it before the minimised reproducer's file is replaced.  From now until ledger_minimized()
 * the noted size and SHA-1 are unknown.  So, after a kill in between, neither the old nor the new
 * file counts as damaged. */
MUST_CHECK int ledger_minimize_writes(struct ledger *l, const char *signature, const char *target,
				      struct err *e);
/* Adds time spent on minimising the target's reproducer; ended: later runs do not continue. */
MUST_CHECK int ledger_minimize_tried(struct ledger *l, const char *signature, const char *target,
				     uint64_t ms, bool ended, struct err *e);
/* Whether a run should minimise the reproducer of the target's entry in the record c: c is not
 * merged, the entry is open and not flaky, and minimising has not ended. */
bool ledger_minimize_waits(const struct known_crash *c, const char *target);
/* Which inputs must pass before a crash is fixed in a target? A crash's parts are itself and every
 * record that is merged into it.  The target runs its own reproducers, those of its entries in all
 * parts.  Each reproducer has its own measured rate and its own passes.
 *
 * A target without a reproducer runs that of another target, until the target fails again and has
 * its own.
 *
 * runner/run/triage/triage.h has the rule that uses these inputs. */
struct ledger_asked {
	const struct known_crash *input; /* the entry with the inputs and the rate */
	const struct known_crash *count; /* the target's own entry, which counts the passes */
};

/* The next pair after *at (0 at first).  False: there is no next one. */
bool ledger_next_asked(const struct ledger *l, const struct known_crash *c, const char *target,
		       size_t *at, struct ledger_asked *ret);

/* Adds passes: `original` of the entry's reproducer, and `minimized` of the minimised one, on a
 * build of commit (NULL: unknown).  Passes on another commit are forgotten.  A later sighting of
 * the crash in the target, under any of its signatures, makes ledger_note() forget the passes of
 * this target in all records of the crash.
 *
 * struct ledger_asked has the inputs that must pass, runner/crash/odds.h how often. */
MUST_CHECK int ledger_passed(struct ledger *l, const char *signature, const char *target,
			     const char *commit, uint64_t original, uint64_t minimized,
			     struct err *e);
/* How many times the entry's reproducer, or the minimised one, has passed on this commit. */
uint64_t ledger_passes(const struct known_crash *entry, const char *commit, bool minimized);
/* Marks the target's entry as fixed, unless it is ignored.  The crash is fixed when all of its
 * entries are fixed. */
MUST_CHECK int ledger_fixed(struct ledger *l, const char *signature, const char *target,
			    uint64_t time, const char *commit, const char *run, struct err *e);
/* Notes that the file at path failed with this crash.  If the file is the entry's reproducer, or
 * the minimised one, and its SHA-1 is unknown, ledger_save() computes it.  Otherwise nothing
 * changes. */
MUST_CHECK int ledger_reproduced(struct ledger *l, const char *signature, const char *target,
				 const char *path, struct err *e);
/* A user's decision to ignore the target's entry; target NULL: all entries.  Only the first n
 * entries change: the user knew only these.  Entries of targets that found the crash later are
 * notified as usual.  note NULL: the crash's old note stays. */
MUST_CHECK int ledger_ignore(struct ledger *l, const char *signature, const char *target, size_t n,
			     const char *note, struct err *e);
/* A user's decision not to ignore the target's entry any more; target NULL: all entries. */
MUST_CHECK int ledger_unignore(struct ledger *l, const char *signature, const char *target,
			       const char *note, struct err *e);
/* As struct ledger_edge. */
struct crash_edge {
	const char *kind, *commit, *before, *author, *subject, *text, *from;
	uint64_t commits, time;
};
/* Sets where the crash began in the target (`fix`: where it ended).  A crash that comes back after
 * its fix has neither.  Texts are copied; NULL is "". */
MUST_CHECK int ledger_edge(struct ledger *l, const char *signature, const char *target, bool fix,
			   const struct crash_edge *edge, struct err *e);
/* Sets the issue_url of the crash. */
MUST_CHECK int ledger_issue(struct ledger *l, const char *signature, const char *url,
			    struct err *e);

/* Call it when a run begins.  Entries that earlier runs found new become known, if an exit status
 * has counted them. */
void ledger_next_run(struct ledger *l, const char *run);
/* Whether the entry is open, no exit status has counted it yet, and another run than `run` found
 * it. */
bool ledger_waits_for(const struct known_crash *entry, const char *run);
/* Call it when a run has ended and its exit status counts all entries of the target. */
void ledger_counted(struct ledger *l, const char *target);

/* Merges the crash of signature `from` into the crash of signature `into`.  All
 * signatures of the first crash become aliases of the second.  The record of the first crash keeps
 * its data, for ledger_split(), and its sightings are added to those of the second.  For each
 * target with an entry in the first crash:
 *
 *   - If the second crash has no entry of the target, it gets one with the state of that entry; or
 *     an ignored one, if the second crash is ignored.
 *   - If it has an entry that is not ignored, and the entry in the first crash is regressed, its
 *     entry becomes regressed.
 *   - If it has an entry that is fixed, and the entry in the first crash is open in another state,
 *     its entry becomes known.
 *
 * -EINVAL: `from` and `into` are one crash already; -ENOSPC: LEDGER_ALIASES is reached. */
MUST_CHECK int ledger_merge(struct ledger *l, const char *from, const char *into, struct err *e);
/* Makes an alias a crash of its own again, with the data of its record.  Sightings under the alias
 * since the merge stay counted in the other crash.  An alias without a record gets a new record in
 * state "known", with the other crash's leading target and type.  -EINVAL: the signature is not an
 * alias. */
MUST_CHECK int ledger_split(struct ledger *l, const char *alias, struct err *e);

#endif
