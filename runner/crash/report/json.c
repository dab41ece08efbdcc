/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/json.h"

#include "base/memory.h"
#include "runner/crash/report/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Every string here is printable ASCII: text_copy() made it. */

static json_t *json_text_or_null(const char *s)
{
	return *s ? json_string(s) : json_null();
}

static json_t *json_number_or_null(uint64_t v, bool known)
{
	return known ? json_integer((json_int_t)(v <= INT64_MAX ? v : INT64_MAX)) : json_null();
}

/* As text: a number above 2^53 is not safe in JSON. */
static json_t *hex_or_null(uint64_t v)
{
	char hex[24];

	snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)v);
	return v ? json_string(hex) : json_null();
}

static json_t *frame_json(const struct crash_frame *f)
{
	return json_pack(
	    "{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "number", (int)f->number,
	    "function", json_text_or_null(f->function), "name", json_text_or_null(f->name), "file",
	    json_text_or_null(f->file), "line", json_number_or_null(f->line, f->line > 0), "column",
	    json_number_or_null(f->column, f->column > 0), "module", json_text_or_null(f->module),
	    "offset", json_number_or_null(f->offset, f->module[0] != '\0'), "pc",
	    hex_or_null(f->pc), "build_id", json_text_or_null(f->build_id));
}

static json_t *frames_json(const struct crash_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_frames; i++)
		json_array_append_new(list, frame_json(&r->frames[i]));
	return list;
}

static json_t *state_json(const struct crash_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_state; i++)
		json_array_append_new(list, json_string(r->state[i]));
	return list;
}

json_t *crash_report_json(const struct crash_report *r)
{
	return json_pack(
	    "{s:b, s:s, s:s, s:o, s:s, s:b, s:s, s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:o, "
	    "s:I}",
	    "found", (int)r->found, "kind", crash_kind_name(r->kind), "crash_type", r->type,
	    "crash_state", state_json(r), "crash_address", r->address, "security", (int)r->security,
	    "severity", crash_severity_name(r->severity), "access", crash_access_name(r->access),
	    "access_size", (json_int_t)(r->access_size <= INT64_MAX ? r->access_size : INT64_MAX),
	    "signal", r->signal, "top_frame", r->top_frame, "signature", r->signature, "bug",
	    r->bug, "raw_key", r->raw_key, "headline", r->headline, "unsymbolized",
	    (int)r->unsymbolized, "frames", frames_json(r), "raw_frames",
	    (json_int_t)r->raw_frames);
}

/* --- reading ------------------------------------------------------------------- */

/* Takes values out of an object; `ok` becomes false with the first wrong one. */
struct taking {
	const json_t *from;
	bool ok;
};

static bool json_is_plain(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((s[i] < ' ' || s[i] > '~') && s[i] != '\n')
			return false;
	return true;
}

/* or_null: the value may be null, which is "". */
static void json_take_text(struct taking *t, const char *key, bool or_null, char *to, size_t cap)
{
	const json_t *j = json_object_get(t->from, key);
	size_t n = json_string_length(j);

	*to = '\0';
	if (or_null && json_is_null(j))
		return;
	if (!json_is_string(j) || n >= cap || !json_is_plain(json_string_value(j), n)) {
		t->ok = false;
		return;
	}
	memcpy(to, json_string_value(j), n + 1);
}

static uint64_t json_take_number(struct taking *t, const char *key, bool or_null, uint64_t max)
{
	const json_t *j = json_object_get(t->from, key);
	json_int_t n = json_integer_value(j);

	if (or_null && json_is_null(j))
		return 0;
	t->ok &= json_is_integer(j) && n >= 0 && (uint64_t)n <= max;
	return t->ok ? (uint64_t)n : 0;
}

static bool json_take_flag(struct taking *t, const char *key)
{
	const json_t *j = json_object_get(t->from, key);

	t->ok &= json_is_boolean(j);
	return json_is_true(j);
}

/* The index of the value's name. */
static unsigned json_take_name(struct taking *t, const char *key, unsigned count,
			       const char *(*name)(unsigned i))
{
	const char *text = json_string_value(json_object_get(t->from, key));
	unsigned i = 0;

	while (text && i < count && strcmp(name(i), text) != 0)
		i++;
	t->ok &= text && i < count;
	return t->ok ? i : 0;
}

static const char *json_kind(unsigned i)
{
	return crash_kind_name((enum crash_kind)i);
}

static const char *json_access(unsigned i)
{
	return crash_access_name((enum crash_access)i);
}

static const char *json_severity(unsigned i)
{
	return crash_severity_name((enum crash_severity)i);
}

#define TAKE(t, key, or_null, to) json_take_text(t, key, or_null, to, sizeof(to))

static bool json_take_frame(const json_t *j, struct crash_frame *f)
{
	struct taking t = {j, json_is_object(j)};
	char hex[24];
	struct slice digits = {hex, 0};

	f->number = (unsigned)json_take_number(&t, "number", false, UINT32_MAX);
	TAKE(&t, "function", true, f->function);
	TAKE(&t, "name", true, f->name);
	TAKE(&t, "file", true, f->file);
	f->line = json_take_number(&t, "line", true, INT64_MAX);
	f->column = json_take_number(&t, "column", true, INT64_MAX);
	TAKE(&t, "module", true, f->module);
	f->offset = json_take_number(&t, "offset", true, INT64_MAX);
	TAKE(&t, "pc", true, hex);
	TAKE(&t, "build_id", true, f->build_id);
	f->has_function = *f->function != '\0';
	digits.n = strlen(hex);
	if (digits.n > 0)
		t.ok &= scan_lit(&digits, SLICE("0x")) &&
			scan_u64(&digits, 16, UINT64_MAX, &f->pc) && digits.n == 0;
	return t.ok;
}

static void json_take_frames(struct taking *t, struct crash_report *r)
{
	const json_t *list = json_object_get(t->from, "frames");
	size_t n = json_array_size(list);

	t->ok &= json_is_array(list) && n <= CRASH_FRAMES_MAX;
	if (!t->ok || n == 0)
		return;
	r->frames = xcalloc(n, sizeof(*r->frames));
	for (; r->n_frames < n && t->ok; r->n_frames++)
		t->ok &=
		    json_take_frame(json_array_get(list, r->n_frames), &r->frames[r->n_frames]);
}

static void json_take_state(struct taking *t, struct crash_report *r)
{
	const json_t *list = json_object_get(t->from, "crash_state");
	size_t n = json_array_size(list);

	t->ok &= json_is_array(list) && n <= CRASH_STATE_MAX;
	for (; t->ok && r->n_state < n; r->n_state++) {
		const json_t *j = json_array_get(list, r->n_state);
		size_t length = json_string_length(j);

		t->ok &= json_is_string(j) && length < sizeof(r->state[0]) &&
			 json_is_plain(json_string_value(j), length);
		if (t->ok)
			memcpy(r->state[r->n_state], json_string_value(j), length + 1);
	}
}

int crash_report_from_json(const json_t *j, struct crash_report *ret, struct err *e)
{
	struct crash_report r = {0};
	struct taking t = {j, json_is_object(j)};

	r.found = json_take_flag(&t, "found");
	r.kind = (enum crash_kind)json_take_name(&t, "kind", CRASH_KIND_COUNT, json_kind);
	TAKE(&t, "crash_type", false, r.type);
	json_take_state(&t, &r);
	TAKE(&t, "crash_address", false, r.address);
	r.security = json_take_flag(&t, "security");
	r.severity = (enum crash_severity)json_take_name(&t, "severity", CRASH_SEVERITY_COUNT,
							 json_severity);
	r.access = (enum crash_access)json_take_name(&t, "access", CRASH_ACCESS_COUNT, json_access);
	r.access_size = json_take_number(&t, "access_size", false, INT64_MAX);
	TAKE(&t, "signal", false, r.signal);
	TAKE(&t, "top_frame", false, r.top_frame);
	TAKE(&t, "signature", false, r.signature);
	TAKE(&t, "bug", false, r.bug);
	TAKE(&t, "raw_key", false, r.raw_key);
	TAKE(&t, "headline", false, r.headline);
	r.unsymbolized = json_take_flag(&t, "unsymbolized");
	json_take_frames(&t, &r);
	r.raw_frames = (size_t)json_take_number(&t, "raw_frames", false, INT64_MAX);
	if (!t.ok) {
		crash_report_done(&r);
		*ret = r;
		return err_set(e, EBADMSG, "not the JSON of a crash report");
	}
	*ret = r;
	return 0;
}
