/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/schedule/disk.h"

#include "base/clock.h"
#include "base/fs.h"

#include <sys/statvfs.h>
#include <unistd.h>

/* Walking what cells wrote costs: only when the file system lost this share of
 * the smallest limit since the last walk, and otherwise this often. */
#define WALK_US (10 * USEC_PER_SEC)
enum { WALK_SHARE = 8 };

/* When it was low, this share of the reserve more must be free. */
enum { AGAIN_SHARE = 8 };

static uint64_t free_bytes(const struct disk_watch *d)
{
	struct statvfs v;

	if (fstatvfs(d->work, &v) < 0)
		return UINT64_MAX; /* no answer is no reason to stop */
	return (uint64_t)v.f_bavail * v.f_frsize;
}

void disk_watch_begin(struct disk_watch *d, int work, uint64_t reserve, uint64_t smallest)
{
	*d = (struct disk_watch){.work = work, .reserve = reserve, .step = smallest / WALK_SHARE};
	d->free = free_bytes(d);
}

bool disk_is_low(bool was, uint64_t avail, uint64_t reserve)
{
	return avail < reserve || (was && avail - reserve < reserve / AGAIN_SHARE);
}

enum disk_state disk_look(struct disk_watch *d, uint64_t now)
{
	uint64_t avail = free_bytes(d);
	bool fell = avail < d->free && d->free - avail >= d->step;

	if (avail > d->free)
		d->free = avail;
	d->low = disk_is_low(d->low, avail, d->reserve);
	if (d->low)
		return DISK_LOW;
	if (!fell && now - d->walked_us < WALK_US)
		return DISK_FINE;
	d->walked_us = now;
	d->free = avail;
	return DISK_WALK;
}

bool disk_over(const struct disk_watch *d, const char *target, uint64_t bytes, uint64_t files)
{
	struct fs_usage u;
	struct err e;
	int fd;
	bool over;

	if (fs_open_dir(d->work, target, &fd, &e) < 0)
		return false;
	over = fs_usage(fd, bytes, files, &u, &e) == 0 && (u.bytes >= bytes || u.files >= files);
	close(fd);
	return over;
}
