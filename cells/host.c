/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/host.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "cells/crun.h"
#include "cells/rootless.h"
#include "cells/sealed.h"
#include "images/bundle.h"
#include "images/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { START_S = 30 };

/* images/init/init.c as built by the Makefile; the path is in the build directory. */
__asm__(".pushsection .rodata\n"
	"init_begin: .incbin \"" INIT_FILE "\"\n"
	"init_end:\n"
	".popsection\n");
extern const char init_begin[], init_end[];

DEFINE_CLEANUP(struct cell_host *, cell_host_free)

/* Makes an empty directory dirfd/name, and removes an old one. */
static int fresh_dir(int dirfd, const char *name, mode_t mode, int *ret_fd, struct err *e)
{
	int r = fs_remove_tree(dirfd, name, e);

	if (r < 0)
		return r;
	if (sys_mkdirat(dirfd, name, mode) < 0)
		return err_sys(e, "make directory '%s'", name);
	r = fs_open_dir(dirfd, name, ret_fd, e);
	if (r == 0 && fchmod(*ret_fd, mode) < 0) /* independent of our umask */
		return err_sys(e, "set the mode of '%s'", name);
	return r;
}

/* Mode 0711: a cell's user may enter the directories, but not list them. */
static int host_make_dirs(struct cell_host *h, struct err *e)
{
	_autoclose_ int fd = -1;
	int r = fs_make_dir(AT_FDCWD, h->dir, 0711, &fd, e);

	if (r == 0 && fchmod(fd, 0711) < 0)
		r = err_sys(e, "set the mode of '%s'", h->dir);
	if (r == 0)
		r = fresh_dir(fd, "cells", 0711, &h->cells_fd, e);
	if (r == 0)
		r = fresh_dir(fd, "crun", 0700, &h->crun_fd, e);
	return r < 0 ? err_wrap(e, "runtime directory '%s'", h->dir) : 0;
}

static int compile_filter(enum cell_profile profile, char **ret, struct err *e)
{
	_autofree_ uint8_t *program = NULL;
	size_t n;
	int r = seccomp_compile(profile, &program, &n, e);

	if (r == 0)
		*ret = bundle_base64(program, n);
	return r;
}

static int take_limits(struct cell_host *h, struct err *e)
{
	struct rlimit files, memlock;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || getrlimit(RLIMIT_MEMLOCK, &memlock) < 0)
		return err_sys(e, "read our own limits");
	h->files_hard = files.rlim_max;
	h->memlock_hard = memlock.rlim_max;
	/* A cell needs about two dozen descriptors.  The usual limit of 1024 is only for programs
	 * that use select(2). */
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		return err_sys(e, "raise the limit of open files");
	return 0;
}

/* Makes the machine's /dev/null root's again.  Another program that starts crun may have given it
 * to a container's user (crun.c).  A failure is ignored: where we may not change a container's
 * /dev/null, no cell can have got it either. */
static void take_null_back(void)
{
	_autoclose_ int fd = geteuid() == 0 ? sys_openat(AT_FDCWD, "/dev/null", O_RDWR, 0) : -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_uid == 0)
		return;
	if (fchown(fd, 0, 0) == 0)
		(void)fchmod(fd, 0666); /* allow: it is ours now */
}

static int host_fill(struct cell_host *h, const struct cell_host_opts *o, struct err *e)
{
	h->dir = xstrdup(o->runtime_dir);
	h->crun = xstrdup(o->crun ? o->crun : "crun");
	h->crun_state = xasprintf("%s/crun", o->runtime_dir);
	if (h->dir[0] != '/')
		return err_set(e, EINVAL, "runtime directory '%s' is not an absolute path", h->dir);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_sys(e, "become a subreaper");
	take_null_back();
	if (rootless_check(cgroup_tree_layout(h->tree), e) < 0 ||
	    crun_open_mounts(cgroup_tree_layout(h->tree), &h->mounts, e) < 0 ||
	    crun_check(h->crun, h->mounts, e) < 0 ||
	    compile_filter(h->profile, &h->filter, e) < 0 ||
	    sealed_program("fuzzcell-init", init_begin, (size_t)(init_end - init_begin), &h->init,
			   e) < 0 ||
	    root_plan_new(NULL, &h->plan, e) < 0 || take_limits(h, e) < 0)
		return err_code(e);
	h->crun_copy = crun_open_copy(h->crun);
	return host_make_dirs(h, e);
}

int cell_host_new(const struct cell_host_opts *o, struct cell_host **ret, struct err *e)
{
	CLEANUP(cell_host_free_p) struct cell_host *h = xcalloc(1, sizeof(*h));

	h->loop = o->loop;
	h->tree = o->tree;
	h->profile = o->profile;
	h->best_effort = o->best_effort;
	h->output_bytes_per_s = o->output_bytes_per_s;
	h->start_us = o->start_us ? o->start_us : START_S * USEC_PER_SEC;
	h->cells_fd = -1;
	h->crun_fd = -1;
	h->mounts = -1;
	h->init = -1;
	h->crun_copy = -1;
	if (host_fill(h, o, e) < 0)
		return err_code(e);
	*ret = take_ptr(&h);
	return 0;
}

void cell_host_free(struct cell_host *h)
{
	struct err e;

	if (!h)
		return;
	close_p(&h->mounts);
	close_p(&h->init);
	close_p(&h->crun_copy);
	/* The directories were made.  On failure, the next start removes them. */
	if (h->crun_fd >= 0)
		(void)!fs_remove_tree(AT_FDCWD, h->dir, &e);
	close_p(&h->crun_fd);
	close_p(&h->cells_fd);
	root_plan_free(h->plan);
	free(h->filter);
	free(h->filter_separate);
	free(h->crun_state);
	free(h->crun);
	free(h->dir);
	free(h);
}

int cell_host_forget(struct cell_host *h, const char *id, struct err *e)
{
	int r = fs_remove_tree(h->cells_fd, id, e);
	int s = fs_remove_tree(h->crun_fd, id, e);

	return r < 0 ? r : s;
}

/* mount_setattr(2) exists since Linux 5.12.  The seccomp filter of our own container may refuse
 * it. */
static bool sets_mounts(void)
{
	return syscall(SYS_mount_setattr, -1, "", 0, NULL, 0) == 0 ||
	       (errno != ENOSYS && errno != EPERM);
}

/* The filter of a cell; borrowed. */
static int filter_of(struct cell_host *h, const struct cell_spec *spec, const char **ret,
		     struct err *e)
{
	int r = 0;

	*ret = h->filter;
	if (!spec->separate || h->profile != CELL_ENGINE)
		return 0;
	if (!h->filter_separate)
		r = compile_filter(CELL_ENGINE_SEPARATE, &h->filter_separate, e);
	if (r == 0)
		*ret = h->filter_separate;
	return r;
}

static int write_config(struct cell_host *h, int dir, const struct cell_spec *spec,
			const struct root_plan *plan, struct err *e)
{
	_autofree_ char *listener = xasprintf("%s/cells/%s/seccomp", h->dir, spec->id);
	struct bundle b = {.spec = spec,
			   .plan = plan,
			   .profile = h->profile,
			   .recursive = sets_mounts(),
			   .listener = listener,
			   .files_hard = h->files_hard,
			   .memlock_hard = h->memlock_hard};
	_autofree_ char *json = NULL;
	_autoclose_ int fd = -1;

	if (filter_of(h, spec, &b.filter, e) < 0 || bundle_json(&b, &json, e) < 0)
		return err_code(e);
	fd = sys_openat(dir, "config.json", O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return err_sys(e, "make config.json");
	if (sys_write_all(fd, json, strlen(json)) < 0)
		return err_sys(e, "write config.json");
	return 0;
}

static int fill_bundle(struct cell_host *h, int dir, const struct cell_spec *spec, struct err *e)
{
	CLEANUP(root_plan_free_p) struct root_plan *own = NULL;
	const struct root_plan *plan;

	if (fchmod(dir, 0711) < 0) /* independent of our umask: the job's user must enter it */
		return err_sys(e, "set the mode of the bundle's directory");
	if (spec->rootfs && root_plan_new(spec->rootfs, &own, e) < 0)
		return err_code(e);
	plan = own ? own : h->plan;
	if (root_build(dir, "rootfs", plan, spec, e) < 0)
		return err_code(e);
	return write_config(h, dir, spec, plan, e);
}

int cell_host_bundle(struct cell_host *h, const struct cell_spec *spec, int *ret_fd, struct err *e)
{
	_autoclose_ int dir = -1;
	struct err ignored;

	if (sys_mkdirat(h->cells_fd, spec->id, 0711) < 0)
		return err_sys(e, "make the bundle's directory");
	if (fs_open_dir(h->cells_fd, spec->id, &dir, e) == 0 && fill_bundle(h, dir, spec, e) == 0) {
		*ret_fd = take_fd(&dir);
		return 0;
	}
	(void)!cell_host_forget(h, spec->id, &ignored); /* on failure, the next start does it */
	return err_code(e);
}
