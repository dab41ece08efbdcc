/* SPDX-License-Identifier: Apache-2.0 */
/* The library that library_fuzzer opens: most of its edges are here. */
#include "planted.h"

int library_work(const uint8_t *data, size_t size);

int library_work(const uint8_t *data, size_t size)
{
	return planted_work(data, size);
}
