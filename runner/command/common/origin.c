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

static void origin_add_words(const struct strv *words, struct buf *out)
{
	for (size_t i = 0; i < words->n; i++) {
		buf_puts(out, i ? " " : "");
		shell_quote(words->v[i], out);
	}
}

/* dir: relative to the top; NULL: the top itself, or unknown. */
static void print_build(const struct config_source *s, const char *dir, struct buf *out)
{
	if (dir) {
		buf_puts(out, "(cd ");
		shell_quote(dir, out);
		buf_puts(out, " && ");
	}
	origin_add_words(&s->build, out);
	buf_puts(out, dir ? ")" : "");
}

int origin_of(const struct config_source *s, char **ret_build, char **ret_top, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(COMMAND_MAX);
	_autofree_ char *top = NULL;
	int r;

	*ret_build = *ret_top = NULL;
	if (s->build.n == 0)
		return 0;
	if (s->build_dir && *s->build_dir == '/')
		top = fs_find_above(s->build_dir, ".git");
	print_build(s, top ? origin_below(s->build_dir, top) : NULL, &text);
	r = buf_check(&text, e);
	if (r < 0)
		return r;
	*ret_build = xstrdup(buf_str(&text));
	*ret_top = take_ptr(&top);
	return 0;
}
