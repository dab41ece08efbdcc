/* SPDX-License-Identifier: Apache-2.0 */
/* A heap-use-after-free behind the two bytes "UA".
 * Promise: results.  A second kind of crash report: three stacks (use, free,
 * allocation), each through functions of its own. */
#include "planted.h"

struct session {
	char name[24];
	int open;
};

__attribute__((noinline)) static struct session *session_new(void)
{
	return calloc(1, sizeof(struct session));
}

__attribute__((noinline)) static void session_end(struct session *s)
{
	free(s);
}

__attribute__((noinline)) static int session_is_open(const volatile struct session *s)
{
	return s->open;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session *s = session_new();
	int open;

	if (!s)
		return 0;
	if (size > 1 && data[0] == 'U' && data[1] == 'A') {
		session_end(s);
		return session_is_open(s) ? 0 : planted_work(data, size);
	}
	open = session_is_open(s);
	session_end(s);
	return open ? 0 : planted_work(data, size);
}
