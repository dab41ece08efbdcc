/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/config/value.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"
#include "base/units.h"
#include "runner/engine/engine.h"

#include <stdio.h>
#include <stdlib.h>

/* A value that is being read. */
struct reading {
	const struct key *k;
	const struct where *at;
	const struct places *places; /* NULL: not from a file */
	uint32_t id;
};

/* Stores v at to, or fails and leaves to as it is. */
typedef int reader_fn(const struct reading *r, json_t *v, void *to, struct err *e);

/* --- numbers --------------------------------------------------------------- */

static const char *const wants[VALUE_TYPE_COUNT] = {
    [VALUE_SIZE] = "a size (use bytes, or a number with KiB, MiB, GiB)",
    [VALUE_TIME] = "a time (use seconds, or a number with ms, s, m, h, d)",
    [VALUE_CPUS] = "a number of CPUs (use a number such as 2 or 1.5)",
    [VALUE_DECIMAL] = "a number such as 2 or 0.5",
    [VALUE_COUNT] = "a whole number",
    [VALUE_NUMBER] = "a whole number",
    [VALUE_SIGNED] = "a whole number",
    [VALUE_BOOL] = "true or false",
    [VALUE_CHOICE] = "a word in quotes",
    [VALUE_PATH] = "a path in quotes",
    [VALUE_TEXT] = "a text in quotes",
    [VALUE_FLAGS] = "a list of flags such as [\"-max_len=64\"]",
    [VALUE_ENV] = "an object such as {\"NAME\": \"value\"}",
    [VALUE_DIRS] = "a list of paths",
    [VALUE_WORDS] = "a list of words in quotes",
    [VALUE_SECTION] = "a section",
};

/* The value as written in the file, for a message.  Returns out or a constant. */
static const char *reading_text(const json_t *v, char out[QUOTE_MAX])
{
	switch (json_typeof(v)) {
	case JSON_STRING:
		return quote((struct slice){json_string_value(v), json_string_length(v)}, out);
	case JSON_INTEGER:
		snprintf(out, QUOTE_MAX, "%lld", (long long)json_integer_value(v));
		return out;
	case JSON_REAL:
		snprintf(out, QUOTE_MAX, "%g", json_real_value(v));
		return out;
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_TRUE:
		return "true";
	case JSON_FALSE:
		return "false";
	case JSON_NULL:
	default:
		return "null";
	}
}

/* "\"2 apples\" is not a size (use ...)" */
static int reading_wrong(const struct reading *r, const json_t *v, struct err *e)
{
	char text[QUOTE_MAX];

	return where_fail(r->at, e, "%s is not %s%s%s%s", reading_text(v, text), wants[r->k->type],
			  r->k->word ? " or \"" : "", r->k->word ? r->k->word : "",
			  r->k->word ? "\"" : "");
}

static bool value_scan_milli(struct slice in, int64_t *ret)
{
	uint64_t whole, part = 0;
	size_t digits = 0;

	if (!scan_u64(&in, 10, 1000000, &whole))
		return false;
	if (scan_lit(&in, SLICE("."))) {
		digits = in.n;
		if (digits > 3 || !scan_u64(&in, 10, 999, &part))
			return false;
	}
	for (; digits > 0 && digits < 3; digits++)
		part *= 10;
	*ret = (int64_t)(whole * 1000 + part);
	return in.n == 0;
}

static bool scan_signed(struct slice in, int64_t *ret)
{
	bool minus = scan_lit(&in, SLICE("-"));
	uint64_t v;

	if (!scan_u64(&in, 10, INT64_MAX, &v) || in.n > 0)
		return false;
	*ret = minus ? -(int64_t)v : (int64_t)v;
	return true;
}

static bool from_string(enum value_type t, struct slice s, int64_t *ret)
{
	uint64_t v;
	bool ok;

	if (value_is_milli(t))
		return value_scan_milli(s, ret);
	if (t != VALUE_SIZE && t != VALUE_TIME)
		return false;
	ok = t == VALUE_SIZE ? units_parse_size(s, &v) : units_parse_time(s, &v);
	if (ok)
		*ret = v > INT64_MAX ? INT64_MAX : (int64_t)v;
	return ok;
}

/* Converts a whole number from the unit of the file (seconds, CPUs) to the unit of the struct. */
static int64_t value_scaled(enum value_type t, int64_t v)
{
	int64_t factor = t == VALUE_TIME ? 1000000 : value_is_milli(t) ? 1000 : 1;
	int64_t ret;

	if (__builtin_mul_overflow(v, factor, &ret))
		return v < 0 ? INT64_MIN : INT64_MAX;
	return ret;
}

/* To the nearest thousandth.  A value that is out of every range stays out of range. */
static int64_t milli_of(double v)
{
	if (v < 0)
		return -1;
	return v > 1e9 ? INT64_MAX : (int64_t)(v * 1000 + 0.5);
}

static bool value_number_of(const struct key *k, json_t *v, int64_t *ret)
{
	struct slice s;

	if (json_is_integer(v)) {
		*ret = value_scaled(k->type, json_integer_value(v));
		return true;
	}
	if (json_is_real(v) && value_is_milli(k->type)) {
		*ret = milli_of(json_real_value(v));
		return true;
	}
	if (!json_is_string(v))
		return false;
	s = (struct slice){json_string_value(v), json_string_length(v)};
	if (k->word && slice_eq(s, slice_of(k->word))) {
		*ret = 0;
		return true;
	}
	return from_string(k->type, s, ret);
}

static int in_range(const struct reading *r, json_t *v, int64_t n, struct err *e)
{
	char limit[VALUE_TEXT_MAX], text[QUOTE_MAX];
	const struct key *k = r->k;

	if (n == 0 && k->word)
		return 0;
	if (n < k->min)
		return where_fail(r->at, e, "%s is below the least allowed, %s",
				  reading_text(v, text), value_number(k->type, k->min, limit));
	if (n > k->max)
		return where_fail(r->at, e, "%s is above the most allowed, %s",
				  reading_text(v, text), value_number(k->type, k->max, limit));
	if (k->step && n % k->step != 0)
		return where_fail(r->at, e, "%s is not a multiple of %s", reading_text(v, text),
				  value_number(k->type, k->step, limit));
	return 0;
}

static int value_read_number(const struct reading *r, json_t *v, void *to, struct err *e)
{
	int64_t n;
	int ret;

	if (!value_number_of(r->k, v, &n))
		return reading_wrong(r, v, e);
	ret = in_range(r, v, n, e);
	if (ret < 0)
		return ret;
	if (r->k->type == VALUE_SIGNED)
		*(int32_t *)to = (int32_t)n;
	else if (r->k->type == VALUE_COUNT || value_is_milli(r->k->type))
		*(uint32_t *)to = (uint32_t)n;
	else
		*(uint64_t *)to = (uint64_t)n;
	return 0;
}

/* --- words ----------------------------------------------------------------- */

static int value_read_bool(const struct reading *r, json_t *v, void *to, struct err *e)
{
	if (!json_is_boolean(v))
		return reading_wrong(r, v, e);
	*(bool *)to = json_is_true(v);
	return 0;
}

static int value_read_choice(const struct reading *r, json_t *v, void *to, struct err *e)
{
	const char *const *c = r->k->choices;
	char known[VALUE_TEXT_MAX * 2] = "", text[QUOTE_MAX];
	size_t n = 0;

	for (unsigned i = 0; json_is_string(v) && c[i]; i++) {
		if (strcmp(c[i], json_string_value(v)) != 0)
			continue;
		*(unsigned *)to = i;
		return 0;
	}
	for (size_t i = 0; c[i]; i++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s\"%s\"",
				      i == 0	  ? ""
				      : !c[i + 1] ? " or "
						  : ", ",
				      c[i]);
	return where_fail(r->at, e, "%s is not known here (use %s)", reading_text(v, text), known);
}

/* --- paths ----------------------------------------------------------------- */

static bool has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return true;
	return false;
}

static int value_check_path(const struct reading *r, const char *s, struct err *e)
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
static int value_absolute(const struct reading *r, const char *s, char **ret, struct err *e)
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

static int value_path_of(const struct reading *r, json_t *v, char **ret, struct err *e)
{
	const char *s = json_string_value(v);
	char text[QUOTE_MAX];
	int n;

	if (!s)
		return where_fail(r->at, e, "%s is not a path in quotes", reading_text(v, text));
	n = value_check_path(r, s, e);
	return n < 0 ? n : value_absolute(r, s, ret, e);
}

static int value_read_path(const struct reading *r, json_t *v, void *to, struct err *e)
{
	char *path = NULL;
	int n = value_path_of(r, v, &path, e);

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

static int value_read_string(const struct reading *r, json_t *v, void *to, struct err *e)
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
	if (!engine_any_flag_ok(s, why))
		return where_fail(r->at, e, "%s is refused: %s", reading_text(v, text), why);
	strv_push(io, s.p);
	return 0;
}

static bool env_name_ok(const char *name)
{
	size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return n > 0 && n <= 128 && name[n] == '\0' && !(*name >= '0' && *name <= '9');
}

static int value_add_env(const struct reading *r, const char *name, json_t *v, struct strv *io,
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
	int n = value_path_of(r, v, &path, e);

	(void)name;
	if (n == 0)
		strv_push(io, path);
	return n;
}

static int value_add_word(const struct reading *r, const char *name, json_t *v, struct strv *io,
			  struct err *e)
{
	int n = check_text(r, v, e);
	unsigned index;

	(void)name;
	if (n == 0 && r->k->choices)
		n = value_read_choice(r, v, &index, e);
	if (n == 0)
		strv_push(io, json_string_value(v));
	return n;
}

/* Reads one element with its own place, and advances *io_id to the next element. */
static int value_read_element(const struct reading *list, element_fn *fn, const char *name,
			      size_t index, json_t *v, uint32_t *io_id, struct strv *io,
			      struct err *e)
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

static int value_read_members(const struct reading *r, json_t *v, struct strv *io, struct err *e)
{
	element_fn *fn = r->k->type == VALUE_FLAGS   ? add_flag
			 : r->k->type == VALUE_WORDS ? value_add_word
						     : add_dir;
	uint32_t id = places_child(r->id);
	int ret = 0;

	if (r->k->type == VALUE_ENV) {
		void *i = json_object_iter(v);

		for (; ret == 0 && i; i = json_object_iter_next(v, i))
			ret = value_read_element(r, value_add_env, json_object_iter_key(i), 0,
						 json_object_iter_value(i), &id, io, e);
		return ret;
	}
	for (size_t i = 0; ret == 0 && i < json_array_size(v); i++)
		ret = value_read_element(r, fn, NULL, i, json_array_get(v, i), &id, io, e);
	return ret;
}

static int value_read_list(const struct reading *r, json_t *v, void *to, struct err *e)
{
	CLEANUP(strv_done) struct strv list = {0};
	int ret;

	if (r->k->type == VALUE_ENV ? !json_is_object(v) : !json_is_array(v))
		return reading_wrong(r, v, e);
	ret = value_read_members(r, v, &list, e);
	if (ret < 0)
		return ret;
	strv_done(to);
	*(struct strv *)to = list;
	list = (struct strv){0};
	return 0;
}

/* --- all ------------------------------------------------------------------- */

static int value_read_section(const struct reading *r, json_t *v, void *to, struct err *e)
{
	(void)to;
	return reading_wrong(r, v, e);
}

static reader_fn *const readers[VALUE_TYPE_COUNT] = {
    [VALUE_SIZE] = value_read_number,	[VALUE_TIME] = value_read_number,
    [VALUE_CPUS] = value_read_number,	[VALUE_DECIMAL] = value_read_number,
    [VALUE_COUNT] = value_read_number,	[VALUE_NUMBER] = value_read_number,
    [VALUE_SIGNED] = value_read_number, [VALUE_BOOL] = value_read_bool,
    [VALUE_CHOICE] = value_read_choice, [VALUE_PATH] = value_read_path,
    [VALUE_TEXT] = value_read_string,	[VALUE_FLAGS] = value_read_list,
    [VALUE_ENV] = value_read_list,	[VALUE_DIRS] = value_read_list,
    [VALUE_WORDS] = value_read_list,	[VALUE_SECTION] = value_read_section,
};

int value_read(const struct key *k, json_t *v, const struct where *at, const struct places *places,
	       uint32_t id, void *base, struct err *e)
{
	struct reading r = {k, at, places, id};

	if (k->flags & KEY_DERIVED)
		return where_fail(at, e, "it follows from memory and cannot be set");
	return readers[k->type](&r, v, (char *)base + k->offset, e);
}

/* text has no quotes: 3, 1.5, true, 2GiB, none. */
int value_read_text(const struct key *k, const char *text, const struct where *at, void *base,
		    struct err *e)
{
	struct slice in = slice_of(text);
	_autojson_ json_t *v = NULL;
	int64_t n;

	if (k->type == VALUE_BOOL && (!strcmp(text, "true") || !strcmp(text, "false")))
		v = json_boolean(*text == 't');
	else if (k->type <= VALUE_SIGNED && !value_is_milli(k->type) && scan_signed(in, &n))
		v = json_integer(n);
	else
		v = json_string(text);
	if (!v)
		return where_fail(at, e, "the value is not UTF-8 text");
	return value_read(k, v, at, NULL, 0, base, e);
}

void value_done(const struct key *k, void *base)
{
	void *to = (char *)base + k->offset;

	if (k->type == VALUE_PATH || k->type == VALUE_TEXT)
		free(take_ptr((char **)to));
	else if (k->type >= VALUE_FLAGS && k->type <= VALUE_WORDS)
		strv_done(to);
}

/* --- writing a value ----------------------------------------------------------- */

/* base/units.h rounds for tables.  These texts are exact and valid in a file. */

static void exact_size(uint64_t v, char out[VALUE_TEXT_MAX])
{
	static const char *const unit[] = {"", "KiB", "MiB", "GiB", "TiB"};
	size_t u = 0;

	for (; v > 0 && v % 1024 == 0 && u + 1 < sizeof(unit) / sizeof(unit[0]); u++)
		v /= 1024;
	snprintf(out, VALUE_TEXT_MAX, "%llu%s", (unsigned long long)v, unit[u]);
}

static void exact_time(uint64_t us, char out[VALUE_TEXT_MAX])
{
	static const struct {
		uint64_t factor;
		const char *name;
	} unit[] = {
	    {UINT64_C(86400000000), "d"},
	    {UINT64_C(3600000000), "h"},
	    {60000000, "m"},
	    {1000000, "s"},
	    {1000, "ms"},
	    {1, "us"},
	};
	size_t n = 0;

	if (us == 0)
		snprintf(out, VALUE_TEXT_MAX, "0s");
	for (size_t i = 0; us > 0; i++) {
		if (us >= unit[i].factor)
			n += (size_t)snprintf(out + n, VALUE_TEXT_MAX - n, "%llu%s",
					      (unsigned long long)(us / unit[i].factor),
					      unit[i].name);
		us %= unit[i].factor;
	}
}

static void exact_milli(uint64_t v, char out[VALUE_TEXT_MAX])
{
	size_t n = (size_t)snprintf(out, VALUE_TEXT_MAX, "%llu.%03llu",
				    (unsigned long long)(v / 1000), (unsigned long long)(v % 1000));

	while (out[n - 1] == '0')
		out[--n] = '\0';
	if (out[n - 1] == '.')
		out[n - 1] = '\0';
}

const char *value_number(enum value_type t, int64_t v, char out[VALUE_TEXT_MAX])
{
	if (t == VALUE_SIZE)
		exact_size((uint64_t)v, out);
	else if (t == VALUE_TIME)
		exact_time((uint64_t)v, out);
	else if (value_is_milli(t))
		exact_milli((uint64_t)v, out);
	else
		snprintf(out, VALUE_TEXT_MAX, "%lld", (long long)v);
	return out;
}

static int64_t value_show_load(const struct key *k, const void *from)
{
	if (k->type == VALUE_SIGNED)
		return *(const int32_t *)from;
	if (k->type == VALUE_COUNT || value_is_milli(k->type))
		return *(const uint32_t *)from;
	return (int64_t) * (const uint64_t *)from;
}

static json_t *show_number(const struct key *k, const void *from)
{
	int64_t v = value_show_load(k, from);
	char text[VALUE_TEXT_MAX];

	if (v == 0 && k->word)
		return json_string(k->word);
	if (k->type == VALUE_SIZE || k->type == VALUE_TIME || value_is_milli(k->type))
		return json_string(value_number(k->type, v, text));
	return json_integer(v);
}

json_t *value_text(const char *s)
{
	json_t *j = json_string(s);
	_autofree_ char *copy = NULL;

	if (j)
		return j;
	copy = xstrdup(s);
	for (char *p = copy; *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	return json_string(copy);
}

static json_t *show_list(const struct strv *list)
{
	json_t *a = json_array();

	for (size_t i = 0; i < list->n; i++)
		(void)json_array_append_new(a, value_text(list->v[i]));
	return a;
}

static json_t *show_env(const struct strv *list)
{
	json_t *o = json_object();

	for (size_t i = 0; i < list->n; i++) {
		const char *eq = strchr(list->v[i], '=');
		_autofree_ char *name = xstrndup(list->v[i], (size_t)(eq - list->v[i]));

		(void)json_object_set_new(o, name, value_text(eq + 1));
	}
	return o;
}

json_t *value_show(const struct key *k, const void *base)
{
	const void *from = (const char *)base + k->offset;

	switch (k->type) {
	case VALUE_BOOL:
		return json_boolean(*(const bool *)from);
	case VALUE_CHOICE:
		return json_string(k->choices[*(const unsigned *)from]);
	case VALUE_PATH:
	case VALUE_TEXT:
		return *(char *const *)from ? value_text(*(char *const *)from) : json_null();
	case VALUE_FLAGS:
	case VALUE_DIRS:
	case VALUE_WORDS:
		return show_list(from);
	case VALUE_ENV:
		return show_env(from);
	case VALUE_SIZE:
	case VALUE_TIME:
	case VALUE_CPUS:
	case VALUE_DECIMAL:
	case VALUE_COUNT:
	case VALUE_NUMBER:
	case VALUE_SIGNED:
	case VALUE_SECTION:
	case VALUE_TYPE_COUNT:
	default:
		return show_number(k, from);
	}
}
