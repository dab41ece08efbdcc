/* SPDX-License-Identifier: Apache-2.0 */
/* A checksum gate: the engine learns the format's token from a comparison, and then stands
 * before a checksum of the rest, which it cannot.
 * Promise: truth.  Its health says so. */
#include "gated.h"

#define HEAD 8 /* token, checksum */

/* Neither the sum nor what it is compared with stands in the input as such. */
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
