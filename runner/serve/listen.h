/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_LISTEN_H
#define RUNNER_SERVE_LISTEN_H

#include "runner/serve/serve.h"

/* A listening socket, and the port that it has. */
MUST_CHECK int serve_listen_open(const struct serve_listen *at, int *ret_fd, uint16_t *ret_port,
				 struct err *e);

/* May we be asked under the name in a Host header?  An address, "localhost" and names may; a name
 * of others' that leads to our address may not: the page that has it would read us
 * with its reader's rights. */
bool serve_host_ok(const char *header, const char *const *names, size_t n);

enum { SERVE_HOST_MAX = 256 };
/* The path that a request is for, in url.  host: the name in "http://NAME/PATH", which proxies
 * send; else "".  NULL: it is too long. */
const char *serve_target(const char *url, char host[SERVE_HOST_MAX]);

#endif
