/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file of a hostile build.  The counts are bounded by the file's size and are reproducible.
 * The same holds for its instrumented part. */
#include "base/cleanup.h"
#include "base/sys.h"
#include "runner/targets/counters.h"
#include "runner/targets/instrumented.h"
#include "tests/fuzz/must.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
	return 0;
}
