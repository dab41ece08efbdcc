/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/state/history.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/state/history_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int history_pread(int fd, char *to, size_t n, uint64_t at, size_t *ret_n, struct err *e)
{
	size_t got = 0;

	while (got < n) {
		ssize_t k = sys_pread(fd, to + got, n - got, (off_t)(at + got));

		if (k < 0)
			return err_sys(e, "read");
		if (k == 0)
			break;
		got += (size_t)k;
	}
	*ret_n = got;
	return 0;
}

/* Reads the end of the file, from the first line that begins in it. */
static int read_tail(int fd, char **ret, struct slice *ret_text, struct err *e)
{
	_autofree_ char *text = NULL;
	struct slice in, first;
	struct stat st;
	uint64_t size, at;
	int r;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat");
	size = (uint64_t)st.st_size;
	at = size > HISTORY_READ_MAX ? size - HISTORY_READ_MAX : 0;
	text = xmalloc((size_t)(size - at) + 1);
	in.p = text;
	r = history_pread(fd, text, (size_t)(size - at), at, &in.n, e);
	if (r < 0)
		return r;
	if (at > 0)
		(void)scan_line(&in, &first); /* this line is incomplete */
	*ret = take_ptr(&text);
	*ret_text = in;
	return 0;
}

static int each_line(struct slice text, history_fn *fn, void *arg, uint64_t *damaged, struct err *e)
{
	struct slice line;

	while (scan_line(&text, &line)) {
		_autojson_ json_t *j = NULL;
		struct err why;
		int r;

		if (json_parse(line, &j, &why) < 0 || !json_is_object(j)) {
			++*damaged;
			continue;
		}
		r = fn(arg, j, e);
		if (r != 0)
			return r;
	}
	return 0;
}

int history_open(const struct state *s, const char *name, int *ret_fd, struct err *e)
{
	_autofree_ char *path = xasprintf("stats/%s", name);
	_autoclose_ int fd = -1;
	int r = fs_open_file(s->dirfd, path, O_RDONLY, 0, &fd, e);

	if (r < 0 && r != -ENOENT)
		return r;
	*ret_fd = take_fd(&fd);
	return 0;
}

int history_each(const struct state *s, const char *name, history_fn *fn, void *arg,
		 uint64_t *ret_damaged, struct err *e)
{
	_autofree_ char *text = NULL;
	_autoclose_ int fd = -1;
	struct slice in;
	int r = history_open(s, name, &fd, e);

	*ret_damaged = 0;
	if (r < 0 || fd < 0)
		return r;
	r = read_tail(fd, &text, &in, e);
	if (r < 0)
		return err_wrap(e, "history 'stats/%s'", name);
	return each_line(in, fn, arg, ret_damaged, e);
}
