/* SPDX-License-Identifier: Apache-2.0 */
#include "cells/sealed.h"

#include "base/cleanup.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Since Linux 6.3; older kernels always allow to execute such files. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* With exactly these seals, crun treats the program as its own copy (libcrun/cloned_binary.c). */
enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

static int sealed_make(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd;
}

int sealed_program(const char *name, const void *bytes, size_t n, int *ret_fd, struct err *e)
{
	_autoclose_ int fd = -1;
	struct rlimit size;

	/* Exceeding the limit would end us by a signal. */
	if (getrlimit(RLIMIT_FSIZE, &size) < 0)
		return err_sys(e, "read our own limits");
	if (size.rlim_cur < n)
		return err_set(e, EFBIG,
			       "our own limit of a file's size is %llu bytes: raise it (ulimit -f)",
			       (unsigned long long)size.rlim_cur);
	fd = sealed_make(name);
	if (fd < 0 && errno == EACCES)
		return err_sys(e, "a program in memory cannot be executed here (set "
				  "vm.memfd_noexec to 0 or 1)");
	if (fd < 0)
		return err_sys(e, "make a file in memory");
	if (sys_write_all(fd, bytes, n) < 0 || fchmod(fd, 0755) < 0 ||
	    fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return err_sys(e, "write a file in memory");
	*ret_fd = take_fd(&fd);
	return 0;
}
