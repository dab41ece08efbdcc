/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/config/reading.h"
#include "runner/engine/engine.h"

#include <stdlib.h>

/* --- paths ----------------------------------------------------------------- */

static bool has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return true;
	return false;
}

static int value_list_check_path(const struct reading *r, const char *s, struct err *e)
{
	char text[QUOTE_MAX];

	if (!*s && !(r->k->flags & KEY_EMPTY))
		return where_fail(r->at, e, "the path is empty");
	if (has_control(s))
		return where_fail(r->at, e, "%s has a control character in it",
				  quote(slice_of(s), text));
	if (*s != '/' && (r->k->flags & KEY_ABSOLUTE))
		return where_fail(r->at, e, "%s is a relative path: it must begin with /",
				  quote(slice_of(s), text));
	return 0;
}

/* Makes a path absolute, starting at the input's directory, and removes leading "./". */
static int absolute(const struct reading *r, const char *s, char **ret, struct err *e)
{
	const char *dir = r->at->input->dir;
	bool alone = !*s || *s == '/';
	char *path;

	while (s[0] == '.' && s[1] == '/')
		for (s += 2; *s == '/'; s++)
			;
	if (alone || !*s)
		path = xstrdup(alone ? s : dir);
	else
		path = xasprintf("%s%s%s", dir, strcmp(dir, "/") == 0 ? "" : "/", s);
	if (strlen(path) > VALUE_PATH_MAX) {
		free(path);
		return where_fail(r->at, e, "the path has more than %d bytes", VALUE_PATH_MAX);
	}
	*ret = path;
	return 0;
}

static int value_list_path_of(const struct reading *r, json_t *v, char **ret, struct err *e)
{
	const char *s = json_string_value(v);
	char text[QUOTE_MAX];
	int n;

	if (!s)
		return where_fail(r->at, e, "%s is not a path in quotes", reading_text(v, text));
	n = value_list_check_path(r, s, e);
	return n < 0 ? n : absolute(r, s, ret, e);
}

int read_path(const struct reading *r, json_t *v, void *to, struct err *e)
{
	char *path = NULL;
	int n = value_list_path_of(r, v, &path, e);

	if (n < 0)
		return n;
	free(*(char **)to);
	*(char **)to = path;
	return 0;
}

/* --- texts ----------------------------------------------------------------- */

static int check_text(const struct reading *r, json_t *v, struct err *e)
{
	const char *s = json_string_value(v), *why;
	char text[QUOTE_MAX];

	if (!s)
		return where_fail(r->at, e, "%s is not a text in quotes", reading_text(v, text));
	if (!*s)
		return where_fail(r->at, e, "the text is empty");
	if (strlen(s) > VALUE_WORD_MAX)
		return where_fail(r->at, e, "the text has more than %d bytes", VALUE_WORD_MAX);
	if (has_control(s))
		return where_fail(r->at, e, "%s has a control character in it",
				  quote(slice_of(s), text));
	why = r->k->wrong ? r->k->wrong(s) : NULL;
	return why ? where_fail(r->at, e, "%s %s", quote(slice_of(s), text), why) : 0;
}

int read_text(const struct reading *r, json_t *v, void *to, struct err *e)
{
	int n = check_text(r, v, e);

	if (n < 0)
		return n;
	free(*(char **)to);
	*(char **)to = xstrdup(json_string_value(v));
	return 0;
}

/* --- lists ----------------------------------------------------------------- */

typedef int element_fn(const struct reading *r, const char *name, json_t *v, struct strv *io,
		       struct err *e);

static int add_flag(const struct reading *r, const char *name, json_t *v, struct strv *io,
		    struct err *e)
{
	char why[160], text[QUOTE_MAX];
	struct slice s = {json_string_value(v), json_string_length(v)};

	(void)name;
	if (!json_is_string(v))
		return where_fail(r->at, e, "%s is not a flag such as \"-max_len=64\"",
				  reading_text(v, text));
	if (!engine_libfuzzer.flag_ok(s, why))
		return where_fail(r->at, e, "%s is refused: %s", reading_text(v, text), why);
	strv_push(io, s.p);
	return 0;
}

static bool env_name_ok(const char *name)
{
	size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return n > 0 && n <= 128 && name[n] == '\0' && !(*name >= '0' && *name <= '9');
}

static int value_list_add_env(const struct reading *r, const char *name, json_t *v, struct strv *io,
			      struct err *e)
{
	char text[QUOTE_MAX];

	if (!env_name_ok(name))
		return where_fail(r->at, e,
				  "not a name for the environment (letters, digits and _, no digit "
				  "first, at most 128)");
	if (!json_is_string(v))
		return where_fail(r->at, e, "%s is not a value in quotes", reading_text(v, text));
	if (json_string_length(v) > VALUE_ENV_MAX)
		return where_fail(r->at, e, "the value has more than %d bytes", VALUE_ENV_MAX);
	strv_pushf(io, "%s=%s", name, json_string_value(v));
	return 0;
}

static int add_dir(const struct reading *r, const char *name, json_t *v, struct strv *io,
		   struct err *e)
{
	_autofree_ char *path = NULL;
	int n = value_list_path_of(r, v, &path, e);

	(void)name;
	if (n == 0)
		strv_push(io, path);
	return n;
}

static int value_list_add_word(const struct reading *r, const char *name, json_t *v,
			       struct strv *io, struct err *e)
{
	int n = check_text(r, v, e);
	unsigned index;

	(void)name;
	if (n == 0 && r->k->choices)
		n = read_choice(r, v, &index, e);
	if (n == 0)
		strv_push(io, json_string_value(v));
	return n;
}

/* Reads one element with its own place, and advances *io_id to the next element. */
static int read_element(const struct reading *list, element_fn *fn, const char *name, size_t index,
			json_t *v, uint32_t *io_id, struct strv *io, struct err *e)
{
	struct where at = *list->at;
	struct reading r = *list;

	at.up = list->at;
	at.key = name;
	at.index = index;
	at.quoted = false;
	if (list->places)
		at.line = places_line(list->places, *io_id);
	r.at = &at;
	r.id = *io_id;
	if (list->places)
		*io_id = places_next(list->places, *io_id);
	if (io->n == VALUE_LIST_MAX)
		return where_fail(&at, e, "more than %d of them", VALUE_LIST_MAX);
	return fn(&r, name, v, io, e);
}

static int read_members(const struct reading *r, json_t *v, struct strv *io, struct err *e)
{
	element_fn *fn = r->k->type == VALUE_FLAGS   ? add_flag
			 : r->k->type == VALUE_WORDS ? value_list_add_word
						     : add_dir;
	uint32_t id = places_child(r->id);
	int ret = 0;

	if (r->k->type == VALUE_ENV) {
		void *i = json_object_iter(v);

		for (; ret == 0 && i; i = json_object_iter_next(v, i))
			ret = read_element(r, value_list_add_env, json_object_iter_key(i), 0,
					   json_object_iter_value(i), &id, io, e);
		return ret;
	}
	for (size_t i = 0; ret == 0 && i < json_array_size(v); i++)
		ret = read_element(r, fn, NULL, i, json_array_get(v, i), &id, io, e);
	return ret;
}

int read_list(const struct reading *r, json_t *v, void *to, struct err *e)
{
	CLEANUP(strv_done) struct strv list = {0};
	int ret;

	if (r->k->type == VALUE_ENV ? !json_is_object(v) : !json_is_array(v))
		return reading_wrong(r, v, e);
	ret = read_members(r, v, &list, e);
	if (ret < 0)
		return ret;
	strv_done(to);
	*(struct strv *)to = list;
	list = (struct strv){0};
	return 0;
}
