/* SPDX-License-Identifier: Apache-2.0 */
/* A crash's place in the sources, and similar crashes. */
#include "tests/unit/unit.h"

#include "base/json.h"
#include "runner/publish/render/source_link.h"
#include "tests/unit/serve/site.h"

#include <fcntl.h>

#define COMMIT "c0ffee0123456789c0ffee0123456789c0ffee01"
#define ALIKE  "22a1b2c3d4e5f607"

static struct scratch tree;

static int setup(void **state)
{
	static const char ledger[] =
	    "{\"" SITE_CRASH "\": {\"fuzzer\": \"z_fuzzer\", \"crash_type\": \"UAF <b>\", "
	    "\"similar\": \"\", \"first_seen\": {\"time\": 1795200000, \"commit\": \"" COMMIT
	    "\"}},"
	    "\"" ALIKE "\": {\"fuzzer\": \"z_fuzzer\", \"crash_type\": \"UAF <i>\", \"top_frame\": "
	    "\"g<b>\", \"similar\": \"" SITE_CRASH "\"}}";

	site_setup(state);
	tree = (struct scratch)SCRATCH_INIT;
	scratch_make(&tree);
	assert_int_equal(mkdirat(tree.fd, "src", 0755), 0);
	scratch_write(tree.fd, "src/a b.c", "int x;\n");
	scratch_write(dir.fd, "known_crashes.json", ledger);
	scratch_write(dir.fd, "crashes/" SITE_CRASH "/report.txt",
		      "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x1 at pc 0x2\n"
		      "READ of size 4 at 0x1 thread T0\n"
		      "    #0 0x1 in memcpy (/usr/lib/libc.so+0x1)\n"
		      "    #1 0x2 in is_open /build/x/src/a b.c:24:12\n"
		      "    #2 0x3 in LLVMFuzzerTestOneInput /build/x/src/f.c:9:3\n\n");
	scratch_write(dir.fd, "crashes/" SITE_CRASH "/meta.json",
		      "{\"v\": 1, \"target\": \"z_fuzzer\", \"commit\": \"" COMMIT "\", \"seed\": "
		      "\"/build/x/src/a b.c\"}");
	return 0;
}

static int teardown(void **state)
{
	scratch_remove(&tree);
	return site_teardown(state);
}

#define IN_TREE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

static void test_place(void **state)
{
	(void)state;
	/* Without a work tree, the path is as in the report. */
	has("/crashes/" SITE_CRASH ".html",
	    "<p class=\"place\"><code>/build/x/src/a b.c:24:12</code>");
	has("/api/v1/crashes/" SITE_CRASH ".json", "\"function\": \"is_open\"");
	has_not("/crashes/" SITE_CRASH ".html", "https://");
	/* A crash without a report has none. */
	has("/api/v1/crashes/" ALIKE ".json", "\"place\": null");
	has_not("/crashes/" ALIKE ".html", "class=\"place\"");
}

static void test_links(void **state)
{
	char link[] = "https://h/o/r/blob/{commit}/{path}#L{line}";
	struct sources from = {.dir = tree.path, .dirfd = tree.fd, .link = link};
	const struct serve_limits l = {.sources = &from};

	(void)state;
	serve_set_limits(site, &l);
	has("/crashes/" SITE_CRASH ".html",
	    "<a href=\"https://h/o/r/blob/" COMMIT "/src/a%20b.c#L24\" rel=\"noreferrer\">"
	    "<code>src/a b.c:24:12</code></a>");
	has("/crashes/" SITE_CRASH ".html",
	    "<a href=\"https://h/o/r/commit/" COMMIT "\" rel=\"noreferrer\">");
	/* On each page: the run's commit, and the version. */
	has("/", "<a href=\"https://h/o/r/commit/5f0c\" rel=\"noreferrer\">");
	has("/runs.html", "<a href=\"https://h/o/r/commit/5f0c\" rel=\"noreferrer\">");
	has("/runs.html", "fuzzcell " FUZZCELL_VERSION ". ");
	has("/api/v1/health.json", "\"commits\": \"https://h/o/r/commit/\"");
	link[0] = 'j'; /* no URL of a website */
	has_not("/crashes/" SITE_CRASH ".html", "jttps");
}

static void test_seed(void **state)
{
	struct sources from = {.dir = tree.path, .dirfd = tree.fd};
	const struct serve_limits l = {.sources = &from};

	(void)state;
	has("/crashes/" SITE_CRASH ".html",
	    "<dt>In-tree seed</dt><dd>the input is <code>/build/x/src/a b.c</code>");
	serve_set_limits(site, &l);
	has("/crashes/" SITE_CRASH ".html", "the input is <code>src/a b.c</code>");
	has("/api/v1/crashes/" ALIKE ".json", "\"seed\": null");
	has_not("/crashes/" ALIKE ".html", "In-tree seed");
}

static void test_alike(void **state)
{
	(void)state;
	has("/crashes/" SITE_CRASH ".html",
	    "<dt>Likely the same</dt><dd><a href=\"../crashes/" ALIKE
	    ".html\">UAF &lt;i&gt;</a> in "
	    "g&lt;b&gt; (known)");
	has("/crashes/" ALIKE ".html",
	    "<a href=\"../crashes/" SITE_CRASH ".html\">UAF &lt;b&gt;</a>");
}

static const struct CMUnitTest tests[] = {IN_TREE(test_place), IN_TREE(test_links),
					  IN_TREE(test_alike), IN_TREE(test_seed)};

UNIT_MAIN(tests)
