/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_SECCOMP_H
#define IMAGES_SECCOMP_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* The system calls that a cell may make: one allow list, written down with a
 * reason a line in images/syscalls.inc, compiled by libseccomp (the only module
 * that knows it).  Everything else reaches the supervisor as a notification,
 * is answered EPERM there and reported. */

/* The BPF program in a new buffer (free() it): what crun loads, struct sock_filter[]. */
MUST_CHECK int seccomp_compile(uint8_t **ret, size_t *ret_n, struct err *e);

/* The name of a system call of this machine: "socket", or "number 462". */
void seccomp_name(int nr, char out[32]);

/* Takes one waiting notification from a listener descriptor, answers EPERM, and
 * names the call.  -EAGAIN: nothing waits; -ENOENT: the caller died meanwhile. */
MUST_CHECK int seccomp_refuse(int listener, char ret_name[32], struct err *e);

#endif
