/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/dictionary/words.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/quote.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- penalties of literals ------------------------------------------------ */

/* Which literals of a program may be tokens of its input. */

/* Messages and the program's own names are longer than most tokens. */
enum { TEXT_MIN = 2, BINARY_MIN = 2, BINARY_MAX = 16, MESSAGE_MIN = 5, TOKEN_MAX = 16 };

static bool words_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool words_is_text(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((s.p[i] < ' ' || s.p[i] > '~') && s.p[i] != '\t' && s.p[i] != '\n' &&
		    s.p[i] != '\r')
			return false;
	return true;
}

static bool is_one_byte(struct slice s)
{
	size_t i = 1;

	while (i < s.n && s.p[i] == *s.p)
		i++;
	return i == s.n;
}

/* printf's conversions: "%d", "%-8.3lu".  Before any other character, "%" may be part of a
 * token. */
static bool is_conversion(struct slice s)
{
	size_t i = 1;

	while (i < s.n && s.p[i] && strchr("-+ #0123456789.*hlzjtL", s.p[i]))
		i++;
	return i < s.n && s.p[i] && strchr("diouxXcsfFeEgGpn", s.p[i]) != NULL;
}

static bool is_format(struct slice s)
{
	for (size_t i = 0; i + 1 < s.n; i++)
		if (s.p[i] == '%' && is_conversion((struct slice){s.p + i, s.n - i}))
			return true;
	return false;
}

static bool words_ends_with(struct slice s, const char *end)
{
	size_t n = strlen(end);

	return s.n > n && memcmp(s.p + s.n - n, end, n) == 0;
}

/* Paths of files, and source files as assertions print them. */
static bool words_is_path(struct slice s)
{
	static const char *const sources[] = {".c",  ".h",   ".cc", ".cpp", ".cxx",
					      ".hh", ".hpp", ".rs", ".go",  ".inc"};

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (words_ends_with(s, sources[i]))
			return true;
	return s.n > 4 && *s.p == '/' && words_is_letter(s.p[1]) && memchr(s.p + 1, '/', s.n - 1);
}

/* The expression of an assertion: "size != NULL", "parser->event". */
static bool is_expression(struct slice s)
{
	static const char *const marks[] = {
	    "->", " == ", " != ", " >= ", " <= ", " && ", " || ", " > ", " < "};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *hit = memmem(s.p, s.n, marks[i], strlen(marks[i]));

		if (hit && hit > s.p && hit + strlen(marks[i]) < s.p + s.n)
			return true;
	}
	return memmem(s.p, s.n, "sizeof(", 7) != NULL;
}

/* Words of a sentence: two or more, of letters, all but the first in lower case. */
static bool is_message(struct slice s)
{
	size_t spaces = 0, others = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == ' ' && i > 0 && i + 1 < s.n) {
			spaces++;
			others += !(s.p[i + 1] >= 'a' && s.p[i + 1] <= 'z');
		}
	}
	if (s.n > MESSAGE_MIN && words_is_letter(*s.p) && s.p[s.n - 1] == '\n')
		return true;
	if (spaces == 0)
		return false;
	return spaces > 2 || (others == 0 && s.n > MESSAGE_MIN) || s.n > TOKEN_MAX;
}

static uint32_t text_penalty(struct slice s)
{
	/* An escape: tables for printing bytes have 256 of them. */
	if (s.n > 2 && *s.p == '\\' && s.p[1] == 'x')
		return WORD_NONE;
	if (s.n < TEXT_MIN || is_format(s) || words_is_path(s) || is_message(s) || is_expression(s))
		return WORD_NONE;
	if (s.n > TOKEN_MAX)
		return 2;
	return memchr(s.p, ' ', s.n) ? 1 : 0;
}

uint32_t word_penalty(struct slice bytes)
{
	if (bytes.n == 0 || bytes.n > WORD_BYTES)
		return WORD_NONE;
	if (words_is_text(bytes))
		return text_penalty(bytes);
	if (bytes.n < BINARY_MIN || bytes.n > BINARY_MAX || is_one_byte(bytes))
		return WORD_NONE;
	return 1;
}

/* --- the table -------------------------------------------------------------- */

enum { FIRST_ROOM = 64 };
/* Counters saturate here. */
#define COUNT_MAX (UINT64_C(1) << 40)
_Static_assert(WORDS_MAX < UINT16_MAX, "a slot holds an index");

static struct slice words_bytes(const struct word *w)
{
	return (struct slice){w->bytes, w->n};
}

void words_done(struct words *w)
{
	free(w->v);
	free(w->slots);
	*w = WORDS_INIT;
}

/* The slot of the word, or the empty slot where it belongs. */
static size_t words_slot(const struct words *w, struct slice bytes)
{
	uint32_t h = 2166136261u;
	size_t at;

	assert(w->room > 0);
	for (size_t i = 0; i < bytes.n; i++)
		h = (h ^ (unsigned char)bytes.p[i]) * 16777619u;
	at = h % (2 * w->room);
	while (w->slots[at] && !slice_eq(words_bytes(&w->v[w->slots[at] - 1]), bytes))
		at = (at + 1) % (2 * w->room);
	return at;
}

struct word *words_find(const struct words *w, struct slice bytes)
{
	size_t at;

	if (!w->slots)
		return NULL;
	at = words_slot(w, bytes);
	return w->slots[at] ? &w->v[w->slots[at] - 1] : NULL;
}

/* Makes a larger table if the present one is full. */
static bool words_make_room(struct words *w)
{
	size_t room = w->room ? 2 * w->room : FIRST_ROOM;

	if (w->n < w->room)
		return true;
	if (room > WORDS_MAX)
		return false;
	free(w->slots);
	w->slots = xcalloc(2 * room, sizeof(*w->slots));
	w->v = xreallocarray(w->v, room, sizeof(*w->v));
	w->room = room;
	for (size_t i = 0; i < w->n; i++)
		w->slots[words_slot(w, words_bytes(&w->v[i]))] = (uint16_t)(i + 1);
	return true;
}

struct word *words_add(struct words *w, struct slice bytes)
{
	struct word *known = words_find(w, bytes);

	if (known || bytes.n == 0 || bytes.n > WORD_BYTES || !words_make_room(w))
		return known;
	w->v[w->n] = (struct word){.n = (uint8_t)bytes.n};
	memcpy(w->v[w->n].bytes, bytes.p, bytes.n);
	w->slots[words_slot(w, bytes)] = (uint16_t)(w->n + 1);
	return &w->v[w->n++];
}

/* --- what is noted of words ----------------------------------------------- */

void words_add_literal(struct words *w, struct slice bytes, uint32_t more)
{
	uint32_t penalty = word_penalty(bytes);
	struct word *word;

	if (penalty == WORD_NONE)
		return;
	word = words_add(w, bytes);
	if (!word)
		return;
	penalty += more;
	word->penalty = word->is_present && word->penalty < penalty ? word->penalty : penalty;
	word->is_present = true;
	word->is_learned = false;
}

size_t words_add_given(struct words *w, struct slice text)
{
	struct slice line;
	size_t entries = 0;

	while (scan_line(&text, &line)) {
		const char *quote;
		struct word *word;
		char bytes[2 * WORD_BYTES]; /* an engine's limit */
		size_t n;

		scan_blanks(&line);
		quote = line.n > 0 && *line.p != '#' ? memchr(line.p, '"', line.n) : NULL;
		if (!quote)
			continue;
		line = (struct slice){quote, line.n - (size_t)(quote - line.p)};
		if (!quote_read(&line, bytes, sizeof(bytes), &n))
			continue;
		entries++;
		word = words_add(w, (struct slice){bytes, n});
		if (word)
			word->is_given = true;
	}
	return entries;
}

static void words_count(uint64_t *io, uint64_t n)
{
	*io = n < COUNT_MAX - *io ? *io + n : COUNT_MAX;
}

/* Comparisons produce many numbers.  A repeated byte has no use: engines try these anyway. */
static bool words_may_learn(struct slice bytes)
{
	size_t i = 1;

	if (bytes.n < 2)
		return false;
	while (i < bytes.n && bytes.p[i] == *bytes.p)
		i++;
	return i < bytes.n;
}

void words_brought(struct words *w, struct slice bytes, uint64_t n, bool may_learn)
{
	struct word *word = words_find(w, bytes);

	if (!word && may_learn && words_may_learn(bytes)) {
		word = words_add(w, bytes);
		if (word)
			word->is_learned = true;
	}
	if (word)
		words_count(&word->brought, n);
}

void words_offered(struct words *w, uint64_t execs)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->v[i].is_active)
			words_count(&w->v[i].tried, execs);
}

/* --- the active words ----------------------------------------------------- */

enum words_class { CLASS_PROVEN, CLASS_FRESH, CLASS_TRIED, CLASS_OUT };

static enum words_class words_class(const struct word *w)
{
	if (w->is_given)
		return CLASS_OUT;
	if (w->is_learned)
		return w->brought >= WORDS_PROVEN ? CLASS_PROVEN : CLASS_OUT;
	if (w->brought > 0)
		return CLASS_PROVEN;
	if (!w->is_present)
		return CLASS_OUT;
	return w->tried < WORDS_TRIED ? CLASS_FRESH : CLASS_TRIED;
}

static int words_less(bool a_first, bool b_first)
{
	return a_first ? -1 : b_first;
}

static int words_by_rank(const void *x, const void *y)
{
	const struct word *a = *(const struct word *const *)x, *b = *(const struct word *const *)y;
	enum words_class ca = words_class(a), cb = words_class(b);

	if (ca != cb)
		return words_less(ca<cb, ca> cb);
	if (ca == CLASS_PROVEN && a->brought != b->brought)
		return words_less(a->brought > b->brought, a->brought < b->brought);
	if (ca == CLASS_FRESH && (a->tried > 0) != (b->tried > 0))
		return words_less(a->tried > 0, b->tried > 0);
	if (ca == CLASS_TRIED && a->tried != b->tried)
		return words_less(a->tried<b->tried, a->tried> b->tried);
	if (a->penalty != b->penalty)
		return words_less(a->penalty<b->penalty, a->penalty> b->penalty);
	return words_less(a<b, a> b);
}

/* A user chose the entries of a given dictionary, and each of our words reduces their use.  Beside
 * such a dictionary few words are tried at a time, and at most half as many words as it has are
 * active. */
static size_t words_limit(const struct words *w, size_t *io_most)
{
	size_t given = 0, half;

	for (size_t i = 0; i < w->n; i++)
		given += w->v[i].is_given;
	if (given == 0)
		return *io_most;
	half = given / 2 > WORDS_FEW ? given / 2 : WORDS_FEW;
	*io_most = half < *io_most ? half : *io_most;
	return given / WORDS_UNPROVEN > 2 ? given / WORDS_UNPROVEN : 2;
}

size_t words_choose(struct words *w, size_t most)
{
	_autofree_ struct word **order = xcalloc(w->n, sizeof(struct word *));
	size_t n = 0, learned = 0, unproven = words_limit(w, &most);

	for (size_t i = 0; i < w->n; i++)
		w->v[i].is_active = false;
	for (size_t i = 0; i < w->n; i++)
		order[i] = &w->v[i];
	qsort(order, w->n, sizeof(struct word *), words_by_rank);
	for (size_t i = 0; i < w->n && n < most && words_class(order[i]) != CLASS_OUT; i++) {
		if (order[i]->is_learned && learned++ >= WORDS_LEARNED)
			continue;
		if (order[i]->brought == 0 && unproven-- == 0)
			break;
		order[i]->is_active = true;
		n++;
	}
	return n;
}

/* --- the words as text ---------------------------------------------------- */

/* An engine's dictionary, and the file of the state directory. */

#define U(v) ((unsigned long long)(v))

static void print_word(const struct word *w, struct buf *out)
{
	quote_add(out, words_bytes(w));
	buf_puts(out, "\n");
}

void words_print(const struct words *w, struct buf *out)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->v[i].is_active)
			print_word(&w->v[i], out);
}

static bool is_trusted(const struct word *w)
{
	return w->is_given || (w->is_active && w->brought > 0);
}

static void print_trusted(const struct words *w, struct buf *out)
{
	for (size_t i = 0; i < w->n; i++)
		if (is_trusted(&w->v[i]))
			print_word(&w->v[i], out);
}

void words_repeat(const struct words *w, struct buf *out)
{
	size_t trusted = 0, others = 0, times;

	for (size_t i = 0; i < w->n; i++) {
		trusted += is_trusted(&w->v[i]);
		others += w->v[i].is_active && !is_trusted(&w->v[i]);
	}
	if (trusted == 0 || others == 0)
		return;
	times = (WORDS_TRUST * others - 1) / trusted; /* in addition to the first time */
	for (size_t i = 0; i < times && i < WORDS_REPEATS; i++)
		print_trusted(w, out);
}

static bool words_is_kept(const struct word *w)
{
	return !w->is_given && (w->is_active || w->brought > 0 || w->tried > 0);
}

static void save_word(const struct word *w, struct buf *out)
{
	buf_printf(out, "# %llu %llu %s\n%s", U(w->brought), U(w->tried),
		   w->is_learned ? "learned" : "literal", w->is_active ? "" : "#");
	print_word(w, out);
}

void words_save(const struct words *w, const char *target, struct buf *out)
{
	buf_printf(out,
		   "# Words for %s: literals of the program, and words that its comparisons "
		   "showed.\n"
		   "# fuzzcell keeps this file.  To take it over, copy it as %s.dict beside "
		   "the target.\n"
		   "# Above each word: inputs with new coverage that it brought, its share of "
		   "the\n"
		   "# executions, and its origin.  Words in comments make room for others.\n",
		   target, target);
	for (size_t i = 0; i < w->n; i++)
		if (words_is_kept(&w->v[i]))
			save_word(&w->v[i], out);
}

/* "# 12 3456 literal" */
static bool read_history(struct slice line, struct word *ret)
{
	struct word w = {0};

	if (!scan_lit(&line, SLICE("# ")) || !scan_u64(&line, 10, UINT32_MAX, &w.brought) ||
	    !scan_lit(&line, SLICE(" ")) || !scan_u64(&line, 10, UINT64_C(1) << 40, &w.tried) ||
	    !scan_lit(&line, SLICE(" ")))
		return false;
	w.is_learned = slice_eq(line, SLICE("learned"));
	if (!w.is_learned && !slice_eq(line, SLICE("literal")))
		return false;
	*ret = w;
	return true;
}

static void load_word(struct words *w, struct slice line, const struct word *history)
{
	char bytes[WORD_BYTES];
	bool is_active = !scan_lit(&line, SLICE("#"));
	struct word *word;
	size_t n;

	if (!quote_read(&line, bytes, sizeof(bytes), &n) || line.n > 0)
		return;
	word = words_add(w, (struct slice){bytes, n});
	if (!word)
		return;
	word->is_learned = history->is_learned;
	word->brought = history->brought;
	word->tried = history->tried;
	word->is_active = is_active;
}

void words_load(struct words *w, struct slice text)
{
	struct word history = {0};
	bool has_history = false;
	struct slice line;

	if (text.n > WORDS_TEXT_MAX)
		text.n = WORDS_TEXT_MAX;
	while (scan_line(&text, &line)) {
		if (has_history)
			load_word(w, line, &history);
		has_history = read_history(line, &history);
	}
}
