/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/http/token.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/publish/http/token_env.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { LIVES_FOR_S = 300, BEARER_MAX = 8 + TOKEN_MAX };

/* All secrets, in separate pages. */
struct secrets {
	char bearer[BEARER_MAX]; /* "Bearer ..." */
	char app_bearer[BEARER_MAX];
	char key[TOKEN_KEY_MAX];
	size_t key_n;
};

struct token {
	struct secrets *s;
	uint64_t app; /* 0: the token is not an App's */
	uint64_t number;
	uint64_t expires_s; /* expiry of an installation's token; 0: none */
	char *key_file;	    /* the key file's name, for errors */
};

void token_protect_process(void)
{
	const struct rlimit none = {0, 0};

	/* Neither call fails for a process that only drops rights. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)setrlimit(RLIMIT_CORE, &none);
}

/* --- memory ---------------------------------------------------------------------- */

static int secrets_new(struct secrets **ret, struct err *e)
{
	void *p = mmap(NULL, sizeof(struct secrets), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return err_sys(e, "allocate memory for a token");
	(void)mlock(p, sizeof(struct secrets)); /* RLIMIT_MEMLOCK may forbid it */
	(void)madvise(p, sizeof(struct secrets), MADV_DONTDUMP);
	*ret = p;
	return 0;
}

static void secrets_free(struct secrets *s)
{
	explicit_bzero(s, sizeof(*s));
	(void)munmap(s, sizeof(*s));
}

/* --- reading --------------------------------------------------------------------- */

static int token_check_file(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "'%s' is not a regular file", path);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return err_set(e, EACCES,
			       "'%s' holds a secret that others may read (mode %04o): chmod 600 it",
			       path, (unsigned)st.st_mode & 07777);
	return 0;
}

int token_read_file(const char *path, char *out, size_t max, size_t *ret_n, struct err *e)
{
	_autoclose_ int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	size_t n = 0;
	ssize_t got;
	int r;

	if (fd < 0)
		return err_sys(e, "open '%s'", path);
	r = token_check_file(fd, path, e);
	if (r < 0)
		return r;
	do {
		got = sys_read(fd, out + n, max - n);
		if (got < 0)
			return err_sys(e, "read '%s'", path);
		n += (size_t)got;
		if (n == max)
			return err_set(e, EFBIG, "'%s' has more than %zu bytes", path, max - 1);
	} while (got > 0);
	*ret_n = n;
	return 0;
}

static bool token_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct slice token_trimmed(struct slice s)
{
	while (s.n > 0 && token_blank(s.p[s.n - 1]))
		s.n--;
	while (s.n > 0 && token_blank(*s.p)) {
		s.p++;
		s.n--;
	}
	return s;
}

/* Sets the header's value from text; `from` names the text's source. */
static int set_bearer(struct secrets *s, struct slice text, const char *from, struct err *e)
{
	text = token_trimmed(text);
	if (text.n == 0)
		return err_set(e, EINVAL, "no token in %s", from);
	if (text.n > TOKEN_MAX)
		return err_set(e, EINVAL, "more than a token in %s", from);
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] <= ' ' || text.p[i] > '~')
			return err_set(e, EINVAL, "what is in %s is no token", from);
	memcpy(s->bearer, "Bearer ", 7);
	memcpy(s->bearer + 7, text.p, text.n);
	s->bearer[7 + text.n] = '\0';
	return 0;
}

static int from_file(struct token *t, const char *path, struct err *e)
{
	char *text = t->s->key; /* no App: the key's memory is unused */
	size_t n;
	int r = token_read_file(path, text, sizeof(t->s->key), &n, e);

	if (r < 0)
		return r;
	r = set_bearer(t->s, (struct slice){text, n}, path, e);
	explicit_bzero(text, n);
	return r;
}

static int from_env(struct token *t, const char *name, struct err *e)
{
	int r = token_env_take(name, e);
	const char *v = token_env_value(name);

	if (r < 0)
		return r;
	if (!v)
		return err_set(e, EINVAL, "no token: $%s is not set", name);
	return set_bearer(t->s, slice_of(v), name, e);
}

static int from_app(struct token *t, const struct github_config *c, struct err *e)
{
	if (!c->app_key_file || c->installation == 0)
		return err_set(e, EINVAL, "an App needs its installation and its key");
	t->key_file = xstrdup(c->app_key_file);
	t->app = c->app;
	return token_read_file(c->app_key_file, t->s->key, sizeof(t->s->key), &t->s->key_n, e);
}

static int token_read_token(struct token *t, const struct github_config *c, struct err *e)
{
	int r = secrets_new(&t->s, e);

	if (r < 0)
		return r;
	if (c->app != 0)
		return from_app(t, c, e);
	if (c->token_file)
		return from_file(t, c->token_file, e);
	if (c->token_env)
		return from_env(t, c->token_env, e);
	return err_set(e, EINVAL, "no token for GitHub is configured");
}

/* Uses the digest of the digest, so that the number does not reveal the secret. */
static void number(struct token *t, const struct github_config *c)
{
	struct slice secret =
	    t->app ? (struct slice){t->s->key, t->s->key_n} : slice_of(t->s->bearer);
	char hex[DIGEST_SHA1_HEX], text[DIGEST_SHA1_HEX + 64];
	struct slice first = {hex, 13};

	digest_sha1_hex(secret, hex);
	(void)snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 " %s", t->app,
		       t->app ? c->installation : 0, hex);
	digest_sha1_hex(slice_of(text), hex);
	(void)scan_u64(&first, 16, UINT64_MAX, &t->number);
	t->number = t->number ? t->number : 1;
}

int token_new(const struct github_config *c, struct token **ret, struct err *e)
{
	struct token *t = xcalloc(1, sizeof(*t));
	int r;

	r = token_read_token(t, c, e);
	if (r < 0) {
		token_free(t);
		return r;
	}
	number(t, c);
	*ret = t;
	return 0;
}

void token_free(struct token *t)
{
	if (!t)
		return;
	if (t->s)
		secrets_free(t->s);
	free(t->key_file);
	free(t);
}

/* --- hiding ----------------------------------------------------------------------- */

void token_hide_secret(const char *secret, char *text)
{
	enum { PART = 8, TAIL = 4 };
	size_t whole = strlen(secret), n;

	for (char *p = text; *p; p += n) {
		for (n = 0; n < whole && p[n] == secret[n];)
			n++;
		if (n > 0 && (n == whole || n >= PART || (n >= TAIL && p[n] == '\0')))
			memset(p, '*', n);
		else
			n = 1;
	}
}

static void hide_bearer(const char *bearer, char *text)
{
	if (*bearer)
		token_hide_secret(bearer + strlen("Bearer "), text);
}

void token_hide(const struct token *t, char *text)
{
	if (!t)
		return;
	hide_bearer(t->s->bearer, text);
	hide_bearer(t->s->app_bearer, text);
}

/* --- using ----------------------------------------------------------------------- */

uint64_t token_number(const struct token *t)
{
	return t->number;
}

bool token_is_app(const struct token *t)
{
	return t->app != 0;
}

const char *token_bearer(const struct token *t, uint64_t now_s)
{
	if (t->app != 0 && t->expires_s <= now_s + LIVES_FOR_S)
		return NULL;
	return t->s->bearer;
}

int token_app_bearer(struct token *t, uint64_t now_s, const char **ret, struct err *e)
{
	struct secrets *s = t->s;
	int r;

	memcpy(s->app_bearer, "Bearer ", 7);
	r = token_jwt((struct slice){s->key, s->key_n}, t->app, now_s, s->app_bearer + 7,
		      sizeof(s->app_bearer) - 7, e);
	if (r < 0)
		return err_wrap(e, "key '%s'", t->key_file);
	*ret = s->app_bearer;
	return 0;
}

int token_keep(struct token *t, struct slice text, uint64_t expires_s, struct err *e)
{
	int r = set_bearer(t->s, text, "the answer", e);

	if (r == 0)
		t->expires_s = expires_s;
	return r;
}

void token_drop(struct token *t)
{
	if (t->app == 0)
		return;
	explicit_bzero(t->s->bearer, sizeof(t->s->bearer));
	t->expires_s = 0;
}
