/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a crash's issue, before it is filed. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/notify.h"
#include "runner/command/crash/crash.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 128 << 10 }; /* more than an issue can have */

struct issue_args {
	struct session session;
	bool json;
	struct ledger *ledger;
};

static const struct option_spec specs[] = {
    STATE_OPTIONS(struct issue_args, session.common),
    TARGETS_OPTION(struct issue_args, session.common),
    {"json", NULL, "print JSON", OPTION_AT(struct issue_args, json)},
};

static int crash_issue_print_json(const struct known_crash *c, const struct buf *title,
				  const struct buf *body)
{
	_autojson_ json_t *j = json_pack("{s:o, s:s, s:s, s:o}", "crash", answer_text(c->signature),
					 "title", buf_str(title), "body", buf_str(body), "issue",
					 *c->issue_url ? answer_text(c->issue_url) : json_null());

	return answer_print(j);
}

/* Returns why no issue is filed; NULL: it is filed if a repository is configured. */
static const char *crash_issue_why_not(const struct issue_args *a, const struct known_crash *c)
{
	if (c->security && config_github(a->session.common.config)->security == SECURITY_SKIP)
		return "\"github.security\" is \"skip\"";
	return ledger_state_open(c->state) ? NULL : ledger_state_name(c->state);
}

static int print_issue(const struct issue_args *a, const struct known_crash *c)
{
	struct notify t = common_notify(&a->session.common, a->session.state);
	_autobuf_ struct buf title = BUF_INIT(TEXT_MAX), body = BUF_INIT(TEXT_MAX);
	struct err e;

	t.targets = &a->session.common.targets;
	if (notify_preview(&t, c, &title, &body, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	if (crash_issue_why_not(a, c))
		fprintf(stderr, "no issue would be filed now: %s\n", crash_issue_why_not(a, c));
	if (a->json)
		return crash_issue_print_json(c, &title, &body);
	printf("%s\n\n%s", buf_str(&title), buf_str(&body));
	return EXIT_DONE;
}

static int issue(struct issue_args *a, const char *name)
{
	const struct known_crash *c = NULL;
	int r = session_load(&a->session);

	if (r == EXIT_DONE)
		r = session_read(&a->session);
	if (r == EXIT_DONE)
		r = crash_ledger(a->session.state, &a->ledger);
	if (r == EXIT_DONE)
		r = crash_find(a->ledger, name, &c);
	if (r == EXIT_DONE)
		r = session_recall(&a->session);
	if (r == EXIT_DONE)
		r = common_find_targets(&a->session.common);
	/* The issue of a merged crash is that of the other crash. */
	if (r == EXIT_DONE)
		r = print_issue(a, ledger_find(a->ledger, c->signature));
	return r;
}

int command_crash_issue(int argc, char **argv)
{
	struct issue_args a = {0};
	int at = options_parse(argc, argv, "crash issue [OPTION]... CRASH", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	int r;

	if (at < 0)
		return -1 - at;
	if (argc - at != 1)
		return fail(EXIT_USAGE, "crash issue: give one crash (fuzzcell crash list)");
	r = issue(&a, argv[at]);
	ledger_free(a.ledger);
	session_close(&a.session);
	return r;
}
