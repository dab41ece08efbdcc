/* SPDX-License-Identifier: Apache-2.0 */
/* Hundreds of edges behind a word that the engine cannot see.  Built with GATED_OPEN, the engine
 * sees each letter of it.  So the main build gets behind it only with that build's inputs
 * (partners.bats).  The build with GATED_OPEN has a bug of its own.  With GATED_STRICT, some inputs
 * behind the word fail. */
#include "gated.h"

#ifdef GATED_OPEN
#define GATED_LETTERS __attribute__((noinline, optnone))
#else
#define GATED_LETTERS UNSEEN
#endif

GATED_LETTERS static bool gated_opens(const uint8_t *data)
{
	if (data[0] != 's')
		return false;
	if (data[1] != 'e')
		return false;
	if (data[2] != 's')
		return false;
	if (data[3] != 'a')
		return false;
	if (data[4] != 'm')
		return false;
	return data[5] == 'e';
}

#ifdef GATED_OPEN
/* Fuzzing does not find this input: only a test gives it. */
UNSEEN static bool gated_is_bug(const uint8_t *data, size_t size)
{
	static const char bug[] = "BUG, for one";

	if (size != sizeof(bug) - 1)
		return false;
	for (size_t i = 0; i < size; i++)
		if (data[i] != (uint8_t)bug[i])
			return false;
	return true;
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 6)
		return 0;
#ifdef GATED_OPEN
	if (gated_is_bug(data, size))
		__builtin_trap();
#endif
	if (!gated_opens(data))
		return 0;
#ifdef GATED_STRICT
	if (size > 6 && data[6] == 0xfd && size % 4 == 0)
		__builtin_trap();
#endif
	gated_behind(data + 6, size - 6);
	return 0;
}
