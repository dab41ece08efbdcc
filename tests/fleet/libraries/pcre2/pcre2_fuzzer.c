/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles the input as a pattern and matches it against itself, with limits.  The
 * first two bytes are options. */
#include <pcre2.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t options_of(const uint8_t *data)
{
	static const uint32_t options[] = {
	    PCRE2_CASELESS,
	    PCRE2_MULTILINE,
	    PCRE2_DOTALL,
	    PCRE2_EXTENDED,
	    PCRE2_UTF,
	    PCRE2_UCP,
	    PCRE2_UNGREEDY,
	    PCRE2_DUPNAMES,
	    PCRE2_ANCHORED,
	    PCRE2_AUTO_CALLOUT,
	    PCRE2_DOLLAR_ENDONLY,
	    PCRE2_FIRSTLINE,
	    PCRE2_NO_AUTO_POSSESS,
	    PCRE2_ALT_BSUX,
	    PCRE2_ALT_VERBNAMES,
	    PCRE2_MATCH_UNSET_BACKREF,
	};
	uint32_t chosen = PCRE2_NEVER_BACKSLASH_C;

	for (unsigned i = 0; i < 16; i++)
		if (data[i / 8] >> i % 8 & 1)
			chosen |= options[i];
	return chosen;
}

static void match(const pcre2_code *code, const uint8_t *text, size_t size)
{
	pcre2_match_context *limits = pcre2_match_context_create(NULL);
	pcre2_match_data *found = pcre2_match_data_create_from_pattern(code, NULL);

	if (limits && found) {
		(void)pcre2_set_match_limit(limits, 1000);
		(void)pcre2_set_depth_limit(limits, 200);
		(void)pcre2_set_heap_limit(limits, 1024);
		(void)pcre2_match(code, text, size, 0, 0, found, limits);
	}
	pcre2_match_data_free(found);
	pcre2_match_context_free(limits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pcre2_code *code;
	size_t at;
	int error;

	if (size < 2 || size > 512)
		return 0;
	code = pcre2_compile(data + 2, size - 2, options_of(data), &error, &at, NULL);
	if (!code)
		return 0;
	match(code, data + 2, size - 2);
	pcre2_code_free(code);
	return 0;
}
