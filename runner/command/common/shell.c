/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/common/shell.h"

#include <string.h>

/* Newest first: a newer symbolizer reads the output of an older compiler. The names are
 * Debian's. */
static const char find_symbolizer[] =
    "symbolizer=\n"
    "for name in llvm-symbolizer-22 llvm-symbolizer-21 llvm-symbolizer-20 llvm-symbolizer-19 \\\n"
    "\tllvm-symbolizer-18 llvm-symbolizer-17 llvm-symbolizer-16 llvm-symbolizer-15 \\\n"
    "\tllvm-symbolizer-14 llvm-symbolizer-13 llvm-symbolizer addr2line; do\n"
    "\tsymbolizer=$(command -v \"$name\") && break\n"
    "done || :\n";

static bool shell_is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c && strchr("@%+=:,./_-", c));
}

static const char *variable(char c)
{
	switch (c) {
	case 's':
		return "symbolizer";
	case 'h':
		return "here";
	case 'i':
		return "input";
	default:
		return NULL;
	}
}

/* The quote, our marks and terminal control characters cannot stand in '...'. A newline can. */
static bool is_literal(char c)
{
	return c == '\n' || c == '\t' || ((unsigned char)c >= 0x20 && c != 0x7f && c != '\'');
}

/* Quotes the first character or mark of s. Returns its length. */
static size_t quote_odd(const char *s, struct buf *out, int *r, struct err *e)
{
	size_t n = 1;

	if (*s == '\'') {
		*r = buf_add(out, SLICE("\\'"), e);
	} else if (*s == '\001' && variable(s[1])) {
		*r = buf_addf(out, e, "\"$%s\"", variable(s[1]));
		n = 2;
	} else {
		if (*s == '\001' && s[1] == '\001')
			n = 2;
		*r = buf_addf(out, e, "\"$(printf '\\%03o')\"", (unsigned char)*s);
	}
	return n;
}

int shell_quote(const char *text, struct buf *out, struct err *e)
{
	int r = *text ? 0 : buf_add(out, SLICE("''"), e);

	while (r == 0 && *text) {
		size_t n = 0, plain = 0;

		while (text[plain] && shell_is_plain(text[plain]))
			plain++;
		while (text[n] && is_literal(text[n]))
			n++;
		if (n == 0)
			n = quote_odd(text, out, &r, e);
		else if (n == plain)
			r = buf_add(out, (struct slice){text, n}, e);
		else
			r = buf_addf(out, e, "'%.*s'", (int)n, text);
		text += n;
	}
	return r;
}

static int words(const struct strv *v, const char *indent, struct buf *out, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < v->n; i++) {
		r = buf_add(out, slice_of(indent), e);
		if (r == 0)
			r = shell_quote(v->v[i], out, e);
	}
	return r;
}

static bool has_mark(const struct strv *v, const char *mark)
{
	for (size_t i = 0; i < v->n; i++)
		if (strstr(v->v[i], mark))
			return true;
	return false;
}

/* env(1) takes a word with '=' for an assignment; nice(1) takes only a command. The path of nice is
 * looked up in the user's PATH because the command has another one. */
static int program(const char *path, struct buf *out, struct err *e)
{
	bool shield = strchr(path, '=') || strchr(path, '\001');
	int r = buf_add(out, SLICE(" \\\n\t"), e);

	if (r == 0 && shield)
		r = buf_add(out, SLICE("\"$(command -v nice)\" -n 0 "), e);
	return r == 0 ? shell_quote(path, out, e) : r;
}

static int command(const struct engine_cmd *c, struct buf *out, struct err *e)
{
	int r = buf_add(out, SLICE("exec env -i"), e);

	if (r == 0)
		r = words(&c->env, " \\\n\t", out, e);
	if (r == 0 && c->argv.n > 0)
		r = program(c->argv.v[0], out, e);
	if (r == 0 && c->argv.n > 1)
		r = words(&(struct strv){c->argv.v + 1, c->argv.n - 1}, " ", out, e);
	return r;
}

int shell_print(const struct shell_command *c, struct buf *out, struct err *e)
{
	int r = buf_add(out, SLICE("(cd "), e);

	if (r == 0)
		r = shell_quote(*c->dir ? c->dir : "/", out, e);
	/* No core files, as in a cell: the address space of a process can be terabytes. */
	if (r == 0)
		r = buf_add(out, SLICE(" || exit\nulimit -c 0\n"), e);
	if (r == 0 && c->stack_kib)
		r = buf_addf(out, e, "ulimit -S -s %llu 2>/dev/null || :\n",
			     (unsigned long long)c->stack_kib);
	if (r == 0 && has_mark(&c->cmd->env, SHELL_SYMBOLIZER))
		r = buf_add(out, slice_of(find_symbolizer), e);
	if (r == 0)
		r = command(c->cmd, out, e);
	return r < 0 ? r : buf_add(out, SLICE(")\n"), e);
}
