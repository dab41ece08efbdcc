/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "runner/command/common/shell.h"
#include "tests/unit/each.h"

#include <sys/wait.h>

static void quoted(const char *text, const char *want)
{
	_autobuf_ struct buf b = BUF_INIT(10000);

	shell_quote(text, &b);
	assert_string_equal(buf_str(&b), want);
}

static void test_quote(void **state)
{
	(void)state;
	quoted("", "''");
	quoted("-timeout=30", "-timeout=30");
	quoted("/out/a_fuzzer", "/out/a_fuzzer");
	quoted("two words", "'two words'");
	quoted("it's", "it\\'s");
	quoted("it is 'so'", "'it is '\\'so\\'");
	quoted("'", "\\'");
	quoted("$(reboot)`;&|<>*?~#\\\"!", "'$(reboot)`;&|<>*?~#\\\"!'");
	quoted("a\nb", "'a\nb'");
	quoted("\x1b[2J", "\"$(printf '\\033')\"'[2J'");
	quoted("x=" SHELL_SYMBOLIZER, "x=\"$symbolizer\"");
	quoted(SHELL_HERE "/a b", "\"$here\"'/a b'");
	quoted(SHELL_INPUT, "\"$input\"");
	quoted("\001q", "\"$(printf '\\001')\"q");
	quoted(SHELL_BYTE "hx", "\"$(printf '\\001')\"hx");
}

/* Runs the printed command, with its output in "out". */
static int run(struct scratch *s, const struct shell_command *c)
{
	_autobuf_ struct buf b = BUF_INIT(100000);
	char line[200];
	int status;

	shell_print(c, &b);
	assert_false(b.full);
	scratch_write(s->fd, "script", buf_str(&b));
	snprintf(line, sizeof(line), "cd / && here=H input=I sh -eu %s/script >%s/out 2>&1",
		 s->path, s->path);
	status = system(line);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* sh passes every quoted word unchanged. */
static void test_words(void **state)
{
	static const char *const words[] = {
	    "plain",  "two words", "'",	  "''",	   "a'b\"c", "$HOME",	 "$(exit 9)", "`exit 9`",
	    "back\\", "new\nline", "*",	  "~",	   "#no",    "-x=y",	 "\x1b[31m",  "\x7f",
	    "\001",   "tab\there", "a;b", "{x,y}", "!!",     "\xc3\xa4", "a=b c=d",   "--",
	};
	struct scratch *s = *state;
	struct engine_cmd cmd = {0};
	const struct shell_command c = {.dir = s->path, .cmd = &cmd};
	char want[1000] = "", got[1000];

	strv_push(&cmd.argv, "/usr/bin/printf");
	strv_push(&cmd.argv, "<%s>");
	strv_push(&cmd.env, "PATH=/usr/bin:/bin");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		strv_push(&cmd.argv, words[i]);
		snprintf(want + strlen(want), sizeof(want) - strlen(want), "<%s>", words[i]);
	}
	assert_int_equal(run(s, &c), 0);
	assert_string_equal(scratch_text(s->fd, "out", got, sizeof(got)), want);
	engine_cmd_done(&cmd);
}

/* The directory, only the given environment, the marks, and the status. */
static void test_command(void **state)
{
	struct scratch *s = *state;
	struct engine_cmd cmd = {0};
	char place[100], got[2000], want[2000];
	const struct shell_command c = {.dir = place, .cmd = &cmd, .stack_kib = 4096};

	snprintf(place, sizeof(place), "%s/a b'c", s->path);
	assert_int_equal(mkdir(place, 0755), 0);
	strv_push(&cmd.env, "ASAN_OPTIONS=x=1:y=" SHELL_SYMBOLIZER);
	strv_push(&cmd.env, "ODD=it's $HOME");
	strv_push(&cmd.argv, "/bin/sh");
	strv_push(&cmd.argv, "-c");
	strv_push(&cmd.argv, "pwd; echo \"$ODD\"; echo ${HOME-none}; ulimit -s; ulimit -c;"
			     "echo $1 $2; echo ${ASAN_OPTIONS%%y=*}; exit 76");
	strv_push(&cmd.argv, "sh");
	strv_push(&cmd.argv, SHELL_HERE "/x");
	strv_push(&cmd.argv, SHELL_INPUT);
	snprintf(want, sizeof(want), "%s\nit's $HOME\nnone\n4096\n0\nH/x I\nx=1:\n", place);
	assert_int_equal(run(s, &c), 76);
	assert_string_equal(scratch_text(s->fd, "out", got, sizeof(got)), want);
	engine_cmd_done(&cmd);
}

/* Without a symbolizer the option is empty, which turns it off. */
static void test_without_symbolizer(void **state)
{
	struct scratch *s = *state;
	struct engine_cmd cmd = {0};
	_autobuf_ struct buf b = BUF_INIT(100000);
	char got[200], line[300];
	const struct shell_command c = {.dir = s->path, .cmd = &cmd};

	strv_push(&cmd.env, "S=<" SHELL_SYMBOLIZER ">");
	strv_push(&cmd.argv, "/bin/sh");
	strv_push(&cmd.argv, "-c");
	strv_push(&cmd.argv, "echo $S");
	shell_print(&c, &b);
	scratch_write(s->fd, "script", buf_str(&b));
	/* A PATH with env(1) only. */
	snprintf(line, sizeof(line),
		 "cd %s && mkdir bin && ln -s /usr/bin/env bin && PATH=$PWD/bin /bin/sh -eu script "
		 ">out 2>&1",
		 s->path);
	assert_int_equal(system(line), 0);
	assert_string_equal(scratch_text(s->fd, "out", got, sizeof(got)), "<>\n");
	engine_cmd_done(&cmd);
}

/* A program that runs in a directory of its own, with links to files of another. */
static void test_nest(void **state)
{
	static const char deep[] = SHELL_SCRATCH "/deep", empty[] = SHELL_SCRATCH "/deep/empty";
	static const char *const steps[] = {"links", "-",    empty,	   "links",
					    "A",     deep,   "in",	   SHELL_SCRATCH,
					    "-",     "data", "1073741824", "-"};
	struct scratch *s = *state;
	struct engine_cmd cmd = {.n_inputs = 1, .input_at = strdup("deep/empty/input")};
	char got[400], want[400], path[200], left[200];
	const struct shell_command c = {.dir = s->path, .cmd = &cmd};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		snprintf(path, sizeof(path), "%s/it's", s->path);
		strv_push(&cmd.nest, strcmp(steps[i], "A") == 0 ? path : steps[i]);
	}
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mkdirat(s->fd, "empty", 0700), 0);
	scratch_write(s->fd, "it's/data", "data");
	scratch_write(s->fd, "one", "an input");
	strv_push(&cmd.env, "PATH=/usr/bin:/bin");
	strv_push(&cmd.argv, "/bin/sh");
	strv_push(&cmd.argv, "-c");
	strv_push(&cmd.argv, "pwd; cat deep/data deep/empty/input; echo; ulimit -d; exit 9");
	snprintf(path, sizeof(path), "%s/one", s->path);
	strv_push(&cmd.argv, path);
	assert_int_equal(run(s, &c), 9);
	scratch_text(s->fd, "out", got, sizeof(got));
	snprintf(left, sizeof(left), "%.*s", (int)strcspn(got, "\n"), got);
	assert_string_equal(got + strcspn(got, "\n"), "\ndataan input\n1048576\n");
	assert_int_equal(access(left, F_OK), -1);
	snprintf(want, sizeof(want), "%s/", s->path);
	assert_null(strstr(left, want));
	engine_cmd_done(&cmd);
}

static void test_missing_directory(void **state)
{
	struct scratch *s = *state;
	struct engine_cmd cmd = {0};
	const struct shell_command c = {.dir = "/nowhere", .cmd = &cmd};

	strv_push(&cmd.argv, "/bin/true");
	assert_int_not_equal(run(s, &c), 0);
	engine_cmd_done(&cmd);
}

static void test_full(void **state)
{
	struct engine_cmd cmd = {0};
	const struct shell_command c = {.dir = "/tmp", .cmd = &cmd};
	struct err e;

	(void)state;
	strv_push(&cmd.argv, "/bin/true");
	for (size_t max = 1; max < 40; max++) {
		_autobuf_ struct buf b = BUF_INIT(max);

		shell_print(&c, &b);
		assert_int_equal(buf_check(&b, &e), -EFBIG);
	}
	engine_cmd_done(&cmd);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_quote),  CASE(test_words), CASE(test_command),
    CASE(test_without_symbolizer), CASE(test_nest),  CASE(test_missing_directory),
    cmocka_unit_test(test_full),
};

UNIT_MAIN(tests)
