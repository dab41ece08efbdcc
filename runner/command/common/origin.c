/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/common/origin.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "runner/command/common/shell.h"

#include <string.h>

enum { COMMAND_MAX = 1 << 16 };

/* Returns the path relative to top: "a/b" for "/src/a/b" and "/src". NULL: path is not below
 * top. */
static const char *origin_below(const char *path, const char *top)
{
	size_t n = strlen(top);

	return strncmp(path, top, n) == 0 && path[n] == '/' && path[n + 1] ? path + n + 1 : NULL;
}

static int origin_add_words(const struct strv *words, struct buf *out, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < words->n; i++) {
		r = i ? buf_addf(out, e, " ") : 0;
		if (r == 0)
			r = shell_quote(words->v[i], out, e);
	}
	return r;
}

/* dir: relative to the top; NULL: the top itself, or unknown. */
static int print_build(const struct config_source *s, const char *dir, struct buf *out,
		       struct err *e)
{
	int r = dir ? buf_addf(out, e, "(cd ") : 0;

	if (r == 0 && dir)
		r = shell_quote(dir, out, e);
	if (r == 0 && dir)
		r = buf_addf(out, e, " && ");
	if (r == 0)
		r = origin_add_words(&s->build, out, e);
	return r == 0 && dir ? buf_addf(out, e, ")") : r;
}

int origin_of(const struct config_source *s, char **ret_build, char **ret_top, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(COMMAND_MAX);
	_autofree_ char *top = NULL;
	int r = 0;

	*ret_build = *ret_top = NULL;
	if (s->build.n == 0)
		return 0;
	if (s->build_dir && *s->build_dir == '/')
		r = fs_find_above(s->build_dir, ".git", &top, e);
	if (r == 0)
		r = print_build(s, top ? origin_below(s->build_dir, top) : NULL, &text, e);
	if (r < 0)
		return r;
	*ret_build = xstrdup(buf_str(&text));
	if (!*ret_build)
		return err_sys(e, "say how '%s' is built", s->path);
	*ret_top = take_ptr(&top);
	return 0;
}
