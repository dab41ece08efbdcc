/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_SECCOMP_H
#define IMAGES_SECCOMP_H

#include "base/err.h"
#include "images/spec.h"

#include <stddef.h>
#include <stdint.h>

/* The system calls that a cell may make: an allow list in images/syscalls.inc, with a reason for
 * each line.  The differences for builds are in images/syscalls_build.inc.  libseccomp compiles the
 * list; no other module uses libseccomp.  A call without a line reaches us as a notification
 * (seccomp_unotify(2)), is refused and reported. */

enum { SECCOMP_NAME_MAX = 48 };

/* Compiles the BPF program that crun loads (struct sock_filter[]) into a new buffer (free() it). */
MUST_CHECK int seccomp_compile(enum cell_profile profile, uint8_t **ret, size_t *ret_n,
			       struct err *e);

/* The name of a system call of this architecture: "socket", or "number 462". */
void seccomp_name(int nr, char out[SECCOMP_NAME_MAX]);

/* A call that waits to be refused.  Its caller is blocked in the call, so a signal sent now
 * interrupts it there. */
struct seccomp_call {
	uint64_t id;
	int error;
	/* As seccomp_name(); " (foreign)" is appended for a call of another architecture's
	 * table. */
	char name[SECCOMP_NAME_MAX];
};

/* Takes one waiting notification from a listener descriptor.  Never blocks.  -EAGAIN: none is
 * waiting; -ENOENT: the caller died meanwhile. */
MUST_CHECK int seccomp_take(int listener, struct seccomp_call *ret, struct err *e);
/* Answers the call with EPERM.  A call that libseccomp does not know gets ENOSYS, so that newer C
 * libraries use an older call instead.  -ENOENT: the caller died meanwhile, or a signal interrupted
 * the call. */
MUST_CHECK int seccomp_refuse(int listener, const struct seccomp_call *call, struct err *e);

#endif
