/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "runner/publish/http/http.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* --- a server -------------------------------------------------------------------- */

enum { HEARD_MAX = 16384 };

struct server {
	pid_t pid;
	int heard; /* a pipe with all requests to the server */
	unsigned port;
};

/* The open connection c (-1: none), or a new one, whichever is readable first. */
static int next_connection(int fd, int c)
{
	struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = c, .events = POLLIN}};

	if (poll(p, 2, -1) > 0 && p[0].revents == 0)
		return c;
	if (c >= 0)
		close(c);
	return accept(fd, NULL, NULL);
}

/* Answers one request after the other, each with its own text, and closes the connection after
 * each.  After a text that begins with "+" (which is not sent) the connection stays open.  ""
 * closes without an answer. */
static void serve(int fd, int report_fd, const char *const *answers)
{
	char text[4096];
	int c = -1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(60);
	for (; *answers; answers++) {
		bool stays = **answers == '+';
		const char *answer = *answers + stays;
		ssize_t n, all = 0;

		c = next_connection(fd, c);
		while ((n = read(c, text + all, sizeof(text) - 1 - (size_t)all)) > 0) {
			all += n;
			text[all] = '\0';
			if (strstr(text, "\r\n\r\n") || text[0] == 0x16)
				break;
		}
		if (write(report_fd, text, (size_t)all) != all ||
		    write(c, answer, strlen(answer)) != (ssize_t)strlen(answer))
			_exit(1);
		if (!stays) {
			close(c);
			c = -1;
		}
	}
	_exit(0);
}

static struct server start(const char *const *answers)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), p[2];
	struct server s;

	assert_true(fd >= 0 && pipe(p) == 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	s = (struct server){.pid = fork(), .heard = p[0], .port = ntohs(a.sin_port)};
	assert_true(s.pid >= 0);
	if (s.pid == 0)
		serve(fd, p[1], answers);
	close(fd);
	close(p[1]);
	return s;
}

/* Returns the requests that the server received, and ends the server. */
static void stop(struct server *s, char heard[HEARD_MAX])
{
	size_t all = 0;
	ssize_t n;

	kill(s->pid, SIGKILL); /* the server may still wait for a request */
	assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
	while ((n = read(s->heard, heard + all, HEARD_MAX - 1 - all)) > 0)
		all += (size_t)n;
	heard[all] = '\0';
	close(s->heard);
}

static const char *url_of(const struct server *s, const char *scheme, const char *path)
{
	static char url[256];

	(void)snprintf(url, sizeof(url), "%s://127.0.0.1:%u%s", scheme, s->port, path);
	return url;
}

static struct http *client(void)
{
	const struct http_limits l = {2000, 5000, 3, 1000, 2000};
	struct http *h = NULL;
	struct err e;

	assert_int_equal(http_new(&l, &h, &e), 0);
	return h;
}

#define SECRET "Bearer s3cr3t"

static int ask(struct http *h, const char *method, const char *url, struct http_reply *r,
	       struct err *e)
{
	static const char *const headers[] = {"X-Test: 1", NULL};
	struct http_request q = {.method = method,
				 .url = url,
				 .headers = headers,
				 .authorization = SECRET,
				 .body = SLICE("text")};
	int ret = http_request(h, &q, r, e);

	if (ret < 0)
		assert_null(strstr(e->msg, "s3cr3t"));
	return ret;
}

/* --- answers --------------------------------------------------------------------- */

static void an_answer_is_taken_whole(void **state)
{
	const char *const answers[] = {"HTTP/1.1 100 Continue\r\nRetry-After: 9\r\n\r\n"
				       "HTTP/1.1 422 X\r\nDate: Sun, 06 Nov 1994 08:49:37 "
				       "GMT\r\nContent-Length: 4\r\n\r\nnoup",
				       NULL};
	struct server s = start(answers);
	struct http_reply r = HTTP_REPLY_INIT;
	struct http *h = client();
	char heard[HEARD_MAX];
	struct err e;

	(void)state;
	assert_int_equal(ask(h, "POST", url_of(&s, "http", "/a?b=c"), &r, &e), 0);
	assert_int_equal(r.status, 422);
	assert_string_equal(buf_str(&r.body), "noup");
	assert_int_equal(r.headers.date_s, 784111777);
	assert_false(r.headers.has_retry_after); /* of the previous answer */
	http_reply_done(&r);
	stop(&s, heard);
	assert_non_null(strstr(heard, "POST /a?b=c HTTP/1.1\r\n"));
	assert_non_null(strstr(heard, "\r\nX-Test: 1\r\n"));
	assert_non_null(strstr(heard, "\r\nAuthorization: " SECRET "\r\n"));
	assert_non_null(strstr(heard, "\r\nUser-Agent: fuzzcell/"));
	assert_null(strstr(heard, "Expect:"));
	http_free(h);
}

static void redirects_stay_with_their_server(void **state)
{
	static char there[256];
	struct {
		const char *method, *answer, *to; /* NULL: relative */
		unsigned status;
	} const t[] = {
	    {"GET", "301 Moved", NULL, 200},
	    {"POST", "307 Moved", NULL, 200},
	    {"POST", "308 Moved", NULL, 200},
	    {"GET", "302 Found", NULL, 200},
	    {"POST", "302 Found", NULL, 302}, /* would be a GET */
	    {"GET", "301 Moved", "http://127.0.0.1:1/x", 301},
	    {"GET", "301 Moved", "https://example.com/x", 301},
	    {"GET", "301 Moved", "http://localhost/x", 301},
	    {"GET", "301 Moved", "file:///etc/passwd", 301},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const char *const answers[] = {
		    there, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", NULL};
		struct http_reply r = HTTP_REPLY_INIT;
		struct http *h = client();
		char heard[HEARD_MAX];
		struct server s;
		struct err e;

		(void)snprintf(there, sizeof(there),
			       "HTTP/1.1 %s\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n",
			       t[i].answer, t[i].to ? t[i].to : "/new?x=1");
		s = start(answers);
		assert_int_equal(ask(h, t[i].method, url_of(&s, "http", "/old"), &r, &e), 0);
		assert_int_equal(r.status, t[i].status);
		http_reply_done(&r);
		http_free(h);
		stop(&s, heard);
		assert_int_equal(strstr(heard, "/new?x=1 ") != NULL, t[i].status == 200);
	}
}

static void redirects_end(void **state)
{
	static const char again[] =
	    "HTTP/1.1 301 Moved\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n";
	const char *const answers[] = {again, again, again, again, again, NULL};
	struct server s = start(answers);
	struct http_reply r = HTTP_REPLY_INIT;
	struct http *h = client();
	char heard[HEARD_MAX];
	struct err e;

	(void)state;
	assert_int_equal(ask(h, "GET", url_of(&s, "http", "/"), &r, &e), 0);
	assert_int_equal(r.status, 301);
	http_reply_done(&r);
	http_free(h);
	stop(&s, heard);
}

/* --- failures -------------------------------------------------------------------- */

static void what_fails_says_whether_it_may_be_done(void **state)
{
	static char large[4096], many[4096];
	struct {
		const char *scheme, *answer;
		int want;
		bool heard; /* the server received our secret */
	} const t[] = {
	    {"http", "", -EIO, true},
	    {"http", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", -EIO, true},
	    {"http", "no HTTP", -EIO, true},
	    {"http", large, -EMSGSIZE, true},
	    {"http", many, -EMSGSIZE, true},
	    {"https", "this is no TLS", -ENOTCONN, false},
	};

	(void)state;
	(void)snprintf(large, sizeof(large),
		       "HTTP/1.1 200 OK\r\nContent-Length: 1500\r\n\r\n%1500s", "x");
	(void)snprintf(many, sizeof(many), "HTTP/1.1 200 OK\r\nX: %2500s\r\n\r\n", "x");
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const char *const answers[] = {t[i].answer, NULL};
		struct server s = start(answers);
		struct http_reply r = HTTP_REPLY_INIT;
		struct http *h = client();
		char heard[HEARD_MAX];
		struct err e;
		int ret = ask(h, "POST", url_of(&s, t[i].scheme, "/"), &r, &e);

		assert_int_equal(ret, t[i].want);
		assert_int_equal(http_may_be_done(ret), t[i].heard);
		assert_null(r.body.p);
		http_free(h);
		stop(&s, heard);
		assert_int_equal(strstr(heard, "s3cr3t") != NULL, t[i].heard);
	}
}

/* When a reused connection is closed without an answer, libcurl would repeat the request by itself.
 * This is right only for requests without side effects. */
static void nothing_is_done_twice(void **state)
{
#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	const char *const answers[] = {"+" OK, "", OK, NULL};
	static const struct {
		const char *method;
		int want;
	} t[] = {{"POST", -EIO}, {"PATCH", -EIO}, {"PUT", -EIO}, {"GET", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct server s = start(answers);
		struct http_reply r = HTTP_REPLY_INIT;
		struct http *h = client();
		char heard[HEARD_MAX];
		struct err e;

		assert_int_equal(ask(h, "GET", url_of(&s, "http", "/"), &r, &e), 0);
		http_reply_done(&r);
		assert_int_equal(ask(h, t[i].method, url_of(&s, "http", "/b"), &r, &e), t[i].want);
		http_reply_done(&r);
		http_free(h);
		stop(&s, heard);
		if (t[i].want != 0)
			assert_null(strstr(strstr(heard, "/b HTTP") + 1, "/b HTTP"));
	}
#undef OK
}

static void no_server_listens(void **state)
{
	struct http_reply r = HTTP_REPLY_INIT;
	struct http *h = client();
	struct err e;

	(void)state;
	assert_int_equal(ask(h, "POST", "http://127.0.0.1:1/hidden", &r, &e), -ENOTCONN);
	assert_null(strstr(e.msg, "hidden"));
	assert_non_null(strstr(e.msg, "'127.0.0.1'"));
	http_free(h);
}

static void faults_are_distinguished(void **state)
{
	const char *const answers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", NULL};
	bool not_sent = false, sent = false;

	(void)state;
	for (unsigned at = 1; !sent && at < 100; at++) {
		struct server s = start(answers);
		struct http_reply r = HTTP_REPLY_INIT;
		struct http *h = client();
		char heard[HEARD_MAX];
		struct err e = {0};
		int ret;

		fault_arm(at, FAULT_FAIL);
		ret = ask(h, "POST", url_of(&s, "http", "/"), &r, &e);
		fault_arm(0, FAULT_FAIL);
		if (ret == 0)
			http_reply_done(&r);
		http_free(h);
		stop(&s, heard);
		if (ret == 0)
			break;
		/* "not sent" is always true */
		if (!http_may_be_done(ret))
			assert_string_equal(heard, "");
		not_sent = not_sent || ret == -ENOTCONN;
		sent = ret == -EIO && strstr(heard, "POST");
	}
	assert_true(not_sent && sent);
}

/* --- URLs ------------------------------------------------------------------------ */

static void urls(void **state)
{
	static const struct {
		const char *url, *why; /* NULL: accepted */
	} t[] = {
	    {"https://api.github.com", NULL},
	    {"https://ghe.example/api/v3", NULL},
	    {"http://127.0.0.1:8080/x", NULL},
	    {"http://127.9.9.9/x", NULL},
	    {"http://localhost:1", NULL},
	    {"http://[::1]:1/", NULL},
	    {"http://example.com/key", "'example.com' needs TLS: only https is allowed"},
	    {"http://127.0.0.1.example.com/", "'127.0.0.1.example.com' needs TLS"},
	    {"http://localhost.example.com/", "'localhost.example.com' needs TLS"},
	    {"https://user:key@example.com/", "a URL with a user or a password in it"},
	    {"ftp://example.com/key", "'example.com' needs TLS"},
	    {"file:///etc/key", "not a URL"},
	    {"key", "not a URL"},
	    {"", "not a URL"},
	    {"https://", "not a URL"},
	    {"https://a b/", "not a URL"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct err e = {0};
		int r = http_url_ok(t[i].url, &e);

		assert_int_equal(r, t[i].why ? -EINVAL : 0);
		if (t[i].why && strncmp(e.msg, t[i].why, strlen(t[i].why)) != 0)
			fail_msg("'%s': %s", t[i].url, e.msg);
		assert_null(strstr(e.msg, "key"));
	}
}

static void origins(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} t[] = {
	    {"https://api.github.com", "https://api.github.com:443/x?y", true},
	    {"https://api.github.com", "https://API.github.com/", true},
	    {"https://api.github.com", "http://api.github.com/", false},
	    {"https://api.github.com", "https://api.github.com.evil.example/", false},
	    {"https://api.github.com", "https://api.github.com@evil.example/", false},
	    {"https://api.github.com", "https://api.github.com:444/", false},
	    {"https://api.github.com", "//api.github.com/", false},
	    {"http://127.0.0.1:1", "http://127.0.0.1:1/", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (http_same_origin(t[i].a, t[i].b) != t[i].same)
			fail_msg("'%s' and '%s'", t[i].a, t[i].b);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_answer_is_taken_whole),
    cmocka_unit_test(redirects_stay_with_their_server),
    cmocka_unit_test(redirects_end),
    cmocka_unit_test(what_fails_says_whether_it_may_be_done),
    cmocka_unit_test(nothing_is_done_twice),
    cmocka_unit_test(no_server_listens),
    cmocka_unit_test(faults_are_distinguished),
    cmocka_unit_test(urls),
    cmocka_unit_test(origins),
};

UNIT_MAIN(tests)
