/* SPDX-License-Identifier: Apache-2.0 */
/* The dashboard's HTTP server. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "runner/serve/listen.h"
#include "runner/serve/serve.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum {
	CACHED = 32,	  /* answers */
	CACHED_MS = 1000, /* lifetime of an answer, so that clients cannot cause more work */
	SPARE = SERVE_CONNECTIONS / 8, /* the oldest connection is closed when only this many are
					* free */
	SWEEP_S = 5,
	NEVER_S = 3600,
};

/* since_us: when the connection began, or completed its last request.  A connection that stays
 * SERVE_REQUEST_S without completing a request is closed, whatever the client sends. */
struct conn {
	int fd; /* -1: free */
	uint64_t since_us;
};

struct cached {
	char *path;
	struct MHD_Response *response;
	unsigned status;
	uint64_t until_us;
};

struct serve_http {
	struct serve_site *site;
	const char *const *hosts;
	size_t n_hosts;
	uint16_t port;
	struct MHD_Daemon *daemon;
	struct source *io, *timer;
	struct conn conns[SERVE_CONNECTIONS];
	struct cached cache[CACHED];
};

/* --- connections -------------------------------------------------------------- */

static void connection(void *cls, struct MHD_Connection *c, void **context,
		       enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct serve_http *h = cls;
	struct conn *oldest = NULL, *mine = NULL;
	size_t n = 0;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*context)
			((struct conn *)*context)->fd = -1;
		return;
	}
	for (size_t i = 0; i < SERVE_CONNECTIONS; i++) {
		struct conn *at = &h->conns[i];

		if (at->fd < 0) {
			mine = at;
			continue;
		}
		n++;
		if (!oldest || at->since_us < oldest->since_us)
			oldest = at;
	}
	/* A client with many open connections cannot keep other clients out. */
	if (oldest && n >= SERVE_CONNECTIONS - SPARE) {
		(void)shutdown(oldest->fd, SHUT_RDWR);
		oldest->since_us = UINT64_MAX; /* not chosen again */
	}
	if (mine && info)
		*mine = (struct conn){.fd = info->connect_fd, .since_us = clock_mono_us()};
	*context = mine;
}

static void completed(void *cls, struct MHD_Connection *c, void **context,
		      enum MHD_RequestTerminationCode why)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct conn *at = info ? info->socket_context : NULL;

	(void)cls;
	(void)context;
	(void)why;
	if (at && at->since_us != UINT64_MAX)
		at->since_us = clock_mono_us();
}

static bool serve_http_sweep(struct serve_http *h)
{
	uint64_t now = clock_mono_us();
	bool any = false;

	for (size_t i = 0; i < SERVE_CONNECTIONS; i++) {
		struct conn *at = &h->conns[i];

		if (at->fd < 0)
			continue;
		any = true;
		if (at->since_us < now &&
		    now - at->since_us > (uint64_t)SERVE_REQUEST_S * USEC_PER_SEC) {
			(void)shutdown(at->fd, SHUT_RDWR);
			at->since_us = UINT64_MAX;
		}
	}
	return any;
}

/* --- answers ------------------------------------------------------------------ */

#define POLICY "Content-Security-Policy"

static const char our_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/* llvm-cov's pages need their style alone. */
static const char foreign_policy[] =
    "default-src 'none'; style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

static const char *const headers[][2] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-cache"},
};

/* NULL: no memory; then r is freed. */
static struct MHD_Response *with_headers(struct MHD_Response *r, const char *type,
					 const char *policy)
{
	bool bad;

	if (!r)
		return NULL;
	bad = MHD_add_response_header(r, "Content-Type", type) != MHD_YES ||
	      MHD_add_response_header(r, POLICY, policy) != MHD_YES;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		bad |= MHD_add_response_header(r, headers[i][0], headers[i][1]) != MHD_YES;
	if (bad) {
		MHD_destroy_response(r);
		return NULL;
	}
	return r;
}

/* mode: whether the bytes are free()d with the response, copied, or static. */
static struct MHD_Response *response(const char *type, const char *policy, struct slice bytes,
				     enum MHD_ResponseMemoryMode mode)
{
	void *p = NULL;

	memcpy(&p, &bytes.p, sizeof(p)); /* libmicrohttpd does not write to them */
	return with_headers(MHD_create_response_from_buffer(bytes.n, p, mode), type, policy);
}

/* A file as a download. */
static struct MHD_Response *file(struct serve_answer *a)
{
	struct MHD_Response *r = MHD_create_response_from_fd64(a->size, a->fd);
	char how[sizeof(a->file) + 32];

	if (r)
		a->fd = -1; /* owned by the response */
	r = with_headers(r, a->type, our_policy);
	snprintf(how, sizeof(how), "attachment; filename=\"%s\"", a->file);
	if (r && MHD_add_response_header(r, "Content-Disposition", how) != MHD_YES) {
		MHD_destroy_response(r);
		return NULL;
	}
	return r;
}

static struct MHD_Response *serve_http_plain(const char *text)
{
	return response("text/plain; charset=utf-8", our_policy, slice_of(text),
			MHD_RESPMEM_MUST_COPY);
}

static struct MHD_Response *trouble(int r, const struct err *e, unsigned *ret_status)
{
	char text[600];

	*ret_status = r == -ENOENT  ? MHD_HTTP_NOT_FOUND
		      : r == -EPERM ? MHD_HTTP_FORBIDDEN
				    : MHD_HTTP_SERVICE_UNAVAILABLE;
	snprintf(text, sizeof(text), "%s\n", e->msg);
	return serve_http_plain(text);
}

static struct MHD_Response *found(struct serve_answer *a)
{
	struct MHD_Response *r;

	if (a->fd >= 0)
		return file(a);
	if (a->fixed.p)
		return response(a->type, our_policy, a->fixed, MHD_RESPMEM_PERSISTENT);
	r = response(a->type, a->foreign ? foreign_policy : our_policy, buf_slice(&a->body),
		     MHD_RESPMEM_MUST_FREE);
	if (r)
		a->body.p = NULL; /* owned by the response */
	return r;
}

static struct MHD_Response *serve_http_make(struct serve_http *h, const char *path,
					    unsigned *ret_status)
{
	struct serve_answer a = {.fd = -1};
	struct MHD_Response *made;
	struct err e;
	int r = serve_get(h->site, slice_of(path), &a, &e);

	if (r < 0)
		return trouble(r, &e, ret_status);
	*ret_status = MHD_HTTP_OK;
	made = found(&a);
	serve_answer_done(&a);
	return made;
}

static void serve_http_forget(struct cached *c)
{
	if (c->response)
		MHD_destroy_response(c->response);
	free(c->path);
	*c = (struct cached){0};
}

/* Frees expired answers.  Returns whether any answer is left. */
static bool forget_old(struct serve_http *h)
{
	uint64_t now = clock_mono_us();
	bool any = false;

	for (size_t i = 0; i < CACHED; i++) {
		struct cached *c = &h->cache[i];

		if (c->path && now >= c->until_us)
			serve_http_forget(c);
		any |= c->path != NULL;
	}
	return any;
}

/* Returns the cached answer if it is still valid, else the oldest entry for a new answer. */
static struct cached *look_up(struct serve_http *h, const char *path, uint64_t now)
{
	struct cached *oldest = &h->cache[0];

	for (size_t i = 0; i < CACHED; i++) {
		struct cached *c = &h->cache[i];

		if (c->path && now < c->until_us && strcmp(c->path, path) == 0)
			return c;
		if (c->until_us < oldest->until_us)
			oldest = c;
	}
	serve_http_forget(oldest);
	return oldest;
}

static enum MHD_Result send_page(struct serve_http *h, struct MHD_Connection *c, const char *path)
{
	uint64_t now = clock_mono_us();
	struct cached *a = look_up(h, path, now);

	if (!a->response) {
		a->path = xstrdup(path);
		a->response = serve_http_make(h, path, &a->status);
		a->until_us = clock_mono_us() + CACHED_MS * USEC_PER_MSEC;
	}
	if (!a->response) {
		serve_http_forget(a);
		return MHD_NO; /* no memory: closes the connection */
	}
	return MHD_queue_response(c, a->status, a->response);
}

static enum MHD_Result serve_http_refuse(struct MHD_Connection *c, unsigned status, const char *why)
{
	struct MHD_Response *r = serve_http_plain(why);
	enum MHD_Result done = MHD_NO;

	if (!r)
		return MHD_NO;
	if (status != MHD_HTTP_METHOD_NOT_ALLOWED ||
	    MHD_add_response_header(r, "Allow", "GET, HEAD") == MHD_YES)
		done = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return done;
}

static enum MHD_Result count_hosts(void *cls, enum MHD_ValueKind kind, const char *key,
				   const char *value)
{
	unsigned *n = cls;

	(void)kind;
	(void)value;
	*n += strcasecmp(key, "Host") == 0;
	return MHD_YES;
}

/* Requires exactly one Host header.  A name in the request line must be valid, too: a proxy
 * between the client and us must not see another name. */
static bool may_be_asked(struct serve_http *h, struct MHD_Connection *c, const char *host)
{
	unsigned n = 0;

	(void)MHD_get_connection_values(c, MHD_HEADER_KIND, count_hosts, &n);
	return n == 1 &&
	       serve_host_ok(MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host"), h->hosts,
			     h->n_hosts) &&
	       (!*host || serve_host_ok(host, h->hosts, h->n_hosts));
}

static enum MHD_Result serve_http_answer(void *cls, struct MHD_Connection *c, const char *url,
					 const char *method, const char *version,
					 const char *upload, size_t *upload_n, void **context)
{
	static char seen;
	struct serve_http *h = cls;
	char host[SERVE_HOST_MAX];
	const char *path = serve_target(url, host);

	(void)version;
	(void)upload;
	/* An immediate answer ends the connection: nothing more of it is read. */
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return serve_http_refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	if (!path || !may_be_asked(h, c, host))
		return serve_http_refuse(
		    c, MHD_HTTP_BAD_REQUEST,
		    "the Host header has an unknown name: use fuzzcell serve --host NAME\n");
	if (!*context) {
		*context = &seen;
		return MHD_YES;
	}
	if (*upload_n > 0)
		return MHD_NO; /* bodies are not accepted */
	return send_page(h, c, path);
}

/* Keeps paths encoded: serve_get() decodes them. */
static size_t as_it_is(void *cls, struct MHD_Connection *c, char *s)
{
	(void)cls;
	(void)c;
	return strlen(s);
}

/* --- in our loop ---------------------------------------------------------------- */

static void turn(struct serve_http *h)
{
	MHD_UNSIGNED_LONG_LONG ms = 0;
	uint64_t wait_us = (uint64_t)NEVER_S * USEC_PER_SEC;
	struct err ignored;
	bool more;

	(void)MHD_run(h->daemon);
	more = serve_http_sweep(h);
	more = forget_old(h) || more;
	if (more)
		wait_us = (uint64_t)SWEEP_S * USEC_PER_SEC;
	if (MHD_get_timeout(h->daemon, &ms) == MHD_YES && ms * USEC_PER_MSEC < wait_us)
		wait_us = ms * USEC_PER_MSEC;
	/* Setting an existing timer does not fail. */
	(void)!loop_set_timer(h->timer, clock_mono_us() + wait_us, &ignored);
}

static void serve_http_on_io(void *arg, uint32_t events)
{
	(void)events;
	turn(arg);
}

static void serve_http_on_timer(void *arg)
{
	turn(arg);
}

static int start_daemon(struct serve_http *h, int fd, struct err *e)
{
	h->daemon = MHD_start_daemon(
	    MHD_USE_EPOLL, h->port, NULL, NULL, serve_http_answer, h, MHD_OPTION_LISTEN_SOCKET, fd,
	    MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVE_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
	    (unsigned)SERVE_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)SERVE_REQUEST_MAX,
	    MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, as_it_is, NULL,
	    MHD_OPTION_NOTIFY_CONNECTION, connection, h, MHD_OPTION_NOTIFY_COMPLETED, completed, h,
	    MHD_OPTION_END);
	return h->daemon ? 0 : err_set(e, EIO, "start the HTTP server");
}

static int start(struct serve_http *h, struct loop *l, const struct serve_listen *at, struct err *e)
{
	const union MHD_DaemonInfo *info;
	_autoclose_ int fd = -1;
	int r = serve_listen_open(at, &fd, &h->port, e);

	if (r == 0)
		r = start_daemon(h, fd, e);
	if (r < 0)
		return r;
	(void)take_fd(&fd); /* owned by the daemon */
	info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info || info->epoll_fd < 0)
		return err_set(e, EIO, "the HTTP server has no descriptor to wait for");
	r = loop_add_timer(l, clock_mono_us(), serve_http_on_timer, h, &h->timer, e);
	return r < 0 ? r : loop_add_io(l, info->epoll_fd, EPOLLIN, serve_http_on_io, h, &h->io, e);
}

int serve_http_start(struct loop *l, struct serve_site *site, const struct serve_listen *at,
		     const char *const *hosts, size_t n, struct serve_http **ret, struct err *e)
{
	struct serve_http *h = xcalloc(1, sizeof(*h));
	int r;

	*h = (struct serve_http){.site = site, .hosts = hosts, .n_hosts = n};
	for (size_t i = 0; i < SERVE_CONNECTIONS; i++)
		h->conns[i].fd = -1;
	r = start(h, l, at, e);
	if (r < 0)
		serve_http_stop(h);
	else
		*ret = h;
	return r;
}

uint16_t serve_http_port(const struct serve_http *h)
{
	return h->port;
}

void serve_http_stop(struct serve_http *h)
{
	if (!h)
		return;
	source_remove(h->io);
	source_remove(h->timer);
	if (h->daemon)
		MHD_stop_daemon(h->daemon);
	for (size_t i = 0; i < CACHED; i++)
		serve_http_forget(&h->cache[i]);
	free(h);
}
