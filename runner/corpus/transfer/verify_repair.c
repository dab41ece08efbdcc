/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/transfer/internal.h"
#include "runner/state/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { MODE_FILE = 0644 };

static void verify_repair_tell(struct verifying *w, struct verify_finding f)
{
	w->sum->wrong++;
	w->sum->repaired += f.fix != VERIFY_LEFT;
	w->v->found(w->v->arg, &f);
}

void verify_left(struct verifying *w, const char *path, const char *what, const char *why)
{
	verify_repair_tell(w, (struct verify_finding){path, what, VERIFY_LEFT, why});
}

void verify_mended(struct verifying *w, const char *path, const char *what)
{
	verify_repair_tell(w, (struct verify_finding){path, what, VERIFY_MENDED, NULL});
}

void verify_set_aside(struct verifying *w, struct verify_at at, const char *what)
{
	_autofree_ char *to = NULL;
	struct err e;

	if (!w->v->repair) {
		verify_left(w, at.path, what, NULL);
		return;
	}
	if (state_set_aside(w->v->state_dirfd, at.dir, at.name, at.path, &to, &e) < 0)
		verify_left(w, at.path, what, e.msg);
	else
		verify_repair_tell(w, (struct verify_finding){at.path, what, VERIFY_ASIDE, to});
}

/* Renames the file to its content's name, if that is free.  A file of that name has the same
 * content, or is damaged itself. */
void verify_rename(struct verifying *w, struct verify_at at, const char *hex, const char *what)
{
	struct err e;

	if (!w->v->repair) {
		verify_left(w, at.path, what, NULL);
	} else if (faccessat(at.dir, hex, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		verify_set_aside(w, at, what);
	} else if (sys_renameat(at.dir, at.name, hex) < 0) {
		(void)err_sys(&e, "rename it to '%s'", hex);
		verify_left(w, at.path, what, e.msg);
	} else {
		verify_repair_tell(w, (struct verify_finding){at.path, what, VERIFY_RENAMED, hex});
	}
}

void verify_set_mode(struct verifying *w, struct verify_at at, const char *what)
{
	_autoclose_ int fd = -1;
	struct err e;

	if (!w->v->repair) {
		verify_left(w, at.path, what, NULL);
		return;
	}
	fd = sys_openat(at.dir, at.name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
	if (fd < 0 || fchmod(fd, MODE_FILE) < 0) {
		(void)err_sys(&e, "set its mode");
		verify_left(w, at.path, what, e.msg);
	} else {
		verify_mended(w, at.path, what);
	}
}
