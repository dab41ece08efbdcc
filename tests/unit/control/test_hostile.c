/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/control/peers.h"

#include <grp.h>

/* Hostile clients: none keeps another client from its answer. */

static int talks_nonsense(int d)
{
	static char garbage[1 << 20];
	int fd = connected(d, 0);
	char got[1024];

	send_text(fd, "\x01\xff{}[]\n");
	CHECK(1, hear(fd, got, sizeof(got), 1) > 0 && strstr(got, "\"ok\": false"));
	CHECK(2, send(fd, "\0\0\n", 3, MSG_NOSIGNAL) == 3);
	CHECK(3, hear(fd, got, sizeof(got), 1) > 0 && strstr(got, "\"ok\": false"));
	memset(garbage, '[', sizeof(garbage));
	(void)!send(fd, garbage, sizeof(garbage), MSG_NOSIGNAL);
	CHECK(4, hear(fd, got, sizeof(got), 2) > 0 && strstr(got, "at most 4096 bytes"));
	memset(garbage, '\n', sizeof(garbage)); /* a million empty requests */
	fd = connected(d, 0);
	(void)!send(fd, garbage, 4096, MSG_NOSIGNAL);
	CHECK(5, lives(d));
	return 0;
}

static void nonsense_is_told_so(void **state)
{
	(void)state;
	assert_int_equal(serve(0, talks_nonsense).changed, 0);
}

static int comes_in_pieces(int d)
{
	const char line[] = "{\"cmd\":\"status\"}\n";
	int fd = connected(d, 0), cut = connected(d, 0);
	char got[1024];

	send_text(cut, "{\"cmd\":\"end\",\"now\":tr");
	for (size_t i = 0; line[i]; i++) {
		CHECK(1, send(fd, line + i, 1, MSG_NOSIGNAL) == 1);
		if (i % 4 == 0)
			CHECK(2, lives(d));
	}
	CHECK(3, hear(fd, got, sizeof(got), 1) > 0 && strstr(got, "\"ok\": true"));
	return 0;
}

static void a_line_may_come_in_pieces_and_half_of_one_is_none(void **state)
{
	(void)state;
	assert_int_equal(serve(0, comes_in_pieces).changed, 0);
}

/* A client that closed its connection holds a place until the server notices. */
static bool lives_soon(int d)
{
	uint64_t end = clock_mono_us() + SOON;
	bool ok;

	do
		ok = lives(d);
	while (!ok && clock_mono_us() < end);
	return ok;
}

static int comes_in_thousands(int d)
{
	int fds[CONTROL_CONNECTIONS_MAX];
	char got[256] = "";

	for (unsigned i = 0; i < CONTROL_CONNECTIONS_MAX; i++) {
		fds[i] = connected(d, 0);
		CHECK(1, fds[i] >= 0);
	}
	CHECK(2, hear(connected(d, 0), got, sizeof(got), 1) > 0 && strstr(got, "too many"));
	close(fds[0]);
	CHECK(3, lives_soon(d));
	for (unsigned i = 0; i < 3000; i++) { /* does not wait for room in the queue */
		int fd = connected(d, SOCK_NONBLOCK);

		if (fd >= 0)
			close(fd);
	}
	CHECK(4, lives_soon(d));
	return 0;
}

static void thousands_of_connections_do_not_keep_one_out(void **state)
{
	(void)state;
	(void)serve(0, comes_in_thousands);
}

enum { MANY = 240 }; /* requests */

static int asks_often(int d)
{
	const char one[] = "{\"cmd\":\"status\"}\n";
	char many[MANY * (sizeof(one) - 1)];
	int fd = connected(d, 0);

	for (size_t i = 0; i < sizeof(many); i += sizeof(one) - 1)
		memcpy(many + i, one, sizeof(one) - 1);
	CHECK(99, send(fd, many, sizeof(many), MSG_NOSIGNAL) == sizeof(many));
	return fd;
}

static int asks_without_end(int d)
{
	char got[64];
	uint64_t before = clock_mono_us();
	int fd = asks_often(d);

	for (unsigned i = 0; i < MANY; i++)
		CHECK(2, hear(fd, got, sizeof(got), 1) > 0);
	/* 240 requests, at 100 a second; the status is made anew five times a second */
	CHECK(3, clock_mono_us() - before > USEC_PER_SEC);
	return 0;
}

static void a_flood_of_requests_is_slowed_down(void **state)
{
	(void)state;
	assert_true(serve(0, asks_without_end).asked <= 40);
}

static int asks_often_and_reads_nothing(int d)
{
	for (unsigned i = 0; i < CONTROL_CONNECTIONS_MAX - 4; i++)
		(void)asks_often(d);
	CHECK(1, lives(d));
	CHECK(2, lives(d));
	return 0;
}

/* Of the same user. */
static void a_flooding_client_keeps_no_client_waiting(void **state)
{
	(void)state;
	(void)serve(0, asks_often_and_reads_nothing);
}

static int reads_nothing(int d)
{
	const char *target = "{\"cmd\":\"target\",\"target\":\"x\"}\n";
	char got[256];

	/* six of three million bytes do not fit into 16 MiB */
	for (unsigned i = 0; i < 5; i++)
		send_text(connected(d, 0), target);
	CHECK(1, lives(d));
	CHECK(2, hear(connected(d, 0), got, sizeof(got), 0) == 0);
	for (unsigned i = 0; i < 10; i++) {
		int fd = connected(d, 0);

		send_text(fd, target);
		if (hear(fd, got, sizeof(got), 1) < sizeof(got) - 1)
			CHECK(3, strstr(got, "try again later"));
	}
	CHECK(4, lives(d));
	return 0;
}

static void slow_readers_cost_a_bounded_amount(void **state)
{
	(void)state;
	(void)serve(3000000, reads_nothing);
}

static void nothing(void *arg)
{
	loop_stop(arg);
}

static size_t after(const char *request, uint64_t us)
{
	struct served s = {.padding = 3000000};
	struct source *timer = NULL;
	struct err e;
	size_t n;
	int fd;

	assert_int_equal(loop_new(&s.loop, &e), 0);
	assert_int_equal(control_server_open(s.loop, dir.fd, answer, &s, &s.server, &e), 0);
	fd = connected(dir.fd, 0);
	assert_true(fd >= 0);
	send_text(fd, request);
	assert_int_equal(
	    loop_add_timer(s.loop, clock_mono_us() + USEC_PER_SEC / 4, nothing, s.loop, &timer, &e),
	    0);
	assert_int_equal(loop_run(s.loop, &e), 0);
	assert_int_equal(s.server->n, 1);
	control_conn_second(s.server->v[0], s.server->v[0]->since_us + us);
	n = s.server->n;
	source_remove(timer);
	control_server_close(s.server);
	loop_free(s.loop);
	close(fd);
	return n;
}

static void a_silent_or_deaf_client_is_closed(void **state)
{
	const char *ask = "{\"cmd\":\"target\",\"target\":\"x\"}\n";

	(void)state;
	assert_int_equal(after("{\"cmd\"", CONTROL_IDLE_US - USEC_PER_SEC), 1);
	assert_int_equal(after("{\"cmd\"", CONTROL_IDLE_US), 0);
	assert_int_equal(after(ask, CONTROL_STUCK_US - USEC_PER_SEC), 1);
	assert_int_equal(after(ask, CONTROL_STUCK_US), 0);
}

/* --- rights of the peer --------------------------------------------------------------- */

enum { OWNER = 4711, GROUP = 4712, OTHER = 4713 };

static enum control_right right(uid_t uid, gid_t gid, gid_t more)
{
	const struct control_owner o = {.self = 4710, .uid = OWNER, .gid = GROUP};
	struct control_peer p = {.uid = uid, .groups = {more, gid}, .n_groups = 2};

	return control_right_of(&p, &o);
}

static void rights_are_the_kernels_word(void **state)
{
	const struct control_owner unmapped_owner = {.self = 65534, .uid = 65534, .gid = 65534};
	const struct control_peer unmapped = {.uid = 65534, .groups = {65534}, .n_groups = 1};

	(void)state;
	assert_int_equal(right(0, 0, 0), CONTROL_MAY_ALL);
	assert_int_equal(right(4710, OTHER, OTHER), CONTROL_MAY_ALL);
	assert_int_equal(right(OWNER, OTHER, OTHER), CONTROL_MAY_ALL);
	assert_int_equal(right(OTHER, GROUP, OTHER), CONTROL_MAY_READ);
	assert_int_equal(right(OTHER, OTHER, GROUP), CONTROL_MAY_READ);
	assert_int_equal(right(OTHER, OTHER, OTHER), CONTROL_NOTHING);
	assert_int_equal(right(OTHER, 0, 0), CONTROL_NOTHING);
	/* of another user namespace: any user */
	assert_int_equal(control_right_of(&unmapped, &unmapped_owner), CONTROL_NOTHING);
}

static bool become(uid_t uid, gid_t gid)
{
	return setgroups(1, &gid) == 0 && setgid(OTHER) == 0 && setuid(uid) == 0;
}

static int is_a_stranger(int d)
{
	json_t *o = NULL;
	struct err e;

	CHECK(1, fchmodat(d, CONTROL_SOCKET, 0666, 0) == 0 && become(OTHER, OTHER));
	CHECK(2, control_status(d, SOON, &o, &e) == -EREMOTEIO && strstr(e.msg, "may connect"));
	return 0;
}

static int is_shut_out(int d)
{
	json_t *o = NULL;
	struct err e;

	CHECK(1, become(OTHER, OTHER));
	CHECK(2, control_status(d, SOON, &o, &e) == -EACCES);
	return 0;
}

static int is_of_the_group(int d)
{
	const struct control_request stop = {.cmd = CONTROL_STOP, .target = "x"};
	char got[256] = "";
	json_t *o = NULL;
	struct err e;

	CHECK(1, become(OTHER, GROUP));
	CHECK(2, lives(d));
	CHECK(3, control_ask(d, &stop, SOON, &o, &e) == -EREMOTEIO);
	CHECK(4, strstr(e.msg, "you may only read") != NULL);
	for (unsigned i = 0; i < CONTROL_READERS_MAX; i++)
		CHECK(5, connected(d, 0) >= 0);
	CHECK(6, hear(connected(d, 0), got, sizeof(got), 1) > 0 && strstr(got, "too many"));
	return 0;
}

static int is_the_owner(int d)
{
	const struct control_request stop = {.cmd = CONTROL_STOP, .target = "x"};
	json_t *o = NULL;
	struct err e;

	/* here the socket's group gives access; the run's user is root */
	CHECK(1, become(OWNER, GROUP));
	CHECK(2, control_ask(d, &stop, SOON, &o, &e) == 0);
	return 0;
}

static void users_get_what_is_theirs(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		skip();
		return;
	}
	assert_int_equal(fchown(dir.fd, OWNER, GROUP), 0);
	assert_int_equal(fchmod(dir.fd, 0755), 0);
	assert_int_equal(serve(0, is_a_stranger).asked, 0);
	assert_int_equal(serve(0, is_shut_out).asked, 0);
	assert_int_equal(serve(0, is_of_the_group).changed, 0);
	assert_int_equal(serve(0, is_the_owner).changed, 1);
}

static const struct CMUnitTest tests[] = {
    CASE(nonsense_is_told_so),
    CASE(a_line_may_come_in_pieces_and_half_of_one_is_none),
    CASE(thousands_of_connections_do_not_keep_one_out),
    CASE(a_flood_of_requests_is_slowed_down),
    CASE(a_flooding_client_keeps_no_client_waiting),
    CASE(slow_readers_cost_a_bounded_amount),
    CASE(a_silent_or_deaf_client_is_closed),
    CASE(rights_are_the_kernels_word),
    CASE(users_get_what_is_theirs),
};

UNIT_MAIN(tests)
