/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* All times are microseconds.  Durations and deadlines use CLOCK_MONOTONIC, which does not jump.
 * CLOCK_REALTIME is only for times that a user or another program reads. */
#define USEC_PER_SEC  UINT64_C(1000000)
#define USEC_PER_MSEC UINT64_C(1000)

uint64_t clock_mono_us(void);
uint64_t clock_real_us(void);

#endif
