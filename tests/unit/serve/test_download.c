/* SPDX-License-Identifier: Apache-2.0 */
/* A crash's files: only the noted bytes are served. */
#include "tests/unit/unit.h"

#include "base/json.h"
#include "base/sys.h"
#include "tests/unit/serve/site.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define OPEN  "00a1b2c3d4e5f607"
#define WEAK  "11a1b2c3d4e5f607"
#define ODD   "odd/../x"
#define THIEF "7777777777777777"
#define PLACE "/downloads/" OPEN

/* The SHA-1 of "hello". */
#define HELLO "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"

static void write_ledger(const char *path, const char *sha1)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 "{\"" OPEN "\": {\"fuzzer\": \"z_fuzzer\", \"crash_type\": \"Abrt\", \"state\": "
		 "\"new\", \"crash_file\": \"%s\", \"input_bytes\": 5, \"input_sha1\": \"%s\"},"
		 "\"" WEAK "\": {\"fuzzer\": \"z_fuzzer\", \"crash_type\": \"UAF\", \"state\": "
		 "\"new\", \"security\": true, \"crash_file\": \"crashes/" WEAK "/input\"},"
		 "\"" ODD "\": {\"fuzzer\": \"z_fuzzer\", \"crash_type\": \"Odd\", \"crash_file\": "
		 "\"crashes/o-odd%%2F..%%2Fx/input\"},"
		 "\"" THIEF "\": {\"fuzzer\": \"z_fuzzer\", \"crash_type\": \"X\", \"crash_file\": "
		 "\"crashes/" WEAK "/input\"}}",
		 path, sha1);
	scratch_write(dir.fd, "known_crashes.json", text);
}

static int setup(void **state)
{
	site_setup(state);
	site_mkdir("crashes/" OPEN);
	site_mkdir("crashes/" WEAK);
	scratch_write(dir.fd, "crashes/" OPEN "/input", "hello");
	scratch_write(dir.fd, "crashes/" OPEN "/report.txt", "==1==ERROR: \x1b[31m\xff\n");
	scratch_write(dir.fd, "crashes/" WEAK "/input", "SECRET");
	site_mkdir("crashes/o-odd%2F..%2Fx");
	scratch_write(dir.fd, "crashes/o-odd%2F..%2Fx/input", "odd");
	write_ledger("crashes/" OPEN "/input", HELLO);
	return 0;
}

#define DOWN(fn) cmocka_unit_test_setup_teardown(fn, setup, site_teardown)

/* Returns the result of serve_get(); the file's text is in out. */
static int file(const char *path, char out[64], struct serve_answer *a)
{
	struct err e;
	int r = serve_get(site, slice_of(path), a, &e);
	ssize_t n;

	memset(out, 0, 64);
	if (r < 0)
		return r;
	assert_true(a->fd >= 0);
	n = pread(a->fd, out, 63, 0);
	assert_int_equal(n, (ssize_t)a->size);
	return 0;
}

static int code(const char *path)
{
	struct serve_answer a;
	char out[64];
	int r = file(path, out, &a);

	if (r == 0)
		serve_answer_done(&a);
	return r;
}

static void test_bytes(void **state)
{
	struct serve_answer a;
	char out[64];

	(void)state;
	assert_int_equal(file(PLACE "/input.bin", out, &a), 0);
	assert_string_equal(out, "hello");
	assert_string_equal(a.type, "application/octet-stream");
	assert_string_equal(a.file, "crash-" OPEN "-input.bin");
	serve_answer_done(&a);
	assert_int_equal(file(PLACE "/report.txt", out, &a), 0);
	assert_string_equal(out, "==1==ERROR: \x1b[31m\xff\n"); /* unchanged */
	assert_string_equal(a.type, "application/octet-stream");
	serve_answer_done(&a);
	assert_int_equal(code(PLACE "/minimized.bin"), -ENOENT); /* it has no minimised input */
	has("/crashes/" OPEN ".html", "href=\"../downloads/" OPEN "/input.bin\" download>");
	has("/crashes/" OPEN ".html", "href=\"../downloads/" OPEN "/report.txt\" download>");
	has_not("/crashes/" OPEN ".html", "minimized.bin");
	has_not("/crashes/" OPEN ".html", "serve.downloads");
}

/* The file name is safe in a header, whatever the signature is. */
static void test_odd_name(void **state)
{
	struct serve_answer a;
	char out[64];

	(void)state;
	assert_int_equal(file("/downloads/o-odd%252F..%252Fx/input.bin", out, &a), 0);
	assert_string_equal(a.file, "crash-o-odd_2F.._2Fx-input.bin");
	serve_answer_done(&a);
}

static void limit(bool all, bool security)
{
	const struct serve_limits l = {.downloads = all, .security_downloads = security};

	serve_set_limits(site, &l);
}

static void test_withheld(void **state)
{
	json_t *j;

	(void)state;
	assert_int_equal(code("/downloads/" WEAK "/input.bin"), -EPERM);
	/* Also not through a record that names another crash's file. */
	assert_int_equal(code("/downloads/" THIEF "/input.bin"), -ENOENT);
	has_not("/crashes/" WEAK ".html", "input.bin");
	has("/crashes/" WEAK ".html", "not of a security-relevant crash");
	j = get_json("/api/v1/crashes/" WEAK ".json");
	assert_int_equal(json_object_size(json_object_get(j, "downloads")), 0);
	assert_true(json_is_true(json_object_get(j, "withheld")));
	json_decref(j);
	limit(true, true);
	assert_int_equal(code("/downloads/" WEAK "/input.bin"), 0);
	has("/crashes/" WEAK ".html", "/input.bin\" download>");
	limit(false, false);
	assert_int_equal(code(PLACE "/input.bin"), -EPERM);
	assert_int_equal(code("/downloads/" WEAK "/input.bin"), -EPERM);
	assert_int_equal(code(PLACE "/report.txt"), -EPERM);
	has("/crashes/" OPEN ".html", "none are offered");
}

/* A changed file is not served, nor a file outside of the crash's directory. */
static void test_other_files(void **state)
{
	static const char *const elsewhere[] = {
	    "secret", "crashes/../secret", "logs/" SITE_RUN "/runner.log", "/etc/hostname", "../x"};

	(void)state;
	scratch_write(dir.fd, "crashes/" OPEN "/input", "hallo");
	assert_int_equal(code(PLACE "/input.bin"), -EBADMSG);
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		int r;

		write_ledger(elsewhere[i], "");
		r = code(PLACE "/input.bin");
		assert_true(r == -ENOENT || r == -EBADMSG);
	}
	write_ledger("crashes/" OPEN "/link", "");
	assert_int_equal(symlinkat("../../secret", dir.fd, "crashes/" OPEN "/link"), 0);
	assert_int_equal(code(PLACE "/input.bin"), -EBADMSG);
	assert_int_equal(unlinkat(dir.fd, "crashes/" OPEN "/report.txt", 0), 0);
	assert_int_equal(symlinkat("../../secret", dir.fd, "crashes/" OPEN "/report.txt"), 0);
	assert_int_equal(code(PLACE "/report.txt"), -EBADMSG);
	assert_int_equal(unlinkat(dir.fd, "crashes/" OPEN "/report.txt", 0), 0);
	assert_int_equal(mkfifoat(dir.fd, "crashes/" OPEN "/report.txt", 0600), 0);
	assert_int_equal(code(PLACE "/report.txt"), -EBADMSG); /* without waiting for a writer */
}

static void test_hostile_paths(void **state)
{
	static const char *const paths[] = {"/downloads/",
					    "/downloads//input.bin",
					    "/downloads/" OPEN,
					    "/downloads/" OPEN "/",
					    "/downloads/" OPEN "/input",
					    "/downloads/" OPEN "/meta.json",
					    "/downloads/" OPEN "/record.json",
					    "/downloads/" OPEN "%2finput.bin",
					    "/downloads/" OPEN "/../" WEAK "/input.bin",
					    "/downloads/..%2f" OPEN "/input.bin",
					    "/downloads/%2e%2e/input.bin",
					    "/downloads/" OPEN "%00/input.bin",
					    "/downloads/ffffffffffffffff/input.bin",
					    "/downloads/" OPEN "/input.bin?x",
					    "/downloads/" OPEN "/input.bin/"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_int_equal(code(paths[i]), -ENOENT);
}

/* Commands to copy have the options of this server. */
static void test_commands(void **state)
{
	const struct serve_limits l = {.config_path = "/etc/it's.json", .state_path = "/var/lib/f"};
	json_t *j;

	(void)state;
	j = get_json("/api/v1/crashes/" OPEN ".json");
	assert_string_equal(json_string_value(json_object_get(j, "reproduce")),
			    "fuzzcell crash reproduce " OPEN);
	json_decref(j);
	serve_set_limits(site, &l);
	j = get_json("/api/v1/crashes/" OPEN ".json");
	assert_string_equal(json_string_value(json_object_get(j, "reproduce")),
			    "fuzzcell crash reproduce --config '/etc/it'\\''s.json' --state-dir "
			    "/var/lib/f " OPEN);
	assert_string_equal(json_string_value(json_object_get(j, "export")),
			    "fuzzcell crash export --config '/etc/it'\\''s.json' --state-dir "
			    "/var/lib/f " OPEN);
	json_decref(j);
}

static void on_damaged(void *arg, const char *path, const char *problem)
{
	(void)problem;
	snprintf(arg, 300, "%s", path);
}

static void test_export(void **state)
{
	char path[64], text[64], bad[300] = "";
	struct scratch out = SCRATCH_INIT;
	uint64_t files;
	struct err e;

	(void)state;
	scratch_make(&out);
	snprintf(path, sizeof(path), "%s/site", out.path);
	if (serve_export(site, path, on_damaged, bad, &files, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(bad, "");
	assert_string_equal(
	    scratch_text(out.fd, "site/downloads/" OPEN "/input.bin", text, sizeof(text)), "hello");
	assert_true(scratch_has(out.fd, "site/downloads/" OPEN "/report.txt"));
	assert_false(scratch_has(out.fd, "site/downloads/" WEAK));
	/* A damaged file is left out and reported. */
	scratch_write(dir.fd, "crashes/" OPEN "/input", "hallo");
	if (serve_export(site, path, on_damaged, bad, &files, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(bad, PLACE "/input.bin");
	assert_false(scratch_has(out.fd, "site/downloads/" OPEN "/input.bin"));
	assert_true(scratch_has(out.fd, "site/index.html"));
	scratch_remove(&out);
}

static const struct CMUnitTest tests[] = {
    DOWN(test_bytes),	      DOWN(test_odd_name), DOWN(test_withheld), DOWN(test_other_files),
    DOWN(test_hostile_paths), DOWN(test_export),   DOWN(test_commands),
};

UNIT_MAIN(tests)
