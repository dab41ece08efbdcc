/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/targets/sidefiles.h"
#include "tests/unit/scratch.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>

static struct target target_of(char *name, char *binary, char *dir)
{
	return (struct target){.name = name, .binary = binary, .dir = dir};
}

static void test_wanted(void **state)
{
	static const struct {
		const char *path;
		uint64_t bytes;
		bool want, too_large;
	} t[] = {
	    {"table.dat", 100, true, false},
	    {"lib/libx.so", 100 << 20, true, false},
	    {"lib/libx.so.1.2", 100 << 20, true, false},
	    {"libx.sock", 100 << 20, false, true},
	    {"large.dat", SIDEFILES_FILE_MAX, true, false},
	    {"large.dat", SIDEFILES_FILE_MAX + 1, false, true},
	    {"libx.so", (uint64_t)SIDEFILES_LIBRARY_MAX + 1, false, true},
	    {"a_fuzzer.options", 10, true, false},
	    {"b_fuzzer.options", 10, false, false},
	    {"a_fuzzer2.options", 10, false, false},
	    {"a_fuzzer.dict", 10, false, false},
	    {"a_fuzzer_seed_corpus.zip", 10, false, false},
	    {"llvm-symbolizer", 10, false, false},
	    {"a_fuzzer", 10, false, false}, /* it has its own directory */
	    {"sub/b_fuzzer", 10, false, false},
	    {"b_fuzzer", 10, true, false}, /* the target is in sub/ */
	};
	char a[] = "a_fuzzer", b[] = "b_fuzzer", out[] = "/out", pa[] = "/out/a_fuzzer",
	     pb[] = "/out/sub/b_fuzzer";
	struct target v[] = {target_of(a, pa, out), target_of(b, pb, out)};
	const struct target_list all = {.v = v, .n = 2};
	bool too_large;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(sidefiles_wanted(&all, &v[0], t[i].path, t[i].bytes, &too_large),
				 t[i].want);
		assert_int_equal(too_large, t[i].too_large);
	}
}

/* Links to files beside them count as these files.  Links elsewhere, and non-files, do not. */
static void test_pack(void **state)
{
	struct scratch s = SCRATCH_INIT;
	char a[] = "a_fuzzer", binary[100];
	struct target t = target_of(a, binary, s.path);
	const struct target_list all = {.v = &t, .n = 1};
	struct archive *in = archive_read_new();
	struct archive_entry *entry;
	struct sidefiles sum;
	struct pack *p;
	char names[1000] = "";
	struct err e;
	int fd;

	(void)state;
	scratch_make(&s);
	snprintf(binary, sizeof(binary), "%s/a_fuzzer", s.path);
	scratch_write(s.fd, "a_fuzzer", "binary");
	scratch_write(s.fd, "libx.so.1", "lib");
	assert_int_equal(symlinkat("libx.so.1", s.fd, "libx.so"), 0);
	assert_int_equal(symlinkat("libx.so", s.fd, "liby.so"), 0);
	assert_int_equal(symlinkat("/etc/passwd", s.fd, "passwd.dat"), 0);
	assert_int_equal(symlinkat("../../etc/passwd", s.fd, "up.dat"), 0);
	assert_int_equal(symlinkat("loop", s.fd, "loop"), 0);
	assert_int_equal(mkfifoat(s.fd, "fifo", 0644), 0);
	assert_int_equal(mkdirat(s.fd, "data", 0755), 0);
	assert_int_equal(symlinkat("/etc", s.fd, "etc"), 0);
	scratch_write(s.fd, "data/table", "table");
	scratch_write(s.fd, ".hidden", "h");
	fd = openat(s.fd, "out.tar.gz", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(pack_open(fd, &p, &e), 0);
	assert_int_equal(sidefiles_pack(&all, &t, "x", p, &sum, &e), 0);
	assert_int_equal(pack_close(p, &e), 0);
	pack_free(p);
	assert_int_equal(sum.left_out, 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	archive_read_support_filter_gzip(in);
	archive_read_support_format_tar(in);
	assert_int_equal(archive_read_open_fd(in, fd, 10240), ARCHIVE_OK);
	while (archive_read_next_header(in, &entry) == ARCHIVE_OK) {
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s ",
			 archive_entry_pathname(entry));
	}
	archive_read_free(in);
	close(fd);
	assert_non_null(strstr(names, "x/libx.so "));
	assert_non_null(strstr(names, "x/libx.so.1 "));
	assert_non_null(strstr(names, "x/liby.so "));
	assert_non_null(strstr(names, "x/data/table "));
	/* The archive itself is in the directory, and counts as a file like others. */
	assert_int_equal(sum.files, 5);
	scratch_remove(&s);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_wanted),
    cmocka_unit_test(test_pack),
};

UNIT_MAIN(tests)
