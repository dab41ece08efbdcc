/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/command/command.h"

#include <stdio.h>

static const struct option_spec specs[] = {
    {"o,output", "FILE", "where", OPTION_TAKE},	  {"times", "N", "how often", OPTION_TAKE},
    {"v,verbose", NULL, "say more", OPTION_TAKE}, {"json", NULL, "print JSON", OPTION_TAKE},
    {"time", "TIME", "how long", OPTION_TAKE},
};

static bool take(void *arg, const char *name, const char *value)
{
	char *seen = arg;

	snprintf(seen + strlen(seen), 200 - strlen(seen), "%s=%s ", name, value ? value : "");
	return true;
}

/* words: arguments, separated by one blank */
static int parse(char seen[200], const char *words)
{
	static char text[200], name[] = "test";
	char *argv[20] = {name}, *save = NULL;
	int argc = 1;

	snprintf(text, sizeof(text), "%s", words);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	*seen = '\0';
	return options_parse(argc, argv, "test [OPTION]...", specs,
			     sizeof(specs) / sizeof(specs[0]), take, seen);
}

static void test_good(void **state)
{
	char seen[200];

	(void)state;
	assert_int_equal(parse(seen, "-o file x"), 3);
	assert_string_equal(seen, "output=file ");
	assert_int_equal(parse(seen, "-ofile -v --json"), 4);
	assert_string_equal(seen, "output=file verbose= json= ");
	assert_int_equal(parse(seen, "--output=a --output b --verbose"), 5);
	assert_string_equal(seen, "output=a output=b verbose= ");
	/* Options after operands, and "-", which is no option. */
	assert_int_equal(parse(seen, "crash --times 3 -"), 3);
	assert_string_equal(seen, "times=3 ");
	assert_int_equal(parse(seen, "-- -o"), 2);
	assert_string_equal(seen, "");
}

static void test_bad(void **state)
{
	char seen[200];

	(void)state;
	assert_int_equal(parse(seen, "-x"), -1 - EXIT_USAGE);
	assert_int_equal(parse(seen, "-t"), -1 - EXIT_USAGE); /* this option has no letter */
	assert_int_equal(parse(seen, "-o"), -1 - EXIT_USAGE);
	assert_int_equal(parse(seen, "--output"), -1 - EXIT_USAGE);
	assert_int_equal(parse(seen, "--json=1"), -1 - EXIT_USAGE);
	assert_int_equal(parse(seen, "--o,output x"), -1 - EXIT_USAGE);
	assert_int_equal(parse(seen, "--nothing"), -1 - EXIT_USAGE);
	assert_string_equal(seen, "");
}

/* "--target" must not be accepted as --targets: the wrong targets would run. */
static void test_abbreviated(void **state)
{
	char seen[200];

	(void)state;
	assert_int_equal(parse(seen, "--out file"), -1 - EXIT_USAGE);
	assert_int_equal(parse(seen, "--out=file"), -1 - EXIT_USAGE);
	assert_int_equal(parse(seen, "--verb"), -1 - EXIT_USAGE);
	assert_int_equal(parse(seen, "--hel"), -1 - EXIT_USAGE);
	assert_string_equal(seen, "");
	/* A value may look like an option. */
	assert_int_equal(parse(seen, "--output --out --times -v"), 5);
	assert_string_equal(seen, "output=--out times=-v ");
	assert_int_equal(parse(seen, "--output=--out=1 -v"), 3);
	assert_string_equal(seen, "output=--out=1 verbose= ");
}

/* "10" may have been meant as minutes. */
static void test_time(void **state)
{
	char seen[200];

	(void)state;
	assert_int_equal(parse(seen, "--time 10"), -1 - EXIT_USAGE);
	assert_int_equal(parse(seen, "--time=0"), -1 - EXIT_USAGE);
	assert_string_equal(seen, "");
	assert_int_equal(parse(seen, "--time 10s --times 10"), 5);
	assert_string_equal(seen, "time=10s times=10 ");
	/* An invalid time is the option's own error. */
	assert_int_equal(parse(seen, "--time none --time="), 4);
	assert_string_equal(seen, "time=none time= ");
}

static void test_help(void **state)
{
	char seen[200];

	(void)state;
	assert_int_equal(parse(seen, "-h"), -1 - EXIT_DONE);
	assert_int_equal(parse(seen, "--help"), -1 - EXIT_DONE);
	assert_int_equal(parse(seen, "-vh"), -1 - EXIT_DONE);
}

static void test_commands(void **state)
{
	char out[64];

	(void)state;
	assert_string_equal(command_hint("lists", commands, n_commands, out),
			    "; did you mean 'list'?");
	assert_string_equal(command_hint("regres", commands, n_commands, out),
			    "; did you mean 'regress'?");
	assert_string_equal(command_hint("rnu", commands, n_commands, out),
			    "; did you mean 'run'?");
	assert_string_equal(command_hint("unheard-of", commands, n_commands, out), "");
	assert_string_equal(command_hint("x", commands, n_commands, out), "");
	assert_string_equal(command_hint("", commands, n_commands, out), "");
}

struct stored {
	char before;
	bool json;
	const char *output;
	uint64_t time_us;
};

static const struct option_spec stored_specs[] = {
    {"o,output", "FILE", "where", OPTION_AT(struct stored, output)},
    {"json", NULL, "print JSON", OPTION_AT(struct stored, json)},
    {"time", "TIME", "how long", OPTION_AT(struct stored, time_us)},
};

static int parse_stored(struct stored *s, const char *a, const char *b, const char *c)
{
	char name[] = "test", *argv[] = {name, (char *)(uintptr_t)a, (char *)(uintptr_t)b,
					 (char *)(uintptr_t)c, NULL};
	int argc = 1 + (a != NULL) + (b != NULL) + (c != NULL);

	*s = (struct stored){.before = 'b'};
	return options_parse(argc, argv, "test [OPTION]...", stored_specs,
			     sizeof(stored_specs) / sizeof(stored_specs[0]), NULL, s);
}

/* Values go to the members that the table names, and nowhere else. */
static void test_stored(void **state)
{
	struct stored s;

	(void)state;
	assert_int_equal(parse_stored(&s, "--json", "-ofile", "--time=2m"), 4);
	assert_true(s.json);
	assert_string_equal(s.output, "file");
	assert_true(s.time_us == 120000000);
	assert_int_equal(s.before, 'b');
	assert_int_equal(parse_stored(&s, "--time=1s", "--json", NULL), 3);
	assert_true(s.json && !s.output && s.time_us == 1000000);
	assert_int_equal(parse_stored(&s, "word", NULL, NULL), 1);
	assert_true(!s.json && !s.output && s.time_us == 0);
	assert_int_equal(parse_stored(&s, "--time=never", NULL, NULL), -1 - EXIT_USAGE);
	assert_int_equal(parse_stored(&s, "--time=0s", NULL, NULL), -1 - EXIT_USAGE);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_good),   cmocka_unit_test(test_bad),	cmocka_unit_test(test_abbreviated),
    cmocka_unit_test(test_time),   cmocka_unit_test(test_help), cmocka_unit_test(test_commands),
    cmocka_unit_test(test_stored),
};

UNIT_MAIN(tests)
