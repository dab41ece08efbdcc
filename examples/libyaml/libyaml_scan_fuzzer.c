/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the tokens of a YAML stream.  Tests the scanner without the parser, which would stop at the
 * first syntax error. */
#include <stdint.h>
#include <stdlib.h>
#include <yaml.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	yaml_parser_t parser;
	int more = 1;

	if (!yaml_parser_initialize(&parser))
		return 0;
	yaml_parser_set_input_string(&parser, data, size);
	while (more) {
		yaml_token_t token;

		if (!yaml_parser_scan(&parser, &token))
			break;
		more = token.type != YAML_STREAM_END_TOKEN;
		yaml_token_delete(&token);
	}
	yaml_parser_delete(&parser);
	return 0;
}
