/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/json.h"

#include "runner/crash/report/text.h"

#include <stdio.h>

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
