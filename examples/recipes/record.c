/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"

#include <string.h>

int record_name(const uint8_t *data, size_t size, char name[RECORD_NAME_MAX])
{
	if (size < 2 || data[0] != 'R' || data[1] > size - 2)
		return -1;
	memcpy(name, data + 2, data[1]);
	return data[1];
}

size_t record_count(const uint8_t *data, size_t size)
{
	size_t n = 0;

	while (size >= 2 && data[0] == 'R' && data[1] <= size - 2) {
		size -= 2 + (size_t)data[1];
		data += 2 + (size_t)data[1];
		n++;
	}
	return n;
}
