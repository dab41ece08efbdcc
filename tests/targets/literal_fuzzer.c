/* SPDX-License-Identifier: Apache-2.0 */
/* A keyword: nothing happens until an input begins with it.  The keyword is a literal of the
 * program, and the engine does not see the comparison.
 * Promise: results.  Words of the program are in its dictionary. */
#include "gated.h"

#include <stdio.h>

UNSEEN static int is_keyword(const uint8_t *data, size_t size, const char *word)
{
	unsigned int wrong = 0;
	size_t i = 0;

	for (; word[i]; i++)
		wrong |= (unsigned int)(i < size ? data[i] : 0) ^ (unsigned char)word[i];
	return wrong == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The compiler must not split the strings.  Eight words are the minimum. */
	static const char *volatile const words[] = {"OPEN-SESAME:", "shut", "door",  "cave",
						     "lamp",	     "oil",  "forty", "thieves"};
	unsigned int found = 0;

	for (unsigned int i = 0; i < 8; i++)
		found |= (unsigned int)is_keyword(data, size, words[i]) << i;
	if (found & 1)
		gated_behind(data + 12, size - 12);
	return 0;
}
