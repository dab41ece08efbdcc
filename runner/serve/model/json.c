/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/serve/model/json.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "runner/serve/page/html.h"

#include <string.h>
#include <time.h>

void make_set(json_t *m, const char *key, json_t *taken)
{
	(void)json_object_set_new(m, key, taken);
}

/* The length of text, at most n bytes, without splitting a character. */
static size_t model_json_cut(const char *text, size_t n)
{
	size_t len = strnlen(text, n + 1);

	if (len <= n)
		return len;
	len = n;
	while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	return len;
}

json_t *json_text(const char *text)
{
	json_t *j = json_stringn(text, model_json_cut(text, MAKE_TEXT_MAX));

	return j ? j : json_string("(not UTF-8)");
}

void make_text(json_t *m, const char *key, const char *text)
{
	make_set(m, key, json_text(text));
}

void make_number(json_t *m, const char *key, uint64_t n)
{
	make_set(m, key, json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n));
}

void make_time(json_t *m, const char *key, uint64_t unix_seconds)
{
	time_t t = (time_t)unix_seconds;
	char out[40];
	struct tm tm;

	if (!unix_seconds || !gmtime_r(&t, &tm) ||
	    strftime(out, sizeof(out), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		make_set(m, key, json_null());
	else
		make_set(m, key, json_string(out));
}

void make_href(json_t *m, const char *key, const char *before, const char *name, const char *end)
{
	_autobuf_ struct buf b = BUF_INIT(4096);
	struct err e;

	buf_puts(&b, before);
	html_url_part(&b, slice_of(name));
	buf_puts(&b, end);
	if (buf_check(&b, &e) == 0)
		make_set(m, key, json_string(buf_str(&b)));
}

static bool is_kind(const json_t *v, enum copy_kind kind)
{
	switch (kind) {
	case COPY_NUMBER:
		return json_is_number(v);
	case COPY_TEXT:
		return json_is_string(v);
	case COPY_FLAG:
		return json_is_boolean(v);
	default:
		return false;
	}
}

void make_copy(json_t *m, const json_t *from, const struct copy *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_t *v = json_object_get(from, c[i].key);

		if (!is_kind(v, c[i].kind))
			continue;
		if (c[i].kind == COPY_TEXT)
			make_text(m, c[i].key, json_string_value(v));
		else
			make_set(m, c[i].key, json_incref(v));
	}
}

const char *get_text(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

double get_number(const json_t *j, const char *key)
{
	return json_number_value(json_object_get(j, key));
}

uint64_t get_count(const json_t *j, const char *key)
{
	double v = get_number(j, key);

	return v > 0 && v < 9e18 ? (uint64_t)v : 0;
}

uint64_t get_time(const json_t *j, const char *key)
{
	struct tm tm = {0};
	const char *end = strptime(get_text(j, key), "%Y-%m-%dT%H:%M:%SZ", &tm);
	time_t t = end && !*end ? timegm(&tm) : 0;

	return t > 0 ? (uint64_t)t : 0;
}
