/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the line with which a report begins, and tells it from quoted or logged text. */
#include "runner/crash/report/internal.h"

/* Decides whether a report's words are a headline.  Logs also quote other reports ('last time we
 * saw "==1==ERROR: AddressSanitizer: ..."'); those are not crashes of this log.
 *
 * A headline begins its line, or follows a log's prefix (times, brackets, "name | ").  A headline
 * with the process's mark, "==123==", may follow any words: a target's own half line may be before
 * it.  In quotes nothing is a headline, unless the quote is never closed, as in half a line. */

enum { NAME_MOST = 32, LEVEL_MOST = 16, PID_MOST = 20, WORDS_MOST = 1, WORDS_WITH_CLOCK = 3 };

/* The text before a place, as far as it was read. */
struct before {
	struct slice text;
	size_t at;
	char quote; /* the open quote; '\0' none */
	unsigned words;
	bool clock; /* the text has a time of day */
	/* The last quotes of the whole line; the text's end: none. */
	size_t last_double, last_single;
};

static char at_or_blank(struct slice s, size_t i)
{
	char c = ' ';

	if (i < s.n)
		c = s.p[i];
	return c;
}

/* Whether a quote opens here.  An apostrophe in a word does not. */
static bool opens(const struct before *b)
{
	char c = b->text.p[b->at];

	return c == '"' || c == '`' ||
	       (c == '\'' && (b->at == 0 || text_one_of(b->text.p[b->at - 1], " \t([=:,")));
}

static void look_at_quote(struct before *b)
{
	char c = b->text.p[b->at];

	if (!b->quote && opens(b))
		b->quote = c;
	else if (b->quote && (c == b->quote || (b->quote == '`' && c == '\'')))
		b->quote = '\0';
}

/* Checks the word from `at` to end: counts a word of a sentence, and notes a time of day
 * ("12:34"). */
static void look_at_word(struct before *b, size_t end)
{
	struct slice w = text_strip((struct slice){b->text.p + b->at, end - b->at}, ",.;!?");
	size_t letters = 0;

	for (size_t i = 0; i < w.n; i++) {
		char c = text_lower(w.p[i]);

		letters += (c >= 'a' && c <= 'z') || c == '\'';
		b->clock |= i > 0 && c == ':' && text_digit(w.p[i - 1]) &&
			    text_digit(at_or_blank(w, i + 1));
	}
	b->words += w.n > 1 && letters == w.n;
}

/* Reads each byte at most twice, however often it is called. */
static void look_up_to(struct before *b, size_t end)
{
	for (; b->at < end; b->at++) {
		size_t word = b->at;

		look_at_quote(b);
		if (b->at > 0 && !text_one_of(b->text.p[b->at - 1], " \t"))
			continue;
		while (word < end && !text_one_of(b->text.p[word], " \t"))
			word++;
		look_at_word(b, word);
	}
}

/* An apostrophe closes "`", as in glibc's messages. */
static bool is_quoted(const struct before *b, size_t start)
{
	size_t close = b->quote == '"' ? b->last_double : b->last_single;

	if (!b->quote || close == b->text.n || close < start)
		return false;
	/* Android's own report of an abort quotes its message. */
	return !text_ends((struct slice){b->text.p, start}, SLICE("Abort message: '"));
}

static bool head_is_log(const struct before *b, size_t start)
{
	struct slice s = {b->text.p, start};

	while (s.n > 0 && text_one_of(s.p[s.n - 1], " \t\r"))
		s.n--;
	if (s.n == 0)
		return true;
	if (b->words > (b->clock ? WORDS_WITH_CLOCK : WORDS_MOST))
		return false;
	return text_one_of(s.p[s.n - 1], ":]|>)") ||
	       (b->clock && (text_digit(s.p[s.n - 1]) || s.p[s.n - 1] == 'Z'));
}

/* --- back from the words to the headline's beginning ----------------------------------- */

static void back_letters(struct slice *io, size_t most, bool upper)
{
	for (size_t n = 0; n < most && io->n > 0; n++) {
		char c = io->p[io->n - 1];

		if (!upper)
			c = text_upper(c);
		if (c < 'A' || c > 'Z')
			break;
		io->n--;
	}
}

/* "==123==" at the end of *io */
static bool back_mark(struct slice *io)
{
	struct slice s = *io;
	size_t n = 0;

	text_drop(&s, SLICE(" "));
	if (!text_drop(&s, SLICE("==")))
		return false;
	while (n < PID_MOST && s.n > 0 && text_digit(s.p[s.n - 1])) {
		s.n--;
		n++;
	}
	if (n == 0 || !text_drop(&s, SLICE("==")))
		return false;
	*io = s;
	return true;
}

/* The beginning of the headline that has its words at `at`. */
static size_t head_begin(struct slice text, size_t at, bool *ret_mark)
{
	struct slice s = {text.p, at}, level;

	back_letters(&s, NAME_MOST, false); /* "Address" */
	level = s;
	text_drop(&level, SLICE(" "));
	if (text_drop(&level, SLICE(":"))) { /* "ERROR: " */
		size_t n = level.n;

		back_letters(&level, LEVEL_MOST, true);
		if (level.n < n)
			s = level;
	}
	*ret_mark = back_mark(&s);
	return s.n;
}

static size_t head_last_of(struct slice text, char a, char b)
{
	size_t i = text_last(text, a), k = text_last(text, b);

	if (i == text.n || (k < text.n && k > i))
		i = k;
	return i;
}

/* "name " alone is not a log's prefix, but before the process's mark it may be. */
static bool head_is_name(const struct before *b, size_t start)
{
	return b->words <= WORDS_MOST && start > 0 && text_one_of(b->text.p[start - 1], " \t");
}

/* The beginning of the path in "[x] a.c:1:2: runtime error: ", or, from grep, in
 * "log.txt:12:a.c:1:2: runtime error: ".  The words are at `at`. */
static size_t path_begin(struct slice text, size_t at)
{
	size_t end = at, begin;

	while (at > 0 && !text_one_of(text.p[at - 1], " \t"))
		at--;
	begin = at;
	for (size_t i = at; i + 1 < end; i++) {
		size_t k = i + 1;

		if (text.p[i] != ':')
			continue;
		while (k < end && text_digit(text.p[k]))
			k++;
		if (k > i + 1 && k + 1 < end && text.p[k] == ':' && !text_digit(text.p[k + 1]))
			begin = k + 1;
	}
	return begin;
}

/* The text that a log wrote before a headline. */
struct found {
	struct slice before;
	bool marked;
};

static void head_note(const struct before *b, size_t start, bool marked, struct found *ret)
{
	if (!b->quote && (head_is_log(b, start) || (marked && head_is_name(b, start))))
		*ret = (struct found){{b->text.p, start}, marked};
}

/* TSan's mark follows the words. */
static bool has_pid(struct slice rest)
{
	if (rest.n > 200)
		rest.n = 200;
	return text_has(rest, SLICE(" (pid="));
}

/* Whether one of the places of these words in the text is a headline.  anywhere: it is enough that
 * they are not quoted, and a path precedes them.  Text before the headline is removed if it has the
 * words, too. */
static bool is_head(struct slice *io, struct slice words, bool anywhere, struct found *ret)
{
	struct before b = {.text = *io,
			   .last_double = text_last(*io, '"'),
			   .last_single = head_last_of(*io, '\'', '`')};
	struct slice rest = *io;
	bool first = true;

	for (; text_after(&rest, words); first = false) {
		bool marked;
		size_t start = head_begin(*io, io->n - rest.n - words.n, &marked);

		marked |= has_pid(rest);
		look_up_to(&b, start);
		if (is_quoted(&b, start) || !(anywhere || marked || head_is_log(&b, start)))
			continue;
		head_note(&b, anywhere ? path_begin(*io, start) : start, marked, ret);
		text_skip(io, first ? 0 : start);
		return true;
	}
	return first; /* the words occur only with other capitals */
}

static void look_for(struct line *io, enum words_bit bit, struct slice words, uint64_t gone,
		     struct found *ret)
{
	if (words_has(io->words, bit) && !is_head(&io->text, words, bit == WORDS_UBSAN, ret))
		io->words &= ~gone;
}

/* Other runtimes' headlines are only at the beginning of a line. */
static void look_for_others(struct slice text, uint64_t words, struct found *ret)
{
	static const struct {
		enum words_bit bit;
		struct slice text;
	} heads[] = {
	    {WORDS_GO, {"panic: runtime error: ", 22}},
	    {WORDS_GO, {"fatal error: stack overflow", 27}},
	    {WORDS_PYTHON, {"=== Uncaught Python exception: ===", 34}},
	    {WORDS_EXCEPTION, {"== Java Exception: ", 19}},
	    {WORDS_SIGNAL, {"Program received signal ", 24}},
	    {WORDS_SIGNAL, {"Received signal 11 SEGV_", 24}},
	};

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct before b = {.text = text};
		const char *at;

		if (!words_has(words, heads[i].bit) || !(at = text_find(text, heads[i].text)))
			continue;
		look_up_to(&b, (size_t)(at - text.p));
		if (!b.quote && head_is_log(&b, b.at))
			*ret = (struct found){{text.p, b.at}, false};
	}
}

struct slice report_head(struct line *io, bool *ret_marked)
{
	struct found f = {{"", 0}, false};
	struct slice whole = io->text;

#define BIT(name) (UINT64_C(1) << WORDS_##name)
	look_for(io, WORDS_SANITIZER, SLICE("Sanitizer"), BIT(SANITIZER) | BIT(OOM) | BIT(CHECK),
		 &f);
	look_for(io, WORDS_LIBFUZZER, SLICE("libFuzzer: "),
		 BIT(LIBFUZZER) | BIT(OOM) | BIT(TIMEOUT), &f);
	look_for(io, WORDS_LEAK, SLICE("irect leak of "), BIT(LEAK), &f);
	look_for(io, WORDS_UBSAN, SLICE(": runtime error: "), BIT(UBSAN), &f);
	if (io->words & (BIT(GO) | BIT(PYTHON) | BIT(EXCEPTION) | BIT(SIGNAL)))
		look_for_others(whole, io->words, &f);
#undef BIT
	*ret_marked = f.marked;
	return f.before;
}

struct slice report_head_start(struct slice text)
{
	static const struct slice words[] = {{"INFO: Seed: ", 12}, {"INFO: Running with ", 19}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (text_cut(&text, words[i]))
			return text;
	return (struct slice){"", 0};
}

/* --- the prefix of a log --------------------------------------------------- */

/* The prefix that a log writes before each line of a report: "[x] ", "fuzz-1  | ", a time.  It is
 * learned from the line that begins a process or a report, and removed from the lines after it.  A
 * line without it stays unchanged.
 *
 * The prefix is kept as a pattern.  Numbers that change from line to line (times, counters) match
 * any number, with the blanks that pad them.  Other numbers, like the 1 of "fuzz-1", must be equal:
 * they identify a process.  `grep -Hn` writes "FILE:LINE:", and "FILE-LINE-" before lines of
 * context.  Blanks alone are a prefix, too: an indented report. */

enum { NUMBER = '\1', SEPARATOR = '\2', COUNTER_DIGITS = 9 };

static bool prefix_blank(char c)
{
	return c == ' ' || c == '\t';
}

static char at(struct slice s, size_t i)
{
	char c = '\0';

	if (i < s.n)
		c = s.p[i];
	return c;
}

/* Whether the run of digits from i to end changes from line to line: in a time, or a count of
 * seconds. */
static bool changes(struct slice s, size_t i, size_t end)
{
	bool goes_on = text_one_of(at(s, end), ":.,T") && text_digit(at(s, end + 1));
	bool went_on = i > 1 && text_one_of(s.p[i - 1], ":.,T") && text_digit(s.p[i - 2]);

	return goes_on || went_on || end - i >= COUNTER_DIGITS;
}

void prefix_forget(struct prefix *p)
{
	p->n = p->n_held = p->next_held = 0;
}

/* Where ":LINE:" of grep begins, at the end of the text; before.n: there is none. */
static size_t grep_begin(struct slice before)
{
	size_t at = before.n;

	if (at == 0 || before.p[at - 1] != ':')
		return before.n;
	for (at--; at > 0 && text_digit(before.p[at - 1]);)
		at--;
	return at + 1 < before.n && at > 0 && before.p[at - 1] == ':' ? at - 1 : before.n;
}

static void prefix_put(struct prefix *p, char c)
{
	if (p->n < sizeof(p->pattern))
		p->pattern[p->n++] = c;
}

/* Adds the character or the number at i; lines: where a line number of grep may be.  Returns the
 * end of the part. */
static size_t prefix_add_part(struct prefix *p, struct slice before, size_t i, size_t lines)
{
	size_t end = i;

	while (text_digit(at(before, end)))
		end++;
	if (end > i && (i == lines || changes(before, i, end))) {
		while (p->n > 0 && prefix_blank(p->pattern[p->n - 1]))
			p->n--;
		prefix_put(p, NUMBER);
		return end;
	}
	end += end == i;
	for (; i < end; i++)
		prefix_put(p, before.p[i]);
	return end;
}

bool prefix_learn(struct prefix *p, struct slice before)
{
	size_t lines = 0, end;

	/* Blanks do not replace a known prefix. */
	if (before.n == 0 || before.n > sizeof(p->pattern) ||
	    (p->n > 0 && text_trim(before).n == 0))
		return false;
	p->n = 0;
	end = grep_begin(before);
	while (prefix_blank(at((struct slice){before.p, end}, lines)))
		lines++;
	for (size_t i = 0; i < end;)
		i = prefix_add_part(p, (struct slice){before.p, end}, i, lines);
	if (end < before.n) {
		prefix_put(p, SEPARATOR);
		prefix_put(p, NUMBER);
		prefix_put(p, SEPARATOR);
	}
	p->printed = p->n;
	while (p->printed > 0 && prefix_blank(p->pattern[p->printed - 1]))
		p->printed--;
	return true;
}

static bool prefix_take_number(struct slice *io)
{
	while (prefix_blank(at(*io, 0)))
		text_skip(io, 1);
	if (!text_digit(at(*io, 0)))
		return false;
	while (text_digit(at(*io, 0)))
		text_skip(io, 1);
	return true;
}

bool prefix_strip(const struct prefix *p, struct slice *io)
{
	struct slice in = *io;

	for (size_t i = 0; i < p->n; i++) {
		if (p->pattern[i] == NUMBER) {
			if (!prefix_take_number(&in))
				return false;
		} else if (p->pattern[i] == SEPARATOR) {
			if (at(in, 0) != ':' && at(in, 0) != '-')
				return false;
			text_skip(&in, 1);
		} else if (in.n > 0 && in.p[0] == p->pattern[i]) {
			text_skip(&in, 1);
		} else if (in.n > 0 || i < p->printed) {
			return false; /* trailing blanks of an empty line may be missing */
		}
	}
	*io = in;
	return p->n > 0;
}

/* --- lines before the prefix was known --------------------------------------------------- */

void prefix_hold(struct prefix *p, const struct line *l)
{
	const uint64_t words = UINT64_C(1) << WORDS_ASSERT | UINT64_C(1) << WORDS_LIBC |
			       UINT64_C(1) << WORDS_CHECK | UINT64_C(1) << WORDS_FATAL;
	struct prefix_held *h;

	if (p->n > 0 || !(l->words & words) || l->text.n > sizeof(h->text))
		return;
	h = &p->held[p->n_held++ % PREFIX_HELD_MAX];
	memcpy(h->text, l->text.p, l->text.n);
	h->n = l->text.n;
}

bool prefix_release(struct prefix *p, struct slice *ret)
{
	if (p->n_held > PREFIX_HELD_MAX && p->next_held < p->n_held - PREFIX_HELD_MAX)
		p->next_held = p->n_held - PREFIX_HELD_MAX;
	while (p->next_held < p->n_held) {
		const struct prefix_held *h = &p->held[p->next_held++ % PREFIX_HELD_MAX];

		*ret = (struct slice){h->text, h->n};
		if (prefix_strip(p, ret))
			return true;
	}
	p->n_held = p->next_held = 0;
	return false;
}
