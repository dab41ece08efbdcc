/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "runner/publish/http/token.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>

/* GitHub accepts JWTs of at most ten minutes.  The margins allow for clock differences. */
enum { BACK_S = 60, FOR_S = 540, BITS_MIN = 2048, SIGNATURE_MAX = 2048, CLAIMS_MAX = 128 };

DEFINE_CLEANUP(BIO *, BIO_vfree)
DEFINE_CLEANUP(EVP_PKEY *, EVP_PKEY_free)
DEFINE_CLEANUP(EVP_MD_CTX *, EVP_MD_CTX_free)

/* Fails, so that OpenSSL does not prompt for a pass phrase. */
static int no_phrase(char *buf, int size, int writing, void *arg)
{
	(void)buf;
	(void)size;
	(void)writing;
	(void)arg;
	return -1;
}

static int token_jwt_read_key(struct slice pem, EVP_PKEY **ret, struct err *e)
{
	CLEANUP(BIO_vfree_p) BIO *bio = NULL;
	CLEANUP(EVP_PKEY_free_p) EVP_PKEY *key = NULL;

	if (pem.n > INT_MAX)
		return err_set(e, EINVAL, "too long");
	bio = BIO_new_mem_buf(pem.p, (int)pem.n);
	if (!bio)
		return err_set(e, ENOMEM, "allocate memory for a key");
	key = PEM_read_bio_PrivateKey(bio, NULL, no_phrase, NULL);
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
static size_t token_jwt_encode(const unsigned char *p, size_t n, char *out)
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

static int sign(EVP_PKEY *key, struct slice text, unsigned char *out, size_t *io_n, struct err *e)
{
	CLEANUP(EVP_MD_CTX_free_p) EVP_MD_CTX *c = EVP_MD_CTX_new();

	if (!c || EVP_DigestSignInit(c, NULL, EVP_sha256(), NULL, key) != 1 ||
	    EVP_DigestSign(c, out, io_n, (const unsigned char *)text.p, text.n) != 1)
		return err_set(e, EINVAL, "cannot sign the JWT");
	return 0;
}

int token_jwt(struct slice pem, uint64_t app, uint64_t now_s, char *out, size_t n, struct err *e)
{
	static const char header[] = "{\"alg\":\"RS256\",\"typ\":\"JWT\"}";
	CLEANUP(EVP_PKEY_free_p) EVP_PKEY *key = NULL;
	unsigned char signature[SIGNATURE_MAX];
	size_t sn = sizeof(signature), at;
	char claims[CLAIMS_MAX];
	int r = token_jwt_read_key(pem, &key, e);
	int cn = snprintf(claims, sizeof(claims),
			  "{\"iat\":%" PRIu64 ",\"exp\":%" PRIu64 ",\"iss\":%" PRIu64 "}",
			  now_s - BACK_S, now_s + FOR_S, app);

	if (r < 0)
		return r;
	/* base64 makes four bytes of three, and each part is followed by a dot or NUL */
	if (n < (sizeof(header) + CLAIMS_MAX + SIGNATURE_MAX) / 3 * 4 + 16)
		return err_set(e, EINVAL, "no room for a JWT");
	at = token_jwt_encode((const unsigned char *)header, sizeof(header) - 1, out);
	out[at++] = '.';
	at += token_jwt_encode((const unsigned char *)claims, (size_t)cn, out + at);
	r = sign(key, (struct slice){out, at}, signature, &sn, e);
	if (r < 0)
		return r;
	out[at++] = '.';
	(void)token_jwt_encode(signature, sn, out + at);
	return 0;
}
