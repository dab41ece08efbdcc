/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONFIG_LAYERS_H
#define RUNNER_CONFIG_LAYERS_H

#include "runner/config/places.h"
#include "runner/config/schema.h"
#include "runner/config/where.h"

/* The inside of struct config, shared by the files of this directory.  A later layer of values
 * overrides an earlier layer.  Each value has an origin. */

/* Where a value came from.  All zero: built-in. */
struct origin {
	unsigned rank;	     /* a later layer has a higher one */
	uint32_t line;	     /* 0: not from the file */
	const char *section; /* "defaults", a glob, "run", "" for the top level; borrowed */
	bool glob;
	bool derived; /* from memory */
};

enum { RANK_FILE = 1, RANK_COMMAND_LINE = 1 << 30 };

/* One object of the file with values for targets. */
struct section {
	const char *name; /* "defaults" or the glob; borrowed from the JSON */
	bool glob;
	json_t *values; /* borrowed */
	uint32_t id;	/* of the object, in struct places */
	unsigned rank;
};

struct override {
	const struct key *key; /* of schema_target */
	char *text;
};

enum {
	PART_RUN,
	PART_TRIGGER,
	PART_GIT,
	PART_GITHUB,
	PART_OUTBOX,
	PART_SERVE,
	PART_BISECT,
	PART_COUNT
};

struct config {
	char *name, *dir, *cwd;
	struct input file, command_line;
	json_t *root; /* NULL: no file */
	bool reads_projects;
	struct places places;
	struct section *sections; /* "defaults", then the globs in the file's order */
	size_t n_sections;
	struct override *overrides; /* in the order of the command line */
	size_t n_overrides;
	struct root_config top;
	struct origin top_from[SCHEMA_MAX_KEYS];
	struct run_config run;
	struct trigger_config trigger;
	struct git_config git;
	struct github_config github;
	struct outbox_config outbox;
	struct serve_config serve;
	struct bisect_config bisect;
	struct origin part_from[PART_COUNT][SCHEMA_MAX_KEYS];
	struct config_source *sources;
	size_t n_sources;
	struct webhook_config *webhooks;
	size_t n_webhooks;
};

/* A member of the top level with its place; NULL: no such member. */
json_t *top_member(const struct config *c, const char *name, const struct where *top,
		   uint32_t *ret_id, struct where *ret_at);

/* The sections of the top level that are one object each (parts.c). */
struct part {
	const char *name; /* "run"; its keys on the command line: "run.workers", ... */
	const struct schema *schema;
	size_t offset; /* in struct config */
};
extern const struct part config_parts[PART_COUNT];
static inline void *part_base(struct config *c, const struct part *p)
{
	return (char *)c + p->offset;
}
static inline const void *part_values(const struct config *c, const struct part *p)
{
	return (const char *)c + p->offset;
}
void parts_presets(struct config *c);
/* Reads the parts, "discovery" and "webhooks", and refuses contradictions. */
MUST_CHECK int parts_read(struct config *c, const struct where *top, struct err *e);
void parts_done(struct config *c);

/* Sets the built-in values; base must be all zero. */
void layer_presets(const struct schema *s, void *base);

/* Reads an object of the file into base and records the origins.  Skips the sections of the top
 * level, which other schemas describe. */
struct layer {
	const struct config *c;
	const struct schema *schema;
	struct origin origin; /* of each key, which adds its line */
	void *base;
	struct origin *from; /* SCHEMA_MAX_KEYS */
};
MUST_CHECK int layer_object(const struct layer *l, json_t *object, uint32_t id,
			    const struct where *at, struct err *e);

/* Frees the values that the keys of a schema own. */
void layer_done(const struct schema *s, void *base);

/* The place of a section, or of a key in it.  The result points into w. */
struct where_chain {
	struct where top, targets, section, key;
};
const struct where *section_where(const struct config *c, const struct section *s,
				  struct where_chain *w);
const struct where *origin_where(const struct config *c, const struct origin *o, const char *key,
				 struct where_chain *w);

/* A target's values with their origins. */
struct resolved {
	struct target_config v;
	struct origin from[SCHEMA_MAX_KEYS];
};
/* Applies the built-in values, "defaults", the globs that wanted() accepts, and the command line.
 * Then adds the derived values and refuses contradictions.  Free ret->v with
 * target_config_done(). */
typedef bool wanted_fn(const struct section *s, const void *arg);
MUST_CHECK int resolve(const struct config *c, wanted_fn *wanted, const void *arg,
		       const struct config_target *t, struct resolved *ret, struct err *e);

/* A wanted_fn: the globs that match the name in arg (NULL: none). */
bool section_matches(const struct section *s, const void *arg);

/* "built-in", "config.json:14 targets.\"css_*\"", "command line", "derived from memory". */
enum { ORIGIN_MAX = 400 };
const char *origin_text(const struct config *c, const struct origin *o, char out[ORIGIN_MAX]);

#endif
