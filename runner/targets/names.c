/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/names.h"

#include <string.h>

static bool names_starts(struct slice s, const char *with)
{
	size_t n = strlen(with);

	return s.n >= n && memcmp(s.p, with, n) == 0;
}

static bool names_ends(struct slice s, const char *with)
{
	size_t n = strlen(with);

	return s.n >= n && memcmp(s.p + s.n - n, with, n) == 0;
}

static bool names_is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '@' || c == '_' || c == '.' || c == '-';
}

bool names_target_ok(struct slice name)
{
	if (name.n == 0 || name.n > NAMES_TARGET_MAX || name.p[0] == '.' || name.p[0] == '-')
		return false;
	for (size_t i = 0; i < name.n; i++)
		if (!names_is_name_char(name.p[i]))
			return false;
	return true;
}

static const char bad_name[] = "a target's name has at most 128 letters, digits and @ _ . -, "
			       "and does not begin with . or -: rename it";

bool names_program_of_tests(struct slice file, struct slice *ret_stem, const char **ret_why)
{
	*ret_stem = file;
	if (names_ends(file, ".test"))
		ret_stem->n -= strlen(".test");
	*ret_why = bad_name;
	return names_target_ok(*ret_stem) && !memchr(ret_stem->p, '@', ret_stem->n);
}

bool names_program(struct slice file, struct slice *ret_target, const char **ret_why)
{
	struct slice stem = file;

	if (!memchr(file.p, '@', file.n)) {
		const char *dot = memrchr(file.p, '.', file.n);

		if (names_ends(file, ".exe") || names_ends(file, ".par")) {
			stem.n -= 4;
		} else if (dot) {
			*ret_why = "a target's file has no extension (or .exe, .par): rename it";
			return false;
		}
	}
	if (!names_target_ok(stem)) {
		*ret_why = bad_name;
		return false;
	}
	*ret_target = stem;
	return true;
}

const char *names_known_other(struct slice file)
{
	static const struct {
		const char *name, *why;
	} same[] = {
	    {"llvm-symbolizer", "the symbolizer"},
	    {"honggfuzz", "an engine"},
	    {"jazzerjs", "an engine's driver"},
	    {"__extra_build", "what a build leaves beside its targets"},
	};
	static const struct {
		const char *prefix, *why;
	} prefixes[] = {
	    {".", "hidden"},
	    {"afl-", "a tool of AFL"},
	    {"jazzer_", "an engine's driver"},
	};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (slice_eq(file, slice_of(same[i].name)))
			return same[i].why;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (names_starts(file, prefixes[i].prefix))
			return prefixes[i].why;
	if (names_ends(file, ".so") || memmem(file.p, file.n, ".so.", 4))
		return "a shared library";
	if (names_ends(file, ".tests"))
		return "names of a program's tests";
	if (names_ends(file, ".cmplog"))
		return "a second build for AFL++";
	return NULL;
}

bool names_looks_like_target(struct slice file)
{
	return names_ends(file, "_fuzzer") || names_ends(file, "_fuzztest") ||
	       names_ends(file, "_fuzz_test");
}

/* In ClusterFuzz's order.  OSS-Fuzz itself only makes .zip files. */
static const char *const archives[] = {
    "_seed_corpus.zip",	    "_seed_corpus.tar",	     "_seed_corpus.tar.gz", "_seed_corpus.tgz",
    "_seed_corpus.tar.bz2", "_seed_corpus.tbz",	     "_seed_corpus.tbz2",   "_seed_corpus.tb2",
    "_seed_corpus.tar.xz",  "_seed_corpus.tar.lzma",
};

const char *names_archive_suffix(size_t i)
{
	return i < sizeof(archives) / sizeof(archives[0]) ? archives[i] : NULL;
}

static bool names_strip(struct slice file, const char *suffix, struct slice *ret)
{
	if (!names_ends(file, suffix) || file.n == strlen(suffix))
		return false;
	*ret = (struct slice){file.p, file.n - strlen(suffix)};
	return true;
}

enum names_side names_side_of(struct slice file, struct slice *ret_target)
{
	static const struct {
		const char *suffix;
		enum names_side side;
	} sides[] = {
	    {".dict", SIDE_DICT},   {".options", SIDE_OPTIONS}, {".owners", SIDE_META},
	    {".labels", SIDE_META}, {".components", SIDE_META}, {".issue_metadata", SIDE_META},
	};

	for (size_t i = 0; i < sizeof(archives) / sizeof(archives[0]); i++)
		if (names_strip(file, archives[i], ret_target))
			return SIDE_ARCHIVE;
	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++)
		if (names_strip(file, sides[i].suffix, ret_target))
			return sides[i].side;
	return SIDE_NONE;
}

const char *names_side_noun(enum names_side s)
{
	static const char *const nouns[] = {
	    [SIDE_NONE] = "file",	[SIDE_ARCHIVE] = "seed archive",
	    [SIDE_DICT] = "dictionary", [SIDE_OPTIONS] = "options file",
	    [SIDE_META] = "metadata",
	};

	return nouns[s];
}

static size_t names_min3(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Computes one row of the table of Levenshtein distances from the row above.  Only the band of
 * width limit around the diagonal is correct. */
static void next_row(char c, size_t i, struct slice b, size_t limit, size_t *row)
{
	size_t from = i > limit ? i - limit : 1;
	size_t to = i + limit < b.n ? i + limit : b.n;
	size_t diagonal = row[from - 1];

	row[from - 1] = from == 1 ? i : limit + 1;
	for (size_t j = from; j <= to; j++) {
		size_t up = j == i + limit ? limit + 1 : row[j];
		size_t d = diagonal + (c != b.p[j - 1]);

		diagonal = row[j];
		row[j] = names_min3(d, up + 1, row[j - 1] + 1);
	}
}

/* The distance if it is at most limit, else limit + 1.  Computes only a band, because there may be
 * thousands of hostile names. */
static size_t names_distance(struct slice a, struct slice b, size_t limit)
{
	size_t row[NAMES_TARGET_MAX + 1];

	if (a.n > NAMES_TARGET_MAX || b.n > NAMES_TARGET_MAX || a.n > b.n + limit ||
	    b.n > a.n + limit)
		return limit + 1;
	for (size_t j = 0; j <= b.n; j++)
		row[j] = j;
	for (size_t i = 1; i <= a.n; i++)
		next_row(a.p[i - 1], i, b, limit, row);
	return row[b.n] <= limit ? row[b.n] : limit + 1;
}

/* Whether the only difference is that two adjacent letters are swapped. */
static bool is_swapped(struct slice a, struct slice b)
{
	size_t i = 0;

	if (a.n != b.n)
		return false;
	while (i < a.n && a.p[i] == b.p[i])
		i++;
	return i + 1 < a.n && a.p[i] == b.p[i + 1] && a.p[i + 1] == b.p[i] &&
	       memcmp(a.p + i + 2, b.p + i + 2, a.n - i - 2) == 0;
}

/* Smaller is closer; SIZE_MAX: not close. */
static size_t names_difference(struct slice word, struct slice name)
{
	enum { CONTAINED_MIN = 3, LIMIT_MAX = 4 };
	size_t limit = 1 + word.n / 6;
	size_t d;

	limit = limit < LIMIT_MAX ? limit : LIMIT_MAX;
	d = is_swapped(word, name) ? 1 : names_distance(word, name, limit);
	if (d <= limit)
		return d;
	if (word.n >= CONTAINED_MIN && memmem(name.p, name.n, word.p, word.n))
		return name.n - word.n + LIMIT_MAX;
	if (name.n >= CONTAINED_MIN && memmem(word.p, word.n, name.p, name.n))
		return word.n - name.n + LIMIT_MAX;
	return SIZE_MAX;
}

const char *names_near(struct slice word, const char *const *names, size_t n)
{
	const char *best = NULL;
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		size_t d = names_difference(word, slice_of(names[i]));

		if (d < least) {
			least = d;
			best = names[i];
		}
	}
	return best;
}
