/* SPDX-License-Identifier: Apache-2.0 */
/* The place that process 1 makes for a program (images/init/nest.h). */
#include "tests/unit/cells/cells.h"

#include "images/init.h"

static char saved[64]; /* the content of out/file at the end */

#define SHELL(script) "--", "/bin/sh", "-c", script, NULL

static void read_saved(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, saved, sizeof(saved) - 1);

	assert_true(n >= 0);
	saved[n] = '\0';
	close(fd);
}

/* The cell sees the directory w/in as /in, read-only, with the files a and b, and w/out as /out. */
static void run_nest(const char *const *argv)
{
	struct cell_spec spec = cell_spec_for("nest", argv);
	struct cell_mount mounts[] = {{NULL, "/in", false, false}, {NULL, "/out", true, false}};
	char in[96], out[96], file[128];
	struct world w;

	memset(&seen, 0, sizeof(seen));
	world_open(&w, &(struct cell_host_opts){0});
	make_dir(&w, "in", CELL_UID, in);
	make_dir(&w, "out", CELL_UID, out);
	make_file(in, "a", "first\n");
	make_file(in, "b", "second\n");
	make_file(out, "file", "");
	(void)snprintf(file, sizeof(file), "%s/file", out);
	assert_int_equal(chmod(file, 0666), 0);
	mounts[0].source = in;
	mounts[1].source = out;
	spec.mounts = mounts;
	spec.n_mounts = 2;
	run_cell(&w, &seen, &spec);
	read_saved(file);
	remove_file(in, "a");
	remove_file(in, "b");
	remove_file(out, "file");
	assert_int_equal(rmdir(in), 0);
	assert_int_equal(rmdir(out), 0);
	world_close(&w);
}

static void check_nest(int code, const char *text)
{
	assert_int_equal(seen.ended, 1);
	if (seen.end.how != CELL_EXITED || seen.end.code != code || !strstr(seen.out, text))
		fail_msg("%d, %d: %s", seen.end.how, seen.end.code, seen.out);
}

static void links_lead_to_what_is_mounted(void **state)
{
	const char *argv[] = {
	    INIT_NEST,	"link",
	    "/in/b",	"/tmp/x/y/a",
	    "links",	"/in",
	    "/tmp/x/y", "links",
	    "/nowhere", "/tmp/empty",
	    "in",	"/tmp/x/y",
	    "-",	SHELL("pwd; cat a b; ls -A /tmp/empty; ls | tr '\\n' ' '; readlink b")};

	(void)state;
	run_nest(argv);
	/* The name that was there already stays. */
	check_nest(0, "/tmp/x/y\nsecond\nsecond\na b /in/b\n");
}

static void private_memory_is_limited(void **state)
{
	const char *argv[] = {INIT_NEST, "data", "67108864", "-", SHELL("ulimit -d")};

	(void)state;
	run_nest(argv);
	check_nest(0, "65536\n");
}

static void what_the_program_made_is_saved(void **state)
{
	const char *argv[] = {
	    INIT_NEST,	 "links",
	    "-",	 "/tmp/made",
	    "save",	 "/tmp/made",
	    "/out/file", SHELL("[ -s /out/file ] || { echo kept >/tmp/made/x; exit 7; }")};
	const char *nothing[] = {INIT_NEST, "save", "/tmp/nowhere", "/out/file",
				 SHELL("kill -SEGV $$")};

	(void)state;
	run_nest(argv);
	check_nest(7, "");
	assert_string_equal(saved, "kept\n");
	run_nest(nothing);
	assert_string_equal(saved, "");
	assert_int_equal(seen.end.how, CELL_SIGNALED);
	assert_int_equal(seen.end.code, SIGSEGV);
}

static void a_step_that_fails_is_named(void **state)
{
	const char *there[] = {INIT_NEST, "link", "/in/a", "/in/b", SHELL("echo ran")};
	const char *odd[] = {INIT_NEST, "odd", "/in/a", "-", SHELL("echo ran")};
	const char *cut[] = {INIT_NEST, "link", "/in/a", NULL};

	(void)state;
	run_nest(there);
	check_nest(127, "fuzzcell: cannot prepare '/in/a': ");
	assert_null(strstr(seen.out, "ran"));
	run_nest(odd);
	check_nest(127, "fuzzcell: cannot prepare '/in/a': Invalid argument");
	run_nest(cut);
	check_nest(127, "fuzzcell: cannot prepare '/in/a': ");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(links_lead_to_what_is_mounted),
    cmocka_unit_test(private_memory_is_limited),
    cmocka_unit_test(what_the_program_made_is_saved),
    cmocka_unit_test(a_step_that_fails_is_named),
};

UNIT_MAIN(tests)
