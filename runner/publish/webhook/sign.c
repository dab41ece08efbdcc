/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/webhook/webhook.h"

#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

int webhook_sign(struct slice key, struct slice body, char out[WEBHOOK_SIGNATURE], struct err *e)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n = 0;
	char *to = out;

	if (key.n > INT_MAX ||
	    !HMAC(EVP_sha256(), key.p, (int)key.n, (const unsigned char *)body.p, body.n, sum,
		  &n) ||
	    n != 32)
		return err_set(e, EINVAL, "sign a webhook's payload");
	for (const char *p = "sha256="; *p; p++)
		*to++ = *p;
	for (unsigned i = 0; i < n; i++) {
		*to++ = digits[sum[i] >> 4];
		*to++ = digits[sum[i] & 15];
	}
	*to = '\0';
	return 0;
}
