/* SPDX-License-Identifier: Apache-2.0 */
/* Magic bytes: nothing happens until an input begins with eight certain bytes, which the engine
 * cannot learn from a comparison. Promise: truth.  Its health reports that magic bytes probably
 * block it.  With the token in a dictionary it does not report this. */
#include "gated.h"

UNSEEN static int is_format(const uint8_t *data, size_t size)
{
	static const uint8_t magic[8] = {0x89, 'T', 'O', 'K', 0x0d, 0x0a, 0x1a, 0x0a};
	unsigned int wrong = 0;

	for (size_t i = 0; i < sizeof(magic); i++)
		wrong |= (unsigned int)(i < size ? data[i] : 0) ^ magic[i];
	return wrong == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (is_format(data, size))
		gated_behind(data + 8, size - 8);
	return 0;
}
