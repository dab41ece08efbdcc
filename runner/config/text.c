/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/config/layers.h"

/* Splits "line N[, column M]: why", the form of base/json.h and places.h. */
static uint32_t split_line(const char *msg, const char **ret_why)
{
	struct slice in = slice_of(msg);
	const char *why = strstr(msg, ": ");
	uint64_t line = 0;

	if (scan_lit(&in, SLICE("line ")) && !scan_u64(&in, 10, UINT32_MAX, &line))
		line = 0;
	*ret_why = line && why ? why + 2 : msg;
	return (uint32_t)line;
}

static const char *hint(const char *why)
{
	static const struct {
		const char *sign, *hint;
	} hints[] = {
	    {"near '/", " (JSON has no comments)"},
	    {"near '#", " (JSON has no comments)"},
	    {"near ''", " (strings stand in double quotes)"},
	    {"string or '}' expected near '}'", " (no comma after the last member)"},
	    {"unexpected token near ']'", " (no comma after the last element)"},
	    {"JSON_ALLOW_NUL", " (no NUL bytes in strings)"},
	    {"near '\xef\xbb\xbf", " (save the file without a byte order mark)"},
	};

	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (strstr(why, hints[i].sign))
			return hints[i].hint;
	return "";
}

/* Adds file and line to an error about the text. */
static int text_error(const struct config *c, struct err *e)
{
	struct where at = {.input = &c->file};
	char text[sizeof(e->msg)];
	const char *why;

	at.line = split_line(e->msg, &why);
	memccpy(text, why, '\0', sizeof(text));
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return where_fail(&at, e, "%s%s", text, hint(text));
}

int config_read_text(struct config *c, struct slice text, struct err *e)
{
	const char *nul = text.n ? memchr(text.p, '\0', text.n) : NULL;
	struct where at = {.input = &c->file, .line = 1};
	int r;

	if (text.n > CONFIG_MAX_BYTES)
		return where_fail(&at, e, "more than %d bytes", CONFIG_MAX_BYTES);
	for (const char *p = text.p; nul && p < nul; p++)
		at.line += *p == '\n';
	if (nul)
		return where_fail(&at, e, "a NUL byte: this is not a text file");
	if (text.n == 0)
		return where_fail(&at, e, "the file is empty: write {} for the built-in values");
	r = json_parse(text, &c->root, e);
	if (r == 0)
		r = places_scan(text, &c->places, e);
	if (r < 0)
		return text_error(c, e);
	if (!json_is_object(c->root))
		return where_fail(&at, e, "the configuration is not an object: write {...}");
	return 0;
}
