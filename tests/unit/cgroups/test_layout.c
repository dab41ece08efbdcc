/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "cgroups/layout.h"

#include <errno.h>

#define V2(dir)	  "41 31 0:38 / " dir " rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1(c)	  "35 31 0:32 / /sys/fs/cgroup/" c " rw,relatime shared:9 - cgroup cgroup rw," c "\n"
#define ROOT	  "23 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
#define ALL_BITS  7U
#define BIT(name) (1U << (name))

struct want {
	const char *mount, *root;
	unsigned controllers;
};

static const struct {
	const char *label, *text;
	enum cgroup_layout kind;
	struct want h[CG_HIERARCHIES_MAX];
} good[] = {
    {"unified", ROOT V2("/sys/fs/cgroup"), CGROUP_UNIFIED, {{"/sys/fs/cgroup", "/", ALL_BITS}}},
    {"hybrid",
     ROOT V1("cpu") V1("memory") V1("pids") V1("freezer") V2("/sys/fs/cgroup/unified"),
     CGROUP_HYBRID,
     {{"/sys/fs/cgroup/unified", "/", 0},
      {"/sys/fs/cgroup/cpu", "/", BIT(CG_CPU)},
      {"/sys/fs/cgroup/memory", "/", BIT(CG_MEMORY)},
      {"/sys/fs/cgroup/pids", "/", BIT(CG_PIDS)}}},
    {"v1 beside v2, none of ours: unified",
     V1("name=systemd") V1("cpuset") V2("/u"),
     CGROUP_UNIFIED,
     {{"/u", "/", ALL_BITS}}},
    {"mixed: memory on v1, the rest on v2",
     V2("/u") V1("memory"),
     CGROUP_HYBRID,
     {{"/u", "/", BIT(CG_CPU) | BIT(CG_PIDS)}, {"/sys/fs/cgroup/memory", "/", BIT(CG_MEMORY)}}},
    {"two on one hierarchy",
     V1("cpu,cpuacct") V1("memory,pids") V2("/u"),
     CGROUP_HYBRID,
     {{"/u", "/", 0},
      {"/sys/fs/cgroup/cpu,cpuacct", "/", BIT(CG_CPU)},
      {"/sys/fs/cgroup/memory,pids", "/", BIT(CG_MEMORY) | BIT(CG_PIDS)}}},
    {"the first of several mounts",
     V2("/u") V2("/again") V1("memory") "1 2 0:32 / /second rw - cgroup cgroup rw,memory\n",
     CGROUP_HYBRID,
     {{"/u", "/", BIT(CG_CPU) | BIT(CG_PIDS)}, {"/sys/fs/cgroup/memory", "/", BIT(CG_MEMORY)}}},
    {"names that only look like ours",
     V1("cpuacct,xmemory,memoryx") V2("/u"),
     CGROUP_UNIFIED,
     {{"/u", "/", ALL_BITS}}},
    {"escapes, a root, no optional fields, no last newline",
     "1 2 0:3 /docker/a\\040b /sys/fs\\134x\\011y rw - cgroup2 none rw",
     CGROUP_UNIFIED,
     {{"/sys/fs\\x\ty", "/docker/a b", ALL_BITS}}},
    {"many optional fields, an escape that is none",
     "1 2 0:3 / /a\\9 rw shared:1 master:2 propagate_from:3 - cgroup2 - rw\n",
     CGROUP_UNIFIED,
     {{"/a\\9", "/", ALL_BITS}}},
    {"garbage around it",
     "\n\n- - - -\n1 2 3\ncgroup2\n1 2 0:3 / /cut rw - cgroup\n" V2("/u") "1 2 0:3 / relative rw - "
									  "cgroup cgroup memory\n",
     CGROUP_UNIFIED,
     {{"/u", "/", ALL_BITS}}},
};

static void test_layouts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct cg_layout l;
		struct err e;
		unsigned n = 0;

		if (cg_layout_parse(slice_of(good[i].text), &l, &e) < 0)
			fail_msg("%s: %s", good[i].label, e.msg);
		while (n < CG_HIERARCHIES_MAX && good[i].h[n].mount)
			n++;
		if (l.kind != good[i].kind || l.n != n)
			fail_msg("%s: kind %d, %u hierarchies", good[i].label, (int)l.kind, l.n);
		for (unsigned k = 0; k < n; k++) {
			assert_string_equal(l.h[k].mount, good[i].h[k].mount);
			assert_string_equal(l.h[k].root, good[i].h[k].root);
			if (l.h[k].controllers != good[i].h[k].controllers)
				fail_msg("%s: %u: %x", good[i].label, k, l.h[k].controllers);
			assert_int_equal(l.h[k].v2, k == 0);
		}
	}
}

static void test_no_layout(void **state)
{
	static const char nul[] = "1 2 0:3 / /a\\000b rw - cgroup2 none rw\n";
	char big[2000];
	const struct slice bad[] = {
	    SLICE(""),
	    SLICE(ROOT),
	    SLICE(V1("memory")),
	    {nul, sizeof(nul) - 1},
	    {big, sizeof(big)},
	    SLICE("1 2 0:3 / /a rw cgroup2 none rw\n"),
	    SLICE("1 2 0:3 / /a rw - cgroup22 none rw\n"),
	};

	(void)state;
	memset(big, '/', sizeof(big)); /* a path longer than all of ours */
	memcpy(big, "1 2 0:3 / ", 10);
	memcpy(big + sizeof(big) - 23, " rw - cgroup2 none rw\n", 22);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct cg_layout l = {.n = 99};
		struct err e;

		assert_int_equal(cg_layout_parse(bad[i], &l, &e), -ENOTSUP);
		assert_non_null(strstr(e.msg, "mount"));
		assert_int_equal(l.n, 99);
	}
}

#define HYBRID_CGROUP                                        \
	"9:name=systemd:/s\n8:pids:/\n"                      \
	"4:memory:/process_api/5cc2\n3:cpu,cpuacct:/c:d/e\n" \
	"0::/user.slice/x.scope\n"

static void test_own(void **state)
{
	static const struct {
		const char *text, *root;
		bool v2;
		unsigned controllers;
		const char *want; /* NULL: unknown */
	} t[] = {
	    {HYBRID_CGROUP, "/", true, 0, "/user.slice/x.scope"},
	    {HYBRID_CGROUP, "/", false, BIT(CG_MEMORY), "/process_api/5cc2"},
	    {HYBRID_CGROUP, "/", false, BIT(CG_CPU), "/c:d/e"},
	    {HYBRID_CGROUP, "/", false, BIT(CG_PIDS), ""},
	    {HYBRID_CGROUP, "/process_api", false, BIT(CG_MEMORY), "/5cc2"},
	    {HYBRID_CGROUP, "/process_api/5cc2", false, BIT(CG_MEMORY), ""},
	    {HYBRID_CGROUP, "/process", false, BIT(CG_MEMORY), NULL},
	    {HYBRID_CGROUP, "/elsewhere", false, BIT(CG_MEMORY), NULL},
	    {"0::/\n", "/", true, ALL_BITS, ""},
	    {"0::/a", "/", true, ALL_BITS, "/a"},
	    {"0::/\n", "/", false, BIT(CG_MEMORY), NULL},
	    {"1:memory:/\n", "/", true, ALL_BITS, NULL},
	    {"0::/../../x\n", "/", true, ALL_BITS, NULL},
	    {"0::/a/..\n", "/", true, ALL_BITS, NULL},
	    {"0::/a/..b/c..\n", "/", true, ALL_BITS, "/a/..b/c.."},
	    {"0::relative\n", "/", true, ALL_BITS, NULL},
	    {"", "/", true, ALL_BITS, NULL},
	    {"0:\n0\n:::\n99999999999999999999::/x\n0::/y\n", "/", true, ALL_BITS, "/y"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct cg_hierarchy h = {.v2 = t[i].v2, .controllers = t[i].controllers};
		char got[CG_PATH_MAX] = "untouched";
		bool ok;

		memcpy(h.root, t[i].root, strlen(t[i].root) + 1);
		ok = cg_layout_own(slice_of(t[i].text), &h, got);
		if (ok != !!t[i].want || strcmp(got, ok ? t[i].want : "untouched") != 0)
			fail_msg("%zu: %d '%s'", i, ok, got);
	}
}

static void test_own_too_long(void **state)
{
	struct cg_hierarchy h = {.v2 = true, .root = "/"};
	char text[CG_PATH_MAX + 8], got[CG_PATH_MAX];

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, "0::/", 4);
	assert_false(cg_layout_own((struct slice){text, sizeof(text)}, &h, got));
	assert_true(cg_layout_own((struct slice){text, CG_PATH_MAX + 2}, &h, got));
	assert_int_equal(strlen(got), CG_PATH_MAX - 1);
	text[10] = '\0';
	assert_false(cg_layout_own((struct slice){text, 20}, &h, got));
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(cgroup_layout_name(CGROUP_UNIFIED), "unified");
	assert_string_equal(cgroup_layout_name(CGROUP_HYBRID), "hybrid");
	assert_string_equal(cg_controller_name(CG_MEMORY), "memory");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_layouts), cmocka_unit_test(test_no_layout),
    cmocka_unit_test(test_own),	    cmocka_unit_test(test_own_too_long),
    cmocka_unit_test(test_names),
};

UNIT_MAIN(tests)
