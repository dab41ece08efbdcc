/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "images/bundle.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static char usr[] = "/usr", lib[] = "/lib", to_lib[] = "usr/lib";

static const struct root_plan plan = {
    .part = {{.path = usr, .source = usr, .dir = true}, {.path = lib, .link = to_lib}},
    .n = 2,
};
static const char *const argv[] = {"/target/t", "-runs=1", NULL};
static const char *const env[] = {"A=b", NULL};
static const struct cell_mount mounts[] = {
    {"/host/bin", "/target", false, true},
    {"/host/out", "/out", true, false},
};

static struct bundle bundle_for(const struct cell_spec *spec)
{
	return (struct bundle){.spec = spec,
			       .plan = &plan,
			       .recursive = true,
			       .filter = "Zm9v",
			       .listener = "/run/x/seccomp",
			       .files_hard = 1000,
			       .memlock_hard = 65536};
}

static struct cell_spec plain_spec(void)
{
	return (struct cell_spec){.id = "one",
				  .argv = argv,
				  .env = env,
				  .cwd = "/tmp",
				  .mounts = mounts,
				  .n_mounts = 2,
				  .tmp_bytes = 8 << 20,
				  .file_bytes = UINT64_C(5) << 30,
				  .files_max = 2000,
				  .cpu_s = 90,
				  .uid = 3000000001,
				  .gid = 7};
}

static json_t *bundle_of(const struct cell_spec *spec)
{
	struct bundle b = bundle_for(spec);
	_autofree_ char *text = NULL;
	json_t *j = NULL;
	struct err e;

	assert_int_equal(bundle_json(&b, &text, &e), 0);
	assert_int_equal(json_parse(slice_of(text), &j, &e), 0);
	return j;
}

/* "process.args.0": the path of members and indexes from the top. */
static json_t *at(json_t *j, const char *path)
{
	char name[64];
	int n;

	for (; j && *path; path += n + (path[n] == '.')) {
		n = (int)strcspn(path, ".");
		(void)snprintf(name, sizeof(name), "%.*s", n, path);
		j = json_is_array(j) ? json_array_get(j, (size_t)strtoul(name, NULL, 10))
				     : json_object_get(j, name);
	}
	return j;
}

static void every_promise_is_written_down(void **state)
{
	static const struct {
		const char *path, *want; /* as JSON */
	} t[] = {
	    {"process.args", "[\"/proc/self/fd/4\",\"/target/t\",\"-runs=1\"]"},
	    {"process.env", "[\"A=b\"]"},
	    {"process.cwd", "\"/tmp\""},
	    {"process.terminal", "false"},
	    {"process.noNewPrivileges", "true"},
	    {"process.oomScoreAdj", "1000"},
	    {"process.user", "{\"uid\":0,\"gid\":0}"},
	    {"process.capabilities", "{\"bounding\":[],\"effective\":[],\"inheritable\":[],"
				     "\"permitted\":[],\"ambient\":[]}"},
	    {"process.rlimits", "[{\"type\":\"RLIMIT_CORE\",\"soft\":0,\"hard\":0},"
				"{\"type\":\"RLIMIT_MEMLOCK\",\"soft\":65536,\"hard\":65536},"
				"{\"type\":\"RLIMIT_FSIZE\",\"soft\":5368709120,"
				"\"hard\":5368709120},"
				"{\"type\":\"RLIMIT_CPU\",\"soft\":90,\"hard\":90},"
				"{\"type\":\"RLIMIT_NOFILE\",\"soft\":1000,\"hard\":1000}]"},
	    {"root", "{\"path\":\"rootfs\",\"readonly\":true}"},
	    {"hostname", "\"cell\""},
	    {"hooks", NULL},
	    {"linux.uidMappings", "[{\"containerID\":0,\"hostID\":3000000001,\"size\":1}]"},
	    {"linux.gidMappings", "[{\"containerID\":0,\"hostID\":7,\"size\":1}]"},
	    {"linux.namespaces",
	     "[{\"type\":\"pid\"},{\"type\":\"network\"},{\"type\":\"ipc\"},{\"type\":\"uts\"},"
	     "{\"type\":\"mount\"},{\"type\":\"user\"},{\"type\":\"cgroup\"}]"},
	    {"linux.readonlyPaths",
	     "[\"/proc/bus\",\"/proc/fs\",\"/proc/irq\",\"/proc/sys\",\"/proc/sysrq-trigger\"]"},
	    {"linux.seccomp", NULL},
	    {"linux.devices", NULL},
	    {"annotations", "{\"run.oci.seccomp_bpf_data\":\"Zm9v\","
			    "\"run.oci.seccomp.receiver\":\"/run/x/seccomp\"}"},
	    {"mounts.0.destination", "\"/proc\""},
	    {"mounts.1.destination", "\"/dev\""},
	    {"mounts.1.options",
	     "[\"nosuid\",\"noexec\",\"ro\",\"mode=755\",\"size=65536\",\"nr_inodes=256\"]"},
	    {"mounts.2.destination", "\"/dev/shm\""},
	    {"mounts.3", "{\"destination\":\"/tmp\",\"type\":\"tmpfs\",\"source\":\"tmpfs\","
			 "\"options\":[\"nosuid\",\"noexec\",\"nodev\",\"mode=755\","
			 "\"size=8388608\",\"nr_inodes=2048\"]}"},
	    {"mounts.4", "{\"destination\":\"/usr\",\"type\":\"bind\",\"source\":\"/usr\","
			 "\"options\":[\"rbind\",\"nosuid\",\"nodev\",\"ro\",\"exec\","
			 "\"rro\"]}"},
	    {"mounts.5", "{\"destination\":\"/target\",\"type\":\"bind\","
			 "\"source\":\"/host/bin\","
			 "\"options\":[\"rbind\",\"nosuid\",\"nodev\",\"ro\",\"exec\"]}"},
	    {"mounts.6", "{\"destination\":\"/out\",\"type\":\"bind\",\"source\":\"/host/out\","
			 "\"options\":[\"rbind\",\"nosuid\",\"nodev\",\"rw\",\"noexec\"]}"},
	    {"mounts.7", NULL},
	};
	struct cell_spec spec = plain_spec();
	_autojson_ json_t *j = bundle_of(&spec);

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		json_t *v = at(j, t[i].path);
		_autofree_ char *text = v ? json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

		if (!text != !t[i].want || (text && strcmp(text, t[i].want) != 0))
			fail_msg("%s: %s", t[i].path, text ? text : "(nothing)");
	}
}

static void no_limit_is_no_limit(void **state)
{
	struct cell_spec spec = plain_spec();
	_autojson_ json_t *j = NULL;

	(void)state;
	spec.file_bytes = 0;
	spec.files_max = 0;
	spec.cpu_s = 0;
	j = bundle_of(&spec);
	assert_int_equal(json_array_size(at(j, "process.rlimits")), 2);
}

static void kernel_secrets_are_masked(void **state)
{
	static const char *const want[] = {"/proc/kcore", "/proc/keys", "/proc/timer_list",
					   "/proc/kallsyms"};
	struct cell_spec spec = plain_spec();
	_autojson_ json_t *j = bundle_of(&spec);
	json_t *masked = at(j, "linux.maskedPaths"), *path;
	size_t i, found = 0;

	(void)state;
	json_array_foreach(masked, i, path)
	{
		for (size_t k = 0; k < sizeof(want) / sizeof(want[0]); k++)
			found += strcmp(json_string_value(path), want[k]) == 0;
	}
	assert_int_equal(found, sizeof(want) / sizeof(want[0]));
}

static void text_that_is_not_utf8_is_refused(void **state)
{
	static const char *const bad[] = {"/bin/true", "\xff", NULL};
	struct cell_spec spec = plain_spec();
	struct bundle b = bundle_for(&spec);
	char *text = NULL;
	struct err e;

	(void)state;
	spec.argv = bad;
	assert_int_equal(bundle_json(&b, &text, &e), -EINVAL);
	assert_null(text);
}

/* RFC 4648, section 10. */
static void base64_is_the_usual_one(void **state)
{
	static const char *const t[][2] = {{"", ""},
					   {"f", "Zg=="},
					   {"fo", "Zm8="},
					   {"foo", "Zm9v"},
					   {"foob", "Zm9vYg=="},
					   {"fooba", "Zm9vYmE="},
					   {"foobar", "Zm9vYmFy"},
					   {"\xfb\xff\xfe", "+//+"}};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		_autofree_ char *text = bundle_base64((const uint8_t *)t[i][0], strlen(t[i][0]));

		assert_string_equal(text, t[i][1]);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_promise_is_written_down),
    cmocka_unit_test(no_limit_is_no_limit),
    cmocka_unit_test(kernel_secrets_are_masked),
    cmocka_unit_test(text_that_is_not_utf8_is_refused),
    cmocka_unit_test(base64_is_the_usual_one),
};

UNIT_MAIN(tests)
