/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/sys.h"
#include "runner/command/common/answer.h"
#include "runner/command/crash/crash.h"
#include "runner/crash/report/json.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 65536 };

struct parse_args {
	struct crash_options o;
	bool json;
};

#define AT(member) OPTION_AT(struct parse_args, member)
static const struct option_spec specs[] = {
    {"target", "NAME", "the target of the report", AT(o.target)},
    {"asserts-are-security", NULL, "failed assertions are security-relevant",
     AT(o.asserts_are_security)},
    {"checks-are-security", NULL, "failed CHECKs are security-relevant", AT(o.checks_are_security)},
    {"ignore-ooms-and-hangs", NULL, "out-of-memory and timeouts are no crashes",
     AT(o.ignore_ooms_and_hangs)},
    {"json", NULL, "print JSON", AT(json)},
};

/* Reads the whole report, however long: only the parser's excerpt is kept. */
static int crash_parse_feed(int fd, struct crash_parser *p, struct err *e)
{
	char chunk[CHUNK];
	ssize_t n;

	while ((n = sys_read(fd, chunk, sizeof(chunk))) > 0)
		crash_parser_feed(p, (struct slice){chunk, (size_t)n});
	return n < 0 ? err_sys(e, "read") : 0;
}

static int crash_parse_read_report(const char *path, const struct crash_options *o,
				   struct crash_report *ret, struct err *e)
{
	_autoclose_ int opened = -1;
	struct crash_parser *p;
	int r;

	if (strcmp(path, "-") != 0) {
		/* allow: the user may name a pipe */
		opened = sys_openat(AT_FDCWD, path, O_RDONLY | O_NOCTTY, 0);
		if (opened < 0)
			return err_sys(e, "open '%s'", path);
	}
	p = crash_parser_new(o);
	r = crash_parse_feed(opened < 0 ? STDIN_FILENO : opened, p, e);
	if (r == 0)
		crash_parser_finish(p, ret);
	crash_parser_free(p);
	return r < 0 ? err_wrap(e, "report '%s'", path) : 0;
}

static int crash_parse_print(const struct crash_report *r, bool json)
{
	_autojson_ json_t *j = json ? crash_report_json(r) : NULL;
	int s = EXIT_DONE;

	if (json)
		s = answer_print(j);
	else if (r->found)
		crash_print_report(r);
	else
		printf("no crash found\n");
	return s == EXIT_DONE && !r->found ? CRASH_NOT_THERE : s;
}

int command_crash_parse(int argc, char **argv)
{
	struct parse_args a = {0};
	struct crash_report report = {0};
	struct err e;
	int at = options_parse(argc, argv, "crash parse [OPTION]... FILE", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	int r;

	if (at < 0)
		return -1 - at;
	if (argc - at != 1)
		return fail(EXIT_USAGE, "crash parse: give one file, or - for standard input");
	if (crash_parse_read_report(argv[at], &a.o, &report, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	r = crash_parse_print(&report, a.json);
	crash_report_done(&report);
	return r;
}
