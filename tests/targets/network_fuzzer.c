/* SPDX-License-Identifier: Apache-2.0 */
/* Tries once to connect over sockets and prints the results.  Then it continues fuzzing.  A test
 * may listen outside on port PLANTED_PORT (default 22) of 127.0.0.1, and on the abstract AF_UNIX
 * name PLANTED_ABSTRACT (default "planted"): a connection means that the network is shared.
 * PLANTED_SOCKET (default: D-Bus's) is the path of a socket outside.
 * Promise: network: none. */
#include "planted.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

/* A pending connection gets one second to complete. */
static int outcome(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	int err = 0;
	socklen_t len = sizeof(err);

	if (poll(&p, 1, 1000) == 0)
		return ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0 ? errno : err;
}

/* Opens a socket and connects it: two lines. */
static void reach(const char *what, int family, int type, const void *address, socklen_t len)
{
	char name[96];
	int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)snprintf(name, sizeof(name), "socket %s", what);
	planted_report(name, fd < 0 ? errno : 0);
	if (fd < 0)
		return;
	(void)snprintf(name, sizeof(name), "connect %s", what);
	if (connect(fd, address, len) == 0)
		planted_report(name, 0);
	else
		planted_report(name, errno == EINPROGRESS ? outcome(fd) : errno);
	(void)close(fd);
}

static void reach_inet(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)planted_env("PLANTED_PORT", 22)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 in6 = {
	    .sin6_family = AF_INET6, .sin6_port = in.sin_port, .sin6_addr = IN6ADDR_LOOPBACK_INIT};

	reach("AF_INET tcp 127.0.0.1", AF_INET, SOCK_STREAM, &in, sizeof(in));
	reach("AF_INET6 tcp ::1", AF_INET6, SOCK_STREAM, &in6, sizeof(in6));
	in.sin_addr.s_addr = htonl(0xc0000201); /* 192.0.2.1, TEST-NET-1 */
	reach("AF_INET udp 192.0.2.1", AF_INET, SOCK_DGRAM, &in, sizeof(in));
	reach("AF_INET raw 192.0.2.1", AF_INET, SOCK_RAW, &in, sizeof(in));
}

static void reach_unix(void)
{
	struct sockaddr_un seen = {.sun_family = AF_UNIX};
	struct sockaddr_un hidden = {.sun_family = AF_UNIX};
	const char *name = getenv("PLANTED_ABSTRACT"), *path = getenv("PLANTED_SOCKET");
	size_t n;

	(void)snprintf(seen.sun_path, sizeof(seen.sun_path), "%s",
		       path ? path : "/run/dbus/system_bus_socket");
	name = name ? name : "planted";
	n = strnlen(name, sizeof(hidden.sun_path) - 1);
	memcpy(hidden.sun_path + 1, name, n); /* the first byte is NUL: abstract */
	reach("AF_UNIX abstract", AF_UNIX, SOCK_STREAM, &hidden,
	      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n));
	reach("AF_UNIX path", AF_UNIX, SOCK_STREAM, &seen, sizeof(seen));
}

static void reach_other(void)
{
	struct sockaddr_nl nl = {.nl_family = AF_NETLINK};
	struct sockaddr_vm vm = {
	    .svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_HOST, .svm_port = 22};

	reach("AF_NETLINK", AF_NETLINK, SOCK_RAW, &nl, sizeof(nl));
	reach("AF_VSOCK host", AF_VSOCK, SOCK_STREAM, &vm, sizeof(vm));
	planted_report("interface eth0", if_nametoindex("eth0") ? 0 : errno);
	planted_report("interface lo", if_nametoindex("lo") ? 0 : errno);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool done;

	if (!done && size > 0) {
		done = true;
		reach_inet();
		reach_unix();
		reach_other();
		dprintf(STDERR_FILENO, "planted: network: all tried\n");
	}
	return planted_work(data, size);
}
