/* SPDX-License-Identifier: Apache-2.0 */
/* A checksum gate: the engine learns the format's token from a comparison, but cannot pass the
 * checksum of the rest.
 * Promise: truth.  Its health reports this. */
#include "gated.h"

#define HEAD 8 /* token, checksum */

/* Neither the sum nor the value that it is compared with is a part of the input. */
UNSEEN static int is_whole(const uint8_t *data, size_t size)
{
	uint32_t sum = 2166136261u, want = 0;

	for (size_t i = HEAD; i < size; i++)
		sum = (sum ^ data[i]) * 16777619u;
	for (size_t i = HEAD / 2; i < HEAD; i++)
		want = want * 251 + data[i];
	return (sum ^ (sum >> 15)) * 0x85ebca6bu == (want ^ 0x5bd1e995u) * 0xc2b2ae35u;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t token;

	if (size < HEAD)
		return 0;
	memcpy(&token, data, sizeof(token));
	if (token != 0x4b435343u) /* "CSCK" */
		return 0;
	if (is_whole(data, size))
		gated_behind(data + HEAD, size - HEAD);
	return 0;
}
