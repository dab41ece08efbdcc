/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/fault.h"
#include "runner/publish/http/token.h"
#include "tests/unit/each.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

static char path[64];

static struct github_config file_config(const char *name)
{
	(void)snprintf(path, sizeof(path), "%s/%s", dir.path, name);
	return (struct github_config){.token_file = path};
}

static void refused(const struct github_config *c, int code, const char *why)
{
	struct token *t = NULL;
	struct err e = {0};

	assert_int_equal(token_new(c, &t, &e), code);
	assert_null(t);
	assert_non_null(strstr(e.msg, why));
	assert_null(strstr(e.msg, "ghp_"));
}

/* --- given tokens ---------------------------------------------------------------- */

static void a_file_without_what_is_around_it(void **state)
{
	struct github_config c = file_config("token");
	struct token *t = NULL;
	struct err e;

	(void)state;
	scratch_write(dir.fd, "token", " \r\n\tghp_x-Y_9\r\n\n");
	assert_int_equal(token_new(&c, &t, &e), 0);
	assert_string_equal(token_bearer(t, 0), "Bearer ghp_x-Y_9");
	assert_false(token_is_app(t));
	token_drop(t); /* a token from a file stays: there is no other */
	assert_string_equal(token_bearer(t, UINT64_MAX), "Bearer ghp_x-Y_9");
	token_free(t);
}

static void a_file_that_is_no_secret(void **state)
{
	struct github_config c = file_config("token");
	static const mode_t modes[] = {0640, 0604, 0620, 0602, 0610, 0777};

	(void)state;
	scratch_write(dir.fd, "token", "ghp_x");
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(fchmodat(dir.fd, "token", modes[i], 0), 0);
		refused(&c, -EACCES, "chmod 600 it");
	}
}

static void a_file_that_is_no_token(void **state)
{
	static const struct {
		const char *text, *why;
	} t[] = {
	    {"", "no token in "},
	    {" \n ", "no token in "},
	    {"ghp_a b", "is no token"},
	    {"ghp_a\r\nX-Evil: 1", "is no token"},
	    {"ghp_\xc3\xa4", "is no token"},
	    {"ghp_\x7f", "is no token"},
	};
	struct github_config c = file_config("token");
	static char longer[20000];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		scratch_write(dir.fd, "token", t[i].text);
		refused(&c, -EINVAL, t[i].why);
	}
	memset(longer, 'x', sizeof(longer) - 1);
	scratch_write(dir.fd, "token", longer);
	refused(&c, -EFBIG, "more than");
	longer[TOKEN_MAX + 1] = '\0';
	scratch_write(dir.fd, "token", longer);
	refused(&c, -EINVAL, "more than a token");
	assert_int_equal(unlinkat(dir.fd, "token", 0), 0);
	refused(&c, -ENOENT, "token'");
	assert_int_equal(mkfifoat(dir.fd, "token", 0600), 0); /* does not block */
	refused(&c, -EINVAL, "not a regular file");
}

static void the_environment(void **state)
{
	static char name[] = "FUZZCELL_TEST_TOKEN";
	struct github_config c = {.token_env = name};
	struct token *t = NULL;
	struct err e;

	(void)state;
	unsetenv(name);
	refused(&c, -EINVAL, "$FUZZCELL_TEST_TOKEN is not set");
	setenv(name, "ghp_ x", 1);
	refused(&c, -EINVAL, "FUZZCELL_TEST_TOKEN is no token");
	setenv(name, "ghp_x\n", 1);
	assert_int_equal(token_new(&c, &t, &e), 0);
	assert_string_equal(token_bearer(t, 0), "Bearer ghp_x");
	token_free(t);
	unsetenv(name);
}

static void hides(const char *text, const char *want)
{
	char got[64];

	(void)snprintf(got, sizeof(got), "%s", text);
	token_hide_secret("ghp_PLANTEDsecret", got);
	assert_string_equal(got, want);
}

static void what_is_shown_of_a_secret(void **state)
{
	(void)state;
	hides("no", "no");
	hides("", "");
	hides("a ghp_PLANTEDsecret b ghp_PLANTEDsecret", "a ***************** b *****************");
	hides("cut: ghp_PLANTEDsecre", "cut: ****************");
	hides("cut: ghp_", "cut: ****");
	hides("cut: ghp", "cut: ghp");
	hides("tokens begin with ghp_ or ghs_x", "tokens begin with ghp_ or ghs_x");
	hides("ghp_PLAN is a part", "******** is a part");
	hides("gghp_PLANTEDsecretx", "g*****************x");
}

static uint64_t number_of(const struct github_config *c)
{
	struct token *t = NULL;
	uint64_t number;
	struct err e;

	assert_int_equal(token_new(c, &t, &e), 0);
	number = token_number(t);
	token_free(t);
	assert_true(number > 0 && number < UINT64_C(1) << 53); /* exact as a JSON number */
	return number;
}

static void another_one_has_another_number(void **state)
{
	struct github_config c = file_config("token");
	uint64_t first, other;

	(void)state;
	scratch_write(dir.fd, "token", "ghp_x");
	first = number_of(&c);
	scratch_write(dir.fd, "token", "ghp_y");
	other = number_of(&c);
	assert_true(first != other);
	scratch_write(dir.fd, "token", "ghp_x\n");
	assert_true(number_of(&c) == first);
	c = (struct github_config){.app = 1, .installation = 2, .app_key_file = path};
	assert_true(number_of(&c) != first);
	first = number_of(&c);
	c.installation = 3;
	assert_true(number_of(&c) != first);
}

static void none_is_named(void **state)
{
	struct github_config c = {0};

	(void)state;
	refused(&c, -EINVAL, "no token for GitHub is configured");
	c.app = 1;
	refused(&c, -EINVAL, "an App needs its installation and its key");
}

/* --- an App ---------------------------------------------------------------------- */

static EVP_PKEY *make_key(unsigned bits)
{
	EVP_PKEY *key = EVP_RSA_gen(bits);

	assert_non_null(key);
	return key;
}

static void write_key(EVP_PKEY *key, const char *phrase)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;
	long n;

	assert_int_equal(PEM_write_bio_PrivateKey(bio, key, phrase ? EVP_aes_128_cbc() : NULL,
						  (const unsigned char *)phrase,
						  phrase ? (int)strlen(phrase) : 0, NULL, NULL),
			 1);
	assert_int_equal(BIO_write(bio, "", 1), 1);
	n = BIO_get_mem_data(bio, &text);
	assert_true(n > 1);
	scratch_write(dir.fd, "key", text);
	BIO_free(bio);
}

static size_t decode(const char *text, size_t n, unsigned char *out)
{
	char all[2048];
	size_t pad = (4 - n % 4) % 4;
	int got;

	assert_true(n + pad < sizeof(all));
	for (size_t i = 0; i < n; i++)
		all[i] = text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i];
	memset(all + n, '=', pad);
	got = EVP_DecodeBlock(out, (const unsigned char *)all, (int)(n + pad));
	assert_true(got > 0);
	out[got - (int)pad] = '\0';
	return (size_t)got - pad;
}

static void check_statement(EVP_PKEY *key, const char *bearer)
{
	const char *jwt = bearer + 7, *dot, *last;
	unsigned char part[2048];
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	size_t n;

	assert_memory_equal(bearer, "Bearer ", 7);
	dot = strchr(jwt, '.');
	last = strrchr(jwt, '.');
	assert_true(dot && last && dot < last && !strpbrk(jwt, "+/="));
	(void)decode(jwt, (size_t)(dot - jwt), part);
	assert_string_equal((char *)part, "{\"alg\":\"RS256\",\"typ\":\"JWT\"}");
	(void)decode(dot + 1, (size_t)(last - dot - 1), part);
	assert_string_equal((char *)part, "{\"iat\":999940,\"exp\":1000540,\"iss\":4711}");
	n = decode(last + 1, strlen(last + 1), part);
	assert_int_equal(EVP_DigestVerifyInit(c, NULL, EVP_sha256(), NULL, key), 1);
	assert_int_equal(
	    EVP_DigestVerify(c, part, n, (const unsigned char *)jwt, (size_t)(last - jwt)), 1);
	EVP_MD_CTX_free(c);
}

static struct github_config app_config(void)
{
	(void)snprintf(path, sizeof(path), "%s/key", dir.path);
	return (struct github_config){.app = 4711, .installation = 9, .app_key_file = path};
}

static void an_app_states_its_identity(void **state)
{
	struct github_config c = app_config();
	EVP_PKEY *key = make_key(2048);
	struct token *t = NULL;
	const char *bearer;
	struct err e;

	(void)state;
	write_key(key, NULL);
	assert_int_equal(token_new(&c, &t, &e), 0);
	assert_true(token_is_app(t));
	assert_null(token_bearer(t, 1000000));
	assert_int_equal(token_app_bearer(t, 1000000, &bearer, &e), 0);
	check_statement(key, bearer);
	EVP_PKEY_free(key);

	assert_int_equal(token_keep(t, SLICE("ghs_x"), 1003600, &e), 0);
	assert_string_equal(token_bearer(t, 1000000), "Bearer ghs_x");
	assert_non_null(token_bearer(t, 1003299));
	assert_null(token_bearer(t, 1003300)); /* a few minutes before it expires */
	assert_int_equal(token_keep(t, SLICE("ghs_ x"), 1003600, &e), -EINVAL);
	assert_null(strstr(e.msg, "ghs_"));
	token_drop(t);
	assert_null(token_bearer(t, 1000000));
	token_free(t);
}

static void no_statement(const char *why)
{
	struct github_config c = app_config();
	struct token *t = NULL;
	const char *bearer;
	struct err e;

	assert_int_equal(token_new(&c, &t, &e), 0);
	assert_int_equal(token_app_bearer(t, 1000000, &bearer, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "/key': "));
	assert_non_null(strstr(e.msg, why));
	token_free(t);
}

static void keys_that_are_none(void **state)
{
	EVP_PKEY *small = make_key(1024), *locked = make_key(2048);
	EVP_PKEY *curve = EVP_EC_gen("P-256");

	(void)state;
	scratch_write(dir.fd, "key", "-----BEGIN RSA PRIVATE KEY-----\nnonsense\n");
	no_statement("not a private key in PEM");
	write_key(small, NULL);
	no_statement("not an RSA key of 2048 bits or more");
	write_key(curve, NULL);
	no_statement("not an RSA key of 2048 bits or more");
	write_key(locked, "phrase"); /* the pass phrase is not asked for */
	no_statement("without a pass phrase");
	EVP_PKEY_free(small);
	EVP_PKEY_free(locked);
	EVP_PKEY_free(curve);
}

/* --- faults ---------------------------------------------------------------------- */

static void every_call_may_fail(void **state)
{
	struct github_config c = file_config("token");

	(void)state;
	scratch_write(dir.fd, "token", "ghp_x");
	for (unsigned at = 1; at < 50; at++) {
		struct token *t = NULL;
		struct err e = {0};
		int r;

		fault_arm(at, FAULT_FAIL);
		r = token_new(&c, &t, &e);
		fault_arm(0, FAULT_FAIL);
		if (r == 0) {
			token_free(t);
			assert_true(at > 3);
			return;
		}
		assert_true(e.msg[0] && !strstr(e.msg, "ghp_"));
	}
	fail();
}

static void the_process_is_closed_to_others(void **state)
{
	pid_t pid = fork();
	int ws;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit l;

		token_protect_process();
		_exit(prctl(PR_GET_DUMPABLE) == 0 && getrlimit(RLIMIT_CORE, &l) == 0 &&
			      l.rlim_cur == 0 && l.rlim_max == 0
			  ? 0
			  : 1);
	}
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	assert_int_equal(ws, 0);
}

static const struct CMUnitTest tests[] = {
    CASE(a_file_without_what_is_around_it),
    CASE(a_file_that_is_no_secret),
    CASE(a_file_that_is_no_token),
    CASE(the_environment),
    CASE(none_is_named),
    cmocka_unit_test(what_is_shown_of_a_secret),
    CASE(another_one_has_another_number),
    CASE(an_app_states_its_identity),
    CASE(keys_that_are_none),
    CASE(every_call_may_fail),
    CASE(the_process_is_closed_to_others),
};

UNIT_MAIN(tests)
