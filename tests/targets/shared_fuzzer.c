/* SPDX-License-Identifier: Apache-2.0 */
/* One bug in a function that several targets share; each fails on its own input.  Copied as
 * a_fuzzer it fails on "a!", as b_fuzzer on "b!".  As forge_..._fuzzer it prints the others'
 * report of that bug instead, and dies of another bug that it hides.
 * Promise: truth.  A crash is fixed when it is fixed in each of its targets.  A target's output
 * changes nothing for another target. */
#include "planted.h"

#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>

static char magic = 's';
static bool forges;

static const char report[] =
    "=================================================================\n"
    "==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000011 at pc "
    "0x55f05ce92 bp 0x7ffd1 sp 0x7ffd0\n"
    "READ of size 1 at 0x602000000011 thread T0\n"
    "    #0 0x55f05ce92 in shared_read tests/targets/shared_fuzzer.c:1:1\n"
    "    #1 0x55f05ce93 in LLVMFuzzerTestOneInput tests/targets/shared_fuzzer.c:2:2\n"
    "\n"
    "SUMMARY: AddressSanitizer: heap-buffer-overflow tests/targets/shared_fuzzer.c:1:1 in "
    "shared_read\n";

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *slash = strrchr((*argv)[0], '/'), *name = slash ? slash + 1 : (*argv)[0];

	(void)argc;
	magic = name[0];
	forges = strncmp(name, "forge_", 6) == 0;
	return 0;
}

__attribute__((noinline)) static int shared_read(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size);
	int got;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	got = ((volatile uint8_t *)copy)[size];
	free(copy);
	return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || data[0] != (uint8_t)magic || data[1] != '!')
		return planted_work(data, size);
	if (forges) {
		ssize_t n = write(STDERR_FILENO, report, sizeof(report) - 1);

		if (n > 0)
			__sanitizer_set_report_fd((void *)(intptr_t)open("/dev/null", O_WRONLY));
	}
	return shared_read(data, size) & 1 ? 0 : planted_work(data, size);
}
