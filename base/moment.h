/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MOMENT_H
#define BASE_MOMENT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* The age of an event, across restarts and changes of the clock.
 *
 * The wall clock can jump, and CLOCK_BOOTTIME restarts at each boot.  So the stored state is the
 * event's age at a moment at which all clocks were read; since_renew() updates both.  Within a boot
 * the age grows by CLOCK_BOOTTIME.  Across a reboot it grows by the wall clock, but only for the
 * time since the last update. */
enum { BOOT_ID_MAX = 40 };

struct moment {
	uint64_t real_us;	/* CLOCK_REALTIME */
	uint64_t boot_us;	/* CLOCK_BOOTTIME: since the boot, sleep included */
	char boot[BOOT_ID_MAX]; /* /proc/sys/kernel/random/boot_id (random(4)) */
};
MUST_CHECK int moment_read(struct moment *ret, struct err *e);
/* Reads the clocks again.  The boot must be the same; no file is read. */
MUST_CHECK int moment_renew(struct moment *m, struct err *e);

struct since {
	bool known;
	uint64_t age_us; /* at `at` */
	struct moment at;
};
struct since since_now(const struct moment *now);
/* The age of the event; 0 when the event is not known.  When the wall clock went back over a
 * reboot, the age still grows by the machine's uptime: it may be too small, but it never stops. */
uint64_t since_age(const struct since *s, const struct moment *now);
/* Stores the event's age at `now`. */
void since_renew(struct since *s, const struct moment *now);
/* Whether the machine rebooted since `s` was stored, and its wall clock went back meanwhile. */
bool since_went_back(const struct since *s, const struct moment *now);

#endif
