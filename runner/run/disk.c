/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/disk.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "runner/corpus/workdir.h"

#include <errno.h>
#include <unistd.h>

/* Walking the cells' files is expensive.  A walk begins when the file system lost this share of
 * the smallest limit since the last walk, and otherwise after this time. */
#define WALK_US (10 * USEC_PER_SEC)
enum { WALK_SHARE = 8 };

/* After free space was low, the reserve and this share of it must be free again. */
enum { AGAIN_SHARE = 8 };

/* ext4 has an inode for each 16 KiB (mke2fs.conf).  On a file system with few inodes the reserve is
 * a share of them. */
enum { BYTES_PER_FILE = 16384, FILES_SHARE = 16 };

uint64_t disk_files_reserve(uint64_t reserve, uint64_t files_total)
{
	uint64_t files = reserve / BYTES_PER_FILE;

	return files < files_total / FILES_SHARE ? files : files_total / FILES_SHARE;
}

static struct fs_room room_of(const struct disk_watch *d)
{
	struct fs_room r;
	struct err ignored;

	if (fs_room(d->work, &r, &ignored) < 0) /* without an answer the cells go on */
		return (struct fs_room){UINT64_MAX, UINT64_MAX, UINT64_MAX};
	return r;
}

void disk_watch_begin(struct disk_watch *d, int work, uint64_t reserve, uint64_t smallest)
{
	*d = (struct disk_watch){
	    .work = work,
	    .step = {.bytes = smallest / WALK_SHARE, .files = WORKDIR_FILES_MAX / WALK_SHARE},
	};
	d->now = d->most = room_of(d);
	d->reserve.bytes = reserve;
	d->reserve.files = disk_files_reserve(reserve, d->now.files_total);
}

bool disk_is_low(bool was, uint64_t avail, uint64_t reserve)
{
	return avail < reserve || (was && avail - reserve < reserve / AGAIN_SHARE);
}

/* True: the free space is a step below its maximum. */
static bool fell(uint64_t now, uint64_t *most, uint64_t step)
{
	if (now > *most)
		*most = now;
	return *most - now >= step;
}

enum disk_state disk_look(struct disk_watch *d, uint64_t now)
{
	bool less;

	d->now = room_of(d);
	less = fell(d->now.bytes, &d->most.bytes, d->step.bytes);
	less = fell(d->now.files, &d->most.files, d->step.files) || less;
	d->low = disk_is_low(d->low, d->now.bytes, d->reserve.bytes) ||
		 disk_is_low(d->low, d->now.files, d->reserve.files);
	if (d->low)
		return DISK_LOW;
	return less || now - d->walked_us >= WALK_US ? DISK_WALK : DISK_FINE;
}

void disk_walks(struct disk_watch *d, uint64_t now)
{
	d->walked_us = now;
	d->most = d->now;
}

static uint64_t disk_sum(uint64_t a, uint64_t b)
{
	return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

uint64_t disk_bytes(const struct disk_usage *u)
{
	return disk_sum(u->named.bytes, u->nameless.bytes);
}

uint64_t disk_files(const struct disk_usage *u)
{
	return disk_sum(u->named.files, u->nameless.files);
}

static int disk_walk_one(int dir, const char *name, const struct fs_usage *limit,
			 struct disk_usage *io, struct err *e)
{
	_autoclose_ int fd = -1;
	struct fs_usage u = {0};
	int r = fs_open_dir(dir, name, &fd, e);

	if (r == 0)
		r = fs_usage(fd, limit->bytes, limit->files, &u, e);
	if (r == -EACCES) {
		io->closed = true;
		return 0;
	}
	if (r < 0)
		return r;
	io->named.bytes = disk_sum(io->named.bytes, u.bytes);
	io->named.files = disk_sum(io->named.files, u.files);
	io->closed |= u.moved;
	return 0;
}

int disk_walk(int work, const char *target, const struct fs_usage *limit, struct disk_usage *io,
	      struct err *e)
{
	_autoclose_ int dir = -1;
	int r = fs_open_dir(work, target, &dir, e);

	io->named = (struct fs_usage){0};
	io->closed = false;
	if (r == 0)
		r = disk_walk_one(dir, "corpus", limit, io, e);
	return r == 0 ? disk_walk_one(dir, "artifacts", limit, io, e) : r;
}
