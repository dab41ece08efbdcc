/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CORPUS_MERGE_H
#define TESTS_UNIT_CORPUS_MERGE_H

/* Candidates and control files for the tests of a merge.  Include unit.h first. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "runner/corpus/measure/control.h"
#include "tests/unit/corpus/files.h"

#include <sys/wait.h>

#define STAGE "/inputs"

/* A list of n inputs with sizes 1, 2, 3... and different names. */
static inline struct candidates list_of(size_t n)
{
	struct candidates c = {0};
	char name[STORE_NAME];
	struct err e;

	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%040zx", i);
		assert_int_equal(candidates_add(&c, name, i + 1, &e), 0);
	}
	return c;
}

/* Readable for all, as the store writes inputs. */
static inline void input(int at, const char *path, const char *content)
{
	scratch_write(at, path, content);
	assert_int_equal(fchmodat(at, path, 0644, 0), 0);
}

static inline void write_control(int dirfd, const char *file, const struct candidates *list)
{
	struct err e = {0};

	if (control_write(dirfd, file, STAGE, list, geteuid(), getegid(), &e) < 0)
		fail_msg("%s", e.msg);
}

static inline void append_text(int dirfd, const char *file, const char *text, size_t n)
{
	int fd = openat(dirfd, file, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), (ssize_t)n);
	close(fd);
}

/* Appends text as a cell would. */
static inline void append(int dirfd, const char *file, const char *text)
{
	append_text(dirfd, file, text, strlen(text));
}

static inline struct control *read_control(int dirfd, const char *file,
					   const struct candidates *list)
{
	struct control *c = NULL;
	struct err e = {0};

	if (control_read(dirfd, file, STAGE, list, &c, &e) < 0)
		fail_msg("%s", e.msg);
	return c;
}

static inline off_t size_of(int dirfd, const char *file)
{
	struct stat st = {0};

	assert_int_equal(fstatat(dirfd, file, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_size;
}

/* True if the fault of call number `at` is still pending. */
static inline bool armed(unsigned at)
{
	while (at-- > 0)
		if (fault_hit("nothing", 0))
			return true;
	return false;
}

#endif
