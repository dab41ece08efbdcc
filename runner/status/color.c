/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/status/color.h"

#include "base/sys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLAIN "\x1b[0m"

static const char *const codes[COLOR_COUNT] = {
    [COLOR_NONE] = "",	      [COLOR_GOOD] = "\x1b[32m", [COLOR_DOUBT] = "\x1b[33m",
    [COLOR_BAD] = "\x1b[31m", [COLOR_DIM] = "\x1b[2m",
};

static enum { AUTO, ALWAYS, NEVER } wanted;

bool color_set(const char *when)
{
	static const char *const names[] = {
	    [AUTO] = "auto", [ALWAYS] = "always", [NEVER] = "never"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(when, names[i]) == 0) {
			wanted = i;
			return true;
		}
	return false;
}

bool color_wanted(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (wanted != AUTO)
		return wanted == ALWAYS;
	return !(no && *no) && term && *term && strcmp(term, "dumb") != 0 && isatty(fd);
}

struct word {
	const char *name;
	enum color color;
};

static enum color color_find(const char *name, const struct word *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(name, words[i].name) == 0)
			return words[i].color;
	return COLOR_NONE;
}

enum color color_of_crash(const char *state)
{
	static const struct word words[] = {{"new", COLOR_BAD},
					    {"regressed", COLOR_BAD},
					    {"flaky", COLOR_DOUBT},
					    {"fixed", COLOR_GOOD},
					    {"ignored", COLOR_DIM}};

	return color_find(state, words, sizeof(words) / sizeof(words[0]));
}

enum color color_of_severity(const char *severity)
{
	static const struct word words[] = {{"error", COLOR_BAD},
					    {"warning", COLOR_DOUBT},
					    {"ok", COLOR_GOOD},
					    {"healthy", COLOR_GOOD}};

	return color_find(severity, words, sizeof(words) / sizeof(words[0]));
}

void color_add(enum color c, struct slice word, struct buf *out)
{
	if (c == COLOR_NONE)
		buf_put(out, word);
	else
		buf_printf(out, "%s%.*s" PLAIN, codes[c], (int)word.n, word.p);
}

/* Our standard output filters escape sequences, so these are written directly. */
static void paint(const char *code)
{
	fflush(stdout);
	(void)!sys_write_all(STDOUT_FILENO, code, strlen(code)); /* the words have the same
								  * information */
}

void color_print(enum color c, const char *word)
{
	bool colored = c != COLOR_NONE && color_wanted(STDOUT_FILENO);

	if (colored)
		paint(codes[c]);
	fputs(word, stdout);
	if (colored)
		paint(PLAIN);
}
