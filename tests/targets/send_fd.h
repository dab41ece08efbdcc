/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TARGETS_SEND_FD_H
#define TESTS_TARGETS_SEND_FD_H

/* Sends a descriptor over a local socket; for targets and for unit tests. */
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* flags: of sendmsg(2).  -1 with errno: the descriptor was not sent. */
static inline int send_fd(int sock, int fd, int flags)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} c = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS}};
	char byte = 0;
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = c.space,
			   .msg_controllen = sizeof(c.space)};

	memcpy(CMSG_DATA(&c.head), &fd, sizeof(fd));
	return sendmsg(sock, &m, flags) == 1 ? 0 : -1;
}

#endif
