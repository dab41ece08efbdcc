/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/http/token.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* --- memory --------------------------------------------------------------------- */

/* Separate pages, which are locked if the limits permit, and are not in core files. */
static int token_map(size_t n, void **ret, struct err *e)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return err_sys(e, "allocate memory for a token");
	(void)mlock(p, n); /* RLIMIT_MEMLOCK may forbid it */
	(void)madvise(p, n, MADV_DONTDUMP);
	*ret = p;
	return 0;
}

static void token_unmap(void *p, size_t n)
{
	explicit_bzero(p, n);
	(void)munmap(p, n);
}

void token_protect_process(void)
{
	const struct rlimit none = {0, 0};

	/* Neither call fails for a process that only drops rights. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)setrlimit(RLIMIT_CORE, &none);
}

/* --- tokens from the environment ------------------------------------------------ */

/* In separate pages: "NAME\0VALUE". */
struct kept {
	struct kept *next;
	size_t value; /* where the value begins */
	char text[TOKEN_ENV_MAX + 1];
};

/* Global, because the environment belongs to the whole process. */
static struct kept *token_env_all;

static int token_env_new(struct kept **ret, struct err *e)
{
	void *p;
	int r = token_map(sizeof(struct kept), &p, e);

	if (r == 0)
		*ret = p;
	return r;
}

static void token_env_free(struct kept *k)
{
	if (k)
		token_unmap(k, sizeof(*k));
}

static void token_env_forget(const char *name)
{
	for (struct kept **at = &token_env_all; *at; at = &(*at)->next)
		if (strcmp((*at)->text, name) == 0) {
			struct kept *old = *at;

			*at = old->next;
			token_env_free(old);
			return;
		}
}

/* text is "NAME=VALUE"; the list takes ownership of k. */
static void token_env_keep(struct kept *k, char *equals)
{
	*equals = '\0';
	k->value = (size_t)(equals - k->text) + 1;
	token_env_forget(k->text);
	k->next = token_env_all;
	token_env_all = k;
}

static const struct kept *token_env_find(const char *name)
{
	const struct kept *k = token_env_all;

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
static char *token_env_next(char ***at, const char *name)
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

	while ((entry = token_env_next(&at, name))) {
		value = entry + strlen(name) + 1;
		explicit_bzero(value, strlen(value));
	}
	(void)unsetenv(name); /* cannot fail for a name that was found */
}

int token_env_take(const char *name, struct err *e)
{
	char **at = environ, *entry = token_env_next(&at, name);
	struct kept *k = NULL;
	size_t n;
	int r;

	if (!entry)
		return 0;
	n = strlen(entry);
	r = n > TOKEN_ENV_MAX ? err_set(e, EINVAL, "more than a token in %s", name)
			      : token_env_new(&k, e);
	if (r == 0) {
		memcpy(k->text, entry, n);
		token_env_keep(k, k->text + strlen(name));
	}
	token_env_wipe(name);
	return r;
}

/* --- passing a token to another fuzzcell program -------------------------------- */

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
	int r = token_env_new(&k, e);

	if (r == 0)
		r = token_env_read_all(fd, k, &n, e);
	if (r == 0)
		end = memchr(k->text, '\0', n);
	if (r == 0 && (!end || end == k->text || n == sizeof(k->text)))
		r = err_set(e, EINVAL, "the pipe holds no token with its name");
	if (r == 0)
		token_env_keep(k, end);
	else
		token_env_free(k);
	return r;
}

/* --- an App's JWT --------------------------------------------------------------- */

/* GitHub accepts JWTs of at most ten minutes.  The margins allow for clock differences. */
enum { BACK_S = 60, FOR_S = 540, BITS_MIN = 2048, SIGNATURE_MAX = 2048, CLAIMS_MAX = 128 };

DEFINE_CLEANUP(BIO *, BIO_vfree)
DEFINE_CLEANUP(EVP_PKEY *, EVP_PKEY_free)
DEFINE_CLEANUP(EVP_MD_CTX *, EVP_MD_CTX_free)

/* Fails, so that OpenSSL does not prompt for a pass phrase. */
static int jwt_no_phrase(char *buf, int size, int writing, void *arg)
{
	(void)buf;
	(void)size;
	(void)writing;
	(void)arg;
	return -1;
}

static int jwt_read_key(struct slice pem, EVP_PKEY **ret, struct err *e)
{
	CLEANUP(BIO_vfree_p) BIO *bio = NULL;
	CLEANUP(EVP_PKEY_free_p) EVP_PKEY *key = NULL;

	if (pem.n > INT_MAX)
		return err_set(e, EINVAL, "too long");
	bio = BIO_new_mem_buf(pem.p, (int)pem.n);
	if (!bio)
		return err_set(e, ENOMEM, "allocate memory for a key");
	key = PEM_read_bio_PrivateKey(bio, NULL, jwt_no_phrase, NULL);
	if (!key)
		return err_set(e, EINVAL, "not a private key in PEM without a pass phrase");
	if (EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA || EVP_PKEY_get_bits(key) < BITS_MIN ||
	    EVP_PKEY_get_size(key) > SIGNATURE_MAX)
		return err_set(e, EINVAL, "not an RSA key of 2048 bits or more");
	*ret = take_ptr(&key);
	return 0;
}

/* base64url without padding (RFC 4648, section 5).  out has room for 4 bytes for each three, and
 * one more.  Returns the length. */
static size_t jwt_encode(const unsigned char *p, size_t n, char *out)
{
	size_t len;

	(void)EVP_EncodeBlock((unsigned char *)out, p, (int)n);
	len = strcspn(out, "=");
	out[len] = '\0';
	for (size_t i = 0; i < len; i++) {
		if (out[i] == '+')
			out[i] = '-';
		else if (out[i] == '/')
			out[i] = '_';
	}
	return len;
}

static int jwt_sign(EVP_PKEY *key, struct slice text, unsigned char *out, size_t *io_n,
		    struct err *e)
{
	CLEANUP(EVP_MD_CTX_free_p) EVP_MD_CTX *c = EVP_MD_CTX_new();

	if (!c || EVP_DigestSignInit(c, NULL, EVP_sha256(), NULL, key) != 1 ||
	    EVP_DigestSign(c, out, io_n, (const unsigned char *)text.p, text.n) != 1)
		return err_set(e, EINVAL, "cannot sign the JWT");
	return 0;
}

/* A JWT of App `app`, signed with RS256: RFC 7515, 7518, 7519.  pem is a private RSA key of at
 * least 2048 bits without a pass phrase. */
static int jwt_make(struct slice pem, uint64_t app, uint64_t now_s, char *out, size_t n,
		    struct err *e)
{
	static const char header[] = "{\"alg\":\"RS256\",\"typ\":\"JWT\"}";
	CLEANUP(EVP_PKEY_free_p) EVP_PKEY *key = NULL;
	unsigned char signature[SIGNATURE_MAX];
	size_t sn = sizeof(signature), at;
	char claims[CLAIMS_MAX];
	int r = jwt_read_key(pem, &key, e);
	int cn = snprintf(claims, sizeof(claims),
			  "{\"iat\":%" PRIu64 ",\"exp\":%" PRIu64 ",\"iss\":%" PRIu64 "}",
			  now_s - BACK_S, now_s + FOR_S, app);

	if (r < 0)
		return r;
	/* base64 makes four bytes of three, and each part is followed by a dot or NUL */
	if (n < (sizeof(header) + CLAIMS_MAX + SIGNATURE_MAX) / 3 * 4 + 16)
		return err_set(e, EINVAL, "no room for a JWT");
	at = jwt_encode((const unsigned char *)header, sizeof(header) - 1, out);
	out[at++] = '.';
	at += jwt_encode((const unsigned char *)claims, (size_t)cn, out + at);
	r = jwt_sign(key, (struct slice){out, at}, signature, &sn, e);
	if (r < 0)
		return r;
	out[at++] = '.';
	(void)jwt_encode(signature, sn, out + at);
	return 0;
}

/* --- a token -------------------------------------------------------------------- */

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
static int token_set_bearer(struct secrets *s, struct slice text, const char *from, struct err *e)
{
	text = token_trimmed(text);
	if (text.n == 0)
		return err_set(e, EINVAL, "no token in %s", from);
	if (text.n > TOKEN_MAX)
		return err_set(e, EINVAL, "more than a token in %s", from);
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] <= ' ' || text.p[i] > '~')
			return err_set(e, EINVAL, "the text in %s is no token", from);
	memcpy(s->bearer, "Bearer ", 7);
	memcpy(s->bearer + 7, text.p, text.n);
	s->bearer[7 + text.n] = '\0';
	return 0;
}

static int token_from_file(struct token *t, const char *path, struct err *e)
{
	char *text = t->s->key; /* no App: the key's memory is unused */
	size_t n;
	int r = token_read_file(path, text, sizeof(t->s->key), &n, e);

	if (r < 0)
		return r;
	r = token_set_bearer(t->s, (struct slice){text, n}, path, e);
	explicit_bzero(text, n);
	return r;
}

static int token_from_env(struct token *t, const char *name, struct err *e)
{
	int r = token_env_take(name, e);
	const char *v = token_env_value(name);

	if (r < 0)
		return r;
	if (!v)
		return err_set(e, EINVAL, "no token: $%s is not set", name);
	return token_set_bearer(t->s, slice_of(v), name, e);
}

static int token_from_app(struct token *t, const struct github_config *c, struct err *e)
{
	if (!c->app_key_file || c->installation == 0)
		return err_set(e, EINVAL, "an App needs its installation and its key");
	t->key_file = xstrdup(c->app_key_file);
	t->app = c->app;
	return token_read_file(c->app_key_file, t->s->key, sizeof(t->s->key), &t->s->key_n, e);
}

static int token_read(struct token *t, const struct github_config *c, struct err *e)
{
	void *p;
	int r = token_map(sizeof(struct secrets), &p, e);

	if (r < 0)
		return r;
	t->s = p;
	if (c->app != 0)
		return token_from_app(t, c, e);
	if (c->token_file)
		return token_from_file(t, c->token_file, e);
	if (c->token_env)
		return token_from_env(t, c->token_env, e);
	return err_set(e, EINVAL, "no token for GitHub is configured");
}

/* Uses the digest of the digest, so that the number does not reveal the secret. */
static void token_set_number(struct token *t, const struct github_config *c)
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

	r = token_read(t, c, e);
	if (r < 0) {
		token_free(t);
		return r;
	}
	token_set_number(t, c);
	*ret = t;
	return 0;
}

void token_free(struct token *t)
{
	if (!t)
		return;
	if (t->s)
		token_unmap(t->s, sizeof(*t->s));
	free(t->key_file);
	free(t);
}

/* --- hiding --------------------------------------------------------------------- */

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

static void token_hide_bearer(const char *bearer, char *text)
{
	if (*bearer)
		token_hide_secret(bearer + strlen("Bearer "), text);
}

void token_hide(const struct token *t, char *text)
{
	if (!t)
		return;
	token_hide_bearer(t->s->bearer, text);
	token_hide_bearer(t->s->app_bearer, text);
}

/* --- using ---------------------------------------------------------------------- */

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
	r = jwt_make((struct slice){s->key, s->key_n}, t->app, now_s, s->app_bearer + 7,
		     sizeof(s->app_bearer) - 7, e);
	if (r < 0)
		return err_wrap(e, "key '%s'", t->key_file);
	*ret = s->app_bearer;
	return 0;
}

int token_keep(struct token *t, struct slice text, uint64_t expires_s, struct err *e)
{
	int r = token_set_bearer(t->s, text, "the answer", e);

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
