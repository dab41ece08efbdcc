/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/report.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/lines.h"
#include "base/memory.h"
#include "runner/crash/report/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *crash_kind_name(enum crash_kind k)
{
	static const char *const names[] = {
	    [CRASH_NONE] = "none",     [CRASH_ASAN] = "asan",	  [CRASH_UBSAN] = "ubsan",
	    [CRASH_MSAN] = "msan",     [CRASH_TSAN] = "tsan",	  [CRASH_LSAN] = "lsan",
	    [CRASH_ENGINE] = "engine", [CRASH_ASSERT] = "assert", [CRASH_SIGNAL] = "signal",
	    [CRASH_PANIC] = "panic",   [CRASH_CELL] = "cell",	  [CRASH_OTHER] = "other",
	};
	_Static_assert(sizeof(names) / sizeof(names[0]) == CRASH_KIND_COUNT, "name every kind");

	return names[k];
}

const char *crash_access_name(enum crash_access a)
{
	static const char *const names[] = {
	    [CRASH_ACCESS_NONE] = "", [CRASH_ACCESS_READ] = "read", [CRASH_ACCESS_WRITE] = "write"};
	_Static_assert(sizeof(names) / sizeof(names[0]) == CRASH_ACCESS_COUNT, "name every access");

	return names[a];
}

const char *crash_severity_name(enum crash_severity s)
{
	static const char *const names[] = {
	    [CRASH_SEVERITY_NONE] = "none",
	    [CRASH_SEVERITY_LOW] = "low",
	    [CRASH_SEVERITY_MEDIUM] = "medium",
	    [CRASH_SEVERITY_HIGH] = "high",
	};
	_Static_assert(sizeof(names) / sizeof(names[0]) == CRASH_SEVERITY_COUNT,
		       "name every severity");

	return names[s];
}

void crash_report_done(struct crash_report *r)
{
	free(r->frames);
	*r = (struct crash_report){0};
}

struct crash_parser *crash_parser_new(const struct crash_options *o)
{
	struct crash_parser *p = xcalloc(1, sizeof(*p));

	_Static_assert(sizeof(*p) < 1 << 20, "report.h promises it");
	if (o)
		p->o = *o;
	words_init(&p->words);
	verdict_clear(p);
	return p;
}

void crash_parser_free(struct crash_parser *p)
{
	free(p);
}

/* --- bytes to lines ------------------------------------------------------- */

/* Stores the part of a line that has no newline yet.  A line that is too long is parsed as two
 * lines, its beginning and its end: engines write reports without a newline before them. */
static void report_keep(struct crash_parser *p, struct slice part)
{
	size_t room = sizeof(p->line) - p->line_n;

	if (!p->line_cut && part.n > room) {
		memcpy(p->line + p->line_n, part.p, room);
		report_line(p, (struct slice){p->line, sizeof(p->line)});
		p->line_n = sizeof(p->line);
		p->line_cut = true;
		text_skip(&part, room);
	}
	p->line_n = lines_keep_end(p->line, p->line_n, sizeof(p->line), part);
}

static void end_line(struct crash_parser *p)
{
	struct slice line = {p->line, p->line_n};

	if (p->line_cut && line.n > LINES_END)
		text_skip(&line, line.n - LINES_END);
	p->line_n = 0;
	p->line_cut = false;
	report_line(p, line);
}

void crash_parser_feed(struct crash_parser *p, struct slice bytes)
{
	while (bytes.n > 0) {
		const char *nl = memchr(bytes.p, '\n', bytes.n);
		struct slice part = {bytes.p, nl ? (size_t)(nl - bytes.p) : bytes.n};

		text_skip(&bytes, part.n + (nl ? 1 : 0));
		if (nl && p->line_n == 0 && part.n <= sizeof(p->line)) {
			report_line(p, part);
			continue;
		}
		report_keep(p, part);
		if (nl)
			end_line(p);
	}
}

/* --- the end -------------------------------------------------------------- */

/* Sizes above 16 bytes are one size: "READ {*}". */
static void fold_size(char *type, size_t cap)
{
	struct slice in = slice_of(type), tail;
	uint64_t size = UINT64_MAX;
	char rest[64];
	size_t at = 0;

	while (at < in.n && !text_digit(in.p[at]))
		at++;
	if (at == 0 || at == in.n)
		return;
	tail = (struct slice){in.p + at, in.n - at};
	if (scan_u64(&tail, 10, UINT64_MAX - 1, &size) && size <= 16)
		return;
	while (tail.n > 0 && text_digit(tail.p[0]))
		text_skip(&tail, 1);
	text_copy(rest, sizeof(rest), tail);
	text_copy(type + at, cap - at, SLICE("{*}"));
	at = strlen(type);
	text_copy(type + at, cap - at, slice_of(rest));
}

static bool is_null_page(struct slice address)
{
	uint64_t v;

	scan_lit(&address, SLICE("0x"));
	return scan_u64(&address, 16, UINT64_MAX, &v) && address.n == 0 && v < 0x1000;
}

static void fold_null(struct verdict *v)
{
	const struct slice unknown = SLICE("UNKNOWN");
	struct slice rest = slice_of(v->type);
	char type[sizeof(v->type)];
	size_t n;

	if (!scan_lit(&rest, unknown) || !is_null_page(slice_of(v->address)))
		return;
	text_copy(type, sizeof(type), SLICE("Null-dereference"));
	n = strlen(type);
	text_copy(type + n, sizeof(type) - n, rest);
	memcpy(v->type, type, sizeof(type));
}

/* Shortens an address of 64 bits: "0x0000602000000011". */
static void fold_address(char *address)
{
	size_t n = strlen(address);

	if (n == 18 && memcmp(address, "0x0000", 6) == 0)
		memmove(address + 2, address + 6, n - 6 + 1);
}

static void fold(struct verdict *v)
{
	/* text_copy() replaces unprintable bytes; the one newline is ours. */
	fold_size(v->type, sizeof(v->type));
	fold_address(v->address);
	fold_null(v);
	/* The C library ended the process, and no handler reported its signal. */
	if (!v->type[0] && v->libc_message[0])
		text_copy(v->type, sizeof(v->type), SLICE("Fatal-signal"));
	if (v->libc_message[0] && strcmp(v->type, "Fatal-signal") == 0) {
		text_copy(v->signal, sizeof(v->signal), SLICE("SIGABRT"));
		text_copy(v->headline, sizeof(v->headline), slice_of(v->libc_line));
		v->kind = v->libc_kind;
	}
}

static void report_fill(const struct verdict *v, struct crash_report *r)
{
	r->found = true;
	r->kind = v->kind;
	memcpy(r->type, v->type, sizeof(r->type));
	memcpy(r->address, v->address, sizeof(r->address));
	memcpy(r->signal, v->signal, sizeof(r->signal));
	memcpy(r->headline, v->headline, sizeof(r->headline));
	r->access_size = v->access_size;
	if (strstr(v->type, "WRITE"))
		r->access = CRASH_ACCESS_WRITE;
	else if (strstr(v->type, "READ"))
		r->access = CRASH_ACCESS_READ;
}

void crash_parser_finish(struct crash_parser *p, struct crash_report *ret)
{
	*ret = (struct crash_report){0};
	if (p->line_n > 0)
		end_line(p);
	fold(&p->v);
	if (!p->v.type[0])
		return;
	report_fill(&p->v, ret);
	state_finish(p, ret);
	report_security(p, ret);
	ret->severity = report_severity(ret);
	report_frames(p, ret);
	report_signature(p, ret);
	report_bug_key(ret);
	report_raw_key(p, ret);
}

void crash_parse(struct slice text, const struct crash_options *o, struct crash_report *ret)
{
	struct crash_parser *p = crash_parser_new(o);

	crash_parser_feed(p, text);
	crash_parser_finish(p, ret);
	crash_parser_free(p);
}

/* --- crashes without a report ---------------------------------------------- */

/* Crashes without a report: processes that the cell refused or killed, or that ended without
 * output. */

static const struct {
	const char *name, *type;
	enum crash_kind kind;
	const char *headline;
} kinds[] = {
    [CRASH_OWN_SECCOMP] = {"syscall", "Refused-system-call", CRASH_CELL,
			   "the cell refused a system call"},
    [CRASH_OWN_MEMORY] = {"memory", "Cell-memory-limit", CRASH_CELL,
			  "the kernel killed the cell for its memory"},
    [CRASH_OWN_PIDS] = {"pids", "Cell-process-limit", CRASH_CELL,
			"the cell's process limit refused a fork"},
    [CRASH_OWN_SIGNAL] = {"signal", "Fatal-signal", CRASH_SIGNAL,
			  "died by a signal without a report"},
    [CRASH_OWN_EXIT] = {"exit", "Unexpected-exit", CRASH_ENGINE,
			"ended by itself without a report"},
    [CRASH_OWN_INTERRUPT] = {"interrupt", "Self-interrupt", CRASH_ENGINE,
			     "ended as by a stop signal, which fuzzcell did not send"},
    [CRASH_OWN_TIME] = {"time", "Timeout", CRASH_CELL,
			"the cell's deadline passed without a report"},
};
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == CRASH_OWN_COUNT, "describe every one");

const char *crash_own_name(enum crash_own what)
{
	return what < CRASH_OWN_COUNT ? kinds[what].name : "";
}

enum crash_own crash_own_find(const char *name)
{
	unsigned what = 0;

	while (what < CRASH_OWN_COUNT && strcmp(kinds[what].name, name) != 0)
		what++;
	return (enum crash_own)what;
}

static void add_state(struct crash_report *r, const char *text)
{
	if (*text)
		text_copy(r->state[r->n_state++], sizeof(r->state[0]), slice_of(text));
}

void crash_report_own(enum crash_own what, const char *detail, const char *target,
		      struct crash_report *ret)
{
	struct crash_report r = {.found = true, .kind = kinds[what].kind};
	char key[640], hex[DIGEST_SHA1_HEX];

	detail = detail ? detail : "";
	target = target ? target : "";
	text_copy(r.type, sizeof(r.type), slice_of(kinds[what].type));
	add_state(&r, detail);
	add_state(&r, target);
	if (what == CRASH_OWN_SIGNAL)
		text_copy(r.signal, sizeof(r.signal), slice_of(detail));
	snprintf(r.headline, sizeof(r.headline), "%s%s%.100s", kinds[what].headline,
		 *detail ? ": " : "", detail);
	snprintf(key, sizeof(key), "own\n%s\n%.200s\n%.200s\n", r.type, detail, target);
	digest_sha1_hex(slice_of(key), hex);
	memcpy(r.signature, hex, CRASH_KEY_HEX - 1);
	memcpy(r.raw_key, hex, CRASH_KEY_HEX - 1);
	*ret = r;
}
