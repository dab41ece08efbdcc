/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file of a hostile build: the words found in it are reproducible, and each is a valid line
 * of a dictionary. */
#include "base/cleanup.h"
#include "base/quote.h"
#include "base/sys.h"
#include "runner/dictionary/literals.h"
#include "tests/fuzz/must.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void each_line_is_a_word(struct slice text, size_t want)
{
	struct slice line;
	size_t n = 0;

	for (; scan_line(&text, &line); n++) {
		char bytes[WORD_BYTES];
		size_t len;

		MUST(quote_read(&line, bytes, sizeof(bytes), &len) && len > 0 && line.n == 0);
	}
	MUST(n == want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_autoclose_ int fd = memfd_create("elf", MFD_CLOEXEC);
	_autobuf_ struct buf text = BUF_INIT(WORDS_TEXT_MAX);
	struct words w = WORDS_INIT, again = WORDS_INIT;
	struct err e;
	size_t n;

	MUST(fd >= 0 && sys_write_all(fd, data, size) == 0);
	n = literals_in(fd, &w);
	MUST(w.n <= WORDS_MAX);
	MUST(literals_in(fd, &again) == n && again.n == w.n);
	n = words_choose(&w, WORDS_MOST);
	MUST(n <= WORDS_MOST && n <= w.n);
	words_print(&w, &text);
	MUST(buf_check(&text, &e) == 0);
	each_line_is_a_word(buf_slice(&text), n);
	words_done(&w);
	words_done(&again);
	return 0;
}
