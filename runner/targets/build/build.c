/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/build/build.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/config/project.h"
#include "runner/targets/build/internal.h"
#include "runner/targets/build_user.h"
#include "runner/targets/names.h"
#include "runner/targets/variants.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void build_result_done(struct build_result *r)
{
	strv_done(&r->built);
	discover_built_done(&r->failed);
}

bool build_wanted(const struct config_source *s)
{
	return s->build.n > 0 || strcmp(s->type, "bazel") == 0;
}

bool build_is_again(const struct config_source *s)
{
	return s->variants.n > 0 && !s->is_main;
}

const char *build_output(const struct config_source *s)
{
	if (s->builds_dir)
		return s->builds_dir;
	return strcmp(s->type, "directory") == 0 ? s->path : NULL;
}

int build_check_script(const struct config_source *s, const struct owner *o, struct err *e)
{
	_autofree_ char *script = NULL;
	struct rights r;
	int rc;

	if (!s->project_dir)
		return 0;
	script = xasprintf("%s/" PROJECT_SCRIPT, s->project_dir);
	rc = rights_of(script, &r, e);
	if (rc < 0 || !r.other || (!r.mixed && o->other && o->uid == r.uid))
		return rc;
	return err_set(
	    e, EPERM,
	    "'%s' is under the control of another user (%u) than the build's (%u): give its "
	    "directory to the build's user or to root (chown -R)",
	    script, (unsigned)r.uid, o->other ? (unsigned)o->uid : (unsigned)geteuid());
}

int build_check(const struct config_source *s, bool *ret_root, struct err *e)
{
	_autoclose_ int fd = -1;
	struct owner o;
	int r =
	    build_user_open(s->build.n > 0 ? s->build_dir : s->path, s->build_as_root, &o, &fd, e);

	if (r < 0)
		return r;
	*ret_root = o.root;
	r = build_check_script(s, &o, e);
	owner_done(&o);
	return r;
}

void build_fail(struct build_result *r, const char *fmt, ...)
{
	char why[ESCAPE_ASCII_MAX], shown[ESCAPE_ASCII_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	snprintf(r->why, sizeof(r->why), "%.*s", BUILD_WHY_MAX - 1,
		 escape_ascii(slice_of(why), shown));
	r->ok = false;
}

int build_source(const struct config_source *s, const struct tool_group *group, int log_fd,
		 struct build_result *ret, struct err *e)
{
	int r;

	*ret = (struct build_result){.ok = true};
	if (s->broken) {
		build_fail(ret, "%s", s->broken);
		ret->failed.fresh_us = clock_real_us();
		return 0;
	}
	r = strcmp(s->type, "bazel") == 0 ? build_bazel(s, group, log_fd, ret, e)
					  : build_command(s, group, log_fd, ret, e);
	if (r < 0)
		build_result_done(ret);
	return r < 0 ? err_wrap(e, "build of %s", s->path) : 0;
}

/* --- targets that a failed build command did not make -------------------------- */

static bool is_of_directory(const struct config_source *s)
{
	return s->build.n > 0 && strcmp(s->type, "directory") == 0;
}

static bool build_has(const struct strv *v, const char *name)
{
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->v[i], name) == 0)
			return true;
	return false;
}

void build_known(const struct config_source *s, const struct discover_built *was, struct strv *ret)
{
	CLEANUP(target_list_done) struct target_list l = {0};
	const struct discover_source d = {
	    .type = s->type, .path = s->path, .variant = s->variant, .role = ROLE_MAIN};
	struct err ignored;

	if (!is_of_directory(s))
		return;
	if (discover_add(&d, &l, &ignored) < 0)
		target_list_done(&l); /* no directory yet, or not a valid source: no targets */
	for (size_t i = 0; i < l.n; i++)
		if (!l.v[i].of)
			strv_push(ret, l.v[i].name);
	for (size_t i = 0; i < was->labels.n && ret->n < DISCOVER_MAX_TARGETS; i++)
		if (!build_has(ret, was->labels.v[i]))
			strv_push(ret, was->labels.v[i]);
}

/* Whether a program of this target is in the directory. */
static bool build_has_program(int dirfd, const char *name)
{
	/* The suffixes that names_program() removes. */
	static const char *const endings[] = {"", ".exe", ".par"};
	char file[NAMES_TARGET_MAX + 8];
	struct stat st;

	/* "<program>.<test>", where both may have dots */
	for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
		snprintf(file, sizeof(file), "%.*s.test", (int)(dot - name), name);
		if (fstatat(dirfd, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
		snprintf(file, sizeof(file), "%.*s", (int)(dot - name), name);
		if (fstatat(dirfd, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			return true;
	}
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		snprintf(file, sizeof(file), "%s%s", name, endings[i]);
		if (fstatat(dirfd, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	}
	return false;
}

void build_missing(const struct config_source *s, const struct strv *known, struct build_result *io)
{
	_autofree_ char *main = NULL;
	_autoclose_ int dir = -1;

	if (io->ok || !is_of_directory(s))
		return;
	main = s->variant ? NULL : variants_main_dir(s->path);
	dir = sys_openat(AT_FDCWD, main ? main : s->path, O_PATH | O_DIRECTORY, 0);
	for (size_t i = 0; i < known->n; i++) {
		if (!names_target_ok(slice_of(known->v[i])) ||
		    (dir >= 0 && build_has_program(dir, known->v[i])))
			continue;
		strv_push(&io->failed.labels, known->v[i]);
		strv_push(&io->failed.whys, "the build failed and did not make it");
	}
}
