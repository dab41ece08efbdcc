/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/control/peer.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel reports this id for every user and group that has no id in this user namespace.  It
 * must never match an owner. */
enum { OVERFLOW_ID = 65534 };

int control_owner_of(int state_dirfd, struct control_owner *ret, struct err *e)
{
	struct stat st;

	if (fstat(state_dirfd, &st) < 0)
		return err_sys(e, "stat the state directory");
	*ret = (struct control_owner){.self = geteuid(), .uid = st.st_uid, .gid = st.st_gid};
	return 0;
}

int control_peer_of(int fd, struct control_peer *ret, struct err *e)
{
	socklen_t n = (socklen_t)(CONTROL_GROUPS_MAX * sizeof(ret->groups[0]));
	struct ucred c;
	socklen_t n_cred = sizeof(c);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n_cred) < 0)
		return err_sys(e, "read the peer's credentials");
	ret->uid = c.uid;
	/* A peer in more than CONTROL_GROUPS_MAX groups counts with its primary group only. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, ret->groups, &n) < 0)
		n = 0;
	ret->n_groups = n / sizeof(ret->groups[0]);
	ret->groups[ret->n_groups++] = c.gid;
	return 0;
}

enum control_right control_right_of(const struct control_peer *p, const struct control_owner *o)
{
	if (p->uid == 0)
		return CONTROL_MAY_ALL;
	if (p->uid != OVERFLOW_ID && (p->uid == o->self || p->uid == o->uid))
		return CONTROL_MAY_ALL;
	for (size_t i = 0; i < p->n_groups; i++)
		if (p->groups[i] == o->gid && o->gid != OVERFLOW_ID)
			return CONTROL_MAY_READ;
	return CONTROL_NOTHING;
}
