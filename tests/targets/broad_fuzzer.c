/* SPDX-License-Identifier: Apache-2.0 */
/* One harness for twenty formats with 10,000 edges.  It finds only a small part of them, slowly,
 * because no format gets enough inputs.
 * Promise: truth.  Its health says that the harness is likely too broad. */
#include "gated.h"

#define FORMATS 20
#define SEEN	20 /* number of values of each that inputs have */

#define FORMAT(n)                                                                         \
	__attribute__((noinline)) static void format##n(const uint8_t *data, size_t size) \
	{                                                                                 \
		gated_behind(data, size);                                                 \
	}
#define TEN(n)       \
	FORMAT(n##0) \
	FORMAT(n##1) \
	FORMAT(n##2) \
	FORMAT(n##3) \
	FORMAT(n##4) \
	FORMAT(n##5) \
	FORMAT(n##6) \
	FORMAT(n##7) \
	FORMAT(n##8) \
	FORMAT(n##9)

TEN(1)
TEN(2)

#define NAMES(n)                                                                            \
	format##n##0, format##n##1, format##n##2, format##n##3, format##n##4, format##n##5, \
	    format##n##6, format##n##7, format##n##8, format##n##9

static void (*const formats[FORMATS])(const uint8_t *, size_t) = {NAMES(1), NAMES(2)};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t n = gated_chance(data, size, FORMATS * SEEN);
	uint8_t value = (uint8_t)(n % SEEN);

	if (n < FORMATS * SEEN)
		formats[n / SEEN](&value, 1);
	return 0;
}
