/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/command.h"
/* cmocka has a macro of that name */
#include "tests/unit/unit.h"

#include "tests/unit/each.h"

#include <stdlib.h>

static char path[5][128]; /* home, its .fuzzcell, its configuration, another state directory and
			     configuration */

static void make(void)
{
	static const char *const below[] = {"home", "home/.fuzzcell", "home/.fuzzcell/config.json",
					    "state", "c.json"};

	for (size_t i = 0; i < 5; i++)
		(void)snprintf(path[i], sizeof(path[i]), "%s/%s", dir.path, below[i]);
	assert_int_equal(mkdirat(dir.fd, "home", 0700), 0);
	assert_int_equal(mkdirat(dir.fd, "home/.fuzzcell", 0700), 0);
	assert_int_equal(mkdirat(dir.fd, "state", 0700), 0);
	scratch_write(dir.fd, "home/.fuzzcell/config.json", "{}");
	scratch_write(dir.fd, "c.json", "{}");
	setenv("HOME", path[0], 1);
	unsetenv("FUZZCELL_STATE_DIR");
}

static void paths_are(const char *config, const char *state_dir, const char *open, const char *want)
{
	const struct common c = {.config_path = config, .state_dir = state_dir};
	struct common_paths s;
	char got[600];

	common_paths_find(&c, open, &s);
	(void)snprintf(got, sizeof(got), "%s %s", s.config ? s.config : "-",
		       s.state ? s.state : "-");
	common_paths_done(&s);
	assert_string_equal(got, want);
}

static void what_is_needed(void **state)
{
	struct common_paths s = {NULL, NULL};
	char want[300], here[128];

	(void)state;
	make();
	paths_are(NULL, NULL, path[1], "- -");
	paths_are(path[2], NULL, path[1], "- -");
	paths_are(NULL, path[1], path[1], "- -");
	(void)snprintf(want, sizeof(want), "%s -", path[4]);
	paths_are(path[4], NULL, path[1], want);
	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(dir.path), 0);
	paths_are("home/../c.json", NULL, path[3], want); /* absolute, for every user */
	assert_int_equal(chdir(here), 0);
	(void)snprintf(want, sizeof(want), "- %s", path[3]);
	paths_are(NULL, path[3], path[3], want);
	(void)snprintf(want, sizeof(want), "%s %s", path[4], path[3]);
	paths_are(path[4], path[3], path[3], want);
	setenv("FUZZCELL_STATE_DIR", path[3], 1); /* not set elsewhere */
	paths_are(path[4], NULL, path[3], want);
	(void)snprintf(want, sizeof(want), "%s %s", path[2], path[3]);
	paths_are(path[2], NULL, path[3], want);
	setenv("FUZZCELL_STATE_DIR", "", 1);
	paths_are(path[2], NULL, path[1], "- -");
	common_paths_find(NULL, path[1], &s);
	assert_null(s.config);
	assert_null(s.state);
}

static const struct CMUnitTest tests[] = {CASE(what_is_needed)};

UNIT_MAIN(tests)
