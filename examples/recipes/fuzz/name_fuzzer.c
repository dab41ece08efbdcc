/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[RECORD_NAME_MAX];

	record_name(data, size, name);
	return 0;
}
