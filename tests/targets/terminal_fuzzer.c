/* SPDX-License-Identifier: Apache-2.0 */
/* Prints terminal control sequences: in its output, in its crash report, and in the name of the
 * failing function.
 * Promise: output.  All of them are escaped before they reach a terminal. */
#include "planted.h"

#define RED   "\33[31m"
#define TITLE "\33]0;title\7"
#define BYTE_CSI \
	"\233"   \
	"2J"
#define UTF8_CSI   \
	"\302\233" \
	"2J"
#define BACKWARDS "\342\200\256"

void fails(const uint8_t *data) __asm__(RED "fails" TITLE BACKWARDS);

static const char lines[] = RED TITLE BYTE_CSI UTF8_CSI BACKWARDS
    "\r\b\n"
    "#7\tNEW    cov: 12 ft: 13 corp: " RED "1/1b\n"
    "==1==ERROR: AddressSanitizer: " RED "heap" TITLE "-buffer-overflow" BACKWARDS " on address\n"
    "READ of size 1 at 0x41 thread T0\n"
    "    #0 0x1 in " RED "name" BYTE_CSI UTF8_CSI BACKWARDS " /src/" TITLE "a.c:1:1\n"
    "    #1 0x2 in LLVMFuzzerTestOneInput /src/a.c:2:2\n"
    "SUMMARY: AddressSanitizer: " RED "heap" TITLE "-buffer-overflow" BACKWARDS "\n";

__attribute__((noinline)) void fails(const uint8_t *data)
{
	(void)!write(STDERR_FILENO, lines, sizeof(lines) - 1);
	if (data[0] == 'A')
		abort();
	*(volatile char *)(uintptr_t)data[0] = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool told;

	if (!told && size > 0) {
		told = true;
		(void)!write(STDERR_FILENO, lines, strcspn(lines, "=")); /* no report */
	}
	if (size > 1 && (data[0] == 'A' || data[0] == 'B'))
		fails(data);
	return planted_work(data, size);
}
