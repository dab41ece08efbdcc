/* SPDX-License-Identifier: Apache-2.0 */
/* Output that the subcommands of `fuzzcell crash` share. */
#include "base/clock.h"
#include "base/escape.h"
#include "runner/command/crash/crash.h"
#include "runner/command/crash/mark.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

_Static_assert((int)CRASH_LINE >= (int)ESCAPE_MAX, "escape() writes into it");

const char *crash_line(const char *text, char out[CRASH_LINE])
{
	char flat[ESCAPE_MAX];
	size_t n = 0;

	for (; text[n] && n + 1 < sizeof(flat); n++)
		flat[n] = (char)(text[n] == '\n' ? ' ' : text[n]);
	flat[n] = '\0';
	return escape(flat, out);
}

const char *crash_time(uint64_t seconds, char out[32])
{
	time_t t = (time_t)seconds;
	struct tm tm;

	if (!seconds || seconds > UINT32_MAX || !gmtime_r(&t, &tm) ||
	    strftime(out, 32, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
		out[0] = '\0';
	return out;
}

static void print_frame(const struct crash_frame *f)
{
	printf("  #%-3u %s", f->number, f->has_function ? f->function : "?");
	if (*f->file)
		printf("  %s", f->file);
	if (*f->file && f->line)
		printf(":%llu", (unsigned long long)f->line);
	if (*f->file && f->line && f->column)
		printf(":%llu", (unsigned long long)f->column);
	if (!*f->file && *f->module)
		printf("  (%s+0x%llx)", f->module, (unsigned long long)f->offset);
	putchar('\n');
}

void crash_print_report(const struct crash_report *r)
{
	char line[CRASH_LINE];

	printf("%s: %s\n", crash_kind_name(r->kind), crash_line(r->type, line));
	printf("signature  %s%s\n", r->signature,
	       r->unsymbolized ? " (by offsets: the report has no names)" : "");
	printf("severity   %s%s\n", crash_severity_name(r->severity),
	       r->security ? ", security-relevant" : "");
	if (*r->address)
		printf("address    %s\n", r->address);
	if (*r->signal)
		printf("signal     %s\n", r->signal);
	for (size_t i = 0; i < r->n_state; i++)
		printf("%s%s\n", i ? "           " : "state      ", r->state[i]);
	if (r->n_frames)
		printf("frames of the application (%zu of %zu)\n", r->n_frames, r->raw_frames);
	for (size_t i = 0; i < r->n_frames; i++)
		print_frame(&r->frames[i]);
}

void crash_print_marked(struct slice text, const struct crash_report *r)
{
	struct crash_mark m = {r, 0};
	struct slice line;

	while (scan_line(&text, &line)) {
		char raw[ESCAPE_MAX], shown[ESCAPE_MAX];
		size_t n = line.n < sizeof(raw) - 1 ? line.n : sizeof(raw) - 1;

		memcpy(raw, line.p, n);
		raw[n] = '\0';
		for (char *nul = raw; (nul = memchr(nul, '\0', (size_t)(raw + n - nul))) != NULL;)
			*nul = '?'; /* a NUL would end the line */
		printf("%c %s\n", crash_mark_line(&m, line) ? '>' : ' ', escape(raw, shown));
	}
}
