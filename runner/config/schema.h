/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONFIG_SCHEMA_H
#define RUNNER_CONFIG_SCHEMA_H

#include "runner/config/config.h"

/* Every key of config.json.  The parser, defaults, ranges, `config show` and the check of
 * docs/configuration.md all use these tables. */

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
	VALUE_WORDS,   /* struct strv; each word is one of choices, if choices are set */
	VALUE_SECTION, /* holds other keys; not a value of its own */
	VALUE_TYPE_COUNT,
};

enum key_flags {
	KEY_ABSOLUTE = 1, /* a relative path is refused */
	KEY_EMPTY = 2,	  /* "" is a value */
	KEY_DERIVED = 4,  /* computed; setting it is an error */
	KEY_REQUIRED = 8,
};

struct key {
	const char *name; /* "memory"; inside of "plateau": "plateau.window" */
	enum value_type type;
	unsigned flags;
	size_t offset; /* in the struct that the schema fills */
	/* The default as a user would write it; NULL: unset (NULL or an empty list). */
	const char *preset;
	const char *word; /* another way to write 0: "auto", "none" */
	/* Sizes in bytes, times in microseconds, CPUs in thousandths.  A key with a word also
	 * allows 0. */
	int64_t min, max;
	int64_t step;		    /* the value is a multiple of it; 0: any */
	const char *const *choices; /* NULL-terminated */
	/* Checks a text, or each word of a list.  Returns the mistake, "is not ...", or NULL. */
	const char *(*wrong)(const char *text);
	const char *help; /* one line */
};

struct schema {
	const char *where; /* for messages: "at the top level" */
	const struct key *keys;
	size_t n;
};

/* The values of the top level; its sections have structs of their own. */
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
extern const struct schema schema_bisect;  /* struct bisect_config */

/* The key with this name inside prefix ("" or "plateau."); NULL: no such key. */
const struct key *schema_find(const struct schema *s, const char *prefix, struct slice name);

/* A hint for the message about an unknown key: `did you mean "memory"?` or
 * `it belongs in "run"`; "" if no key is similar. */
enum { SCHEMA_HINT_MAX = 96 };
const char *schema_hint(const struct schema *s, const char *prefix, struct slice name,
			char out[SCHEMA_HINT_MAX]);

/* "size", "time", ... for messages and the documentation. */
const char *schema_type_name(enum value_type t);

#endif
