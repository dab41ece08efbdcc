/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONFIG_SCHEMA_H
#define RUNNER_CONFIG_SCHEMA_H

#include "runner/config/config.h"

/* Every key of config.json, once: reading, defaults, ranges, `config show` and the
 * check of docs/configuration.md go by these tables. */

enum value_type {
	VALUE_SIZE,    /* uint64_t, bytes */
	VALUE_TIME,    /* uint64_t, microseconds */
	VALUE_CPUS,    /* uint32_t, thousandths of a CPU */
	VALUE_DECIMAL, /* uint32_t, thousandths */
	VALUE_COUNT,   /* uint32_t */
	VALUE_NUMBER,  /* uint64_t */
	VALUE_SIGNED,  /* int32_t */
	VALUE_BOOL,    /* bool */
	VALUE_CHOICE,  /* unsigned, or an enum: index into choices */
	VALUE_PATH,    /* char *, absolute */
	VALUE_TEXT,    /* char * */
	VALUE_FLAGS,   /* struct strv, "-name=value" */
	VALUE_ENV,     /* struct strv, "NAME=value" */
	VALUE_DIRS,    /* struct strv, absolute paths */
	VALUE_WORDS,   /* struct strv; each one of choices, where there are some */
	VALUE_SECTION, /* holds other keys; not a value of its own */
	VALUE_TYPE_COUNT,
};

enum key_flags {
	KEY_ABSOLUTE = 1, /* a relative path is refused */
	KEY_EMPTY = 2,	  /* "" is a value */
	KEY_DERIVED = 4,  /* shown, never set */
	KEY_REQUIRED = 8,
};

struct key {
	const char *name; /* "memory"; inside of "plateau": "plateau.window" */
	enum value_type type;
	unsigned flags;
	size_t offset; /* in the struct that the schema fills */
	/* As a person would write it; NULL: unset (NULL or an empty list). */
	const char *preset;
	const char *word; /* another way to write 0: "auto", "none" */
	/* Sizes in bytes, times in microseconds, CPUs in thousandths.  0 is always
	 * allowed where there is a word for it. */
	int64_t min, max;
	int64_t step;		    /* the value is a multiple of it; 0: any */
	const char *const *choices; /* NULL-terminated */
	/* Of a text, or of each word: what is wrong with it, "is not ..."; NULL: nothing. */
	const char *(*wrong)(const char *text);
	const char *help; /* one line */
};

struct schema {
	const char *where; /* for people: "at the top level" */
	const struct key *keys;
	size_t n;
};

/* What the top level sets, beside its sections. */
struct root_config {
	unsigned enforcement; /* index: strict, best-effort */
	char *cgroup, *crun, *rootfs, *state_dir, *symbolizer;
	char *source_dir, *source_link;
};

struct source_config {
	unsigned type; /* index into the choices of "type" */
	struct config_source v;
};

enum { SCHEMA_MAX_KEYS = 40, SCHEMA_MAX_NAME = 32 };

extern const struct schema schema_root;	   /* struct root_config */
extern const struct schema schema_run;	   /* struct run_config */
extern const struct schema schema_source;  /* struct source_config */
extern const struct schema schema_target;  /* struct target_config */
extern const struct schema schema_trigger; /* struct trigger_config */
extern const struct schema schema_git;	   /* struct git_config */
extern const struct schema schema_github;  /* struct github_config */
extern const struct schema schema_webhook; /* struct webhook_config */
extern const struct schema schema_outbox;  /* struct outbox_config */
extern const struct schema schema_serve;   /* struct serve_config */

/* A key by its name inside of prefix ("" or "plateau."); NULL: not there. */
const struct key *schema_find(const struct schema *s, const char *prefix, struct slice name);

/* Text for the message about a name that schema_find() does not know, as
 * `did you mean "memory"?` or `it belongs in "run"`; "" where nothing is near. */
enum { SCHEMA_HINT_MAX = 96 };
const char *schema_hint(const struct schema *s, const char *prefix, struct slice name,
			char out[SCHEMA_HINT_MAX]);

/* "size", "time", ... for messages and the documentation. */
const char *schema_type_name(enum value_type t);

#endif
