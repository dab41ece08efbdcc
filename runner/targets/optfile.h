/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TARGETS_OPTFILE_H
#define RUNNER_TARGETS_OPTFILE_H

#include "base/err.h"
#include "runner/engine/engine.h"

/* Parses a target's .options file like ClusterFuzz (fuzzing/options.py, Python's configparser):
 * "[section]", "key = value" or "key: value", comment lines that begin with # or ;.  Sections:
 *   [libfuzzer]                 engine flags; dict= is a path beside the file
 *   [asan] [ubsan] [msan] ...   options of a sanitizer
 *   [env]                       a few variables that are allowed
 * Sections of other engines are ignored.  Pure: opens nothing.  The file is hostile and may contain
 * any bytes.  Unknown lines are dropped, with a note that has the line number. */

enum {
	OPTFILE_MAX = 64 * 1024, /* bytes of a file; more is -EFBIG */
	OPTFILE_MAX_KEYS = 256,
	OPTFILE_KEY_MAX = 64,
	OPTFILE_VALUE_MAX = 1024,
	OPTFILE_WHY_MAX = 256,
};

struct optfile {
	struct strv flags; /* "-name=value", each name once, accepted by engine_ops.flag_ok */
	struct strv env;   /* "ASAN_OPTIONS=a=1:b=2", "GODEBUG=..." */
	char *dict;	   /* as written; NULL: none */
	uint64_t input_timeout_s, rss_limit_mib; /* -timeout, -rss_limit_mb; 0: not set */
};
void optfile_done(struct optfile *o);

/* why may quote any bytes of the file; warning: likely a mistake. */
typedef void optfile_note_fn(void *arg, unsigned line, bool warning, const char *why);

/* After an error, *ret needs no optfile_done(). */
MUST_CHECK int optfile_parse(struct slice text, const struct engine_ops *engine,
			     optfile_note_fn *note, void *arg, struct optfile *ret, struct err *e);

/* Adds one engine flag, from any source.  False: the flag is refused, for the reason in why. */
MUST_CHECK bool optfile_flag(struct optfile *io, const struct engine_ops *engine, struct slice key,
			     struct slice value, char why[OPTFILE_WHY_MAX]);

/* A variable's name: [A-Za-z_][A-Za-z0-9_]*, at most OPTFILE_KEY_MAX bytes. */
bool optfile_env_name_ok(struct slice name);
/* No control characters, at most OPTFILE_VALUE_MAX bytes. */
bool optfile_value_ok(struct slice value);

#endif
