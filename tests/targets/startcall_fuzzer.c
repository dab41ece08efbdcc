/* SPDX-License-Identifier: Apache-2.0 */
/* Calls bpf(2) once at its start, like a library that checks the kernel's features.  It also
 * calls bpf(2) on every input that begins with 'S', after CALL_AFTER (default 0) of these.  With
 * CALL_OTHERS it makes twenty other refused calls at its start.
 * Promise: system calls.  The call at the start is no finding.  The first such input is the only
 * finding. */
#include "planted.h"
#include <linux/bpf.h>
#include <sys/syscall.h>

static void call_bpf(void)
{
	union bpf_attr map = {
	    .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 1, .max_entries = 1};
	long fd = syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map));

	planted_report("bpf", fd < 0 ? errno : 0);
	if (fd >= 0)
		(void)close((int)fd);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	for (long n = 0; n < 20 && getenv("CALL_OTHERS"); n++)
		(void)syscall(9000 + n);
	call_bpf();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t called;

	if (!planted_magic(data, size, 'S'))
		return planted_work(data, size);
	if (called++ >= planted_env("CALL_AFTER", 0))
		call_bpf();
	return 0;
}
