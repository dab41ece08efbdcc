/* SPDX-License-Identifier: Apache-2.0 */
/* The printed command runs in both installed shells, with names of every kind. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/command/common/byhand.h"
#include "runner/command/common/shell.h"
#include "runner/engine/libfuzzer/libfuzzer.h"
#include "tests/unit/each.h"

#include <sys/wait.h>

/* A program that prints its name, its directory and its arguments; it ends with 76. */
static const char program[] = "#!/bin/sh\n"
			      "for last; do :; done\n"
			      "IFS= read -r text <\"$last\"\n"
			      "printf '<%s><%s><%s>' \"$0\" \"$(pwd)\" \"$text\"\n"
			      "printf '<%s>' \"$LANG\" \"$ODD\"\n"
			      "exit 76\n";

static void printed(const struct byhand *b, struct buf *out)
{
	struct err e;

	if (byhand_print(b, out, &e) < 0)
		fail_msg("%s", e.msg);
}

static int run(const char *shell, const char *script, char *got, size_t n)
{
	char line[200];
	int status;

	scratch_write(dir.fd, "script", script);
	snprintf(line, sizeof(line), "cd / && %s -u %s/script >%s/out 2>&1", shell, dir.path,
		 dir.path);
	status = system(line);
	assert_true(WIFEXITED(status));
	scratch_text(dir.fd, "out", got, n);
	return WEXITSTATUS(status);
}

static struct plan_entry entry_of(struct target *t, char *binary, char **env)
{
	*t = (struct target){.name = (char[]){"t"},
			     .binary = binary,
			     .env = {.v = env, .n = 1},
			     .engine = &engine_libfuzzer};
	return (struct plan_entry){.target = t, .cfg = {.input_timeout_us = 2000000}};
}

/* In a directory of this name, a program and an input of this name. */
static void one_name(const char *name)
{
	static const char *const shells[] = {"sh", "bash"};
	char at[600], binary[700], input[700], want[3000], got[3000];
	char *env[] = {(char[]){"ODD=a=b 'c'"}, NULL};
	struct target t;
	struct plan_entry entry = entry_of(&t, binary, env);
	struct byhand b = {.target = &entry, .dir = at, .binary = binary, .input = input};
	_autobuf_ struct buf out = BUF_INIT(BYHAND_MAX);

	snprintf(at, sizeof(at), "%s/%s", dir.path, name);
	snprintf(binary, sizeof(binary), "%s/%s", at, name);
	snprintf(input, sizeof(input), "%s/%s.in", at, name);
	assert_int_equal(mkdir(at, 0755), 0);
	scratch_write(AT_FDCWD, binary, program);
	assert_int_equal(chmod(binary, 0755), 0);
	scratch_write(AT_FDCWD, input, "the input\n");
	snprintf(want, sizeof(want), "<%s><%s><the input><C><a=b 'c'>", binary, at);
	printed(&b, &out);
	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (run(shells[i], buf_str(&out), got, sizeof(got)) != 76 || strcmp(got, want) != 0)
			fail_msg("%s: '%s', not '%s', of:\n%s", shells[i], got, want,
				 buf_str(&out));
}

static void test_every_name(void **state)
{
	static const char *const names[] = {
	    "plain",   "a=b",	   "=",	    "PATH=x", "two words", " edges ",	"it's",
	    "\"q\"",   "$HOME",	   "`id`",  "$(id)",  "a;b&c|d",   "<x>",	"*?[a]",
	    "~",       "#x",	   "-x",    "--",     "!!",	   "new\nline", "tab\there",
	    "\x1b[2J", "\xc3\xa4", "\xff",  "\\",     "{a,b}",	   "%s%n",	"\x7f",
	    "\001hx",  "\001\001", "x\001", "\r",     "a\\nb",	   "(x)",	"env"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		one_name(names[i]);
}

/* A script in a directory of any name. */
static void test_here(void **state)
{
	static const char *const names[] = {"plain", "a=b", "it's a \"$x\""};
	char *env[] = {(char[]){"ODD=x"}, NULL};
	struct target t;
	struct plan_entry entry = entry_of(&t, (char[]){"/out/b=c"}, env);
	struct byhand b = {.target = &entry,
			   .dir = SHELL_HERE "/out",
			   .binary = SHELL_HERE "/out/b=c",
			   .input = SHELL_INPUT};
	_autobuf_ struct buf out = BUF_INIT(BYHAND_MAX);

	(void)state;
	printed(&b, &out);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char at[200], path[300], want[1000], got[1000];
		_autobuf_ struct buf script = BUF_INIT(BYHAND_MAX);

		snprintf(at, sizeof(at), "%s/%s", dir.path, names[i]);
		assert_int_equal(mkdir(at, 0755), 0);
		snprintf(path, sizeof(path), "%s/out", at);
		assert_int_equal(mkdir(path, 0755), 0);
		snprintf(path, sizeof(path), "%s/out/b=c", at);
		scratch_write(AT_FDCWD, path, program);
		assert_int_equal(chmod(path, 0755), 0);
		snprintf(want, sizeof(want), "<%s><%s/out><x y><C><x>", path, at);
		snprintf(path, sizeof(path), "%s/in put", at);
		scratch_write(AT_FDCWD, path, "x y\n");
		buf_puts(&script, "here=");
		shell_quote(at, &script);
		buf_printf(&script, "\ninput=$here/'in put'\n%s", buf_str(&out));
		if (run("sh", buf_str(&script), got, sizeof(got)) != 76 || strcmp(got, want) != 0)
			fail_msg("'%s', not '%s', of:\n%s", got, want, buf_str(&script));
	}
}

static void test_root(void **state)
{
	char *env[] = {(char[]){"ODD=x"}, NULL};
	struct target t;
	struct plan_entry entry = entry_of(&t, (char[]){"/nothing"}, env);
	struct byhand b = {.target = &entry, .dir = "", .binary = "/nothing", .input = "/x"};
	_autobuf_ struct buf out = BUF_INIT(BYHAND_MAX);

	(void)state;
	printed(&b, &out);
	assert_non_null(strstr(buf_str(&out), "(cd / || exit"));
}

static const struct CMUnitTest tests[] = {
    CASE(test_every_name),
    CASE(test_here),
    cmocka_unit_test(test_root),
};

UNIT_MAIN(tests)
