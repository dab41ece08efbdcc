/* SPDX-License-Identifier: Apache-2.0 */
/* Ends the process with _exit(0), as if all were well, on an input that begins
 * with 'Q': no report, no artifact, no final statistics.
 * Promise: truth.  The job does not end as `finished`, because the engine was not asked to stop. */
#include "planted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (planted_magic(data, size, 'Q'))
		_exit(0);
	return planted_work(data, size);
}
