/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/measure/control.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MODE_CONTROL = 0600, FLUSH_AT = 1 << 16 };

static int flush(int fd, struct buf *text, size_t above, const char *file, struct err *e)
{
	int r = buf_check(text, e);

	if (r < 0 || text->n <= above)
		return r;
	if (sys_write_all(fd, text->p, text->n) < 0)
		return err_sys(e, "write '%s'", file);
	buf_clear(text);
	return 0;
}

static int write_head(int fd, const char *file, const char *dir, const struct candidates *list,
		      struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(FLUSH_AT + PATH_MAX + STORE_NAME);
	int r = 0;

	buf_printf(&text, "%zu\n0\n", list->n);
	for (size_t i = 0; r == 0 && i < list->n; i++) {
		buf_printf(&text, "%s/%s\n", dir, list->v[i].name);
		r = flush(fd, &text, FLUSH_AT, file, e);
	}
	return r < 0 ? r : flush(fd, &text, 0, file, e);
}

int control_write(int dirfd, const char *file, const char *dir, const struct candidates *list,
		  uid_t uid, gid_t gid, struct err *e)
{
	_autoclose_ int fd = -1;
	int r;

	if (dir[0] != '/' || strchr(dir, '\n') || strlen(dir) >= PATH_MAX - STORE_NAME)
		return err_set(e, EINVAL, "'%s' is no path of a stage", dir);
	if (list->n == 0)
		return err_set(e, EINVAL, "a control file for no inputs");
	r = fs_remove_tree(dirfd, file, e); /* a cell may have left any file there */
	if (r < 0)
		return r;
	fd = sys_openat(dirfd, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, MODE_CONTROL);
	if (fd < 0)
		return err_sys(e, "create '%s'", file);
	r = write_head(fd, file, dir, list, e);
	if (r < 0)
		return r;
	if (fchmod(fd, MODE_CONTROL) < 0 || fchown(fd, uid, gid) < 0)
		return err_sys(e, "give '%s' to user %u", file, (unsigned)uid);
	return 0;
}

void control_rewind(struct control *c, size_t first)
{
	size_t i = first;

	while (i < c->next && c->inputs[i].state != CONTROL_FAILED)
		i++;
	if (i >= c->next)
		return;
	c->good = c->inputs[i].features_at;
	memset(c->inputs + i, 0, (c->next - i) * sizeof(*c->inputs));
	c->next = i;
	c->started = true;
	c->why[0] = '\0';
}

int control_repair(struct control *c, const struct candidates *list, bool skip, struct err *e)
{
	char line[64];
	int n;

	if (skip && c->next == c->n)
		return err_set(e, EINVAL, "no input is left that could be skipped");
	if (sys_ftruncate(c->fd, (off_t)c->good) < 0)
		return err_sys(e, "cut the control file");
	c->started = false;
	c->why[0] = '\0';
	if (!skip)
		return 0;
	n = snprintf(line, sizeof(line), "STARTED %zu %llu\n", c->next,
		     (unsigned long long)list->v[c->next].size);
	if (lseek(c->fd, (off_t)c->good, SEEK_SET) < 0 || sys_write_all(c->fd, line, (size_t)n) < 0)
		return err_sys(e, "write the control file");
	c->good += (uint64_t)n;
	c->inputs[c->next].state = CONTROL_FAILED;
	c->next++;
	return 0;
}

void control_free(struct control *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	bits_done(&c->edges);
	free(c->inputs);
	free(c);
}
