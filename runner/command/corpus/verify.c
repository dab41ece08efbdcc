/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/transfer/verify.h"
#include "base/escape.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/pace.h"
#include "runner/command/common/session.h"
#include "runner/command/corpus/corpus.h"
#include "runner/crash/ledger/input.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct args {
	struct session session;
	bool repair, json;
	struct pace pace;
	json_t *findings;
	struct verify_sum sum;
	uint64_t artifacts; /* missing artifacts that the ledger lists */
};

static const struct option_spec specs[] = {
    STATE_OPTIONS(struct args, session.common),
    {"repair", NULL, "move damaged files to damaged/; nothing is deleted",
     OPTION_AT(struct args, repair)},
    {"json", NULL, "print JSON", OPTION_AT(struct args, json)},
};

static const char *fix_name(enum verify_fix fix)
{
	static const char *const names[] = {[VERIFY_LEFT] = "left",
					    [VERIFY_ASIDE] = "set-aside",
					    [VERIFY_RENAMED] = "renamed",
					    [VERIFY_MENDED] = "repaired"};

	return names[fix];
}

static void corpus_verify_note(struct args *a, const struct verify_finding *f)
{
	if (!a->json)
		return;
	(void)json_array_append_new(a->findings,
				    json_pack("{s:o, s:o, s:s, s:o}", "path", answer_text(f->path),
					      "what", answer_text(f->what), "fix", fix_name(f->fix),
					      "detail", f->to ? answer_text(f->to) : json_null()));
}

static void on_finding(void *arg, const struct verify_finding *f)
{
	char text[ESCAPE_MAX];

	corpus_verify_note(arg, f);
	printf("%s: ", escape(f->path, text));
	printf("%s", escape(f->what, text));
	switch (f->fix) {
	case VERIFY_LEFT:
		if (f->to)
			printf(" (%s)", escape(f->to, text));
		break;
	case VERIFY_ASIDE:
		printf(": set aside as %s", escape(f->to, text));
		break;
	case VERIFY_RENAMED:
		printf(": renamed");
		break;
	case VERIFY_MENDED:
		printf(": repaired");
		break;
	}
	putchar('\n');
}

/* --- the ledger ---------------------------------------------------------------------- */

static bool corpus_verify_is_gone(const struct args *a, const char *path)
{
	return *path && faccessat(a->session.state->dirfd, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

/* Checks a reproducer: a damaged one would pass, and its crash would look fixed. */
static void corpus_verify_check_input(struct args *a, const struct known_crash *c,
				      enum ledger_input which)
{
	char name[ESCAPE_MAX], text[ESCAPE_MAX];
	struct verify_finding f = {.path = "known_crashes.json"};
	const char *from = "";
	char what[ESCAPE_MAX];
	struct err why, e;

	if (!*ledger_input_path(c, which))
		return;
	a->sum.files++;
	if (ledger_input_check(a->session.state->dirfd, c, which, &why) == 0)
		return;
	a->sum.wrong++;
	(void)snprintf(what, sizeof(what), "%s: %s", c->signature, why.msg);
	printf("known_crashes.json: %s: ", escape(c->signature, name));
	printf("%s", escape(why.msg, text));
	if (!a->repair) {
		putchar('\n');
	} else if (ledger_input_mend(a->session.state->dirfd, c, which, &from, &e) < 0) {
		printf(" (not repaired: %s)\n", escape(e.msg, text));
		f.to = text;
	} else {
		a->sum.repaired++;
		printf(": repaired from %s\n", from);
		f.fix = VERIFY_MENDED;
		f.to = from;
	}
	f.what = what;
	corpus_verify_note(a, &f);
}

static void check_crash(struct args *a, const struct known_crash *c)
{
	for (size_t k = 0; k < c->n_by; k++) {
		const struct known_crash *t = c->by[k];

		for (enum ledger_input i = 0; i < LEDGER_INPUT_COUNT; i++)
			corpus_verify_check_input(a, t, i);
		for (size_t i = 0; i < t->artifacts.n; i++)
			a->artifacts += corpus_verify_is_gone(a, t->artifacts.v[i]);
	}
}

/* Checks the ledger file: it may be damaged, or missing although there are crashes. */
static int corpus_verify_check_file(struct args *a, struct ledger *l)
{
	char text[ESCAPE_MAX];
	struct err e;

	struct verify_finding f = {.path = "known_crashes.json", .what = ledger_warning(l)};

	if (!*f.what)
		return EXIT_DONE;
	printf("%s", escape(ledger_warning(l), text));
	a->sum.wrong++;
	if (a->repair && ledger_dirty(l)) {
		if (ledger_save(l, a->session.state->dirfd, &e) < 0) {
			putchar('\n');
			return fail(EXIT_INTERNAL, "%s", escape(e.msg, text));
		}
		a->sum.repaired++;
		printf(": repaired");
		f.fix = VERIFY_MENDED;
	}
	putchar('\n');
	corpus_verify_note(a, &f);
	return EXIT_DONE;
}

static int check_ledger(struct args *a)
{
	struct ledger *l = NULL;
	char text[ESCAPE_MAX];
	struct err e;
	int r;

	if (ledger_load(a->session.state->dirfd, &l, &e) < 0)
		return fail(EXIT_MACHINE, "%s", escape(e.msg, text));
	r = corpus_verify_check_file(a, l);
	for (size_t i = 0; i < ledger_count(l) && r == EXIT_DONE; i++)
		check_crash(a, ledger_at(l, i));
	if (a->artifacts) /* a user may remove logs */
		printf("%llu artifacts that the ledger lists are gone with their logs\n",
		       (unsigned long long)a->artifacts);
	ledger_free(l);
	return r;
}

static json_t *corpus_verify_answer(const struct args *a)
{
	const struct verify_sum *s = &a->sum;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:O}", "files", (json_int_t)s->files, "corpora",
			 (json_int_t)s->targets, "wrong", (json_int_t)s->wrong, "repaired",
			 (json_int_t)s->repaired, "artifacts_gone", (json_int_t)a->artifacts,
			 "findings", a->findings);
}

static void on_progress(void *arg, uint64_t files)
{
	struct args *a = arg;

	a->pace.done = files;
	pace_step(&a->pace);
}

static int verify(struct args *a, json_t **ret)
{
	struct verify v = {.state_dirfd = a->session.state->dirfd,
			   .repair = a->repair,
			   .keep = config_run(a->session.common.config)->generations,
			   .found = on_finding,
			   .progress = on_progress,
			   .arg = a};
	char text[ESCAPE_MAX];
	struct err e;
	int r;

	a->pace = (struct pace){.what = "corpus verify", .unit = "files"};
	if (verify_state(&v, &a->sum, &e) < 0)
		return fail(EXIT_MACHINE, "verify: %s", escape(e.msg, text));
	r = check_ledger(a);
	if (r != EXIT_DONE)
		return r;
	printf("%llu files, %llu corpora: ", (unsigned long long)a->sum.files,
	       (unsigned long long)a->sum.targets);
	if (a->sum.wrong == 0)
		printf("all is well\n");
	else if (a->repair)
		printf("%llu wrong, %llu of them repaired\n", (unsigned long long)a->sum.wrong,
		       (unsigned long long)a->sum.repaired);
	else
		printf("%llu wrong (--repair sets damaged ones aside)\n",
		       (unsigned long long)a->sum.wrong);
	if (a->json)
		*ret = corpus_verify_answer(a);
	return a->sum.wrong > a->sum.repaired ? EXIT_CRASHES : EXIT_DONE;
}

int corpus_verify(int argc, char **argv)
{
	struct args a = {0};
	int at = options_parse(argc, argv, "corpus verify [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	json_t *j = NULL;
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "corpus verify: unexpected '%s'", argv[at]);
	begun = answer_begin(a.json);
	a.findings = json_array();
	r = session_load(&a.session);
	if (r == EXIT_DONE)
		r = session_lock(&a.session);
	if (r == EXIT_DONE)
		r = verify(&a, &j);
	json_decref(a.findings);
	session_close(&a.session);
	return answer_end(begun, j, r);
}
