/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the facts of the service. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sys.h"
#include "runner/publish/outbox/outbox.h"
#include "runner/state/history.h"
#include "runner/status/survey/survey.h"
#include "runner/trigger/record.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

static void count_entry(const struct outbox_entry *t, struct survey *ret)
{
	struct health_service *v = &ret->service;

	v->outbox.waiting++;
	v->outbox.refused += t->refused;
	if (v->outbox.oldest && t->created >= v->outbox.oldest)
		return;
	v->outbox.oldest = t->created;
	snprintf(ret->place, sizeof(ret->place), "%s", t->place);
	snprintf(ret->why, sizeof(ret->why), "%s", t->why);
}

static void read_outbox(const struct state *s, const struct survey_opts *o, struct survey *ret)
{
	struct outbox *box = NULL;
	struct err e;

	if (outbox_read(s->dirfd, &box, &e) < 0)
		return;
	for (size_t i = 0; i < outbox_count(box); i++)
		if (!o->told || o->told(o->arg, outbox_at(box, i)->place))
			count_entry(outbox_at(box, i), ret);
	outbox_close(box);
	ret->service.outbox.late_s = o->late_s;
	ret->service.outbox.place = ret->service.outbox.waiting ? ret->place : NULL;
	ret->service.outbox.why = ret->why;
}

static void read_disk(const struct state *s, const struct survey_opts *o, struct survey *ret)
{
	struct statvfs v;

	if (!o->disk_reserve || fstatvfs(s->dirfd, &v) < 0)
		return;
	ret->service.disk.known = true;
	ret->service.disk.free = (uint64_t)v.f_bavail * v.f_frsize;
	ret->service.disk.reserve = o->disk_reserve;
}

static int read_moment(const struct survey_opts *o, struct moment *ret, struct err *e)
{
	if (!o->boot)
		return moment_read(ret, e);
	*ret = *o->boot;
	return moment_renew(ret, e);
}

static void read_trigger(const struct state *s, const struct survey_opts *o, struct survey *ret)
{
	struct trigger_record r = {0};
	char said[RECORD_WHY];
	struct moment now;
	struct err e;

	if (read_moment(o, &now, &e) < 0 || record_load(s->dirfd, true, &now, &r, said, &e) < 0)
		return;
	ret->service.trigger.fetch_failures = r.fetch_failures;
	ret->service.trigger.fetch_since =
	    o->now - since_age(&r.fetch_failing, &now) / USEC_PER_SEC;
	ret->service.trigger.run_failures = r.failures;
	snprintf(ret->trigger_why, sizeof(ret->trigger_why), "%s",
		 r.fetch_failures ? r.fetch_error : r.why);
	ret->service.trigger.why = ret->trigger_why;
}

/* Keeps the worst problem, and the first among equals. */
static void unreadable(struct survey *ret, enum health_severity is, const char *why)
{
	if (is <= ret->service.unreadable.is)
		return;
	ret->service.unreadable.is = is;
	ret->service.unreadable.why = ret->unreadable;
	snprintf(ret->unreadable, sizeof(ret->unreadable), "%.*s", (int)sizeof(ret->unreadable) - 1,
		 why);
}

/* An unreadable ledger is an error, because crashes cannot be handled.  A damaged one is
 * recreated, so it is a warning. */
static void read_ledger(const struct state *s, const struct survey_opts *o, struct survey *ret)
{
	struct ledger *own = NULL;
	struct err e;

	if (!o->ledger && ledger_load(s->dirfd, &own, &e) < 0)
		unreadable(ret, HEALTH_ERROR, e.msg);
	else if (*ledger_warning(o->ledger ? o->ledger : own))
		unreadable(ret, HEALTH_WARNING, ledger_warning(o->ledger ? o->ledger : own));
	ledger_free(own);
}

static void read_runs(const struct state *s, struct survey *ret)
{
	_autojson_ json_t *lines = NULL;
	uint64_t damaged;
	struct err e;

	if (history_last(s, "run_history.jsonl", 1, &lines, &damaged, &e) < 0)
		unreadable(ret, HEALTH_WARNING, e.msg);
	else if (damaged > 0 && json_array_size(lines) == 0)
		unreadable(ret, HEALTH_WARNING,
			   "stats/run_history.jsonl: none of its lines can be read");
}

static void note_damaged(struct survey *ret, const char *where, const char *name)
{
	if (ret->service.damaged_n++ == 0)
		snprintf(ret->damaged, sizeof(ret->damaged), "%s%.200s", where, name);
}

/* Counts files with mark in their names; "": all files. */
static void count_damaged(const struct state *s, const char *path, const char *where,
			  const char *mark, struct survey *ret)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(s->dirfd, path);
	const struct dirent *ent;

	while (d && (ent = sys_readdir(d)))
		if (ent->d_name[0] != '.' && strstr(ent->d_name, mark))
			note_damaged(ret, where, ent->d_name);
}

void survey_service(const struct state *s, const struct survey_opts *o, struct survey *ret)
{
	ret->service = (struct health_service){.now = o->now};
	read_outbox(s, o, ret);
	read_disk(s, o, ret);
	if (survey_lost_run(s, ret->lost, &ret->service.lost_left))
		ret->service.lost_run = ret->lost;
	read_trigger(s, o, ret);
	read_ledger(s, o, ret);
	read_runs(s, ret);
	count_damaged(s, ".", "", ".damaged", ret);
	count_damaged(s, "damaged", "damaged/", "", ret);
	count_damaged(s, "outbox/damaged", "outbox/damaged/", "", ret);
	ret->service.damaged = ret->service.damaged_n ? ret->damaged : NULL;
}
