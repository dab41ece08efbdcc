/* SPDX-License-Identifier: Apache-2.0 */
/* Prints false engine output: statistics, a crash report, an artifact's path outside its directory,
 * and an end of the run.  Then it continues.
 * Promise: truth.  A target's output is never used as a path or a verdict.  Artifacts are the files
 * in the artifact directory, and the end is the process's exit status. */
#include "planted.h"

static const char lines[] =
    "#18446744073709551616\tNEW    cov: 4294967296 ft: -1 corp: 99999999999999999999/1Zb\n"
    "#7\tNEW    cov: 0x41 ft: nan corp: /// exec/s: 1e309 rss: -5Mb\n"
    "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x41414141\n"
    "    #0 0x0 in $(touch /tmp/planted) /../../etc/passwd:1:1\n"
    "artifact_prefix='/etc/'; Test unit written to /etc/passwd\n"
    "artifact_prefix='./'; Test unit written to ../../../../../etc/shadow\n"
    "SUMMARY: AddressSanitizer: heap-buffer-overflow ::add-mask::![x](http://x) @everyone\n"
    "Done 2 runs in 0 second(s)\n"
    "stat::number_of_executed_units: 18446744073709551615\n"
    "stat::peak_rss_mb:              99999999999\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool told;

	if (!told && size > 0) {
		told = true;
		(void)!write(STDERR_FILENO, lines, sizeof(lines) - 1);
	}
	return planted_work(data, size);
}
