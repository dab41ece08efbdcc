/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MOMENT_H
#define BASE_MOMENT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* How long ago something was, over restarts and clocks that are set.
 *
 * A wall clock jumps, and a clock that does not jump begins anew at each boot.  So what
 * is kept of an event is its age at a moment that all clocks were read at, renewed while
 * somebody looks: within a boot only the clock that does not jump is asked, between two
 * boots the wall clock, for the time since the last look and no more. */
enum { BOOT_ID_MAX = 40 };

struct moment {
	uint64_t real_us;	/* CLOCK_REALTIME */
	uint64_t boot_us;	/* CLOCK_BOOTTIME: since the boot, sleep included */
	char boot[BOOT_ID_MAX]; /* /proc/sys/kernel/random/boot_id (random(4)) */
};
MUST_CHECK int moment_read(struct moment *ret, struct err *e);
/* All clocks anew, in the same boot: needs no file. */
MUST_CHECK int moment_renew(struct moment *m, struct err *e);

struct since {
	bool known;
	uint64_t age_us; /* at `at` */
	struct moment at;
};
struct since since_now(const struct moment *now);
/* Its age.  0 when it is not known.  After a boot with a wall clock that was set back it
 * is at least the time that the machine is up: too young, but never stuck. */
uint64_t since_age(const struct since *s, const struct moment *now);
/* The same event, seen from now on from here. */
void since_renew(struct since *s, const struct moment *now);
/* The wall clock of `now` is behind the one that `s` was last seen at, in another boot. */
bool since_went_back(const struct since *s, const struct moment *now);

#endif
