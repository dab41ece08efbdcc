/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/state/joblog.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Room that target output does not use, for fuzzcell's lines. */
enum { NOTE_ROOM = 16384, NOTE_MAX = 4096 };

int joblog_open(struct joblog *l, int dirfd, const char *name, uint64_t cap, struct err *e)
{
	int fd;

	if (fs_open_file(dirfd, name, O_WRONLY | O_CREAT | O_APPEND, 0640, &fd, e) < 0)
		return err_wrap(e, "open a log");
	*l = (struct joblog){.fd = fd,
			     .dirfd = dirfd,
			     .name = xstrdup(name),
			     .cap = cap < JOBLOG_MIN ? JOBLOG_MIN : cap};
	return 0;
}

static bool joblog_wakes(struct joblog *l)
{
	struct err e;

	return l->fd >= 0 || (l->name && fs_open_file(l->dirfd, l->name, O_WRONLY | O_APPEND, 0,
						      &l->fd, &e) == 0);
}

static void joblog_put(struct joblog *l, const char *p, uint64_t n)
{
	if (n == 0)
		return;
	if (l->broken || !joblog_wakes(l) || sys_write_all(l->fd, p, n) < 0) {
		l->broken = true;
		l->dropped += n;
		return;
	}
	l->written += n;
}

static void joblog_ring(struct joblog *l, const char *p, size_t n)
{
	if (!l->tail)
		l->tail = xmalloc(JOBLOG_TAIL);
	for (size_t i = n > JOBLOG_TAIL ? n - JOBLOG_TAIL : 0; i < n;) {
		size_t at = (size_t)((l->tail_n + i) % JOBLOG_TAIL);
		size_t run = n - i < JOBLOG_TAIL - at ? n - i : JOBLOG_TAIL - at;

		memcpy(l->tail + at, p + i, run);
		i += run;
	}
	l->tail_n += n;
}

void joblog_write(struct joblog *l, struct slice bytes)
{
	uint64_t head = l->cap / 2;
	uint64_t now = l->written < head && l->tail_n == 0 ? head - l->written : 0;

	if (now > bytes.n)
		now = bytes.n;
	joblog_put(l, bytes.p, now);
	if (bytes.n > now)
		joblog_ring(l, bytes.p + now, bytes.n - now);
}

void joblog_flush(struct joblog *l)
{
	uint64_t have = l->tail_n < JOBLOG_TAIL ? l->tail_n : JOBLOG_TAIL;
	uint64_t room = l->cap > l->written + NOTE_ROOM ? l->cap - l->written - NOTE_ROOM : 0;
	uint64_t keep = have < room ? have : room;
	uint64_t from = l->tail_n - keep, at = from % JOBLOG_TAIL;

	if (l->tail_n == 0)
		return;
	l->dropped += from;
	if (from > 0)
		joblog_note(l, "%llu bytes of output left out here", (unsigned long long)from);
	if (keep > 0 && at + keep > JOBLOG_TAIL) {
		joblog_put(l, l->tail + at, JOBLOG_TAIL - at);
		joblog_put(l, l->tail, keep - (JOBLOG_TAIL - at));
	} else if (keep > 0) {
		joblog_put(l, l->tail + at, keep);
	}
	l->tail_n = 0;
}

void joblog_note(struct joblog *l, const char *fmt, ...)
{
	char text[NOTE_MAX];
	va_list ap;
	int n, m;

	n = snprintf(text, sizeof(text), "\n[fuzzcell] ");
	va_start(ap, fmt);
	m = vsnprintf(text + n, sizeof(text) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	if (m < 0)
		return;
	n += m < (int)sizeof(text) - n - 2 ? m : (int)sizeof(text) - n - 2;
	text[n++] = '\n';
	if (l->written + (uint64_t)n <= l->cap)
		joblog_put(l, text, (uint64_t)n);
}

void joblog_rest(struct joblog *l)
{
	joblog_flush(l);
	if (l->fd >= 0)
		close(l->fd);
	free(l->tail);
	l->tail = NULL;
	l->fd = -1;
}

void joblog_close(struct joblog *l)
{
	joblog_flush(l);
	if (l->fd >= 0)
		close(l->fd);
	free(l->tail);
	free(l->name);
	*l = (struct joblog){.fd = -1};
}
