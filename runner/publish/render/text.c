/* SPDX-License-Identifier: Apache-2.0 */
/* Makes targets' text harmless in markdown. */
#include "base/cleanup.h"
#include "base/utf8.h"
#include "runner/publish/render/render.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CLEAN_MAX = 1 << 20, LINE_OF_BASE64 = 57 /* bytes: 76 characters */ };

static void text_add_char(struct slice s, size_t n, uint32_t c, enum render_how how,
			  struct buf *out)
{
	if (n == 0)
		buf_printf(out, "\\x%02x", (unsigned char)s.p[0]);
	else if (c == '\n' || c == '\t')
		buf_put(out, how == RENDER_LINES ? (struct slice){s.p, 1} : SLICE(" "));
	else if (utf8_is_plain(c))
		buf_put(out, (struct slice){s.p, n});
	else if (c != '\r')
		buf_printf(out, c < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)c);
}

void render_visible(struct slice text, enum render_how how, struct buf *out)
{
	while (text.n > 0) {
		size_t run = 0, n;
		uint32_t c = 0;

		while (run < text.n && text.p[run] >= ' ' && text.p[run] <= '~')
			run++;
		if (run > 0) {
			buf_put(out, (struct slice){text.p, run});
			text = (struct slice){text.p + run, text.n - run};
			continue;
		}
		n = utf8_next(text, &c);
		text_add_char(text, n, c, how, out);
		text = (struct slice){text.p + (n ? n : 1), text.n - (n ? n : 1)};
	}
}

/* A word with a meaning, and its harmless replacement. */
struct word {
	struct slice text, as;
};

static const struct word *text_word_at(struct slice s, const struct word *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (words[i].text.n > 0 && scan_lit(&s, words[i].text))
			return &words[i];
	return NULL;
}

/* Characters that continue a path's last component. */
static bool text_continues_name(char c)
{
	return isalnum((unsigned char)c) || strchr("._-", c);
}

/* Does the whole `path` begin here (also after a flag: "-I/src")?  begin: the start of the text. */
static bool text_is_path_at(const char *begin, struct slice rest, struct slice path)
{
	size_t before = (size_t)(rest.p - begin);
	bool flag = before > 1 && rest.p[-2] == '-' && isupper((unsigned char)rest.p[-1]);

	if (before > 0 && !flag && (rest.p[-1] == '/' || text_continues_name(rest.p[-1])))
		return false;
	return path.n > 0 && scan_lit(&rest, path) &&
	       (rest.n == 0 || !text_continues_name(*rest.p));
}

enum { SOURCE_DIR = 4, WORDS };

static const struct word *text_word_here(const char *begin, struct slice rest,
					 const struct word words[WORDS])
{
	const struct word *w =
	    strchr("<%`/", *rest.p) ? text_word_at(rest, words, SOURCE_DIR) : NULL;

	if (w)
		return w;
	return text_is_path_at(begin, rest, words[SOURCE_DIR].text) ? &words[SOURCE_DIR] : NULL;
}

/* No replacement, and no junction of two parts, creates one of the words again. */
static void text_replace(struct slice s, const struct render_hide *hide, struct buf *out)
{
	const struct word words[WORDS] = {
	    {SLICE("<!--"), SLICE("<! --")},
	    {SLICE(RENDER_REPRODUCER), SLICE("(REPRODUCER)")},
	    {SLICE("``````````"), SLICE("````` ````` ")}, /* keeps fences short */
	    {hide && hide->state_dir ? slice_of(hide->state_dir) : SLICE(""), SLICE("...")},
	    [SOURCE_DIR] = {hide && hide->source_dir ? slice_of(hide->source_dir) : SLICE(""),
			    SLICE(".")},
	};
	const char *begin = s.p;
	size_t run = 0;

	while (run < s.n) {
		struct slice rest = {s.p + run, s.n - run};
		const struct word *w = text_word_here(begin, rest, words);

		if (!w) {
			run++;
			continue;
		}
		buf_put(out, (struct slice){s.p, run});
		buf_put(out, w->as);
		s = (struct slice){rest.p + w->text.n, rest.n - w->text.n};
		run = 0;
	}
	buf_put(out, s);
}

void render_clean(struct slice text, enum render_how how, const struct render_hide *hide,
		  struct buf *out)
{
	_autobuf_ struct buf seen = BUF_INIT(CLEAN_MAX);

	render_visible(text, how, &seen);
	out->full |= seen.full;
	text_replace(buf_slice(&seen), hide, out);
}

struct slice render_cut(struct slice text, size_t max)
{
	if (text.n <= max)
		return text;
	text.n = max;
	while (text.n > 0 && ((unsigned char)text.p[text.n] & 0xc0) == 0x80)
		text.n--;
	return text;
}

static size_t text_longest_run(struct slice s, char c)
{
	size_t best = 0, run = 0;

	for (size_t i = 0; i < s.n; i++) {
		run = s.p[i] == c ? run + 1 : 0;
		best = run > best ? run : best;
	}
	return best;
}

static void text_add_run(char c, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++)
		buf_put(out, (struct slice){&c, 1});
}

/* Markdown does not show the blanks; they allow a backtick at either end. */
void render_code(const char *text, size_t max, struct buf *out)
{
	_autobuf_ struct buf clean = BUF_INIT(CLEAN_MAX);
	struct slice in = {text, strnlen(text, max + 1)}, s;
	bool blank;
	size_t ticks;

	render_clean(in, RENDER_LINE, NULL, &clean);
	out->full |= clean.full;
	s = render_cut(buf_slice(&clean), max);
	if (s.n == 0)
		s = SLICE("?");
	ticks = text_longest_run(s, '`') + 1;
	blank = s.p[0] == '`' || s.p[s.n - 1] == '`';
	text_add_run('`', ticks, out);
	buf_printf(out, "%s%.*s%s%s", blank ? " " : "", (int)s.n, s.p, in.n > max ? "..." : "",
		   blank ? " " : "");
	text_add_run('`', ticks, out);
}

void render_fence(struct slice clean, const char *language, struct buf *out)
{
	size_t ticks = text_longest_run(clean, '`') + 1;

	ticks = ticks < 3 ? 3 : ticks;
	text_add_run('`', ticks, out);
	buf_printf(out, "%s\n", language);
	buf_put(out, clean);
	if (clean.n == 0 || clean.p[clean.n - 1] != '\n')
		buf_puts(out, "\n");
	text_add_run('`', ticks, out);
	buf_puts(out, "\n");
}

static bool text_needs_quotes(const char *s)
{
	for (; *s; s++)
		if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
		      (*s >= '0' && *s <= '9') || strchr("_-./:+=,@%", *s)))
			return true;
	return false;
}

void render_word(const char *text, struct buf *out)
{
	if (*text && *text != '-' && !text_needs_quotes(text)) {
		buf_puts(out, text);
		return;
	}
	buf_puts(out, "'");
	for (; *text; text++)
		buf_put(out, *text == '\'' ? SLICE("'\\''") : (struct slice){text, 1});
	buf_puts(out, "'");
}

const char *render_time(uint64_t seconds, char out[32])
{
	time_t t = (time_t)seconds;
	struct tm tm;

	if (!seconds || seconds > UINT32_MAX || !gmtime_r(&t, &tm) ||
	    strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(out, 32, "unknown");
	return out;
}

/* RFC 4648, lines of 76 characters. */
void render_base64(struct slice bytes, struct buf *out)
{
	unsigned char line[LINE_OF_BASE64 / 3 * 4 + 1];

	for (size_t i = 0; i < bytes.n; i += LINE_OF_BASE64) {
		size_t left = bytes.n - i, n = left < LINE_OF_BASE64 ? left : LINE_OF_BASE64;

		(void)EVP_EncodeBlock(line, (const unsigned char *)bytes.p + i, (int)n);
		buf_puts(out, (const char *)line);
		buf_puts(out, "\n");
	}
}
