/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_TRIGGER_SHARE_H
#define RUNNER_TRIGGER_SHARE_H

#include <stddef.h>
#include <stdint.h>

/* The machine's workers, shared among the repositories that run at the same time.
 *
 * There are as many as the configurations say together, or as many as CPUs when one of
 * them leaves it open.  Whoever runs gets an equal part, and never more than its
 * configuration says; parts change as runs begin and end.  More runs than workers: those
 * who waited longest go first. */
struct share {
	uint32_t wanted;    /* run.workers; 0: as many as CPUs */
	uint64_t waited_us; /* of those who want to start */
	enum {
		SHARE_IDLE,
		SHARE_RUNS,
		SHARE_WANTS,
	} is;
	uint32_t given; /* out: workers; of those who want to start, 0 is not now */
};
void share_workers(struct share *v, size_t n, uint32_t cpus);

#endif
