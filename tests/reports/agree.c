/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the report parser with a triage system that has seen millions of reports.  DIRECTORY
 * holds reports and expected.json.  It has for each report `crash_type`, `crash_state`,
 * `is_security`, `crash_address` (absent: unknown), and the `settings` on which these depend.
 *
 * usage: agree DIRECTORY    prints each disagreement and
 *        "type: A of N, state: B of N, security: C of N, address: D of N"; status 1
 *        when one of them is below 95 % or nothing was compared */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "runner/crash/report/report.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { REPORT_MAX = 64 << 20, EXPECTED_MAX = 16 << 20, STATE_MAX = 1024, SCORES = 4 };

struct score {
	const char *name;
	size_t agree, n;
};

/* The largest redzone for which an out-of-memory or a timeout is compared. */
enum { REDZONE_MAX = 64 };

static bool setting(const json_t *settings, const char *name)
{
	const char *v = json_string_value(json_object_get(settings, name));

	return v && strcmp(v, "True") == 0;
}

static struct crash_options options_of(const json_t *settings)
{
	const char *redzone = json_string_value(json_object_get(settings, "redzone"));
	const char *asserts = json_string_value(json_object_get(settings, "asserts_are_security"));
	struct crash_options o = {
	    .target = json_string_value(json_object_get(settings, "target")),
	    .ignore_ooms_and_hangs = !setting(settings, "report_ooms_and_hangs"),
	    .asserts_are_security = !asserts || strcmp(asserts, "True") == 0,
	};
	uint64_t v;

	if (redzone && scan_u64(&(struct slice){redzone, strlen(redzone)}, 10, UINT32_MAX, &v) &&
	    v > REDZONE_MAX)
		o.ignore_ooms_and_hangs = true;
	return o;
}

/* As expected.json writes a state: a newline behind every line, but not behind NULL. */
static void state_text(const struct crash_report *r, char ret[STATE_MAX])
{
	size_t n = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < r->n_state; i++)
		n += (size_t)snprintf(ret + n, STATE_MAX - n, "%s\n", r->state[i]);
	if (strcmp(ret, "NULL\n") == 0)
		ret[4] = '\0';
}

static void quote(const char *s)
{
	for (; *s; s++)
		if (*s == '\n')
			fputs(" | ", stdout);
		else
			putchar(*s);
}

static void compare_text(struct score *s, const char *file, const json_t *want, const char *got)
{
	if (!want)
		return;
	s->n++;
	if (strcmp(json_string_value(want), got) == 0) {
		s->agree++;
		return;
	}
	printf("%s: %s: '", file, s->name);
	quote(json_string_value(want));
	fputs("', not '", stdout);
	quote(got);
	puts("'");
}

static void compare(struct score scores[SCORES], const char *file, const json_t *want,
		    const struct crash_report *r)
{
	const json_t *security = json_object_get(want, "is_security");
	char state[STATE_MAX];

	state_text(r, state);
	compare_text(&scores[0], file, json_object_get(want, "crash_type"), r->type);
	compare_text(&scores[3], file, json_object_get(want, "crash_address"), r->address);
	compare_text(&scores[1], file, json_object_get(want, "crash_state"), state);
	if (!security)
		return;
	scores[2].n++;
	if (json_is_true(security) == r->security)
		scores[2].agree++;
	else
		printf("%s: security: %s, not %s\n", file, r->security ? "no" : "yes",
		       r->security ? "yes" : "no");
}

static int one(int dirfd, const char *file, const json_t *want, struct score scores[SCORES],
	       struct err *e)
{
	struct crash_options o = options_of(json_object_get(want, "settings"));
	struct crash_report r;
	_autofree_ char *text = NULL;
	size_t n;
	int rc = fs_read(dirfd, file, REPORT_MAX, &text, &n, e);

	if (rc < 0)
		return rc;
	crash_parse((struct slice){text, n}, &o, &r);
	compare(scores, file, want, &r);
	crash_report_done(&r);
	return 0;
}

static int all(const char *dir, struct score scores[SCORES], struct err *e)
{
	_autoclose_ int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_autojson_ json_t *expected = NULL;
	const char *file;
	json_t *want;
	int rc;

	if (dirfd < 0)
		return err_sys(e, "open '%s'", dir);
	rc = json_load(dirfd, "expected.json", EXPECTED_MAX, &expected, e);
	if (rc < 0)
		return rc;
	json_object_foreach(expected, file, want)
	{
		rc = one(dirfd, file, want, scores, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct score scores[SCORES] = {
	    {"type", 0, 0}, {"state", 0, 0}, {"security", 0, 0}, {"address", 0, 0}};
	bool enough = true;
	struct err e;

	if (argc != 2) {
		fputs("usage: agree DIRECTORY\n", stderr);
		return 2;
	}
	if (all(argv[1], scores, &e) < 0) {
		fprintf(stderr, "agree: %s\n", e.msg);
		return 2;
	}
	for (size_t i = 0; i < SCORES; i++) {
		printf("%s%s: %zu of %zu", i ? ", " : "", scores[i].name, scores[i].agree,
		       scores[i].n);
		enough &= scores[i].n > 0 && scores[i].agree * 100 >= scores[i].n * 95;
	}
	putchar('\n');
	return enough ? 0 : 1;
}
