/* SPDX-License-Identifier: Apache-2.0 */
/* Built without coverage instrumentation (targets.mk), then linked with the
 * engine.
 * Promise: truth.  The job ends as `not-instrumented`. */
#include "planted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return planted_work(data, size);
}
