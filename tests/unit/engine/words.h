/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ENGINE_WORDS_H
#define TESTS_ENGINE_WORDS_H

/* The words of commands that adapters build.  Include unit.h first. */
#include "base/strv.h"

#include <stdio.h>

/* A variable's value; NULL: it is not set. */
static inline const char *variable(const struct strv *env, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], name, n) == 0 && env->v[i][n] == '=')
			return env->v[i] + n + 1;
	return NULL;
}

/* The words with blanks between are this text. */
static inline void check_words(const struct strv *v, const char *text)
{
	char all[2048] = "";

	for (size_t i = 0; i < v->n; i++)
		(void)snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? " " : "",
			       v->v[i]);
	assert_string_equal(all, text);
}

#endif
