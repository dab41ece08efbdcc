/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/common/said.h"
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

static void said(const char *config, const char *state_dir, const char *open, const char *want)
{
	const struct common c = {.config_path = config, .state_dir = state_dir};
	struct said s;
	char got[600];

	said_find(&c, open, &s);
	(void)snprintf(got, sizeof(got), "%s %s", s.config ? s.config : "-",
		       s.state ? s.state : "-");
	said_done(&s);
	assert_string_equal(got, want);
}

static void what_is_needed(void **state)
{
	struct said s = {NULL, NULL};
	char want[300], here[128];

	(void)state;
	make();
	said(NULL, NULL, path[1], "- -");
	said(path[2], NULL, path[1], "- -");
	said(NULL, path[1], path[1], "- -");
	(void)snprintf(want, sizeof(want), "%s -", path[4]);
	said(path[4], NULL, path[1], want);
	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(dir.path), 0);
	said("home/../c.json", NULL, path[3], want); /* absolute, for every user */
	assert_int_equal(chdir(here), 0);
	(void)snprintf(want, sizeof(want), "- %s", path[3]);
	said(NULL, path[3], path[3], want);
	(void)snprintf(want, sizeof(want), "%s %s", path[4], path[3]);
	said(path[4], path[3], path[3], want);
	setenv("FUZZCELL_STATE_DIR", path[3], 1); /* not set elsewhere */
	said(path[4], NULL, path[3], want);
	(void)snprintf(want, sizeof(want), "%s %s", path[2], path[3]);
	said(path[2], NULL, path[3], want);
	setenv("FUZZCELL_STATE_DIR", "", 1);
	said(path[2], NULL, path[1], "- -");
	said_find(NULL, path[1], &s);
	assert_null(s.config);
	assert_null(s.state);
}

static const struct CMUnitTest tests[] = {CASE(what_is_needed)};

UNIT_MAIN(tests)
