/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_SECCOMP_H
#define IMAGES_SECCOMP_H

#include "base/err.h"
#include "images/spec.h"

#include <stddef.h>
#include <stdint.h>

/* The system calls that a cell may make: an allow list in images/syscalls.inc, with a reason for
 * each line.  The differences for builds are in images/syscalls_build.inc. libseccomp compiles the
 * list; only this module knows libseccomp.  Every other call reaches the supervisor as a
 * notification (seccomp_unotify(2)), is refused there and reported. */

enum { SECCOMP_NAME_MAX = 48 };

/* The BPF program in a new buffer (free() it): what crun loads, struct sock_filter[]. */
MUST_CHECK int seccomp_compile(enum cell_profile profile, uint8_t **ret, size_t *ret_n,
			       struct err *e);

/* The name of a system call of this machine: "socket", or "number 462". */
void seccomp_name(int nr, char out[SECCOMP_NAME_MAX]);

/* A call that waits to be refused; its caller stands meanwhile, so that a signal
 * sent now meets it in the very call. */
struct seccomp_call {
	uint64_t id;
	int error;
	/* As seccomp_name(), with " (foreign)" when it came through another
	 * architecture's entry. */
	char name[SECCOMP_NAME_MAX];
};

/* Takes one waiting notification from a listener descriptor.  Never blocks.
 * -EAGAIN: nothing waits; -ENOENT: the caller died meanwhile. */
MUST_CHECK int seccomp_take(int listener, struct seccomp_call *ret, struct err *e);
/* Answers it with EPERM; with ENOSYS a call that libseccomp has no name for: C
 * libraries that are newer than this machine then take their older way.
 * -ENOENT: the caller died meanwhile, or a signal took it out of the call. */
MUST_CHECK int seccomp_refuse(int listener, const struct seccomp_call *call, struct err *e);

#endif
