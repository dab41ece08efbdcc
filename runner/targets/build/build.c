/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/build/internal.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "runner/targets/build_user.h"

#include <stdarg.h>
#include <stdio.h>

void build_result_done(struct build_result *r)
{
	strv_done(&r->built);
	discover_built_done(&r->failed);
}

bool build_wanted(const struct config_source *s)
{
	return s->build.n > 0 || strcmp(s->type, "bazel") == 0;
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
	owner_done(&o);
	return 0;
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
	r = strcmp(s->type, "bazel") == 0 ? build_bazel(s, group, log_fd, ret, e)
					  : build_command(s, group, log_fd, ret, e);
	if (r < 0)
		build_result_done(ret);
	return r < 0 ? err_wrap(e, "build of %s", s->path) : 0;
}
