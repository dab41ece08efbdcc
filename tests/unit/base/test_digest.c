/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

/* FIPS 180-4 examples, the empty string, and lengths around one block (by sha1sum). */
static const struct {
	size_t repeat;
	const char *text, *hex;
} cases[] = {
    {1, "", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
    {1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
    {1, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
    {1000000, "a", "34aa973cd4c4daa4f61eeb2bdbad27316534016f"},
};

/* Returns a memory file with the case's text. */
static int make(size_t i, char **ret, size_t *ret_n)
{
	size_t n = strlen(cases[i].text);
	int fd = memfd_create("digest", MFD_CLOEXEC);

	assert_true(fd >= 0);
	*ret_n = n * cases[i].repeat;
	*ret = malloc(*ret_n + 1);
	assert_non_null(*ret);
	for (size_t k = 0; k < cases[i].repeat; k++)
		memcpy(*ret + k * n, cases[i].text, n);
	assert_int_equal(write(fd, *ret, *ret_n), (ssize_t)*ret_n);
	return fd;
}

static void test_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char hex[DIGEST_SHA1_HEX], hex2[DIGEST_SHA1_HEX];
		_autofree_ char *text = NULL;
		_autoclose_ int fd = -1;
		struct err e;
		size_t n;

		fd = make(i, &text, &n);
		digest_sha1_hex((struct slice){text, n}, hex);
		assert_string_equal(hex, cases[i].hex);
		/* The file offset is at the end: the digest ignores and keeps it. */
		assert_int_equal(digest_sha1_file(fd, n, hex2, &e), 0);
		assert_string_equal(hex2, cases[i].hex);
		assert_int_equal(lseek(fd, 0, SEEK_CUR), (off_t)n);
	}
}

static void test_errors(void **state)
{
	char hex[DIGEST_SHA1_HEX];
	_autofree_ char *text = NULL;
	_autoclose_ int fd = -1;
	struct err e;
	size_t n;

	(void)state;
	fd = make(3, &text, &n);
	assert_int_equal(digest_sha1_file(fd, n - 1, hex, &e), -EFBIG);
	assert_string_equal(e.msg, "more than 999999 bytes");
	assert_int_equal(digest_sha1_file(fd, 0, hex, &e), -EFBIG);
	assert_int_equal(digest_sha1_file(-1, n, hex, &e), -EBADF);
	fault_arm(2, FAULT_FAIL);
	assert_int_equal(digest_sha1_file(fd, n, hex, &e), -EIO);
	fault_arm(0, FAULT_FAIL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_known),
    cmocka_unit_test(test_errors),
};

UNIT_MAIN(tests)
