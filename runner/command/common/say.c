/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of a command: to the user, or to the log if there is one. */
#include "base/log.h"
#include "base/scan.h"
#include "base/utf8.h"
#include "runner/command/command.h"

#include <stdarg.h>
#include <stdio.h>

enum { SAY_MAX = 8192 }; /* longer messages are truncated */

/* Prints one line, whatever text contains. */
static void say_print(FILE *to, const char *before, const char *text)
{
	struct slice s = slice_of(text);

	fputs(before, to);
	while (s.n > 0) {
		char shown[UTF8_SHOWN_MAX];
		size_t n = utf8_shown(s, shown);

		fputs(shown, to);
		s = (struct slice){s.p + n, s.n - n};
	}
	fputc('\n', to);
	fflush(to);
}

int fail(int code, const char *fmt, ...)
{
	char text[SAY_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (log_console == LOG_CONSOLE_OFF)
		say_print(stderr, "fuzzcell: ", text);
	else
		LOG(code == EXIT_DONE ? LOG_WARN : LOG_ERROR, "failed", f_str("text", text),
		    f_int("status", code));
	return code;
}

void warn(const char *fmt, ...)
{
	char text[SAY_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (log_console == LOG_CONSOLE_OFF)
		say_print(stdout, "warning: ", text);
	else
		LOG(LOG_WARN, "warning", f_str("text", text));
}
