/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/run/pressure.h"
#include "tests/unit/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

static void never(void *arg)
{
	(void)arg;
	fail_msg("no resource was short");
}

struct world {
	struct scratch s;
	struct loop *l;
};

static void begin(struct world *w)
{
	struct err e;

	w->s = (struct scratch)SCRATCH_INIT;
	scratch_make(&w->s);
	assert_int_equal(loop_new(&w->l, &e), 0);
}

static void end(struct world *w)
{
	loop_free(w->l);
	scratch_remove(&w->s);
}

static void totals_are_read(void **state)
{
	struct workers_reading r;
	struct pressure *p;
	struct world w;
	struct err e;

	(void)state;
	begin(&w);
	scratch_write(w.s.fd, "cpu",
		      "some avg10=1.00 avg60=0.10 avg300=0.00 total=123456\n"
		      "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	scratch_write(w.s.fd, "memory",
		      "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\n"
		      "full avg10=0.00 avg60=0.00 avg300=0.00 total=66\n");
	assert_int_equal(pressure_open(w.l, w.s.path, never, NULL, &p, &e), 0);
	assert_int_equal(pressure_look(p, &r, &e), 0);
	assert_int_equal(r.cpu_some_us, 123456);
	assert_int_equal(r.memory_full_us, 66);
	pressure_close(p);
	end(&w);
}

static void where_there_is_none_it_reports_so(void **state)
{
	struct pressure *p = NULL;
	struct world w;
	struct err e;

	(void)state;
	begin(&w);
	assert_int_equal(pressure_open(w.l, w.s.path, never, NULL, &p, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "/cpu"));
	scratch_write(w.s.fd, "cpu", "nonsense\n");
	scratch_write(w.s.fd, "memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\n");
	assert_int_equal(pressure_open(w.l, w.s.path, never, NULL, &p, &e), -EBADMSG);
	assert_null(p);
	pressure_close(NULL);
	end(&w);
}

/* The machine's own PSI: the kernel accepts one of our triggers, or we do without. */
static void the_kernels_files_are_in_that_form(void **state)
{
	struct workers_reading a = {0}, b = {0};
	struct pressure *p;
	struct world w;
	struct err e;

	(void)state;
	if (access("/proc/pressure/cpu", R_OK) < 0)
		skip();
	begin(&w);
	assert_int_equal(pressure_open(w.l, "/proc/pressure", never, NULL, &p, &e), 0);
	assert_int_equal(pressure_look(p, &a, &e), 0);
	assert_int_equal(pressure_look(p, &b, &e), 0);
	assert_true(b.cpu_some_us >= a.cpu_some_us && b.memory_full_us >= a.memory_full_us);
	pressure_close(p);
	end(&w);
}

static const char memory[] = "/proc/pressure/memory";

/* True if a loop of this process waits for this file (proc(5): fdinfo). */
static bool is_waited_for(const char *path)
{
	DIR *dir = opendir("/proc/self/fdinfo");
	const struct dirent *d;
	bool found = false;

	assert_non_null(dir);
	while ((d = readdir(dir))) {
		int fd = openat(dirfd(dir), d->d_name, O_RDONLY);
		char text[4096], link[64], got[64] = {0};
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		const char *at = text;

		if (fd >= 0)
			close(fd);
		text[n > 0 ? n : 0] = '\0';
		for (; (at = strstr(at, "tfd:")); at++) {
			snprintf(link, sizeof(link), "/proc/self/fd/%ld", strtol(at + 4, NULL, 10));
			if (readlink(link, got, sizeof(got) - 1) > 0)
				found = found || strcmp(got, path) == 0;
		}
	}
	closedir(dir);
	return found;
}

/* True if the kernel accepts our trigger, with a window that needs no privilege. */
static bool takes_triggers(void)
{
	static const char trigger[] = "full 200000 2000000";
	int fd = open(memory, O_RDWR | O_NONBLOCK);
	bool takes = fd >= 0 && write(fd, trigger, sizeof(trigger)) > 0;

	if (fd >= 0)
		close(fd);
	return takes;
}

static void the_kernel_reports_short_memory(void **state)
{
	struct pressure *p;
	struct world w;
	struct err e;

	(void)state;
	if (!takes_triggers())
		skip();
	begin(&w);
	assert_false(is_waited_for(memory));
	assert_int_equal(pressure_open(w.l, "/proc/pressure", never, NULL, &p, &e), 0);
	assert_true(is_waited_for(memory));
	pressure_close(p);
	assert_false(is_waited_for(memory));
	end(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(totals_are_read),
    cmocka_unit_test(where_there_is_none_it_reports_so),
    cmocka_unit_test(the_kernels_files_are_in_that_form),
    cmocka_unit_test(the_kernel_reports_short_memory),
};

UNIT_MAIN(tests)
