/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/config/relocate.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 1 << 20 };

/* What is left of text behind the directory: "" or "/..."; NULL: it is no path at or below dir. */
static const char *behind(const char *text, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(text, dir, n) == 0 && (text[n] == '\0' || text[n] == '/') ? text + n : NULL;
}

static char *moved_path(const char *path, const char *from, const char *to)
{
	const char *rest = path ? behind(path, from) : NULL;

	if (rest)
		return xasprintf("%s%s", to, rest);
	return path ? xstrdup(path) : NULL;
}

/* Whether a path may end here: "-I/src:/usr" names "/src", but "/src2" does not. */
static bool path_ends(char c)
{
	return strchr("/:;,'\"= \t\n)", c) != NULL; /* also at the end of the text */
}

static void add_word(struct strv *io, const char *word, const char *from, const char *to)
{
	_autobuf_ struct buf b = BUF_INIT(WORD_MAX);
	size_t n = strlen(from);

	for (const char *p = word; *p;) {
		bool begins = p == word || path_ends(p[-1]) || p[-1] == 'I' || p[-1] == 'L';

		if (begins && strncmp(p, from, n) == 0 && path_ends(p[n])) {
			buf_puts(&b, to);
			p += n;
		} else {
			buf_put(&b, (struct slice){p++, 1});
		}
	}
	strv_push(io, buf_str(&b));
}

static struct strv moved_words(const struct strv *v, const char *from, const char *to)
{
	struct strv ret = {0};

	for (size_t i = 0; i < v->n; i++)
		add_word(&ret, v->v[i], from, to);
	return ret;
}

static int check_outside(const struct config_source *s, const char *from, struct err *e)
{
	const char *in = s->build.n > 0 ? s->build_dir : s->path;
	const char *out = s->builds_dir ? s->builds_dir : s->path;

	if (s->build.n == 0 && strcmp(s->type, "bazel") != 0)
		return err_set(e, EINVAL,
			       "the source '%.200s' has no \"build\": fuzzcell cannot build its "
			       "other commits",
			       s->path);
	if (!in || !behind(in, from))
		return err_set(e, EINVAL, "the build runs in '%.200s', outside of '%.200s'",
			       in ? in : "", from);
	if (!behind(out, from))
		return err_set(e, EINVAL,
			       "the build fills '%.200s', outside of the repository '%.200s': a "
			       "build of another commit would replace the targets there",
			       out, from);
	return 0;
}

int config_source_relocate(const struct config_source *s, const char *from, const char *to,
			   struct config_source *ret, struct err *e)
{
	int r = check_outside(s, from, e);

	if (r < 0)
		return r;
	*ret = *s;
	ret->path = moved_path(s->path, from, to);
	ret->builds_dir = moved_path(s->builds_dir, from, to);
	ret->project_dir = moved_path(s->project_dir, from, to);
	ret->build_dir = moved_path(s->build_dir, from, to);
	ret->build = moved_words(&s->build, from, to);
	ret->build_writable = moved_words(&s->build_writable, from, to);
	ret->bazel = moved_path(s->bazel, from, to);
	ret->bazel_startup = moved_words(&s->bazel_startup, from, to);
	ret->bazel_flags = moved_words(&s->bazel_flags, from, to);
	return 0;
}

void config_source_relocated_done(struct config_source *s)
{
	free(s->path);
	free(s->builds_dir);
	free(s->project_dir);
	free(s->build_dir);
	free(s->bazel);
	strv_done(&s->build);
	strv_done(&s->build_writable);
	strv_done(&s->bazel_startup);
	strv_done(&s->bazel_flags);
	*s = (struct config_source){0};
}

/* --- how it builds ------------------------------------------------------------ */

static void add_text(struct buf *b, const char *text)
{
	buf_puts(b, text ? text : "");
	buf_put(b, (struct slice){"", 1});
}

static void add_path(struct buf *b, const char *path, const char *from)
{
	const char *rest = path ? behind(path, from) : NULL;

	add_text(b, rest ? rest : path);
}

static void add_words(struct buf *b, const struct strv *v, const char *from)
{
	struct strv words = moved_words(v, from, "");

	for (size_t i = 0; i < words.n; i++)
		add_text(b, words.v[i]);
	add_text(b, NULL);
	strv_done(&words);
}

void config_source_how(const struct config_source *s, const char *from, char ret[CONFIG_SOURCE_HOW])
{
	_autobuf_ struct buf b = BUF_INIT(WORD_MAX);
	char hex[DIGEST_SHA1_HEX];

	add_text(&b, s->type);
	add_text(&b, s->variant);
	add_path(&b, s->path, from);
	add_path(&b, s->builds_dir, from);
	add_path(&b, s->project_dir, from);
	add_path(&b, s->build_dir, from);
	add_words(&b, &s->build, from);
	add_path(&b, s->bazel, from);
	add_text(&b, s->query);
	add_words(&b, &s->bazel_startup, from);
	add_words(&b, &s->bazel_flags, from);
	digest_sha1_hex(buf_slice(&b), hex);
	snprintf(ret, CONFIG_SOURCE_HOW, "%.16s", hex);
}
