/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "runner/engine/libfuzzer/libfuzzer.h"
#include "runner/targets/optfile.h"

#include <errno.h>
#include <stdlib.h>

/* The result as one text: "flag|env|...;dict;timeout;rss", and the notes, one line "LINE(!)why"
 * each. */
struct seen {
	struct buf out, notes;
};

static void note(void *arg, unsigned line, bool warning, const char *why)
{
	struct seen *s = arg;

	buf_printf(&s->notes, "%u%s%s\n", line, warning ? "!" : " ", why);
}

static int run(struct slice text, struct seen *s, struct err *e)
{
	struct optfile o = {0};
	int r = optfile_parse(text, &engine_libfuzzer, note, s, &o, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < o.flags.n; i++)
		buf_printf(&s->out, "%s|", o.flags.v[i]);
	for (size_t i = 0; i < o.env.n; i++)
		buf_printf(&s->out, "%s|", o.env.v[i]);
	buf_printf(&s->out, "%s;%d;%d", o.dict ? o.dict : "", (int)o.input_timeout_s,
		   (int)o.rss_limit_mib);
	assert_int_equal(buf_check(&s->out, e), 0);
	optfile_done(&o);
	return 0;
}

static const struct {
	const char *text, *out, *notes; /* notes: a part of them; "": no notes */
} cases[] = {
    {"", ";0;0", ""},
    {"[libfuzzer]\nmax_len = 64\n", "-max_len=64|;0;0", ""},
    {"\xef\xbb\xbf[libfuzzer]\r\nMax_Len: 64\r\n", "-max_len=64|;0;0", ""},
    {"# c\n; c\n\n[libfuzzer]\nonly_ascii=1\nlen_control=0", "-only_ascii=1|-len_control=0|;0;0",
     ""},
    {"[libfuzzer]\ndict = x/y.dict\ntimeout = 17\nrss_limit_mb=6000\n", "x/y.dict;17;6000", ""},
    {"[libfuzzer]\ntimeout = 0\n", ";0;0", "2!'timeout' must be a number in [1, 86400]: dropped\n"},
    {"[libfuzzer]\ntimeout = 9x\n", ";0;0", "2!'timeout'"},
    {"[libfuzzer]\nrss_limit_mb = -1\n", ";0;0", "2!'rss_limit_mb'"},
    {"[libfuzzer]\nmax_len = 1\nMAX_LEN = 2\n", "-max_len=2|;0;0",
     "3!'max_len' is also in line 2: the later one counts\n"},
    {"[libfuzzer]\nmax_len = random(10, 21)\n", "-max_len=15|;0;0",
     "2 'max_len': random() is taken as its middle, 15\n"},
    {"[libfuzzer]\nmax_len = random( 1,4294967295 )\n", "-max_len=2147483648|;0;0", "2 "},
    {"[libfuzzer]\nmax_len = random(9, 1)\n", ";0;0", "2!'max_len': write random(least, most)"},
    {"[libfuzzer]\nmax_len = random(9)\n", ";0;0", "2!"},
    {"[libfuzzer]\nmax_length = 9\n", ";0;0",
     "2!unknown flag 'max_length' (did you mean 'max_len'?): dropped\n"},
    {"[libfuzzer]\nfork = 2\n", ";0;0", "2!flag 'fork' is refused: a cell holds one"},
    {"[libfuzzer]\nruns = 1\n", ";0;0", "2!flag 'runs' is refused: set the key"},
    {"[libfuzzer]\nartifact_prefix = /tmp/\n", ";0;0", "2!flag 'artifact_prefix' is refused"},
    {"[asan]\nhandle_segv=0\nallow_user_segv_handler = 1\n",
     "ASAN_OPTIONS=handle_segv=0:allow_user_segv_handler=1|;0;0", ""},
    {"[ubsan]\nsuppressions = a:b c\n[msan]\nx=1",
     "UBSAN_OPTIONS=suppressions=\"a:b c\"|"
     "MSAN_OPTIONS=x=1|;0;0",
     ""},
    {"[asan]\nx=1\n[libfuzzer]\nseed=1\n[asan]\ny=2\n", "-seed=1|ASAN_OPTIONS=x=1:y=2|;0;0", ""},
    {"[asan]\nx='1\ny=\"2\"\n", ";0;0", "2!'x': a quote in a sanitizer option: dropped\n3!"},
    {"[env]\nGODEBUG = x\nafl_driver_dont_defer=1\n", "GODEBUG=x|AFL_DRIVER_DONT_DEFER=1|;0;0", ""},
    {"[env]\nGODEBUG = x\ngodebug = y\n", "GODEBUG=y|;0;0", "3!'godebug' is also in line 2"},
    {"[env]\nLD_PRELOAD = /x.so\n", ";0;0", "2!an options file may not set variable 'LD_PRELOAD'"},
    {"[honggfuzz]\nx = y\n", ";0;0", "1 section [honggfuzz] is another engine's\n"},
    {"[libfuzer]\nmax_len = 1\n", ";0;0",
     "1!unknown section [libfuzer]: dropped (did you mean [libfuzzer]?)\n"},
    {"[\x1b[2J]\n", ";0;0", "1!unknown section [\x1b[2J]: dropped\n"},
    {"max_len = 1\n", ";0;0", "1!'max_len' stands before any [section]: dropped\n"},
    {"[libfuzzer]\nmax_len\n[]\n= 3\n", ";0;0",
     "2!not a [section] or 'key = value': dropped\n3!not a [section]"},
    {"[libfuzzer]\nmax len = 3\n-x = 3\n", ";0;0",
     "2!not a [section] or 'key = value': dropped\n3!"},
    {"[libfuzzer]\nmax_len = 1\x1b\n", ";0;0", "2!the value of 'max_len' is longer"},
    {"[libfuzzer]\nmax_len =\n", "-max_len=|;0;0", ""},
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seen s = {BUF_INIT(1 << 20), BUF_INIT(1 << 20)};
		struct err e;

		assert_int_equal(run(slice_of(cases[i].text), &s, &e), 0);
		if (strcmp(buf_str(&s.out), cases[i].out) != 0)
			fail_msg("case %zu: '%s'", i, buf_str(&s.out));
		if (cases[i].notes[0]
			? strncmp(buf_str(&s.notes), cases[i].notes, strlen(cases[i].notes)) != 0
			: s.notes.n > 0)
			fail_msg("case %zu: notes '%s'", i, buf_str(&s.notes));
		buf_done(&s.out);
		buf_done(&s.notes);
	}
}

static void test_nul(void **state)
{
	static const char text[] = "[libfuzzer]\nmax_len = 1\0x\nseed = 2\n";
	struct seen s = {BUF_INIT(1 << 20), BUF_INIT(1 << 20)};
	struct err e;

	(void)state;
	assert_int_equal(run((struct slice){text, sizeof(text) - 1}, &s, &e), 0);
	assert_string_equal(buf_str(&s.out), "-seed=2|;0;0");
	assert_non_null(strstr(buf_str(&s.notes), "2!the value of 'max_len'"));
	buf_done(&s.out);
	buf_done(&s.notes);
}

static void test_limits(void **state)
{
	struct seen s = {BUF_INIT(1 << 20), BUF_INIT(1 << 20)};
	struct buf text = BUF_INIT(1 << 20);
	_autofree_ char *big = calloc(1, OPTFILE_MAX + 1);
	struct err e;

	(void)state;
	assert_non_null(big);
	assert_int_equal(run((struct slice){big, OPTFILE_MAX + 1}, &s, &e), -EFBIG);
	assert_string_equal(e.msg, "more than 65536 bytes of options");
	buf_printf(&text, "[asan]\n");
	for (unsigned i = 0; i < OPTFILE_MAX_KEYS + 1; i++)
		buf_printf(&text, "k%u=1\n", i);
	memset(big, 'k', OPTFILE_MAX);
	buf_printf(&text, "%.*s=1\n", OPTFILE_KEY_MAX + 1, big);
	buf_printf(&text, "v=%.*s\n", OPTFILE_VALUE_MAX + 1, big);
	assert_int_equal(buf_check(&text, &e), 0);
	assert_int_equal(run(buf_slice(&text), &s, &e), 0);
	assert_non_null(strstr(buf_str(&s.out), ":k255=1|;0;0"));
	assert_string_equal(buf_str(&s.notes),
			    "258!more than 256 keys: dropped\n"
			    "259!not a [section] or 'key = value': dropped\n"
			    "260!the value of 'v' is longer than 1024 bytes or has a control "
			    "character: dropped\n");
	buf_done(&text);
	buf_done(&s.out);
	buf_done(&s.notes);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_cases),
    cmocka_unit_test(test_nul),
    cmocka_unit_test(test_limits),
};

UNIT_MAIN(tests)
