/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_OUTBOXES_H
#define TESTS_OUTBOXES_H

/* An outbox in the test's own directory. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/json.h"
#include "runner/publish/outbox/outbox.h"
#include "tests/unit/each.h"

#include <sys/wait.h>

enum { T0 = 1700000000 };

static struct outbox *box;

static inline void close_box(void)
{
	outbox_close(box);
	box = NULL;
}

static inline void open_box(void)
{
	struct err e;

	close_box();
	if (outbox_open(dir.fd, &box, &e) < 0)
		fail_msg("%s", e.msg);
	outbox_seed(box, 1);
}

static inline int box_teardown(void **state)
{
	close_box();
	return each_teardown(state);
}

#define BOX(f) cmocka_unit_test_setup_teardown(f, each_setup, box_teardown)

static inline size_t count_files(const char *path)
{
	int fd = openat(dir.fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *ent;
	size_t n = 0;

	while (d && (ent = readdir(d)))
		n += ent->d_name[0] != '.' || strstr(ent->d_name, ".new") != NULL;
	if (d)
		closedir(d);
	return n;
}

#endif
