/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"
#include "runner/config/value.h"

#include "base/cleanup.h"

#include <stdio.h>

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
