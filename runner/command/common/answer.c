/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/common/answer.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/term.h"
#include "runner/command/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
