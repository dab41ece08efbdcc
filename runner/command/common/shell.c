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
	case 'w':
		return "scratch";
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
static size_t quote_odd(const char *s, struct buf *out)
{
	if (*s == '\'') {
		buf_puts(out, "\\'");
		return 1;
	}
	if (*s == '\001' && variable(s[1])) {
		buf_printf(out, "\"$%s\"", variable(s[1]));
		return 2;
	}
	buf_printf(out, "\"$(printf '\\%03o')\"", (unsigned char)*s);
	return *s == '\001' && s[1] == '\001' ? 2 : 1;
}

void shell_quote(const char *text, struct buf *out)
{
	if (!*text)
		buf_puts(out, "''");
	while (*text) {
		size_t n = 0, plain = 0;

		while (text[plain] && shell_is_plain(text[plain]))
			plain++;
		while (text[n] && is_literal(text[n]))
			n++;
		if (n == 0)
			n = quote_odd(text, out);
		else if (n == plain)
			buf_put(out, (struct slice){text, n});
		else
			buf_printf(out, "'%.*s'", (int)n, text);
		text += n;
	}
}

static void words(const struct strv *v, const char *indent, struct buf *out)
{
	for (size_t i = 0; i < v->n; i++) {
		buf_puts(out, indent);
		shell_quote(v->v[i], out);
	}
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
static void program(const char *path, struct buf *out)
{
	buf_puts(out, " \\\n\t");
	if (strchr(path, '=') || strchr(path, '\001'))
		buf_puts(out, "\"$(command -v nice)\" -n 0 ");
	shell_quote(path, out);
}

static void shell_say(struct buf *out, const char *before, const char *path, const char *after)
{
	buf_puts(out, before);
	shell_quote(path, out);
	buf_puts(out, after);
}

/* A step of what process 1 of a cell does before (images/init/nest.h). */
static void shell_step(char *const words[3], struct buf *out)
{
	if (strcmp(words[0], "links") == 0) {
		shell_say(out, "mkdir -p ", words[2], "\n");
		if (strcmp(words[1], "-") == 0)
			return;
		shell_say(out, "for file in ", words[1], "/*; do\n");
		shell_say(out, "\t[ ! -e \"$file\" ] || ln -s \"$file\" ", words[2],
			  " 2>/dev/null || :\ndone\n");
	} else if (strcmp(words[0], "in") == 0) {
		shell_say(out, "cd ", words[1], " || exit\n");
	} else if (strcmp(words[0], "data") == 0) {
		shell_say(out, "ulimit -d \"$((", words[1], " / 1024))\" 2>/dev/null || :\n");
	}
}

/* Makes the working directory.  Returns what begins the command: the shell removes the directory
 * at the end. */
static const char *shell_nest(const struct engine_cmd *c, struct buf *out)
{
	if (c->nest.n == 0)
		return "exec env -i";
	buf_puts(out, "scratch=$(mktemp -d) || exit\ntrap 'rm -rf \"$scratch\"' EXIT\n");
	for (size_t i = 0; i + 2 < c->nest.n; i += 3)
		shell_step(c->nest.v + i, out);
	if (c->input_at) {
		shell_say(out, "ln -s ", c->argv.v[c->argv.n - 1], " ");
		shell_say(out, "", c->input_at, " || exit\n");
	}
	return "env -i";
}

static void command(const struct engine_cmd *c, struct buf *out)
{
	size_t n = c->argv.n - (c->input_at ? c->n_inputs : 0);

	buf_puts(out, shell_nest(c, out));
	words(&c->env, " \\\n\t", out);
	if (n > 0)
		program(c->argv.v[0], out);
	if (n > 1)
		words(&(struct strv){c->argv.v + 1, n - 1}, " ", out);
}

void shell_print(const struct shell_command *c, struct buf *out)
{
	buf_puts(out, "(cd ");
	shell_quote(*c->dir ? c->dir : "/", out);
	/* No core files, as in a cell: the address space of a process can be terabytes. */
	buf_puts(out, " || exit\nulimit -c 0\n");
	if (c->stack_kib)
		buf_printf(out, "ulimit -S -s %llu 2>/dev/null || :\n",
			   (unsigned long long)c->stack_kib);
	if (has_mark(&c->cmd->env, SHELL_SYMBOLIZER))
		buf_puts(out, find_symbolizer);
	command(c->cmd, out);
	buf_puts(out, ")\n");
}
