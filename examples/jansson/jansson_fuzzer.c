/* SPDX-License-Identifier: Apache-2.0 */
/* Loads JSON, writes it, loads the result again, and compares.  The first byte chooses the flags:
 * its low bits are load flags, its high bits dump flags. */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	json_object_seed(1); /* the same input takes the same path every time */
	return 0;
}

static size_t load_flags(uint8_t how)
{
	return (how & 1 ? JSON_REJECT_DUPLICATES : 0) | (how & 2 ? JSON_DECODE_ANY : 0) |
	       (how & 4 ? JSON_DISABLE_EOF_CHECK : 0) | (how & 8 ? JSON_ALLOW_NUL : 0);
}

static size_t dump_flags(uint8_t how)
{
	return (how & 16 ? JSON_INDENT(2) : JSON_COMPACT) | (how & 32 ? JSON_ENSURE_ASCII : 0) |
	       (how & 64 ? JSON_SORT_KEYS : 0) | (how & 128 ? JSON_ESCAPE_SLASH : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *first, *second;
	json_error_t error;
	char *text;

	if (size < 1)
		return 0;
	first = json_loadb((const char *)data + 1, size - 1, load_flags(data[0]), &error);
	if (!first)
		return 0;
	text = json_dumps(first, dump_flags(data[0]) | JSON_ENCODE_ANY);
	if (text) {
		second = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
		if (!second || !json_equal(first, second))
			abort(); /* it must read its own output */
		json_decref(second);
		free(text);
	}
	json_decref(first);
	return 0;
}
