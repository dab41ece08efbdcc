/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_SHARE_H
#define RUNNER_TRIGGER_SHARE_H

#include <stddef.h>
#include <stdint.h>

/* Shares the machine's workers among the repositories with active runs.
 *
 * The number of workers is the sum of the configured numbers, or the number of CPUs if one
 * repository does not set it.  Each run gets an equal part, up to its configured number.  The parts
 * change when runs begin and end.  If there are more runs than workers, the longest waiting
 * repositories start first. */
struct share {
	uint32_t wanted;    /* run.workers; 0: as many as CPUs */
	uint64_t waited_us; /* for SHARE_WANTS */
	enum {
		SHARE_IDLE,
		SHARE_RUNS,
		SHARE_WANTS,
	} is;
	uint32_t given; /* out: workers; with SHARE_WANTS, 0: do not start now */
};
void share_workers(struct share *v, size_t n, uint32_t cpus);

#endif
