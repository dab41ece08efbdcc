/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONTROL_ADDRESS_H
#define RUNNER_CONTROL_ADDRESS_H

#include <sys/socket.h>
#include <sys/un.h>

/* Fills in the address of a state directory's control socket and returns its length.  The path
 * goes through the open descriptor, because a socket path has 107 bytes at most. */
socklen_t control_address(int state_dirfd, struct sockaddr_un *ret);

#endif
