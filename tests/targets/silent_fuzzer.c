/* SPDX-License-Identifier: Apache-2.0 */
/* Closes stdout and stderr at the first input, and goes on fuzzing: no
 * statistics, no report.  (The next file that it opens becomes descriptor 1.)
 * Promise: truth.  The job continues while its CPU time grows, and still ends with a verdict. */
#include "planted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool closed;

	if (!closed && size > 0) {
		closed = true;
		(void)close(STDOUT_FILENO);
		(void)close(STDERR_FILENO);
	}
	return planted_work(data, size);
}
