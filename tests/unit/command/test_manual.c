/* SPDX-License-Identifier: Apache-2.0 */
/* Every command, subcommand and option that --help prints is in the man page. */
#include "tests/unit/unit.h"

#include "tests/unit/scratch.h"

#include "runner/command/command.h"

#include <ctype.h>

enum { TEXT_MAX = 64 * 1024 };

static char manual[2 * TEXT_MAX];

/* Returns the output of a command. */
static const char *help_of(struct scratch *s, int argc, char **argv, char out[TEXT_MAX])
{
	int saved = dup(STDOUT_FILENO), fd;
	size_t i = 0;

	while (i < n_commands && strcmp(commands[i].name, argv[0]) != 0)
		i++;
	assert_true(i < n_commands);
	fd = openat(s->fd, "help", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fflush(stdout);
	assert_true(dup2(fd, STDOUT_FILENO) >= 0);
	assert_int_equal(commands[i].run(argc, argv), EXIT_DONE);
	fflush(stdout);
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	close(saved);
	close(fd);
	return scratch_text(s->fd, "help", out, TEXT_MAX);
}

/* "Fl -name" as a whole word. */
static bool has_option(const char *name, size_t n)
{
	char text[80];
	const char *at = manual;
	int len = snprintf(text, sizeof(text), "Fl -%.*s", (int)n, name);

	while ((at = strstr(at, text)) != NULL) {
		char next = at[len];

		if (!isalnum((unsigned char)next) && next != '-')
			return true;
		at++;
	}
	return false;
}

static void check_options(const char *help, const char *command, unsigned *n)
{
	for (const char *at = help; (at = strstr(at, "--")) != NULL;) {
		size_t len = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");

		/* At the beginning of a line, or after the option's letter. */
		if (len > 0 && (at[-1] == ' ') && (at[-2] == ' ' || at[-2] == ',')) {
			if (!has_option(at + 2, len))
				fail_msg("%s: the man page lacks --%.*s", command, (int)len,
					 at + 2);
			(*n)++;
		}
		at += 2 + len;
	}
}

static void check_subcommands(struct scratch *s, char *command, const char *help, unsigned *n)
{
	const char *line = help;

	while ((line = strstr(line, "\n  ")) != NULL) {
		char name[40], words[120], out[TEXT_MAX], flag[] = "--help";
		char *argv[] = {command, name, flag, NULL};
		size_t len = strspn(line += 3, "abcdefghijklmnopqrstuvwxyz-");

		assert_in_range(len, 1, sizeof(name) - 1);
		snprintf(name, sizeof(name), "%.*s", (int)len, line);
		snprintf(words, sizeof(words), "Cm %s %s", command, name);
		if (!strstr(manual, words))
			fail_msg("the man page lacks '%s'", words);
		check_options(help_of(s, 3, argv, out), words, n);
	}
}

static void test_all(void **state)
{
	struct scratch s = SCRATCH_INIT;
	unsigned n = 0;

	(void)state;
	scratch_make(&s);
	scratch_text(AT_FDCWD, "docs/fuzzcell.1", manual, sizeof(manual));
	if (!*manual)
		fail_msg("run this where docs/fuzzcell.1 is");
	for (size_t i = 0; i < n_commands; i++) {
		char name[40], flag[] = "--help", out[TEXT_MAX], words[60];
		char *argv[] = {name, flag, NULL};

		snprintf(name, sizeof(name), "%s", commands[i].name);
		snprintf(words, sizeof(words), "Cm %s", name);
		if (strcmp(name, "help") == 0)
			continue; /* it prints this very table */
		if (!strstr(manual, words))
			fail_msg("the man page lacks '%s'", words);
		help_of(&s, 2, argv, out);
		if (strstr(out, "SUBCOMMAND"))
			check_subcommands(&s, name, out, &n);
		else
			check_options(out, words, &n);
	}
	assert_true(n > 50); /* the help was read */
	scratch_remove(&s);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};

UNIT_MAIN(tests)
