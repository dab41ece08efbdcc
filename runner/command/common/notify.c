/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/common/notify.h"

#include "base/clock.h"
#include "base/escape.h"
#include "base/units.h"
#include "runner/command/common/byhand.h"
#include "runner/publish/notifier.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The command is the same as in the target's cell. */
static int notify_command(const struct notify *t, const char *target, struct engine_cmd *ret,
			  struct err *e)
{
	struct plan_entry entry = {0};
	struct byhand b = {.target = &entry, .dir = ".", .binary = "./", .input = "reproducer"};
	int r;

	if (t->targets)
		entry.target = common_target(t->targets, target);
	if (!entry.target)
		return err_set(e, ENOENT, "no such target");
	r = plan_resolve(t->config, entry.target, &entry.cfg, e);
	if (r < 0)
		return r;
	r = byhand_command(&b, ret, e);
	target_config_done(&entry.cfg);
	return r;
}

static void notify_paths(const struct notify *t, char **ret_config, char **ret_state)
{
	struct common_paths paths;

	common_paths_find(t->arg, t->state->path, &paths);
	*ret_config = paths.config;
	*ret_state = paths.state;
}

struct notify common_notify(const struct common *c, const struct state *s)
{
	return (struct notify){.config = c->config,
			       .state = s,
			       .command = notify_command,
			       .paths = notify_paths,
			       .arg = c};
}

static void notify_print(const struct notify_result *got)
{
	char text[NOTIFY_TEXT], shown[ESCAPE_MAX], n[UNITS_OF_MAX];

	if (*got->warning)
		warn("%s", got->warning);
	if (*notify_alarm_text(&got->alarm, clock_real_us() / USEC_PER_SEC, text))
		warn("%s (fuzzcell outbox list)", text);
	else if (got->left)
		printf("%s in the outbox, to be sent later%s%s\n",
		       units_of(got->left, "report waits", "reports wait", n),
		       *got->failed ? ": " : "", escape(got->failed, shown));
	if (got->postponed)
		printf("%s another day (github.new_per_day)\n",
		       units_of(got->postponed, "crash gets its issue", "crashes get their issues",
				n));
}

void common_notify_last(const struct notify *t, struct ledger *l)
{
	struct notify_result got;
	struct err e;

	if (notifier_last(t, l, &got, &e) < 0)
		warn("notifications could not be sent: %s", e.msg);
	else
		notify_print(&got);
}
