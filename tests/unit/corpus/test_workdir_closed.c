/* SPDX-License-Identifier: Apache-2.0 */
/* Without root, the modes that a target set on its files deny access. */
#include "tests/unit/corpus/workdir.h"
#include "tests/unit/forked.h"

#include <sys/stat.h>

static bool is_saved(int at, const char *in, const char *name, const char *content)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", in, name);
	return holds(at, path, content);
}

/* In a child without root: a target used umask(0777), or removed the mode of its directories. */
static int collect_closed(void)
{
	struct workdir_collect c;
	struct workdir_prepare p;
	struct buf names = BUF_INIT(1 << 20);
	struct workdir_found found;
	struct workdir_seeds seeds;
	char note[200];
	struct err e;

	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		return 2;
	p = preparation();
	if (workdir_prepare(&p, &seeds, note, &e) < 0)
		return 3;
	leave("crash", "bad");
	scratch_write(work, "t/corpus/new", "new");
	close(make_dir_at(work, "t/corpus/d"));
	scratch_write(work, "t/corpus/d/newer", "newer");
	if (fchmodat(work, fresh("crash", "bad"), 0, 0) < 0 ||
	    fchmodat(work, "t/corpus/new", 0, 0) < 0 ||
	    fchmodat(work, "t/corpus/d/newer", 0, 0) < 0 || fchmodat(work, "t/corpus/d", 0, 0) < 0)
		return 4;
	c = collection(ENGINE_ARTIFACT_NONE);
	if (workdir_collect(&c, &found, &names, &e) < 0)
		return 5;
	buf_done(&names);
	return found.failures == 1 && found.inputs == 2 && found.skipped == 0 ? 0 : 6;
}

static void open_to_all(int fd)
{
	assert_int_equal(fchmod(fd, 0777), 0);
}

static void test_closed(void **state)
{
	(void)state;
	open_to_all(work);
	open_to_all(corpus);
	open_to_all(crashes);
	open_to_all(quarantined);
	open_to_all(queued);
	forked(collect_closed);
	assert_true(is_saved(crashes, "t", artifact_of("crash", "bad"), "bad"));
	assert_true(is_saved(queued, "t", artifact_of("crash", "bad"), "bad"));
	assert_true(is_saved(corpus, ".", name_of("new"), "new"));
	assert_true(is_saved(corpus, ".", name_of("newer"), "newer"));
	assert_int_equal(entries(work, "t/artifacts"), 0);
	assert_int_equal(entries(work, "t/corpus"), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_closed, each_setup, each_teardown),
};

UNIT_MAIN(tests)
