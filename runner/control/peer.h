/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONTROL_PEER_H
#define RUNNER_CONTROL_PEER_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

/* The user at the other end of a socket, and what this user may do with a run. */

enum control_right {
	CONTROL_NOTHING,
	CONTROL_MAY_READ, /* control_only_reads() */
	CONTROL_MAY_ALL,
};

struct control_owner {
	uid_t self, uid; /* the run's user, the state directory's owner */
	gid_t gid;	 /* the state directory's group */
};

enum { CONTROL_GROUPS_MAX = 1024 };

struct control_peer {
	uid_t uid;
	gid_t groups[CONTROL_GROUPS_MAX + 1];
	size_t n_groups;
};

MUST_CHECK int control_owner_of(int state_dirfd, struct control_owner *ret, struct err *e);
/* The credentials that the kernel recorded when the peer connected. */
MUST_CHECK int control_peer_of(int fd, struct control_peer *ret, struct err *e);
/* Pure. */
enum control_right control_right_of(const struct control_peer *p, const struct control_owner *o);

#endif
