/* SPDX-License-Identifier: Apache-2.0 */
/* Did the last run complete? */
#include "base/cleanup.h"
#include "base/sys.h"
#include "runner/state/history.h"
#include "runner/state/lock.h"
#include "runner/status/survey/survey.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool survey_run_is_run(const char *name)
{
	size_t n = strspn(name, "0123456789-");

	return n > 0 && n < SURVEY_RUN_MAX && !name[n];
}

/* The newest run with a working directory: it lives, or was killed and left the directory. */
static void newest_at_work(const struct state *s, char ret[SURVEY_RUN_MAX])
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(s->dirfd, "work");
	const struct dirent *ent;

	while (d && (ent = sys_readdir(d)))
		if (survey_run_is_run(ent->d_name) && strcmp(ent->d_name, ret) > 0)
			snprintf(ret, SURVEY_RUN_MAX, "%.31s", ent->d_name);
}

static bool survey_run_ended(const struct state *s, const char *run)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "logs/%s/summary.json", run);
	return fstatat(s->dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool survey_run_is_lost(const struct state *s, const json_t *line, char ret[SURVEY_RUN_MAX])
{
	const char *run = json_string_value(json_object_get(line, "run"));
	const char *status = json_string_value(json_object_get(line, "status"));

	if (!run || !survey_run_is_run(run) || !status || strcmp(status, "lost") != 0 ||
	    survey_run_ended(s, run))
		return false;
	snprintf(ret, SURVEY_RUN_MAX, "%s", run);
	return true;
}

/* A saved run has a line in the history.  True if the n newest lines are of lost runs. */
static bool find_saved(const struct state *s, size_t n, char ret[SURVEY_RUN_MAX])
{
	_autojson_ json_t *lines = NULL;
	uint64_t damaged;
	struct err e;

	if (history_last(s, "run_history.jsonl", n, &lines, &damaged, &e) < 0 ||
	    json_array_size(lines) < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!survey_run_is_lost(s, json_array_get(lines, i), ret))
			return false;
	return true;
}

bool survey_run_lives(const struct state *s, const char *run)
{
	char newest[SURVEY_RUN_MAX] = "";
	bool held;
	pid_t pid;
	struct err e;

	newest_at_work(s, newest);
	return *newest && strcmp(newest, run) == 0 &&
	       lock_run_holder(s->dirfd, &held, &pid, &e) == 0 && held;
}

bool survey_lost_run(const struct state *s, char ret[SURVEY_RUN_MAX], bool *ret_left)
{
	bool held;
	pid_t pid;
	struct err e;

	/* The order matters: a run that lived at the first check and ended before the last has a
	 * summary. */
	ret[0] = '\0';
	newest_at_work(s, ret);
	*ret_left = *ret && lock_run_holder(s->dirfd, &held, &pid, &e) == 0 && !held &&
		    !survey_run_ended(s, ret);
	if (*ret_left)
		return true;
	/* A living run may still complete, so the run before it decides, too. */
	if (lock_run_holder(s->dirfd, &held, &pid, &e) < 0)
		held = false;
	return find_saved(s, held ? 2 : 1, ret);
}
