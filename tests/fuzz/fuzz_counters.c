/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file of a hostile build.  The counts are bounded by the file's size and are reproducible.
 * The same holds for its instrumented part, and its functions are in order. */
#include "base/cleanup.h"
#include "base/sys.h"
#include "runner/targets/counters.h"
#include "runner/targets/instrumented.h"
#include "runner/targets/libraries.h"
#include "runner/targets/symbols.h"
#include "tests/fuzz/must.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_functions(int fd)
{
	const struct target t = {.dir = NULL};
	struct symbols s = {0};
	struct elf_file m;

	if (elf_open(fd, &m) != ELF_READ)
		return;
	(void)libraries_own(&m, &t);
	if (symbols_read(&m, &s))
		MUST(s.n > 0);
	for (size_t i = 0; i < s.n; i++)
		MUST(s.v[i].end >= s.v[i].begin && strlen(s.v[i].name) < m.size &&
		     (i == 0 || s.v[i - 1].begin <= s.v[i].begin));
	symbols_done(&s);
	elf_done(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_autoclose_ int fd = memfd_create("elf", MFD_CLOEXEC);
	enum counters_known k;
	uint64_t edges, again;

	MUST(fd >= 0 && sys_write_all(fd, data, size) == 0);
	k = counters_in(fd, &edges);
	MUST((k == COUNTERS_FOUND) == (edges > 0));
	MUST(edges <= size / 4);
	MUST(counters_in(fd, &again) == k && again == edges);
	MUST(instrumented_in(fd) == instrumented_in(fd));
	check_functions(fd);
	return 0;
}
