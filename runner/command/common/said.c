/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/common/said.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { SAID_MAX = 512 };

void said_done(struct said *s)
{
	free(s->config);
	free(s->state);
	*s = (struct said){NULL, NULL};
}

static char *real_path(const char *path)
{
	char *real = realpath(path, NULL); /* allow: a user's path, not a target's */

	if (real && strlen(real) <= SAID_MAX)
		return real;
	free(real);
	return NULL;
}

/* Reports whether path is the default of a command, in ~/.fuzzcell. */
static bool is_usual(const char *path, const char *below)
{
	const char *home = getenv("HOME");
	_autofree_ char *usual = home ? xasprintf("%s/.fuzzcell%s", home, below) : NULL;
	_autofree_ char *real = usual ? real_path(usual) : NULL;

	return real && strcmp(real, path) == 0;
}

void said_find(const struct common *c, const char *state_path, struct said *ret)
{
	const char *env = getenv("FUZZCELL_STATE_DIR");
	_autofree_ char *config = NULL;
	bool named; /* the caller named the state directory */

	*ret = (struct said){NULL, NULL};
	if (!c)
		return;
	named = c->state_dir || (env && *env);
	config = c->config_path ? real_path(c->config_path) : NULL;
	if (config && (named || !is_usual(config, "/config.json")))
		ret->config = take_ptr(&config);
	if (named && (ret->config || !is_usual(state_path, "")))
		ret->state = real_path(state_path);
}
