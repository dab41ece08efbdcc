/* SPDX-License-Identifier: Apache-2.0 */
/* The file with a target's words, which may have been changed, and a given dictionary. */
#include "base/cleanup.h"
#include "runner/dictionary/words.h"
#include "tests/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void save(const struct words *w, struct buf *out)
{
	struct err e;

	words_save(w, "target", out);
	MUST(buf_check(out, &e) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_autobuf_ struct buf first = BUF_INIT(WORDS_TEXT_MAX), second = BUF_INIT(WORDS_TEXT_MAX);
	struct slice text = {(const char *)data, size};
	struct words w = WORDS_INIT, again = WORDS_INIT;

	words_load(&w, text);
	words_choose(&w, WORDS_MOST);
	save(&w, &first);
	words_load(&again, buf_slice(&first));
	save(&again, &second);
	MUST(slice_eq(buf_slice(&first), buf_slice(&second)));
	words_add_given(&w, text);
	words_choose(&w, WORDS_MOST);
	for (size_t i = 0; i < w.n; i++)
		MUST(w.v[i].n > 0 && !(w.v[i].is_given && w.v[i].is_active));
	words_done(&w);
	words_done(&again);
	return 0;
}
