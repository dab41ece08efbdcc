/* SPDX-License-Identifier: Apache-2.0 */
/* Fails as the file "behaviour" beside it says, so that a build of a commit only copies files. Each
 * line has a letter and what an input that begins with it does: "a fails", "b flaky" (every fourth
 * time), "c other" (in another place); without a line it passes. */
#include "planted.h"

#include <sys/random.h>

#define BUG(letter)                                                      \
	__attribute__((noinline)) static void planted_bug_##letter(void) \
	{                                                                \
		abort();                                                 \
	}
BUG(a)
BUG(b)
BUG(c)
BUG(d)
BUG(e)
BUG(f)

__attribute__((noinline)) static void another_bug(void)
{
	abort();
}

static void (*const bugs[])(void) = {planted_bug_a, planted_bug_b, planted_bug_c,
				     planted_bug_d, planted_bug_e, planted_bug_f};

static int every_fourth(void)
{
	unsigned char byte = 0;

	return getrandom(&byte, 1, 0) == 1 && byte < 64;
}

static char behaviour[4096];

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	FILE *f = fopen("behaviour", "re");

	(void)argc;
	(void)argv;
	if (f && fread(behaviour, 1, sizeof(behaviour) - 1, f) == 0)
		behaviour[0] = '\0';
	if (f)
		fclose(f);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[4] = {'\n', 0, ' ', 0};
	const char *at;

	if (size < 2 || data[0] < 'a' || data[0] > 'f' || data[1] != '!')
		return 0;
	line[1] = (char)data[0];
	at = strstr(behaviour, line);
	if (!at)
		return 0;
	if (strncmp(at + 3, "other", 5) == 0)
		another_bug();
	if (strncmp(at + 3, "fails", 5) == 0 || every_fourth())
		bugs[data[0] - 'a']();
	return 0;
}
