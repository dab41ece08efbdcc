/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CRASH_LEDGER_LEDGER_H
#define RUNNER_CRASH_LEDGER_LEDGER_H

#include "base/err.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

#define LEDGER_NAME "known_crashes.json" /* in the state directory */

/* The known crashes: known_crashes.json in the state directory.  It is one object, signature ->
 * crash, with one crash on each line.  A caller of ledger_save() holds the state directory's lock
 * (runner/state/state.h).  Reading needs no lock: the file is replaced whole.
 *
 * The older layout, signature -> {fuzzer, crash_type, top_frame, issue_url, commit, date,
 * crash_file}, is read.  Such a crash is "known"; date and commit become its first sighting.
 * Unknown fields, and top-level values that are not crashes, keep their values.  A save moves them
 * behind the known ones.
 *
 * A failure is identified by its target and its signature.  A signature alone is not enough: it
 * comes from a target's output, and a target can print any report.  So a crash has an entry for
 * each target that found it.  The entry has its own state, sightings, description, reproducer, rate
 * and passes.  An action of one target never changes another target's entry.  The crash itself is a
 * summary of its entries, for display.
 *
 * In the file a crash of several targets has its entries in "found_by", and "v": 2.  Its other
 * fields are the summary, which each load computes again.  A crash of one target has no "found_by":
 * its fields are that target's.  Older versions wrote all crashes so; each further name in
 * "targets" of such a crash becomes an entry without a reproducer.
 *
 * States of an entry, and the state after each event:
 *
 *			first	new	known	fixed	  regressed  flaky   ignored
 *	seen, well	new	new	known	regressed regressed  known   ignored
 *	seen		new	new	known	regressed regressed  flaky   ignored
 *	seen, flaky	flaky	flaky	flaky	regressed regressed  flaky   ignored
 *	next run	-	known	known	fixed	  regressed  flaky   ignored
 *	fixed		-	fixed	fixed	fixed	  fixed	     fixed   ignored
 *	ignore		-	ignored	ignored	ignored	  ignored    ignored ignored
 *	unignore	-	new	known	fixed	  regressed  flaky   known
 *
 * "well" and "flaky" are the verdict on the reproducer's measured rate after the sighting
 * (runner/crash/odds.h).  A crash that did not happen again is flaky.  Plain "seen": not measured,
 * or undecided.  A sighting from before the fix (of a killed run, collected late) does not make a
 * crash regressed. */

enum ledger_state {
	LEDGER_NEW, /* found in this run */
	LEDGER_KNOWN,
	LEDGER_FIXED,
	LEDGER_REGRESSED,
	LEDGER_FLAKY,	/* open like "known", but fails only sometimes, or no longer */
	LEDGER_IGNORED, /* a user said so */
	LEDGER_STATE_COUNT,
};
const char *ledger_state_name(enum ledger_state s);
bool ledger_state_open(enum ledger_state s); /* neither fixed nor ignored */
/* The state of a crash is the worst state of its open entries: regressed, new, known, flaky.
 * Without open entries it is ignored if one entry is, else fixed. */

/* Limits.  Longer texts are cut; longer lists keep their last entries. */
#define LEDGER_FILE_MAX (UINT64_C(64) << 20) /* bytes */
enum {
	LEDGER_CRASHES_MAX = 100000,
	LEDGER_SIGNATURE_MAX = 1024, /* bytes; a longer one is refused, never cut */
	LEDGER_TEXT_MAX = 1024,	     /* bytes of any other text */
	LEDGER_NOTE_MAX = 4096,	     /* bytes of a note */
	LEDGER_STATE_LINES = 3,
	LEDGER_FRAMES = 8,
	LEDGER_RUNS = 20,
	LEDGER_ARTIFACTS = 50,
	LEDGER_RAW_KEYS = 64,
	LEDGER_TARGETS = 1000,
	LEDGER_ALIASES = 1000,
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

struct ledger_run {
	char *run;
	uint64_t count;
};

/* A crash, or an entry of a crash; read-only.  It is valid until the ledger is freed.  Its texts
 * and lists are valid until the next call that changes the ledger.  Texts are never NULL: "" is
 * none.
 *
 * A crash with several entries shows type, frames, reproducer and rate of its leading entry.  The
 * leading entry is the first that is open and has a reproducer; else the first with a reproducer.
 * Counts are sums; severity and security are the worst ones. */
struct known_crash {
	char *signature;
	char *fuzzer;		    /* the target; in a crash the leading entry's target */
	struct ledger_list targets; /* in a crash: the other targets that found it */
	/* In a crash: its entries, at least one, in the order in which the targets found it.  In
	 * an entry: none. */
	struct known_crash **by;
	size_t n_by, lead;
	char *crash_type; /* may have several lines */
	char *kind, *access, *signal;
	uint64_t access_size; /* bytes; 0 unknown */
	char *top_frame;
	struct ledger_list crash_state; /* up to LEDGER_STATE_LINES */
	struct ledger_list frames;	/* functions, for people */
	char *bug;			/* crash_report.bug; "": not known */
	enum ledger_state state;
	struct ledger_seen first_seen, last_seen;
	struct ledger_seen fixed; /* the last fix; run "" and time 0: never */
	/* The run that found the crash new or regressed, until a run counts it in its exit status.
	 * A killed run has no exit status.  "": it was counted, or is fixed or ignored.  A new
	 * entry stays new until it is counted. */
	char *uncounted;
	uint64_t count;		 /* sightings in all */
	struct ledger_run *runs; /* oldest first */
	size_t n_runs;
	struct ledger_list artifacts; /* paths in the state directory, oldest first */
	char *crash_file;	      /* path of the reproducer */
	char *minimized;	      /* path of the minimised reproducer */
	uint64_t input_bytes, minimized_bytes;
	/* SHA-1 of their contents, in hexadecimal; "": not known (older ledgers). */
	char *input_sha1, *minimized_sha1;
	uint64_t minimize_ms; /* time spent on minimising the reproducer */
	bool minimize_ended;  /* it is 1-minimal, or minimize_time is used up */
	struct {
		uint64_t tries, hits; /* of the reproducer */
		/* Passes on clean_commit without a hit since the last sighting. */
		uint64_t clean, clean_minimized;
		char *clean_commit;
	} reproduction;
	bool security, unsymbolized;
	char *severity;
	char *issue_url, *note;
	char *similar;	   /* signature of a crash that is likely the same */
	char *merged_into; /* signature; "": not merged */
	struct ledger_list aliases;
	struct ledger_list raw_keys; /* "<target>:<raw key>" */
};

struct ledger;

/* Loads the ledger of the state directory; an empty one when there is none.  If the file is
 * missing, damaged, above a limit, or without a crash, the crashes are read from crashes/.  A file
 * with single wrong values is mended.  ledger_warning() describes both cases.
 *
 * Loading writes nothing: the first ledger_save() keeps such a file as
 * known_crashes.json.damaged-<n>.  A file that cannot be read (I/O, memory, not a regular file) is
 * an error: otherwise all of its crashes would be new again. */
MUST_CHECK int ledger_load(int state_dirfd, struct ledger **ret, struct err *e);
/* Does the same from a text.  -EBADMSG: not a ledger, "line 3, column 7: why". */
MUST_CHECK int ledger_parse(struct slice text, struct ledger **ret, struct err *e);
void ledger_free(struct ledger *l); /* NULL is fine */

/* One line about the damage of the file; "": none. */
const char *ledger_warning(const struct ledger *l);

/* Writes the file if something changed, or if it is damaged; 0 means "on disk".  After a failure
 * the old file is in place: try again later.
 *
 * A ledger above LEDGER_FILE_MAX loses the longer part of its lists, beginning with the crashes
 * that were not seen for the longest time.  -EFBIG: it is still too large. */
MUST_CHECK int ledger_save(struct ledger *l, int state_dirfd, struct err *e);
bool ledger_dirty(const struct ledger *l);

/* ledger_save() also updates, without a sync, the copy of each record that changed: record.json
 * beside its reproducer (runner/crash/vault.h).  A failure to write a copy is no error: the next
 * save tries again, and so does the next run. */
bool ledger_copied(const struct ledger *l); /* all copies are up to date */
/* For a child process that saves the ledger.  The parent calls ledger_given() right after the fork,
 * and ledger_taken() when the child has ended.  copied: the child wrote all of the copies. */
void ledger_given(struct ledger *l);
void ledger_taken(struct ledger *l, bool copied);

/* The text that would be written, in a new string (free() it). */
MUST_CHECK int ledger_print(const struct ledger *l, char **ret, size_t *ret_n, struct err *e);

/* All records in the order of their signatures, merged ones included. */
size_t ledger_count(const struct ledger *l);
const struct known_crash *ledger_at(const struct ledger *l, size_t i);

/* The crash of a signature: its own record, or the record that it was merged into.  NULL: none. */
const struct known_crash *ledger_find(const struct ledger *l, const char *signature);
/* The record with exactly this signature, even if it is merged into another. */
const struct known_crash *ledger_record(const struct ledger *l, const char *signature);
/* The target's entry of a crash; NULL: the target did not find it. c may be NULL. */
const struct known_crash *ledger_entry(const struct known_crash *c, const char *target);
/* The target's entry of the crash of a signature. */
const struct known_crash *ledger_find_entry(const struct ledger *l, const char *signature,
					    const char *target);
/* The crash that a target's raw key belongs to; NULL: unknown, so triage must decide. */
const struct known_crash *ledger_find_raw(const struct ledger *l, const char *target,
					  const char *raw_key);

/* One sighting of a crash, or several alike.  All texts are borrowed and may hold any bytes:
 * invalid UTF-8 and unprintable characters are replaced.  NULL and 0 say nothing new. */
struct crash_sighting {
	const char *signature;
	const char *target;
	const char *run, *commit;
	const char *counted_by; /* the exit status of this run counts the crash when it is new or
				   regressed */
	uint64_t time;		/* Unix seconds */
	uint64_t count;		/* number of sightings; 0 counts as 1 */
	bool by_hand;		/* a user ran a known input: `count` stays */
	const char *raw_key;
	const char *artifact; /* path in the state directory */

	/* The result of triage. */
	const char *crash_type, *kind, *access, *signal, *top_frame, *severity;
	uint64_t access_size;
	const char *const *crash_state;
	size_t n_crash_state;
	const char *const *frames;
	size_t n_frames;
	bool security, unsymbolized;
	const char *similar, *bug;

	/* crash_file not NULL: this input becomes the target's reproducer, and triage's description
	 * replaces the old one.  Otherwise the description only fills empty fields (security stays,
	 * severity only rises).
	 *
	 * tries and hits are the reproducer's.  A new reproducer's numbers replace the old ones;
	 * otherwise they are added.  For another input of a known crash, give 0.
	 *
	 * A merged record keeps its own reproducer.  A sighting under its signature replaces that
	 * reproducer, and counts for the crash. */
	const char *crash_file, *minimized;
	uint64_t input_bytes, minimized_bytes;
	/* NULL: ledger_save() computes it from the file, if the file has the given size. */
	const char *input_sha1, *minimized_sha1;
	uint64_t tries, hits;
};

struct ledger_noted {
	const struct known_crash *crash, *entry;
	bool is_new;		  /* the sighting made a new entry */
	enum ledger_state before; /* the old entry's state before */
};

/* Notes a sighting.  Only this function makes crashes and counts sightings.  It changes only the
 * entry of the sighting's target; without a target, the first entry.
 *
 * The first sighting of a signature may have the bug of another crash.  Then it is a variant of
 * that crash: its new record is merged into that crash at once (into the oldest of several).  A
 * record that ledger_split() took out stays out.
 *
 * -EINVAL: no signature, or too long; -ENOSPC: LEDGER_CRASHES_MAX, LEDGER_TARGETS. */
MUST_CHECK int ledger_note(struct ledger *l, const struct crash_sighting *s,
			   struct ledger_noted *ret, struct err *e);

/* Whether an input would be a better reproducer than the entry's: it fails more often, or as often
 * and is smaller (also than the minimised one).  It is also better if the entry has none, or if the
 * entry is fixed and the input fails. */
bool ledger_is_better(const struct known_crash *c, uint64_t tries, uint64_t hits, uint64_t bytes);

/* All functions below take signatures through aliases; -ENOENT: no such crash, or the target did
 * not find it. */

/* Notes a minimised reproducer of the target; ledger_save() takes its digest. */
MUST_CHECK int ledger_minimized(struct ledger *l, const char *signature, const char *target,
				const char *path, uint64_t bytes, struct err *e);
/* Call it before the minimised reproducer's file is replaced.  Its size and digest are unknown
 * until ledger_minimized(), so the file is usable after a kill at any moment. */
MUST_CHECK int ledger_minimize_writes(struct ledger *l, const char *signature, const char *target,
				      struct err *e);
/* Adds the time spent on minimising; ended: later runs do not continue. */
MUST_CHECK int ledger_minimize_tried(struct ledger *l, const char *signature, const char *target,
				     uint64_t ms, bool ended, struct err *e);
/* Whether a run should minimise the target's reproducer: the crash is open and reproducible, and
 * minimising has not ended. */
bool ledger_minimize_waits(const struct known_crash *c, const char *target);
/* Notes passes of both inputs in the target without a hit, on a build of commit (NULL: unknown).
 * Passes on other builds no longer count.  Passes before the target's last sighting, also of a
 * merged record, do not count either.  For a merged record, notes passes of the record's own
 * inputs.
 *
 * runner/crash/ledger/asked.h says which inputs must pass, runner/crash/odds.h how often. */
MUST_CHECK int ledger_passed(struct ledger *l, const char *signature, const char *target,
			     const char *commit, uint64_t original, uint64_t minimized,
			     struct err *e);
/* How many times an entry's input has passed on this commit. */
uint64_t ledger_passes(const struct known_crash *entry, const char *commit, bool minimized);
/* Marks the target's entry as fixed.  The crash is fixed when all of its entries are. */
MUST_CHECK int ledger_fixed(struct ledger *l, const char *signature, const char *target,
			    uint64_t time, const char *commit, const char *run, struct err *e);
/* Notes that the target's reproducer at path failed with this crash.  If its digest is unknown,
 * ledger_save() takes it.  Another path changes nothing. */
MUST_CHECK int ledger_reproduced(struct ledger *l, const char *signature, const char *target,
				 const char *path, struct err *e);
/* A user's decision on a target's entry.  With target NULL it is for the first n entries: those
 * that the user knew.  Crashes of later targets are notified as usual.  note NULL: the old note
 * stays. */
MUST_CHECK int ledger_ignore(struct ledger *l, const char *signature, const char *target, size_t n,
			     const char *note, struct err *e);
MUST_CHECK int ledger_unignore(struct ledger *l, const char *signature, const char *target,
			       const char *note, struct err *e);
MUST_CHECK int ledger_issue(struct ledger *l, const char *signature, const char *url,
			    struct err *e);

/* A run begins: entries that earlier runs found new become known, unless no exit status has counted
 * them. */
MUST_CHECK int ledger_next_run(struct ledger *l, const char *run, struct err *e);
/* Whether no exit status has counted this open entry yet, and another run than `run` found it. */
bool ledger_waits_for(const struct known_crash *entry, const char *run);
/* A run has ended, and its exit status counts all entries of the target. */
MUST_CHECK int ledger_counted(struct ledger *l, const char *target, struct err *e);

/* Merges crash `from` into crash `into`.  The signature of `from`, and its aliases, become aliases
 * of `into`.  Each target that found `from` also found `into`.  Its entry in `into` becomes "known"
 * if it was fixed and the entry in `from` is open.  It becomes "regressed" if the entry in `from`
 * is (unless it is ignored).  The record of `from` stays, unchanged, for ledger_split().  -EINVAL:
 * they are one crash already. */
MUST_CHECK int ledger_merge(struct ledger *l, const char *from, const char *into, struct err *e);
/* Makes an alias a crash of its own again, with its data from before the merge.  Later sightings
 * stay with the other crash.  -EINVAL: not an alias. */
MUST_CHECK int ledger_split(struct ledger *l, const char *alias, struct err *e);

#endif
