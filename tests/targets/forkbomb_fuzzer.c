/* SPDX-License-Identifier: Apache-2.0 */
/* A fork bomb, on an input that begins with 'F': every child forks as fast as
 * it can, in a session of its own, so that neither the terminal nor a process
 * group reaches it.  Cap: FORK_MAX processes (default 400), each ends after
 * FORK_SECONDS (default 30).
 * Promise: processes.  The count stops at pids.max, the end reason says
 * `pids-limit`, and no process outlives the cell. */
#include "planted.h"
#include <stdatomic.h>
#include <sys/mman.h>

static _Atomic uint64_t *processes; /* shared by all of them */
static _Atomic uint64_t *refused;

static void breed(time_t end)
{
	while (planted_now() < end) {
		pid_t p;

		if (atomic_fetch_add(processes, 1) >= planted_env("FORK_MAX", 400)) {
			(void)atomic_fetch_sub(processes, 1);
			planted_nap(10);
			continue;
		}
		p = fork();
		if (p == 0) {
			(void)setsid();
			continue;
		}
		if (p < 0) {
			if (atomic_fetch_add(refused, 1) == 0)
				planted_report("fork", errno);
			(void)atomic_fetch_sub(processes, 1);
			planted_nap(1);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pid_t self = getpid();

	if (!planted_magic(data, size, 'F'))
		return planted_work(data, size);
	if (!processes) {
		processes = mmap(NULL, 2 * sizeof(*processes), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (processes == MAP_FAILED)
			abort();
		refused = processes + 1;
	}
	breed(planted_now() + (time_t)planted_env("FORK_SECONDS", 30));
	if (getpid() != self)
		_exit(0);
	if (!atomic_load(refused))
		planted_cap("fork bomb");
	return 0;
}
