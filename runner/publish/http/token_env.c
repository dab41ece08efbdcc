/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/http/token_env.h"

#include "base/cleanup.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* In separate pages: "NAME\0VALUE". */
struct kept {
	struct kept *next;
	size_t value; /* where the value begins */
	char text[TOKEN_ENV_MAX + 1];
};

/* Global, because the environment belongs to the whole process. */
static struct kept *all;

static int kept_new(struct kept **ret, struct err *e)
{
	void *p = mmap(NULL, sizeof(struct kept), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return err_sys(e, "allocate memory for a token");
	(void)mlock(p, sizeof(struct kept)); /* RLIMIT_MEMLOCK may forbid it */
	(void)madvise(p, sizeof(struct kept), MADV_DONTDUMP);
	*ret = p;
	return 0;
}

static void kept_free(struct kept *k)
{
	if (!k)
		return;
	explicit_bzero(k, sizeof(*k));
	(void)munmap(k, sizeof(*k));
}

static void token_env_forget(const char *name)
{
	for (struct kept **at = &all; *at; at = &(*at)->next)
		if (strcmp((*at)->text, name) == 0) {
			struct kept *old = *at;

			*at = old->next;
			kept_free(old);
			return;
		}
}

/* text is "NAME=VALUE"; the list takes ownership of k. */
static void token_env_keep(struct kept *k, char *equals)
{
	*equals = '\0';
	k->value = (size_t)(equals - k->text) + 1;
	token_env_forget(k->text);
	k->next = all;
	all = k;
}

static const struct kept *token_env_find(const char *name)
{
	const struct kept *k = all;

	while (k && strcmp(k->text, name) != 0)
		k = k->next;
	return k;
}

const char *token_env_value(const char *name)
{
	const struct kept *k = token_env_find(name);

	return k ? k->text + k->value : NULL;
}

/* The next "NAME=VALUE" in the environment's own memory, which is writable; NULL: the end. */
static char *next_entry(char ***at, const char *name)
{
	size_t n = strlen(name);

	for (; *at && **at; (*at)++)
		if (strncmp(**at, name, n) == 0 && (**at)[n] == '=')
			return *(*at)++;
	return NULL;
}

/* Wipes every occurrence: a variable may occur more than once. */
static void token_env_wipe(const char *name)
{
	char **at = environ, *entry, *value;

	while ((entry = next_entry(&at, name))) {
		value = entry + strlen(name) + 1;
		explicit_bzero(value, strlen(value));
	}
	(void)unsetenv(name); /* cannot fail for a name that was found */
}

int token_env_take(const char *name, struct err *e)
{
	char **at = environ, *entry = next_entry(&at, name);
	struct kept *k;
	size_t n;
	int r;

	if (!entry)
		return 0;
	n = strlen(entry);
	r = n > TOKEN_ENV_MAX ? err_set(e, EINVAL, "more than a token in %s", name)
			      : kept_new(&k, e);
	if (r == 0) {
		memcpy(k->text, entry, n);
		token_env_keep(k, k->text + strlen(name));
	}
	token_env_wipe(name);
	return r;
}

/* --- to another fuzzcell program --------------------------------------------------------- */

int token_env_pipe(const char *name, int *ret_fd, struct err *e)
{
	const struct kept *k = token_env_find(name);
	_autoclose_ int rd = -1;
	_autoclose_ int wr = -1;
	int p[2];

	*ret_fd = -1;
	if (!k)
		return 0;
	if (sys_pipe(p) < 0)
		return err_sys(e, "pipe");
	rd = p[0];
	wr = p[1];
	/* No process reads yet, so a value larger than the pipe must fail at once. */
	if (fcntl(wr, F_SETFL, O_NONBLOCK) < 0 ||
	    sys_write_all(wr, k->text, k->value + strlen(k->text + k->value)) < 0)
		return err_sys(e, "pass a token on");
	*ret_fd = take_fd(&rd);
	return 0;
}

static int token_env_read_all(int fd, struct kept *k, size_t *ret_n, struct err *e)
{
	size_t n = 0;
	ssize_t got;

	do {
		got = sys_read(fd, k->text + n, sizeof(k->text) - n);
		if (got < 0)
			return err_sys(e, "read a token");
		n += (size_t)got;
	} while (got > 0 && n < sizeof(k->text));
	*ret_n = n;
	return 0;
}

int token_env_read(int fd, struct err *e)
{
	struct kept *k = NULL;
	char *end = NULL;
	size_t n = 0;
	int r = kept_new(&k, e);

	if (r == 0)
		r = token_env_read_all(fd, k, &n, e);
	if (r == 0)
		end = memchr(k->text, '\0', n);
	if (r == 0 && (!end || end == k->text || n == sizeof(k->text)))
		r = err_set(e, EINVAL, "the pipe holds no token with its name");
	if (r == 0)
		token_env_keep(k, end);
	else
		kept_free(k);
	return r;
}
