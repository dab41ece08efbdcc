/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/serve/listen.h"
#include "base/cleanup.h"
#include "runner/serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { BACKLOG = 128 };

static int bad(const char *text, const char *why, struct err *e)
{
	return err_set(e, EINVAL, "'%.100s': %s; as 127.0.0.1:8089, [::1]:8089 or 8089", text, why);
}

static bool take_host(struct slice host, struct serve_listen *at)
{
	if (host.n == 0)
		host = SLICE("127.0.0.1");
	if (host.n >= sizeof(at->host))
		return false;
	snprintf(at->host, sizeof(at->host), "%.*s", (int)host.n, host.p);
	return true;
}

int serve_listen_parse(const char *text, struct serve_listen *ret, struct err *e)
{
	struct serve_listen at = {.port = 0};
	struct slice in = slice_of(text), host = {0};
	const char *colon = strrchr(text, ':');
	struct in6_addr any;
	uint64_t port;

	if (scan_lit(&in, SLICE("["))) {
		if (!scan_until(&in, ']', sizeof(at.host), &host) || !scan_lit(&in, SLICE("]:")))
			return bad(text, "not an address and a port", e);
	} else if (colon) {
		host = (struct slice){text, (size_t)(colon - text)};
		in = slice_of(colon + 1);
		if (memchr(host.p, ':', host.n))
			return bad(text, "an IPv6 address needs brackets", e);
	}
	if (!scan_u64(&in, 10, UINT16_MAX, &port) || in.n > 0)
		return bad(text, "no port", e);
	at.port = (uint16_t)port;
	if (!take_host(host, &at))
		return bad(text, "no address", e);
	if (strcmp(at.host, "localhost") == 0)
		snprintf(at.host, sizeof(at.host), "127.0.0.1");
	if (inet_pton(AF_INET, at.host, &any) != 1 && inet_pton(AF_INET6, at.host, &any) != 1)
		return bad(text, "the address is not numeric", e);
	*ret = at;
	return 0;
}

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t address_of(const struct serve_listen *at, union address *ret)
{
	*ret = (union address){.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(at->port)}};
	if (inet_pton(AF_INET6, at->host, &ret->v6.sin6_addr) == 1)
		return sizeof(ret->v6);
	*ret = (union address){.v4 = {.sin_family = AF_INET, .sin_port = htons(at->port)}};
	return inet_pton(AF_INET, at->host, &ret->v4.sin_addr) == 1 ? sizeof(ret->v4) : 0;
}

bool serve_listen_is_local(const struct serve_listen *at)
{
	union address a;

	if (address_of(at, &a) == 0)
		return false;
	if (a.any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
	return ntohl(a.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

int serve_listen_open(const struct serve_listen *at, int *ret_fd, uint16_t *ret_port, struct err *e)
{
	_autoclose_ int fd = -1;
	union address a;
	socklen_t n = address_of(at, &a);
	int on = 1;

	if (n == 0)
		return err_set(e, EINVAL, "'%s' is not an address", at->host);
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(e, "create a socket");
	/* The port can be reused while connections of an earlier server are closing. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, &a.any, n) < 0 || listen(fd, BACKLOG) < 0)
		return err_sys(e, "listen on %s, port %u", at->host, at->port);
	if (getsockname(fd, &a.any, &n) < 0)
		return err_sys(e, "read the socket's port");
	*ret_port = ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* --- names in Host headers ---------------------------------------------------------- */

/* The host without its port; an IPv6 address without its brackets.  {0}: invalid. */
static struct slice host_of(const char *header)
{
	struct slice in = slice_of(header), host = {0};
	uint64_t port;

	if (scan_lit(&in, SLICE("["))) {
		if (!scan_until(&in, ']', 64, &host) || !scan_lit(&in, SLICE("]")))
			return (struct slice){0};
	} else {
		host = (struct slice){in.p, strcspn(in.p, ":")};
		in = (struct slice){in.p + host.n, in.n - host.n};
	}
	if (in.n > 0 && (!scan_lit(&in, SLICE(":")) || !scan_u64(&in, 10, UINT16_MAX, &port)))
		return (struct slice){0};
	return in.n > 0 ? (struct slice){0} : host;
}

bool serve_host_ok(const char *header, const char *const *names, size_t n)
{
	struct slice host = header ? host_of(header) : (struct slice){0};
	struct in6_addr any;
	char name[SERVE_HOST_MAX];

	if (host.n == 0 || host.n >= sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)host.n, host.p);
	if (inet_pton(AF_INET, name, &any) == 1 || inet_pton(AF_INET6, name, &any) == 1 ||
	    strcasecmp(name, "localhost") == 0)
		return true;
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}

bool serve_host_is_name(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n < SERVE_HOST_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") ==
		   n;
}

const char *serve_target(const char *url, char host[SERVE_HOST_MAX])
{
	size_t n;

	*host = '\0';
	if (strncasecmp(url, "http://", 7) != 0)
		return url;
	url += 7;
	n = strcspn(url, "/");
	if (n == 0 || n >= SERVE_HOST_MAX)
		return NULL;
	memcpy(host, url, n);
	host[n] = '\0';
	return url[n] ? url + n : "/";
}
