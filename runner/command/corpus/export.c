/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/pace.h"
#include "runner/command/common/session.h"
#include "runner/command/corpus/corpus.h"
#include "runner/corpus/transfer/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct args {
	struct session session;
	const char *output;
	bool all, seed_corpus, json;
	json_t *targets; /* what was written of each target */
	struct pace pace;
};

#define AT(member) OPTION_AT(struct args, member)
static const struct option_spec specs[] = {
    STATE_OPTIONS(struct args, session.common),
    {"filter", "GLOB", "only targets with a matching name", AT(session.common.filter)},
    {"o,output", "PATH", "a .tar.gz, .tgz or .zip, or a directory", AT(output)},
    {"all", NULL, "also spare inputs: the others reach the same without them", AT(all)},
    {"seed-corpus", NULL, "one <target>_seed_corpus.zip each, into a directory", AT(seed_corpus)},
    {"json", NULL, "print JSON", AT(json)},
};

static void corpus_export_on_target(void *arg, const char *target, const struct export_sum *sum)
{
	struct args *a = arg;
	char bytes[UNITS_MAX];

	(void)json_array_append_new(
	    a->targets,
	    json_pack("{s:o, s:I, s:I, s:I, s:I}", "target", answer_text(target), "files",
		      (json_int_t)sum->files, "bytes", (json_int_t)sum->bytes, "left_out",
		      (json_int_t)sum->skipped, "spare", (json_int_t)sum->spare));
	printf("%s: %llu inputs (%s)", target, (unsigned long long)sum->files,
	       units_size(sum->bytes, bytes));
	if (sum->skipped)
		printf(", %llu left out: see fuzzcell corpus verify",
		       (unsigned long long)sum->skipped);
	if (sum->spare)
		printf(", %llu spare ones left out (--all)", (unsigned long long)sum->spare);
	putchar('\n');
	a->pace.done++;
	pace_step(&a->pace);
}

static int write_all(struct args *a, const struct strv *targets)
{
	struct export x = {.state_dirfd = a->session.state->dirfd,
			   .targets = targets,
			   .all = a->all,
			   .report = corpus_export_on_target,
			   .arg = a};
	char shown[ESCAPE_MAX];
	struct err e;
	int r;

	a->pace = (struct pace){.what = "corpus export", .unit = "targets", .of = targets->n};
	pace_step(&a->pace);
	if (a->seed_corpus)
		r = export_seed_corpora(&x, a->output, &e);
	else if (export_is_archive(a->output))
		r = export_archive(&x, a->output, &e);
	else
		r = export_tree(&x, a->output, &e);
	if (r == 0)
		return EXIT_DONE;
	return fail(r == -ENOENT || r == -ENOTDIR || r == -EACCES ? EXIT_USAGE : EXIT_INTERNAL,
		    "export: %s", escape(e.msg, shown));
}

static int corpus_export_all(struct args *a)
{
	const char *filter = a->session.common.filter;
	struct strv targets = {0};
	struct err e;
	int r;

	if (export_targets(a->session.state->dirfd, filter, &targets, &e) < 0)
		return fail(EXIT_INTERNAL, "export: %s", e.msg);
	if (targets.n == 0)
		r = fail(EXIT_USAGE, "export: no corpus%s%s in %s/corpus",
			 filter ? " matches " : "", filter ? filter : "", a->session.state->path);
	else
		r = write_all(a, &targets);
	strv_done(&targets);
	return r;
}

/* Refuses names of archive formats that we do not write, rather than making a directory of that
 * name. */
static int corpus_export_check(const struct args *a)
{
	static const char *const others[] = {".tar", ".tar.xz", ".tar.bz2", ".tar.zst", ".7z"};
	size_t n;

	if (!a->output)
		return fail(EXIT_USAGE,
			    "corpus export: missing output: give -o FILE.tar.gz, or a directory");
	n = strlen(a->output);
	if (a->seed_corpus && export_is_archive(a->output))
		return fail(EXIT_USAGE, "corpus export: --seed-corpus needs a directory");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (n > strlen(others[i]) &&
		    strcmp(a->output + n - strlen(others[i]), others[i]) == 0)
			return fail(
			    EXIT_USAGE,
			    "corpus export: '%s' is not written (.tar.gz, .tgz and .zip are)",
			    others[i]);
	return EXIT_DONE;
}

int corpus_export(int argc, char **argv)
{
	struct args a = {0};
	int at = options_parse(argc, argv, "corpus export [OPTION]... -o PATH", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	json_t *j = NULL;
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "corpus export: unexpected '%s'", argv[at]);
	begun = answer_begin(a.json);
	a.targets = json_array();
	r = corpus_export_check(&a);
	if (r == EXIT_DONE)
		r = session_load(&a.session);
	if (r == EXIT_DONE)
		r = session_read(&a.session);
	if (r == EXIT_DONE)
		r = corpus_export_all(&a);
	if (r == EXIT_DONE)
		j = json_pack("{s:o, s:O}", "output", answer_text(a.output), "targets", a.targets);
	json_decref(a.targets);
	session_close(&a.session);
	return answer_end(begun, j, r);
}
