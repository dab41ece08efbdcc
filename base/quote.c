/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quote.h"

static int quote_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* The value of n digits; false: there are fewer digits. */
static bool quote_number(struct slice in, size_t n, int base, unsigned *ret)
{
	unsigned v = 0;

	if (in.n < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		int d = quote_digit(in.p[i]);

		if (d >= base)
			return false;
		v = v * (unsigned)base + (unsigned)d;
	}
	*ret = v;
	return v <= 0xff;
}

/* The number of characters of the escape after a backslash; 0: no valid escape. */
static size_t quote_escape(struct slice in, char *ret)
{
	unsigned v;

	if (in.n > 0 && (*in.p == '\\' || *in.p == '"')) {
		*ret = *in.p;
		return 1;
	}
	if (in.n > 0 && *in.p == 'x' &&
	    quote_number((struct slice){in.p + 1, in.n - 1}, 2, 16, &v)) {
		*ret = (char)v;
		return 3;
	}
	if (quote_number(in, 3, 8, &v)) {
		*ret = (char)v;
		return 3;
	}
	return 0;
}

/* The number of characters of the next byte; 0: no valid byte. */
static size_t quote_byte(struct slice in, char *ret)
{
	size_t n;

	if (in.n == 0 || *in.p < ' ' || *in.p > '~')
		return 0;
	*ret = *in.p;
	if (*in.p != '\\')
		return 1;
	n = quote_escape((struct slice){in.p + 1, in.n - 1}, ret);
	return n ? n + 1 : 0;
}

bool quote_read(struct slice *in, char *out, size_t max, size_t *ret_n)
{
	struct slice s = *in;
	size_t n = 0;

	if (!scan_lit(&s, SLICE("\"")))
		return false;
	while (!scan_lit(&s, SLICE("\""))) {
		char c;
		size_t took = quote_byte(s, &c);

		if (took == 0 || n == max)
			return false;
		out[n++] = c;
		s.p += took;
		s.n -= took;
	}
	*in = s;
	*ret_n = n;
	return true;
}

void quote_add(struct buf *b, struct slice bytes)
{
	buf_puts(b, "\"");
	for (size_t i = 0; i < bytes.n; i++) {
		unsigned char c = (unsigned char)bytes.p[i];

		if (c == '"' || c == '\\')
			buf_printf(b, "\\%c", c);
		else if (c < ' ' || c > '~')
			buf_printf(b, "\\x%02X", c);
		else
			buf_printf(b, "%c", c);
	}
	buf_puts(b, "\"");
}
