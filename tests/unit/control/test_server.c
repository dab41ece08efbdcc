/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/fault.h"
#include "tests/unit/control/peers.h"

/* The answers of a run's socket, and its path. */

static int asks_for_all(int d)
{
	struct control_request q = {.cmd = CONTROL_STOP, .target = "a b", .now = true};
	json_t *o = NULL;
	struct err e;

	CHECK(1, lives(d));
	CHECK(2, control_ask(d, &q, SOON, &o, &e) == 0 && json_object_size(o) == 1);
	q = (struct control_request){.cmd = CONTROL_TARGET, .target = "x"};
	CHECK(3, control_ask(d, &q, SOON, &o, &e) == 0);
	CHECK(4, strlen(json_string_value(json_object_get(o, "target"))) == 3000000);
	q = (struct control_request){.cmd = CONTROL_WORKERS, .workers = 4};
	CHECK(5, control_ask(d, &q, SOON, &o, &e) == -EREMOTEIO);
	CHECK(6, strcmp(e.msg, "the request failed") == 0); /* the reason was no text */
	return 0;
}

static void requests_are_answered(void **state)
{
	struct served s = serve(3000000, asks_for_all);

	(void)state;
	assert_int_equal(s.asked, 4);
	assert_int_equal(s.changed, 2);
}

static int sends_ahead(int d)
{
	int fd = connected(d, 0);
	char got[4096];

	send_text(fd, "{\"cmd\":\"end\"}\n{\"cmd\":\"status\"}\n\nnonsense\n{\"cmd\":\"end\"}");
	CHECK(1, hear(fd, got, sizeof(got), 4) > 0);
	CHECK(2, strncmp(got, "{\"ok\": true}\n{\"ok\": true, \"run\": {}", 30) == 0);
	CHECK(3, strstr(got, "\"error\": \"parse the request: ") != NULL);
	shutdown(fd, SHUT_WR); /* the last line has no newline: it does not count */
	CHECK(4, hear(fd, got, sizeof(got), 1) == 0);
	fd = connected(d, 0);
	send_text(fd, "{\"cmd\":\"status\"}\n");
	shutdown(fd, SHUT_WR);
	CHECK(5, hear(fd, got, sizeof(got), 9) > 0); /* then the end of the connection */
	fd = connected(d, 0);
	send_text(fd, "{\"cmd\":\"skip\",\"target\":\"x\"}\n");
	close(fd);
	CHECK(6, lives(d));
	return 0;
}

static void requests_may_be_sent_ahead_and_left(void **state)
{
	struct served s = serve(0, sends_ahead);

	(void)state;
	assert_int_equal(s.changed, 2); /* one end, and the skip of the client that left */
}

static int asks_once(int d)
{
	return lives(d) ? 0 : 1;
}

static int finds_no_server(int d)
{
	json_t *o = NULL;
	struct err e;

	return control_status(d, SOON, &o, &e) == -ENOENT ? 0 : 1;
}

static void a_socket_goes_with_its_run_and_a_dead_one_is_replaced(void **state)
{
	struct stat st;
	struct loop *l = NULL;
	struct control_server *first = NULL;
	struct served s = {0};
	struct err e;
	int link;

	(void)state;
	assert_int_equal(finds_no_server(dir.fd), 0);
	(void)serve(0, asks_once);
	assert_false(scratch_has(dir.fd, CONTROL_SOCKET));
	/* as left by a killed run */
	assert_int_equal(loop_new(&l, &e), 0);
	assert_int_equal(control_server_open(l, dir.fd, answer, &s, &first, &e), 0);
	assert_int_equal(fstatat(dir.fd, CONTROL_SOCKET, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0660);
	link = linkat(dir.fd, CONTROL_SOCKET, dir.fd, "kept", 0);
	assert_int_equal(link, 0);
	control_server_close(first);
	loop_free(l);
	assert_int_equal(renameat(dir.fd, "kept", dir.fd, CONTROL_SOCKET), 0);
	assert_int_equal(finds_no_server(dir.fd), 0);
	(void)serve(0, asks_once);
}

static void what_is_no_socket_is_not_removed(void **state)
{
	struct control_server *s = NULL;
	struct loop *l = NULL;
	struct err e;

	(void)state;
	assert_int_equal(mkdirat(dir.fd, CONTROL_SOCKET, 0700), 0);
	assert_int_equal(finds_no_server(dir.fd), 0);
	assert_int_equal(loop_new(&l, &e), 0);
	assert_true(control_server_open(l, dir.fd, answer, NULL, &s, &e) < 0);
	assert_true(scratch_has(dir.fd, CONTROL_SOCKET));
	loop_free(l);
}

static void each_failing_call_is_told_and_nothing_is_left(void **state)
{
	struct control_server *s;
	struct loop *l = NULL;
	struct err e;
	int r = -1;

	(void)state;
	assert_int_equal(loop_new(&l, &e), 0);
	for (unsigned nth = 1; r < 0; nth++) {
		s = NULL;
		fault_arm(nth, FAULT_FAIL);
		r = control_server_open(l, dir.fd, answer, NULL, &s, &e);
		fault_arm(0, FAULT_FAIL);
		assert_true(nth < 20);
		assert_true(r < 0 ? s == NULL && *e.msg : s != NULL);
		control_server_close(s);
		assert_false(scratch_has(dir.fd, CONTROL_SOCKET));
	}
	loop_free(l);
}

static void long_paths_are_fine(void **state)
{
	char name[200];
	struct scratch outer = dir;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(mkdirat(outer.fd, name, 0700), 0);
	dir.fd = openat(outer.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)serve(0, asks_once);
	close(dir.fd);
	dir = outer;
}

static int talks_to_a_dead_end(int d)
{
	json_t *o = NULL;
	struct sockaddr_un a;
	socklen_t n = control_address(d, &a);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct err e;
	uint64_t before = clock_mono_us();

	CHECK(1, bind(fd, (const struct sockaddr *)&a, n) == 0 && listen(fd, 1) == 0);
	CHECK(2, control_status(d, USEC_PER_SEC / 5, &o, &e) == -ETIMEDOUT);
	CHECK(3, clock_mono_us() - before < SOON);
	return 0;
}

static void a_run_that_is_stopped_is_not_waited_for(void **state)
{
	(void)state;
	assert_int_equal(talks_to_a_dead_end(dir.fd), 0);
}

static const struct CMUnitTest tests[] = {
    CASE(requests_are_answered),
    CASE(requests_may_be_sent_ahead_and_left),
    CASE(a_socket_goes_with_its_run_and_a_dead_one_is_replaced),
    CASE(what_is_no_socket_is_not_removed),
    CASE(each_failing_call_is_told_and_nothing_is_left),
    CASE(long_paths_are_fine),
    CASE(a_run_that_is_stopped_is_not_waited_for),
};

UNIT_MAIN(tests)
