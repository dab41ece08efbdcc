/* SPDX-License-Identifier: Apache-2.0 */
#include "base/moment.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

int moment_read(struct moment *ret, struct err *e)
{
	_autofree_ char *id = NULL;
	size_t n;
	int r = fs_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 256, &id, &n, e);

	if (r < 0)
		return r;
	*ret = (struct moment){0};
	n = strcspn(id, "\n");
	if (n >= sizeof(ret->boot))
		n = sizeof(ret->boot) - 1;
	memcpy(ret->boot, id, n);
	return moment_renew(ret, e);
}

int moment_renew(struct moment *m, struct err *e)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_BOOTTIME, &ts) < 0)
		return err_sys(e, "read the clock");
	m->real_us = clock_real_us();
	m->boot_us = (uint64_t)ts.tv_sec * USEC_PER_SEC + (uint64_t)ts.tv_nsec / 1000;
	return 0;
}

struct since since_now(const struct moment *now)
{
	return (struct since){.known = true, .at = *now};
}

static bool same_boot(const struct since *s, const struct moment *now)
{
	return strcmp(s->at.boot, now->boot) == 0 && now->boot_us >= s->at.boot_us;
}

bool since_went_back(const struct since *s, const struct moment *now)
{
	return s->known && !same_boot(s, now) && now->real_us < s->at.real_us;
}

uint64_t since_age(const struct since *s, const struct moment *now)
{
	uint64_t passed, up = now->boot_us;

	if (!s->known)
		return 0;
	if (same_boot(s, now)) {
		passed = now->boot_us - s->at.boot_us;
	} else {
		passed = now->real_us > s->at.real_us ? now->real_us - s->at.real_us : 0;
		passed = passed > up ? passed : up;
	}
	return passed > UINT64_MAX - s->age_us ? UINT64_MAX : s->age_us + passed;
}

void since_renew(struct since *s, const struct moment *now)
{
	if (!s->known)
		return;
	s->age_us = since_age(s, now);
	s->at = *now;
}
