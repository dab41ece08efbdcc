/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CONFIG_PARSED_H
#define TESTS_UNIT_CONFIG_PARSED_H

/* Reads a configuration from a text.  Include unit.h first. */
#include "base/cleanup.h"
#include "runner/config/config.h"

#include <stdio.h>

DEFINE_CLEANUP(struct config *, config_free)
#define _config_ CLEANUP(config_free_p)

static inline struct config *parsed(const char *text)
{
	struct config *c = NULL;
	struct err e;

	if (config_parse(slice_of(text), "/etc/fuzz/config.json", &c, &e) < 0)
		fail_msg("%s: %s", text, e.msg);
	return c;
}

static inline struct target_config resolved(const struct config *c, const char *target)
{
	struct target_config t;
	struct err e;

	if (config_resolve(c, CONFIG_TARGET(target), &t, &e) < 0)
		fail_msg("%s", e.msg);
	return t;
}

/* "key from" of config_explain(), in a static buffer. */
static inline const char *from_of(const struct config *c, const char *target, const char *key)
{
	static char text[300];
	_autojson_ json_t *j = NULL;
	struct err e;

	if (config_explain(c, CONFIG_TARGET(target), &j, &e) < 0)
		fail_msg("%s", e.msg);
	assert_non_null(json_object_get(j, key));
	snprintf(text, sizeof(text), "%s",
		 json_string_value(json_object_get(json_object_get(j, key), "from")));
	return text;
}

#endif
