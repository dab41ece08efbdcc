/* SPDX-License-Identifier: Apache-2.0 */
/* Calls bpf(2), which no engine needs, on an input that begins with 'S', prints the result, and
 * continues fuzzing.
 * Promise: system calls.  The call is refused, and reported as a finding.  (If it succeeds, it
 * makes an empty map of one byte and closes it.) */
#include "planted.h"
#include <linux/bpf.h>
#include <sys/syscall.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	union bpf_attr map = {
	    .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 1, .max_entries = 1};
	static bool told;
	long fd;

	if (told || !planted_magic(data, size, 'S'))
		return planted_work(data, size);
	told = true;
	fd = syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map));
	planted_report("bpf", fd < 0 ? errno : 0);
	if (fd >= 0)
		(void)close((int)fd);
	return 0;
}
