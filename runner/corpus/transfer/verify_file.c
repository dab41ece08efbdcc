/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/sys.h"
#include "runner/corpus/measure/shard.h"
#include "runner/corpus/transfer/internal.h"
#include "runner/corpus/workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { READABLE = 0444, NOT_WANTED = 07022 }; /* set-user-ID and the like; writable for others */

/* The digits that its name ends with: "<sha1>", "<kind>-<sha1>"; NULL: none. */
static const char *digits_of(const char *name, unsigned rule)
{
	size_t n = strlen(name), hex = STORE_NAME - 1;

	if (!(rule & RULE_ARTIFACT))
		return candidates_name_ok(name) ? name : NULL;
	if (n < hex + 2 || name[n - hex - 1] != '-' || !candidates_name_ok(name + n - hex))
		return NULL;
	return name + n - hex;
}

/* ".<name>.new": an incomplete file of ours. */
static bool verify_file_is_rest(const char *name)
{
	size_t n = strlen(name);

	return name[0] == '.' && n > 5 && strcmp(name + n - 4, ".new") == 0;
}

static bool is_twin(const struct stat *st, const char *name, int twin)
{
	struct stat other;

	return twin >= 0 && fstatat(twin, name, &other, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st->st_ino == other.st_ino && st->st_dev == other.st_dev;
}

static bool bad_mode(const struct stat *st, unsigned rule)
{
	return (rule & RULE_READABLE) &&
	       ((st->st_mode & READABLE) != READABLE || (st->st_mode & NOT_WANTED));
}

static void check_content(struct verifying *w, struct verify_at at, unsigned rule,
			  const struct stat *st, const char *hex)
{
	const char *digits = digits_of(at.name, rule);
	char what[STORE_NAME + 48];

	if (digits && strcmp(digits, hex) == 0) {
		if (bad_mode(st, rule))
			verify_set_mode(w, at,
					"not readable for all users, or writable for others");
		return;
	}
	snprintf(what, sizeof(what), "%s%s",
		 digits			? "damaged: its content is "
		 : rule & RULE_ARTIFACT ? "its name should end with "
					: "its name should be ",
		 hex);
	if (digits || (rule & RULE_ARTIFACT))
		verify_set_aside(w, at, what);
	else
		verify_rename(w, at, hex, what);
}

static int verify_file_look_into(struct verifying *w, struct verify_at at, unsigned rule,
				 struct err *e)
{
	_autoclose_ int fd =
	    sys_openat(at.dir, at.name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
	char hex[STORE_NAME];
	struct stat st;
	struct err why;

	if (fd < 0 && errno == ENOENT)
		return 0; /* this repair has just renamed it */
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return err_sys(e, "open '%s'", at.path);
	if (fd < 0 || fstat(fd, &st) < 0) {
		(void)err_sys(&why, "open it");
		verify_left(w, at.path, "cannot be read", why.msg);
	} else if (digest_sha1_file(fd, WORKDIR_INPUT_MAX, hex, &why) < 0) {
		verify_left(w, at.path, "cannot be read", why.msg);
	} else {
		check_content(w, at, rule, &st, hex);
	}
	return 0;
}

/* The output of the cell that found an artifact is kept beside it.  After a kill it may be without
 * its artifact; the next triage removes it (run/triage/kept.h). */
static bool is_report(const char *name, unsigned rule, const struct stat *st)
{
	return (rule & RULE_ARTIFACT) && S_ISREG(st->st_mode) && strncmp(name, ".report-", 8) == 0;
}

int verify_file(struct verifying *w, struct verify_at at, unsigned rule, int twin, struct err *e)
{
	struct stat st;

	if (fstatat(at.dir, at.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "stat '%s'", at.path);
	if (is_report(at.name, rule, &st))
		return 0;
	if (verify_file_is_rest(at.name))
		verify_set_aside(w, at, "the rest of a write that was cut");
	else if (at.name[0] == '.')
		verify_set_aside(w, at, "hidden, so it is no input");
	else if (!S_ISREG(st.st_mode))
		verify_set_aside(w, at, "not a regular file");
	else if (st.st_size == 0 && !(rule & RULE_ARTIFACT)) /* an empty input is a possible
							      * artifact */
		verify_set_aside(w, at, "empty");
	else if ((uint64_t)st.st_size > WORKDIR_INPUT_MAX)
		verify_set_aside(w, at, "larger than any input");
	else if (!is_twin(&st, at.name, twin)) {
		w->sum->files++;
		if (w->v->looked)
			w->v->looked(w->v->arg, w->sum->files);
		return verify_file_look_into(w, at, rule, e);
	}
	return 0;
}
