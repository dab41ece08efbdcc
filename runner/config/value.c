/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/config/reading.h"

#include "base/cleanup.h"
#include "base/sys.h"
#include "base/units.h"

#include <stdio.h>

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

const char *reading_text(const json_t *v, char out[QUOTE_MAX])
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

int reading_wrong(const struct reading *r, const json_t *v, struct err *e)
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
static int64_t scaled(enum value_type t, int64_t v)
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
		*ret = scaled(k->type, json_integer_value(v));
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

static int read_bool(const struct reading *r, json_t *v, void *to, struct err *e)
{
	if (!json_is_boolean(v))
		return reading_wrong(r, v, e);
	*(bool *)to = json_is_true(v);
	return 0;
}

int read_choice(const struct reading *r, json_t *v, void *to, struct err *e)
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

/* --- all ------------------------------------------------------------------- */

static int value_read_section(const struct reading *r, json_t *v, void *to, struct err *e)
{
	(void)to;
	return reading_wrong(r, v, e);
}

static reader_fn *const readers[VALUE_TYPE_COUNT] = {
    [VALUE_SIZE] = value_read_number,
    [VALUE_TIME] = value_read_number,
    [VALUE_CPUS] = value_read_number,
    [VALUE_DECIMAL] = value_read_number,
    [VALUE_COUNT] = value_read_number,
    [VALUE_NUMBER] = value_read_number,
    [VALUE_SIGNED] = value_read_number,
    [VALUE_BOOL] = read_bool,
    [VALUE_CHOICE] = read_choice,
    [VALUE_PATH] = read_path,
    [VALUE_TEXT] = read_text,
    [VALUE_FLAGS] = read_list,
    [VALUE_ENV] = read_list,
    [VALUE_DIRS] = read_list,
    [VALUE_WORDS] = read_list,
    [VALUE_SECTION] = value_read_section,
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
