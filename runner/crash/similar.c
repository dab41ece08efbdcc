/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/similar.h"

#include "runner/crash/report/report.h"
#include "runner/crash/report/text.h"

struct lines {
	const char *v[CRASH_STATE_MAX];
	size_t n;
};

/* "parse_fuzzer.cc": in a state the harness is named by its source file. */
static bool similar_is_file(struct slice line)
{
	static const struct slice suffixes[] = {
	    {".c", 2}, {".cc", 3}, {".cpp", 4}, {".cxx", 4}, {".c++", 4}, {".C", 2},
	    {".h", 2}, {".hh", 3}, {".hpp", 4}, {".rs", 3},  {".m", 2},	  {".mm", 3},
	};

	for (size_t i = 0; i < line.n; i++)
		if (text_one_of(line.p[i], " \t(<:"))
			return false;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (text_ends(line, suffixes[i]))
			return true;
	return false;
}

/* A module counts as an entry function, too: without symbols it stands for every function in it. */
static bool similar_is_entry(struct slice line)
{
	static const struct slice names[] = {
	    {"LLVMFuzzerTestOneInput", 22},
	    {"rust_fuzzer_test_input", 22},
	    {"TestOneProtoInput", 17},
	    {"fuzzerTestOneInput", 18},
	    {"main", 4},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (slice_eq(line, names[i]))
			return true;
	return text_begins(line, SLICE("/")) || text_ends(line, SLICE("::__libfuzzer_sys_run")) ||
	       similar_is_file(line);
}

static struct lines without_entries(const char *const *state, size_t n)
{
	struct lines l = {.n = 0};

	for (size_t i = 0; i < n && l.n < CRASH_STATE_MAX; i++)
		if (!similar_is_entry(slice_of(state[i])))
			l.v[l.n++] = state[i];
	return l;
}

bool similar_states(const char *const *a, size_t n_a, const char *const *b, size_t n_b)
{
	const struct lines one = without_entries(a, n_a), two = without_entries(b, n_b);
	size_t same = 0;

	if (one.n == 0 || two.n == 0 || strcmp(one.v[0], two.v[0]) != 0)
		return false;
	for (size_t i = 0; i < one.n && i < two.n; i++)
		same += strcmp(one.v[i], two.v[i]) == 0;
	/* A state of one line holds no frame, but the target's name or nothing. */
	return same > 1 || (one.n == 1 && two.n == 1 && n_a > 1 && n_b > 1);
}
