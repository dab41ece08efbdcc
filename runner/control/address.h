/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONTROL_ADDRESS_H
#define RUNNER_CONTROL_ADDRESS_H

#include <sys/socket.h>
#include <sys/un.h>

/* The address of a state directory's control socket: through the open directory, since the path
 * of a socket has 107 bytes at most, and that of a directory more.  Returns its length. */
socklen_t control_address(int state_dirfd, struct sockaddr_un *ret);

#endif
