/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* Microseconds everywhere: CLOCK_MONOTONIC for durations and deadlines (it
 * does not jump), CLOCK_REALTIME only for what a person or another program reads. */
#define USEC_PER_SEC  UINT64_C(1000000)
#define USEC_PER_MSEC UINT64_C(1000)

uint64_t clock_mono_us(void);
uint64_t clock_real_us(void);

#endif
