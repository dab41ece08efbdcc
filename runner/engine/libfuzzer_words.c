/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quote.h"
#include "runner/engine/libfuzzer.h"

/* "#123\tNEW    cov: 4 ft: 5 ... MS: 3 CMP-EraseBytes-ManualDict- DE: "ab"-"\000c"-": the mutations
 * that use words are in the order of the words.  The target writes to the same stream, so the line
 * may be forged. */

enum { WORD_MAX = 64 }; /* FuzzerDictionary.h: the longest word */

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* The next mutation of "CMP-EraseBytes-" that takes a word. */
static bool next_source(struct slice *io, enum engine_word *ret)
{
	static const struct {
		struct slice name;
		enum engine_word from;
	} sources[] = {
	    {{"ManualDict", 10}, ENGINE_WORD_GIVEN},
	    {{"PersAutoDict", 12}, ENGINE_WORD_KEPT},
	    {{"CMP", 3}, ENGINE_WORD_COMPARED},
	};

	while (io->n > 0) {
		struct slice name = {io->p, 0};

		while (name.n < io->n && is_word_char(io->p[name.n]))
			name.n++;
		slice_skip(io, name.n);
		if (!scan_lit(io, SLICE("-")))
			return false;
		for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
			if (slice_eq(name, sources[i].name)) {
				*ret = sources[i].from;
				return true;
			}
	}
	return false;
}

static void each_word(struct slice names, struct slice in, engine_word_fn *fn, void *arg)
{
	char bytes[WORD_MAX];
	enum engine_word from;
	size_t n;

	while (next_source(&names, &from) && quote_read(&in, bytes, sizeof(bytes), &n)) {
		fn(arg, (struct slice){bytes, n}, from);
		if (!scan_lit(&in, SLICE("-")))
			return;
	}
}

/* "\"ab\" # Uses: 12", between "###### Recommended dictionary. ######" and its end. */
static void recommended(struct slice in, engine_word_fn *fn, void *arg)
{
	char bytes[WORD_MAX];
	uint64_t uses;
	size_t n;

	if (quote_read(&in, bytes, sizeof(bytes), &n) && scan_lit(&in, SLICE(" # Uses: ")) &&
	    scan_u64(&in, 10, UINT64_MAX, &uses) && in.n == 0)
		fn(arg, (struct slice){bytes, n}, ENGINE_WORD_RECOMMENDED);
}

void libfuzzer_words(struct slice line, engine_word_fn *fn, void *arg)
{
	struct slice names;
	uint64_t number;

	if (line.n > 0 && *line.p == '"') {
		recommended(line, fn, arg);
		return;
	}
	if (!scan_lit(&line, SLICE("#")) || !scan_u64(&line, 10, UINT64_MAX, &number) ||
	    !scan_lit(&line, SLICE("\tNEW ")) || !slice_find(&line, SLICE(" MS: ")) ||
	    !scan_u64(&line, 10, UINT64_MAX, &number) || !scan_lit(&line, SLICE(" ")))
		return;
	if (!scan_until(&line, ' ', line.n, &names) || !scan_lit(&line, SLICE(" DE: ")))
		return;
	each_word(names, line, fn, arg);
}
