/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one endless file into the artifact directory, named like an artifact;
 * when that is refused, a next one, and one in the corpus.
 * Promise: disk.  The file-size limit holds, the directory's total holds, and
 * the cell ends as `disk-limit`. */
#include "disk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const files[] = {
	    "/work/artifacts/crash-da39a3ee5e6b4b0d3255bfef95601890afd80709",
	    "/work/artifacts/second",
	    "/work/artifacts/third",
	    "/work/corpus/big",
	};
	static bool done;

	if (done || size == 0)
		return planted_work(data, size);
	done = true;
	disk_ignore_xfsz();
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		planted_report(files[i], disk_fill(files[i]));
	return 0;
}
