/* SPDX-License-Identifier: Apache-2.0 */
/* The text output of doctor. */
#include "runner/command/doctor/doctor.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char printed[1 << 16];

static const char *print(const char *report)
{
	_autojson_ json_t *j = json_loads(report, 0, NULL);
	FILE *to = tmpfile();
	int out = dup(STDOUT_FILENO);
	size_t n;

	assert_non_null(j);
	assert_non_null(to);
	fflush(stdout);
	assert_int_equal(dup2(fileno(to), STDOUT_FILENO), STDOUT_FILENO);
	doctor_print(j);
	fflush(stdout);
	assert_int_equal(dup2(out, STDOUT_FILENO), STDOUT_FILENO);
	close(out);
	rewind(to);
	n = fread(printed, 1, sizeof(printed) - 1, to);
	printed[n] = '\0';
	fclose(to);
	return printed;
}

static void beside_a_first_run(void **state)
{
	(void)state;
	assert_non_null(strstr(print("{\"live\": false, \"targets\": []}"),
			       "no targets are known: nothing was fuzzed yet\n"));
	assert_non_null(strstr(print("{\"live\": true, \"targets\": []}"),
			       "no targets are known yet: the first run is active "));
	assert_non_null(strstr(print("{\"live\": true, \"targets\": [{\"name\": \"a\", "
				     "\"severity\": \"ok\", \"known\": false, \"findings\": []}]}"),
			       "a: nothing is known yet: a run is active "));
}

#define WAITS                                                                               \
	"\"severity\": \"note\", \"known\": true, \"findings\": [{\"severity\": \"note\", " \
	"\"code\": "                                                                        \
	"\"starved\", \"reason\": \"it waited for a CPU 60% of its time\", \"advice\": "    \
	"\"fewer\"}]}"

static void an_oversubscribed_machine_is_reported_once(void **state)
{
	const char *s;

	(void)state;
	s = print("{\"targets\": [{\"name\": \"a\", " WAITS ", {\"name\": \"b\", " WAITS
		  ", {\"name\": \"c\", " WAITS "]}");
	assert_non_null(strstr(s, "c: note\n  note starved: it waited"));
	assert_null(strstr(s, "3 targets"));
	s = print("{\"targets\": [{\"name\": \"a\", " WAITS ", {\"name\": \"b\", " WAITS
		  ", {\"name\": \"c\", " WAITS ", {\"name\": \"d\", " WAITS "]}");
	assert_null(strstr(s, "it waited for a CPU"));
	assert_non_null(strstr(s, "d: note\n4 targets: note\n  note starved: "));
	assert_non_null(strstr(s, "      -> fewer\n"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(beside_a_first_run),
    cmocka_unit_test(an_oversubscribed_machine_is_reported_once),
};

UNIT_MAIN(tests)
