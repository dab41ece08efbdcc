/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/report/report.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "runner/command/common/answer.h"
#include "runner/command/crash/crash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct report_args {
	struct session session;
	bool json;
};

static const struct option_spec specs[] = {
    STATE_OPTIONS(struct report_args, session.common),
    {"json", NULL, "print JSON", OPTION_AT(struct report_args, json)},
};

static int report_print(const struct report_args *a, const json_t *model)
{
	_autobuf_ struct buf text = BUF_INIT(64 << 20);
	struct err e;

	if (a->json)
		return answer_print(model);
	if (report_markdown(model, &text, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	fputs(buf_str(&text), stdout);
	return EXIT_DONE;
}

static int report_show(const struct report_args *a, const char *run, const struct ledger *l)
{
	const struct state *s = a->session.state;
	_autojson_ json_t *model = NULL;
	char last[64], shown[ESCAPE_MAX], why[ESCAPE_MAX];
	struct err e;

	if (strcmp(run, "last") == 0) {
		if (report_last_run(s, last, &e) < 0)
			return fail(EXIT_USAGE, "report: %s", e.msg);
		run = last;
	}
	if (report_model(s, l, run, &model, &e) < 0)
		return fail(e.code == ENOENT ? EXIT_USAGE : EXIT_MACHINE, "report '%s': %s",
			    escape(run, shown), escape(e.msg, why));
	return report_print(a, model);
}

int command_report(int argc, char **argv)
{
	struct report_args a = {0};
	struct ledger *l = NULL;
	int at = options_parse(argc, argv, "report RUN [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	int r;

	if (at < 0)
		return -1 - at;
	if (at + 1 != argc)
		return fail(EXIT_USAGE, "report: give a run, or \"last\"");
	r = session_load(&a.session);
	if (r == EXIT_DONE)
		r = session_read(&a.session);
	if (r == EXIT_DONE)
		r = crash_ledger(a.session.state, &l);
	if (r == EXIT_DONE)
		r = report_show(&a, argv[at], l);
	ledger_free(l);
	session_close(&a.session);
	return r;
}
