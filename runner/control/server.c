/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/control/server.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/control/address.h"
#include "runner/control/internal.h"
#include "runner/control/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

/* The group may connect; it gets CONTROL_MAY_LOOK. */
enum { SOCKET_MODE = 0660, BACKLOG = 64 };

/* --- rate limits -------------------------------------------------------------------- */

static void server_on_second(void *arg);

static void server_refill(struct control_server *s)
{
	for (size_t i = 0; i < PURSE_COUNT; i++)
		s->left[i] = CONTROL_PER_SECOND_MAX;
}

static void wait_a_second(struct control_server *s)
{
	uint64_t next = clock_mono_us() + USEC_PER_SEC;
	struct err e;
	int r;

	if (s->ticking)
		return;
	if (s->tick)
		r = loop_set_timer(s->tick, next, &e);
	else
		r = loop_add_timer(s->loop, next, server_on_second, s, &s->tick, &e);
	s->ticking = r == 0;
	if (r < 0) /* without the timer, nothing would refill the limits */
		server_refill(s);
}

bool control_server_spend(struct control_server *s, enum purse p)
{
	wait_a_second(s);
	if (s->left[p] == 0)
		return false;
	s->left[p]--;
	return true;
}

static void on_listen(void *arg, uint32_t events);

static void listen_again(struct control_server *s)
{
	struct err e;

	if (!s->listening)
		(void)!loop_add_io(s->loop, s->fd, EPOLLIN, on_listen, s, &s->listening, &e);
}

static void stop_listening(struct control_server *s)
{
	source_remove(s->listening);
	s->listening = NULL;
}

static void server_on_second(void *arg)
{
	struct control_server *s = arg;
	uint64_t now = clock_mono_us();

	s->ticking = false;
	server_refill(s);
	listen_again(s);
	for (size_t i = 0; i < CONTROL_CONNECTIONS_MAX; i++)
		if (s->v[i])
			control_conn_second(s->v[i], now);
	if (s->n > 0 || !s->listening)
		wait_a_second(s); /* to end idle connections */
}

/* --- new connections ---------------------------------------------------------------- */

static size_t server_free_place(const struct control_server *s)
{
	size_t i = 0;

	while (i < CONTROL_CONNECTIONS_MAX && s->v[i])
		i++;
	return i;
}

static size_t lookers(const struct control_server *s)
{
	size_t n = 0;

	for (size_t i = 0; i < CONTROL_CONNECTIONS_MAX; i++)
		n += s->v[i] && s->v[i]->right != CONTROL_MAY_ALL;
	return n;
}

/* The answer to a refused peer; NULL: the peer may connect. */
static const char *refusal(const struct control_server *s, enum control_right right)
{
	if (right == CONTROL_NOTHING)
		return "{\"ok\": false, \"error\": \"permission denied: only root and the state "
		       "directory's owner and group may connect to the run\"}\n";
	if (s->n == CONTROL_CONNECTIONS_MAX ||
	    (right != CONTROL_MAY_ALL && lookers(s) >= CONTROL_LOOKERS_MAX))
		return "{\"ok\": false, \"error\": \"too many connections: try again later\"}\n";
	return NULL;
}

static void welcome(struct control_server *s, int *fd)
{
	struct control_peer p;
	enum control_right right;
	const char *no;
	struct err e;

	if (control_peer_of(*fd, &p, &e) < 0)
		return;
	right = control_right_of(&p, &s->owner);
	no = refusal(s, right);
	if (no)
		(void)!send(*fd, no, strlen(no),
			    MSG_NOSIGNAL | MSG_DONTWAIT); /* a full buffer loses the message */
	else
		control_conn_new(s, server_free_place(s), take_fd(fd), right);
}

static void on_listen(void *arg, uint32_t events)
{
	struct control_server *s = arg;
	_autoclose_ int fd = -1;

	(void)events;
	if (!control_server_spend(s, PURSE_ACCEPT)) {
		stop_listening(s);
		return;
	}
	fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		welcome(s, &fd);
	else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
		stop_listening(s); /* out of descriptors: retry in the next second */
}

/* --- the socket --------------------------------------------------------------------- */

/* Connections are possible only after listen(), when the socket's modes are set. */
static int bind_socket(struct control_server *s, struct err *e)
{
	struct sockaddr_un a;
	socklen_t n = control_address(s->dirfd, &a);

	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return err_sys(e, "make a socket");
	if (sys_unlinkat(s->dirfd, CONTROL_SOCKET, 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove an old '%s'", CONTROL_SOCKET);
	if (bind(s->fd, (const struct sockaddr *)&a, n) < 0)
		return err_sys(e, "make '%s'", CONTROL_SOCKET);
	s->bound = true;
	/* Without the permission to change the group, its members cannot connect. */
	(void)!fchownat(s->dirfd, CONTROL_SOCKET, (uid_t)-1, s->owner.gid, AT_SYMLINK_NOFOLLOW);
	if (fchmodat(s->dirfd, CONTROL_SOCKET, SOCKET_MODE, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "set the modes of '%s'", CONTROL_SOCKET);
	return listen(s->fd, BACKLOG) < 0 ? err_sys(e, "listen on '%s'", CONTROL_SOCKET) : 0;
}

int control_server_open(struct loop *l, int state_dirfd, control_answer_fn *fn, void *arg,
			struct control_server **ret, struct err *e)
{
	struct control_server *s = xcalloc(1, sizeof(*s));
	int r;

	*s = (struct control_server){
	    .loop = l, .dirfd = state_dirfd, .fd = -1, .fn = fn, .arg = arg};
	server_refill(s);
	r = control_owner_of(state_dirfd, &s->owner, e);
	if (r == 0)
		r = bind_socket(s, e);
	if (r == 0)
		r = loop_add_io(l, s->fd, EPOLLIN, on_listen, s, &s->listening, e);
	if (r < 0) {
		control_server_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void control_server_close(struct control_server *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < CONTROL_CONNECTIONS_MAX; i++)
		control_conn_free(s->v[i]);
	control_answer_drop(s, s->status);
	stop_listening(s);
	source_remove(s->tick);
	/* Without the file, no new connections.  shutdown() notifies the peers. */
	if (s->bound)
		(void)sys_unlinkat(s->dirfd, CONTROL_SOCKET, 0); /* else the next run does it */
	if (s->fd >= 0) {
		(void)shutdown(s->fd, SHUT_RDWR); /* children may still hold it */
		close(s->fd);
	}
	free(s);
}
