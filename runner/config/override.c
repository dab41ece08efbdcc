/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"
#include "runner/config/layers.h"
#include "runner/config/value.h"

static int override_target(struct config *c, const struct key *k, const char *text,
			   const struct where *at, struct err *e)
{
	struct target_config probe = {0};
	int r = value_read_text(k, text, at, &probe, e);

	target_config_done(&probe);
	if (r < 0)
		return r;
	c->overrides = xreallocarray(c->overrides, c->n_overrides + 1, sizeof(*c->overrides));
	c->overrides[c->n_overrides++] = (struct override){k, xstrdup(text)};
	return 0;
}

static const struct key *settable(const struct schema *s, const char *name, const struct where *at,
				  struct err *e)
{
	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->keys[i].name, name) != 0)
			continue;
		if (s->keys[i].type < VALUE_FLAGS)
			return &s->keys[i];
		where_fail(at, e, "only a file can set it");
		return NULL;
	}
	where_fail(at, e, "unknown key");
	return NULL;
}

/* Sets a key outside "defaults" directly. */
static int override_now(const struct schema *s, const char *name, const char *text,
			const struct where *at, void *base, struct origin *from, struct err *e)
{
	const struct key *k = settable(s, name, at, e);
	int r;

	if (!k)
		return err_code(e);
	r = value_read_text(k, text, at, base, e);
	if (r == 0)
		from[k - s->keys] = (struct origin){.rank = RANK_COMMAND_LINE};
	return r;
}

int config_override(struct config *c, const char *key, const char *text, struct err *e)
{
	const struct where top = {.input = &c->command_line};
	struct where at = {.up = &top, .input = top.input, .key = key};
	const struct key *k;

	for (size_t i = 0; i < PART_COUNT; i++) {
		const struct part *p = &config_parts[i];
		size_t n = strlen(p->name);

		if (strncmp(key, p->name, n) == 0 && key[n] == '.')
			return override_now(p->schema, key + n + 1, text, &at, part_base(c, p),
					    c->part_from[i], e);
	}
	if (strncmp(key, "defaults.", 9) != 0)
		return override_now(&schema_root, key, text, &at, &c->top, c->top_from, e);
	k = settable(&schema_target, key + 9, &at, e);
	return k ? override_target(c, k, text, &at, e) : err_code(e);
}
