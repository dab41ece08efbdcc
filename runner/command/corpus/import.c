/* SPDX-License-Identifier: Apache-2.0 */
#include "base/escape.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/session.h"
#include "runner/command/corpus/corpus.h"
#include "runner/corpus/transfer/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct import {
	struct session session;
	const char *target;
	bool json;
	json_t *paths; /* the result of each path */
};

static const struct option_spec specs[] = {
    STATE_OPTIONS(struct import, session.common),
    TARGETS_OPTION(struct import, session.common),
    {"target", "NAME", "the target of the inputs (an export names its targets)",
     OPTION_AT(struct import, target)},
    {"json", NULL, "print JSON", OPTION_AT(struct import, json)},
};

static void corpus_import_print_sum(const char *path, const struct import_sum *s)
{
	char shown[ESCAPE_MAX], bytes[UNITS_MAX];

	printf("%s: %llu new (%s), %llu known", escape(path, shown), (unsigned long long)s->files,
	       units_size(s->bytes, bytes), (unsigned long long)s->known);
	if (s->skipped)
		printf(", %llu skipped: %s", (unsigned long long)s->skipped, escape(s->why, shown));
	putchar('\n');
}

static json_t *path_json(const char *path, const struct import_sum *s, const char *error)
{
	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:o, s:o}", "path", answer_text(path), "files",
			 (json_int_t)s->files, "bytes", (json_int_t)s->bytes, "known",
			 (json_int_t)s->known, "skipped", (json_int_t)s->skipped, "why",
			 answer_text(s->why), "error", error ? answer_text(error) : json_null());
}

/* A wrong path is a usage error; other errors are ours or the disk's. */
static int corpus_import_status_of(int r)
{
	switch (-r) {
	case EINVAL:
	case ENOENT:
	case ENOTDIR:
	case EACCES:
	case EBADMSG:
	case E2BIG:
	case ELOOP:
	case ENAMETOOLONG:
		return EXIT_USAGE;
	default:
		return EXIT_INTERNAL;
	}
}

static int import(const struct import *a, const char *path)
{
	struct import_sum sum = {0};
	char shown[ESCAPE_MAX];
	struct err e;
	int r = import_path(a->session.state, path, a->target, &sum, &e);

	if (r == 0 || sum.files + sum.known + sum.skipped > 0)
		corpus_import_print_sum(path, &sum);
	(void)json_array_append_new(a->paths, path_json(path, &sum, r < 0 ? e.msg : NULL));
	return r < 0 ? fail(corpus_import_status_of(r), "import: %s", escape(e.msg, shown))
		     : EXIT_DONE;
}

/* Warns of an unknown target name: the target may be added later, but the name may be a typo. */
static void warn_of_name(struct import *a)
{
	const struct target *t;
	size_t n;

	(void)config_sources(a->session.common.config, &n);
	if (!a->target || (n == 0 && !a->session.common.targets_dir) ||
	    common_find_targets(&a->session.common) != EXIT_DONE)
		return;
	t = common_target(&a->session.common.targets, a->target);
	if (!t || t->of) /* a corpus belongs to the main build */
		(void)fail(EXIT_DONE, "warning: there is no target '%s' (fuzzcell list shows them)",
			   a->target);
}

int corpus_import(int argc, char **argv)
{
	struct import a = {0};
	int at = options_parse(argc, argv, "corpus import [OPTION]... PATH...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	json_t *j = NULL;
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (at == argc)
		return fail(EXIT_USAGE,
			    "corpus import: which files, directories or archives? (try --help)");
	begun = answer_begin(a.json);
	a.paths = json_array();
	r = session_load(&a.session);
	if (r == EXIT_DONE)
		r = session_lock(&a.session);
	if (r == EXIT_DONE)
		warn_of_name(&a);
	for (; r != EXIT_LOCKED && a.session.state && at < argc; at++) {
		int one = import(&a, argv[at]);

		r = one > r ? one : r;
	}
	session_close(&a.session);
	if (json_array_size(a.paths) > 0)
		j = json_pack("{s:O}", "paths", a.paths);
	json_decref(a.paths);
	return answer_end(begun, j, r);
}
