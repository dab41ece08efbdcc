/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/measure/numbers.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>

void numbers_start(struct numbers *in, int fd, uint64_t at, size_t ahead)
{
	in->fd = fd;
	in->at = at;
	in->pos = in->n = 0;
	in->ahead = ahead && ahead < NUMBERS_BLOCK ? ahead : NUMBERS_BLOCK;
	in->error = 0;
}

static bool numbers_refill(struct numbers *in)
{
	ssize_t n;

	if (in->error)
		return false;
	n = sys_pread(in->fd, in->block, in->ahead, (off_t)in->at);
	if (n < 0)
		in->error = errno;
	if (n <= 0)
		return false;
	in->n = (size_t)n;
	in->pos = 0;
	return true;
}

int numbers_peek(struct numbers *in)
{
	if (in->pos == in->n && !numbers_refill(in))
		return NUMBERS_END;
	return (unsigned char)in->block[in->pos];
}

static void numbers_take(struct numbers *in)
{
	in->pos++;
	in->at++;
}

/* The usual case: the block holds all of the text. */
static bool take_equal(struct numbers *in, struct slice text)
{
	if (text.n > in->n - in->pos || memcmp(in->block + in->pos, text.p, text.n) != 0)
		return false;
	in->pos += text.n;
	in->at += text.n;
	return true;
}

enum number_end numbers_text(struct numbers *in, struct slice text)
{
	if (take_equal(in, text))
		return NUMBER_OK;
	for (size_t i = 0; i < text.n; i++) {
		int c = numbers_peek(in);

		if (c == NUMBERS_END)
			return NUMBER_CUT;
		if (c != (unsigned char)text.p[i])
			return NUMBER_BAD;
		numbers_take(in);
	}
	return NUMBER_OK;
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

enum number_end numbers_next(struct numbers *in, uint32_t max, uint32_t *ret, char *ret_after)
{
	uint64_t v = 0;
	bool any = false;
	int c;

	for (c = numbers_peek(in); is_digit(c); c = numbers_peek(in)) {
		v = v * 10 + (uint64_t)(c - '0');
		if (v > max)
			return NUMBER_BAD;
		any = true;
		numbers_take(in);
	}
	if (c == NUMBERS_END)
		return NUMBER_CUT;
	if (!any || (c != ' ' && c != '\n'))
		return NUMBER_BAD;
	numbers_take(in);
	*ret = (uint32_t)v;
	*ret_after = (char)c;
	return NUMBER_OK;
}
