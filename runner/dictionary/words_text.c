/* SPDX-License-Identifier: Apache-2.0 */
/* The words as text: an engine's dictionary, and the file of the state directory. */
#include "base/quote.h"
#include "runner/dictionary/words.h"

#define U(v) ((unsigned long long)(v))

static struct slice bytes_of(const struct word *w)
{
	return (struct slice){w->bytes, w->n};
}

static void print_word(const struct word *w, struct buf *out)
{
	quote_add(out, bytes_of(w));
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

static bool words_text_is_kept(const struct word *w)
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
		if (words_text_is_kept(&w->v[i]))
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
