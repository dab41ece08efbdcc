/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/publish/outboxes.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "runner/publish/http/http.h"
#include "runner/publish/webhook.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>

#define SIG "0123456789abcdef"

/* --- signatures: RFC 4231 -------------------------------------------------------- */

static void test_hmac(void **state)
{
	static const char test_6[] = "Test Using Larger Than Block-Size Key - Hash Key First";
	char out[WEBHOOK_SIGNATURE], key[131];
	struct err e;

	(void)state;
	memset(key, 0x0b, 20);
	assert_int_equal(webhook_sign((struct slice){key, 20}, SLICE("Hi There"), out, &e), 0);
	assert_string_equal(
	    out, "sha256=b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	assert_int_equal(
	    webhook_sign(SLICE("Jefe"), SLICE("what do ya want for nothing?"), out, &e), 0);
	assert_string_equal(
	    out, "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	assert_int_equal(webhook_sign((struct slice){key, sizeof(key)}, slice_of(test_6), out, &e),
			 0);
	assert_string_equal(
	    out, "sha256=60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

/* --- payloads ---------------------------------------------------------------------- */

static char t_sig[] = SIG, t_fuzzer[] = "png_fuzzer", t_type[] = "Heap-use-after-free\nREAD 4",
	    t_frame[] = "f<int>", t_high[] = "high", t_url[] = "https://x/1";

static struct known_crash a_crash(void)
{
	struct known_crash c = {.signature = t_sig,
				.fuzzer = t_fuzzer,
				.crash_type = t_type,
				.top_frame = t_frame,
				.severity = t_high,
				.issue_url = t_url,
				.state = LEDGER_NEW,
				.security = true,
				.count = 2};

	c.first_seen.time = 1700000000;
	c.last_seen.time = 1700000100;
	c.reproduction.hits = 3;
	c.reproduction.tries = 4;
	return c;
}

static void check_payload(enum webhook_format f, const struct webhook_message *m, const char *want)
{
	_autojson_ json_t *j = NULL;
	_autofree_ char *text = NULL;
	struct err e;

	if (webhook_payload(f, m, &j, &e) < 0 || json_print(j, 0, &text, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(text, want);
}

static void test_generic(void **state)
{
	struct known_crash c = a_crash();
	struct webhook_message m = {.event = "new",
				    .id = "hook-x-new-" SIG,
				    .time = 1700000000,
				    .crash = &c,
				    .issue_url = c.issue_url,
				    .run = "r1",
				    .commit = ""};

	(void)state;
	check_payload(
	    WEBHOOK_GENERIC, &m,
	    "{\"event\": \"new\", \"id\": \"hook-x-new-" SIG "\", \"time\": 1700000000, \"text\": "
	    "\"New crash in png_fuzzer: Heap-use-after-free READ 4 in f<int> (security-relevant); "
	    "fails 3 of 4 times; " SIG "\", \"target\": \"png_fuzzer\", \"run\": \"r1\", "
	    "\"commit\": null, \"crash\": {\"signature\": \"" SIG "\", \"target\": \"png_fuzzer\", "
	    "\"crash_type\": \"Heap-use-after-free READ 4\", \"top_frame\": \"f<int>\", "
	    "\"severity\": \"high\", \"state\": \"new\", \"security\": true, \"reproduces\": "
	    "{\"hits\": 3, \"tries\": 4}, \"count\": 2, \"first_seen\": 1700000000, \"last_seen\": "
	    "1700000100, \"issue_url\": \"https://x/1\"}}");
	m = (struct webhook_message){
	    .event = "silent", .id = "i", .time = 7, .target = "t", .text = "not\nfuzzed \x1b"};
	check_payload(WEBHOOK_GENERIC, &m,
		      "{\"event\": \"silent\", \"id\": \"i\", \"time\": 7, \"text\": "
		      "\"not fuzzed \\\\x1b\", \"target\": \"t\", \"run\": null, \"commit\": null, "
		      "\"crash\": null}");
}

static void test_slack(void **state)
{
	struct known_crash c = a_crash();
	struct webhook_message m = {.event = "regressed",
				    .id = "i",
				    .time = 1700000000,
				    .crash = &c,
				    .run = "r1",
				    .commit = "c0ffee"};

	(void)state;
#define LINE                                                                         \
	"Came back in `png_fuzzer`: `Heap-use-after-free READ 4` in `f&lt;int&gt;` " \
	"(security-relevant); fails 3 of 4 times; `" SIG "`"
	check_payload(WEBHOOK_SLACK, &m,
		      "{\"text\": \"" LINE "\", \"blocks\": [{\"type\": \"section\", \"text\": "
		      "{\"type\": \"mrkdwn\", \"text\": \"" LINE "\"}}, {\"type\": \"section\", "
		      "\"fields\": [{\"type\": \"mrkdwn\", \"text\": \"*Severity*\\n`high`\"}, "
		      "{\"type\": \"mrkdwn\", \"text\": \"*Issue*\\n`https://x/1`\"}, "
		      "{\"type\": \"mrkdwn\", \"text\": \"*Commit*\\n`c0ffee`\"}, "
		      "{\"type\": \"mrkdwn\", \"text\": \"*Run*\\n`r1`\"}, "
		      "{\"type\": \"mrkdwn\", \"text\": \"*Time*\\n`2023-11-14T22:13:20Z`\"}]}]}");
}

/* Whatever a target's name is: valid JSON within Slack's limits, and no user is mentioned. */
static void test_slack_limits(void **state)
{
	char longest[1025], evil[] = "<!channel> <@U1> `*x*` &\n\x1b\xff";
	struct known_crash c = a_crash();
	struct webhook_message m = {
	    .event = "new", .id = "i", .crash = &c, .commit = longest, .run = longest};

	(void)state;
	memset(longest, '<', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (int i = 0; i < 2; i++) {
		_autojson_ json_t *j = NULL;
		const char *text;
		struct err e;

		c.fuzzer = c.crash_type = c.top_frame = c.severity = c.issue_url = c.signature =
		    i ? longest : evil;
		assert_int_equal(webhook_payload(WEBHOOK_SLACK, &m, &j, &e), 0);
		text = json_string_value(json_object_get(j, "text"));
		assert_true(strlen(text) <= 3000);
		assert_null(strchr(text, '<'));
		assert_null(strchr(text, '\x1b'));
		if (i == 0)
			assert_non_null(strstr(text, "`&lt;!channel&gt; &lt;@U1&gt; '*x*' &amp; "
						     "\\x1b\\xff`"));
	}
}

static void test_wants(void **state)
{
	char a[] = "new", b[] = "silent";
	char *v[] = {a, b};
	struct webhook_config c = {.events = {v, 2}};

	(void)state;
	assert_true(webhook_wants(&c, "new"));
	assert_true(webhook_wants(&c, "silent"));
	assert_true(webhook_wants(&c, "alarm"));
	assert_false(webhook_wants(&c, "fixed"));
	c.events.n = 0;
	assert_true(webhook_wants(&c, "fixed"));
}

/* --- sending: a server with one answer ----------------------------------------------- */

struct peer {
	int fd;
	pid_t pid;
	char url[64];
};

/* Answers one request with text, and writes the request to the file "asked". */
static struct peer serve(const char *text)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(a);
	struct peer p = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

	assert_true(p.fd >= 0);
	assert_int_equal(bind(p.fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(p.fd, 4), 0);
	assert_int_equal(getsockname(p.fd, (struct sockaddr *)&a, &n), 0);
	snprintf(p.url, sizeof(p.url), "http://127.0.0.1:%u/s3cret", ntohs(a.sin_port));
	p.pid = fork();
	if (p.pid == 0) {
		char got[8192];
		size_t have = 0;
		int c = accept(p.fd, NULL, NULL);

		alarm(20);
		while (have < sizeof(got) - 1 && !strstr((got[have] = '\0', got), "}}")) {
			ssize_t r = read(c, got + have, sizeof(got) - 1 - have);

			if (r <= 0)
				break;
			have += (size_t)r;
		}
		scratch_write(dir.fd, "asked", got);
		_exit(write(c, text, strlen(text)) < 0);
	}
	return p;
}

static void serve_end(struct peer *p)
{
	close(p->fd);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
}

static struct delivery send_to(const struct webhook_config *c)
{
	static const struct http_limits limits = {.connect_ms = 5000,
						  .total_ms = 5000,
						  .stall_s = 5,
						  .reply_max = 65536,
						  .header_max = 65536};
	_autojson_ json_t *event =
	    json_pack("{s:s, s:{s:{s:i}}}", "event", "new", "payload", "a", "b", 1);
	struct delivery d = {.id = "hook-x-new-" SIG, .event = event};
	struct webhook *w = NULL;
	struct err e;

	assert_int_equal(webhook_new(c, &limits, &w, &e), 0);
	webhook_deliver(w, &d);
	webhook_free(w);
	assert_null(strstr(d.why, "s3cret"));
	assert_null(strstr(d.why, "k3y"));
	d.event = NULL;
	return d;
}

static void test_send(void **state)
{
	struct peer p = serve("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
	char url_file[64], secret_file[64], asked[8192], sum[WEBHOOK_SIGNATURE], line[128];
	struct webhook_config c = {.url_file = url_file, .secret_file = secret_file};
	struct delivery d;
	struct err e;

	(void)state;
	snprintf(url_file, sizeof(url_file), "%s/url", dir.path);
	snprintf(secret_file, sizeof(secret_file), "%s/key", dir.path);
	snprintf(line, sizeof(line), "%s\n", p.url);
	scratch_write(dir.fd, "url", line);
	scratch_write(dir.fd, "key", "k3y\n");
	d = send_to(&c);
	serve_end(&p);
	assert_int_equal(d.result, DELIVERY_DONE);
	scratch_text(dir.fd, "asked", asked, sizeof(asked));
	assert_memory_equal(asked, "POST /s3cret HTTP/1.1\r\n", 23);
	assert_non_null(strstr(asked, "\r\nContent-Type: application/json\r\n"));
	assert_non_null(strstr(asked, "\r\nX-Fuzzcell-Event: new\r\n"));
	assert_non_null(strstr(asked, "\r\nX-Fuzzcell-Delivery: hook-x-new-" SIG "\r\n"));
	assert_non_null(strstr(asked, "\r\n\r\n{\"a\": {\"b\": 1}}"));
	assert_int_equal(webhook_sign(SLICE("k3y"), SLICE("{\"a\": {\"b\": 1}}"), sum, &e), 0);
	snprintf(line, sizeof(line), "\r\nX-Fuzzcell-Signature-256: %s\r\n", sum);
	assert_non_null(strstr(asked, line));
}

static void test_answers(void **state)
{
	static const struct {
		const char *answer;
		enum delivery_result result;
		uint64_t wait_s;
		bool whole;
		const char *why;
	} t[] = {
	    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", DELIVERY_DONE, 0, false, ""},
	    {"HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n", DELIVERY_REFUSED, 0, false,
	     "the server answered with status 400"},
	    {"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", DELIVERY_REFUSED, 0, false,
	     "the server answered with status 404"},
	    {"HTTP/1.1 307 There\r\nLocation: https://elsewhere.example/s3cret\r\n"
	     "Content-Length: 0\r\n\r\n",
	     DELIVERY_REFUSED, 0, false,
	     "the server answered with status 307: it points to another host, and was not "
	     "followed"},
	    {"HTTP/1.1 307 There\r\nContent-Length: 0\r\n\r\n", DELIVERY_REFUSED, 0, false,
	     "the server answered with status 307"},
	    {"HTTP/1.1 408 Slow\r\nContent-Length: 0\r\n\r\n", DELIVERY_LATER, 0, true,
	     "the server answered with status 408"},
	    {"HTTP/1.1 429 Many\r\nRetry-After: 77\r\nContent-Length: 0\r\n\r\n", DELIVERY_LATER,
	     77, true, "the server answered with status 429"},
	    {"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", DELIVERY_LATER, 0, true,
	     "the server answered with status 500"},
	    {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut", DELIVERY_LATER, 0, true, NULL},
	    {"", DELIVERY_LATER, 0, true, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct peer p = serve(t[i].answer);
		struct webhook_config c = {.url = p.url};
		struct delivery d = send_to(&c);

		serve_end(&p);
		assert_int_equal(d.result, t[i].result);
		assert_int_equal(d.wait_s, t[i].wait_s);
		assert_int_equal(d.whole_host, t[i].whole);
		if (t[i].why)
			assert_string_equal(d.why, t[i].why);
		else
			assert_true(*d.why);
	}
}

static void test_not_sent(void **state)
{
	char url[] = "http://127.0.0.1:1/s3cret", odd[] = "ftp://x/s3cret", missing[64], empty[64];
	struct webhook_config c = {.url = url};
	struct delivery d = send_to(&c);

	(void)state;
	assert_int_equal(d.result, DELIVERY_LATER); /* no server listens there */
	assert_true(d.whole_host);
	c.url = odd;
	assert_int_equal(send_to(&c).result, DELIVERY_REFUSED);
	snprintf(missing, sizeof(missing), "%s/missing", dir.path);
	snprintf(empty, sizeof(empty), "%s/empty", dir.path);
	scratch_write(dir.fd, "empty", "\n");
	c = (struct webhook_config){.url_file = missing};
	d = send_to(&c);
	assert_int_equal(d.result, DELIVERY_LATER);
	assert_non_null(strstr(d.why, "/missing"));
	assert_true(d.unasked && !d.whole_host); /* a sender with the file may send at once */
	c = (struct webhook_config){.url = url, .secret_file = empty};
	d = send_to(&c);
	assert_int_equal(d.result, DELIVERY_LATER); /* no unsigned request is sent */
	assert_non_null(strstr(d.why, "holds no secret"));
	c = (struct webhook_config){0};
	assert_int_equal(send_to(&c).result, DELIVERY_LATER);
}

/* The same as for a token: SECURITY.md. */
static void test_secrets_that_others_may_read(void **state)
{
	char url[] = "http://127.0.0.1:1/s3cret", file[64];
	const struct webhook_config t[] = {{.url_file = file}, {.url = url, .secret_file = file}};
	static const mode_t modes[] = {0640, 0604, 0644};

	(void)state;
	snprintf(file, sizeof(file), "%s/secret", dir.path);
	scratch_write(dir.fd, "secret", url);
	for (size_t i = 0; i < 2; i++)
		for (size_t m = 0; m < 3; m++) {
			struct delivery d;

			assert_int_equal(fchmodat(dir.fd, "secret", modes[m], 0), 0);
			d = send_to(&t[i]);
			assert_int_equal(d.result, DELIVERY_LATER);
			assert_true(d.unasked);
			assert_non_null(strstr(d.why, "/secret' holds a secret that others may "
						      "read"));
		}
	assert_int_equal(fchmodat(dir.fd, "secret", 0400, 0), 0);
	assert_false(send_to(&t[0]).unasked);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_hmac),
    cmocka_unit_test(test_generic),
    cmocka_unit_test(test_slack),
    cmocka_unit_test(test_slack_limits),
    cmocka_unit_test(test_wants),
    CASE(test_send),
    CASE(test_answers),
    CASE(test_not_sent),
    CASE(test_secrets_that_others_may_read),
};

UNIT_MAIN(tests)
