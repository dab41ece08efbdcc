/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_LISTEN_H
#define RUNNER_SERVE_LISTEN_H

#include "runner/serve/serve.h"

/* Opens a listening socket; *ret_port is its port. */
MUST_CHECK int serve_listen_open(const struct serve_listen *at, int *ret_fd, uint16_t *ret_port,
				 struct err *e);

/* Is the name in a Host header accepted?  Addresses, "localhost" and `names` are accepted.
 * Foreign names that resolve to our address are refused: their pages could read ours with the
 * reader's rights (DNS rebinding). */
bool serve_host_ok(const char *header, const char *const *names, size_t n);

enum { SERVE_HOST_MAX = 256 };
/* The path of a request's URL.  host: NAME if the URL is "http://NAME/PATH", as proxies send it;
 * else "".  NULL: NAME is too long. */
const char *serve_target(const char *url, char host[SERVE_HOST_MAX]);

#endif
