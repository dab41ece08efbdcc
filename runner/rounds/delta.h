/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ROUNDS_DELTA_H
#define RUNNER_ROUNDS_DELTA_H

#include "base/err.h"
#include "base/json.h"
#include "base/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* A delta: what a shard found since its last delta, in one archive:
 *
 *	delta.json		the head, see below; the first entry
 *	objects/<sha1>		the content of each file that the head lists, by its SHA-1
 *
 * The head has the SHA-1 of its own content as "id", and the SHA-1 of each file.  So a delta that
 * was cut, or changed in any byte that counts, is known as damaged, whatever its file is called.
 *
 *	v, id		version; SHA-1 of all other keys
 *	source, seq	the shard's state directory (16 hexadecimal digits), and the delta's number
 *	plan, round, shard, shards	as in the plan
 *	node		the machine's name
 *	until, due	when it was made; when the shard should have ended.  Unix seconds
 *	last		the shard's run is over
 *	inputs		{"corpus/png": [sha1, ...], ...}
 *	files		{"crashes/<name>/input": sha1, ...}, also known_crashes.json: ledger_since()
 *	triaged		["triage/png/crash-<sha1>", ...]: failures of earlier deltas that the shard
 *			has triaged since.  May be missing
 *	slices		{target: slices_since()}
 *	fuzzed		the targets of stats/last_fuzzed.json
 *	histories	{"run_history.jsonl": [line, ...], "targets/png.jsonl": ...}
 */
#define DELTA_HEAD    "delta.json"
#define DELTA_OBJECTS "objects/"
#define DELTA_SUFFIX  ".delta.tar.gz"

enum {
	DELTA_VERSION = 1,
	DELTA_SOURCE = 17,	   /* 16 hexadecimal digits and a NUL */
	DELTA_HEAD_MAX = 64 << 20, /* bytes */
	DELTA_INPUTS_MAX = 500000, /* inputs and files */
	DELTA_LINES_MAX = 100000,  /* of each history */
	DELTA_PATH_MAX = 1024,
};

/* Whether a directory may hold inputs of a delta: "corpus/<target>", also of quarantine, retry and
 * regressions. */
bool delta_inputs_ok(const char *path);
/* Whether a delta may have a file there: in crashes/ as vault.h has it, or in triage/. */
bool delta_file_ok(const char *path, const char *sha1);
/* Whether it is a failure that waited for triage. */
bool delta_triaged_ok(const char *path);
/* Whether a delta may have lines of the history. */
bool delta_history_ok(const char *name);

/* Computes the id of a head that has all other keys, and sets it. */
MUST_CHECK int delta_identify(json_t *head, struct err *e);

struct delta {
	json_t *head;
	int dir; /* the directory where it was unpacked */
	int objects;
};
/* Unpacks an archive into the empty directory dirfd, and checks all of it.  -EBADMSG: it is
 * damaged, or no delta.  Call delta_close() after success. */
MUST_CHECK int delta_open(const char *archive, int dirfd, struct delta *ret, struct err *e);
void delta_close(struct delta *d);

/* The same for the head alone, which is the first entry; what the head lists is not looked at.
 * *ret: json_decref() it. */
MUST_CHECK int delta_read_head(const char *archive, int dirfd, json_t **ret, struct err *e);

/* Calls fn with each of its inputs (is_input; path: the directory) and files. */
typedef int delta_each_fn(void *arg, const char *path, const char *sha1, bool is_input,
			  struct err *e);
MUST_CHECK int delta_each(const json_t *head, delta_each_fn *fn, void *arg, struct err *e);

#endif
