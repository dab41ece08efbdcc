/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/common/answer.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/scan.h"
#include "base/term.h"
#include "base/utf8.h"
#include "runner/command/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- messages ------------------------------------------------------------- */

/* To the user, or to the log if there is one. */

enum { MESSAGE_MAX = 8192 }; /* longer messages are truncated */

/* Prints one line, whatever text contains. */
static void print_message(FILE *to, const char *before, const char *text)
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
	char text[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (log_console == LOG_CONSOLE_OFF)
		print_message(stderr, "fuzzcell: ", text);
	else
		LOG(code == EXIT_DONE ? LOG_WARN : LOG_ERROR, "failed", f_str("text", text),
		    f_int("status", code));
	return code;
}

void warn(const char *fmt, ...)
{
	char text[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (log_console == LOG_CONSOLE_OFF)
		print_message(stdout, "warning: ", text);
	else
		LOG(LOG_WARN, "warning", f_str("text", text));
}

/* --- the JSON answer ------------------------------------------------------ */

int answer_begin(bool json)
{
	int saved;

	if (!json)
		return -1;
	fflush(stdout);
	saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (saved >= 0)
		(void)dup2(STDERR_FILENO, STDOUT_FILENO);
	return saved;
}

static int answer_print_all(const json_t *j, int status)
{
	int r = answer_print(j), lost = r == EXIT_DONE ? term_lost() : 0;

	if (r == EXIT_DONE && lost != 0 && lost != EPIPE)
		r = fail(EXIT_INTERNAL, "standard output: %s", strerror(lost));
	return r == EXIT_DONE ? status : r;
}

int answer_end(int begun, json_t *take, int status)
{
	_autojson_ json_t *j = take;

	fflush(stdout);
	if (begun < 0)
		return status;
	(void)dup2(begun, STDOUT_FILENO);
	close(begun);
	return j ? answer_print_all(j, status) : status;
}

static int answer_print_indented(const json_t *j, unsigned indent)
{
	_autofree_ char *text = NULL;
	struct err e;

	if (json_print(j, indent, &text, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	puts(text);
	return EXIT_DONE;
}

int answer_print(const json_t *j)
{
	return answer_print_indented(j, 2);
}

int answer_print_line(const json_t *j)
{
	return answer_print_indented(j, 0);
}

json_t *answer_text(const char *s)
{
	char shown[ESCAPE_MAX];
	json_t *j = json_string(s);

	return j ? j : json_string(escape(s, shown));
}

/* --- numbers of a table --------------------------------------------------- */

static bool known(const json_t *o, const char *key, char out[UNITS_MAX])
{
	snprintf(out, UNITS_MAX, "-");
	return json_is_number(json_object_get(o, key));
}

const char *known_time(const json_t *o, const char *key, char out[UNITS_MAX])
{
	return known(o, key, out) ? units_time(json_get_us(o, key), out) : out;
}

const char *known_count(const json_t *o, const char *key, char out[UNITS_MAX])
{
	return known(o, key, out) ? units_count(json_get_u64(o, key), out) : out;
}

const char *known_exact(const json_t *o, const char *key, char out[UNITS_MAX])
{
	if (known(o, key, out))
		snprintf(out, UNITS_MAX, "%llu", (unsigned long long)json_get_u64(o, key));
	return out;
}
