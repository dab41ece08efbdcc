/* SPDX-License-Identifier: Apache-2.0 */
/* A target's report, as a whole and in pieces: the results are equal and within their bounds.  The
 * first byte chooses the options. */
#include "base/json.h"
#include "runner/crash/report/json.h"
#include "runner/crash/report/report.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void printable(const char *s, size_t cap, bool lines)
{
	size_t n = strnlen(s, cap);

	if (n == cap)
		abort();
	for (size_t i = 0; i < n; i++)
		if ((s[i] < ' ' || s[i] > '~') && !(lines && s[i] == '\n') && s[i] != '\t')
			abort();
}

static void check_key(const char *key, bool may_be_empty)
{
	size_t n = strlen(key);

	if (n == 0 && may_be_empty)
		return;
	if (n != 16 || strspn(key, "0123456789abcdef") != 16)
		abort();
}

static void check_frame(const struct crash_frame *f)
{
	printable(f->function, sizeof(f->function), false);
	printable(f->name, sizeof(f->name), false);
	printable(f->file, sizeof(f->file), false);
	printable(f->module, sizeof(f->module), false);
	printable(f->build_id, sizeof(f->build_id), false);
	if (f->has_function != (f->function[0] != '\0'))
		abort();
	if (!f->has_function && !f->module[0])
		abort();
}

static void check(const struct crash_report *r)
{
	if (!r->found) {
		if (r->type[0] || r->n_state || r->n_frames || r->signature[0])
			abort();
		return;
	}
	if (!r->type[0] || r->kind == CRASH_NONE || r->kind >= CRASH_KIND_COUNT ||
	    r->n_state == 0 || r->n_state > CRASH_STATE_MAX || r->n_frames > CRASH_FRAMES_MAX ||
	    r->severity >= CRASH_SEVERITY_COUNT || r->access >= CRASH_ACCESS_COUNT)
		abort();
	if (!r->security && r->severity != CRASH_SEVERITY_NONE)
		abort();
	printable(r->type, sizeof(r->type), true);
	printable(r->address, sizeof(r->address), false);
	printable(r->headline, sizeof(r->headline), false);
	printable(r->top_frame, sizeof(r->top_frame), false);
	for (size_t i = 0; i < r->n_state; i++)
		printable(r->state[i], sizeof(r->state[i]), false);
	check_key(r->signature, false);
	check_key(r->raw_key, true);
	for (size_t i = 0; i < r->n_frames; i++)
		check_frame(&r->frames[i]);
}

/* In pieces of a size that the input chooses.  Each piece is a separate copy, so that ASan finds an
 * access beyond either end. */
static void parse(const uint8_t *data, size_t size, size_t piece, const struct crash_options *o,
		  struct crash_report *ret)
{
	struct crash_parser *p = crash_parser_new(o);

	while (size > 0) {
		size_t n = size < piece ? size : piece;
		char *copy = malloc(n);

		if (!copy)
			abort();
		memcpy(copy, data, n);
		crash_parser_feed(p, (struct slice){copy, n});
		free(copy);
		data += n;
		size -= n;
	}
	crash_parser_finish(p, ret);
	crash_parser_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct crash_options o = {0};
	struct crash_report whole, pieces;

	if (size == 0)
		return 0;
	o.target = data[0] & 1 ? "target" : NULL;
	o.ignore_ooms_and_hangs = data[0] & 2;
	o.asserts_are_security = data[0] & 4;
	o.checks_are_security = data[0] & 8;
	parse(data + 1, size - 1, SIZE_MAX, &o, &whole);
	parse(data + 1, size - 1, 1 + (data[0] >> 4) * (size_t)7, &o, &pieces);
	check(&whole);
	if (strcmp(whole.signature, pieces.signature) != 0 ||
	    strcmp(whole.raw_key, pieces.raw_key) != 0 || whole.n_frames != pieces.n_frames ||
	    memcmp(whole.state, pieces.state, sizeof(whole.state)) != 0)
		abort();
	json_decref(crash_report_json(&whole));
	crash_report_done(&whole);
	crash_report_done(&pieces);
	return 0;
}
