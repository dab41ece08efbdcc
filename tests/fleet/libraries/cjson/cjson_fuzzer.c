/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a JSON text and writes what was read, plain and formatted. */
#include <cJSON.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cJSON *root;
	char *text;

	if (size > 1 << 16)
		return 0;
	root = cJSON_ParseWithLength((const char *)data, size);
	if (!root)
		return 0;
	text = cJSON_PrintUnformatted(root);
	cJSON_free(text);
	text = cJSON_Print(root);
	cJSON_free(text);
	cJSON_Delete(root);
	return 0;
}
