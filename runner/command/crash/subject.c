/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the input and the target that the user names. */
#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/command/crash/crash.h"
#include "runner/command/crash/pick.h"
#include "runner/crash/ledger/input.h"
#include "runner/crash/vault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void crash_subject_done(struct crash_subject *c)
{
	ledger_free(c->ledger);
	free(c->path);
	*c = (struct crash_subject){0};
}

static bool crash_subject_is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Returns the target's entry of the crash; without an input there, the leading entry. */
static const struct known_crash *crash_subject_entry_of(const struct known_crash *c,
							const char *target)
{
	const struct known_crash *t = target ? ledger_entry(c, target) : NULL;

	return t && (*t->crash_file || *t->minimized) ? t : c->by[c->lead];
}

/* Takes the crash's own input. If a merged crash has none, takes that of the crash it was merged
 * into. */
static int crash_subject_take_crash(const struct state *s, const struct known_crash *crash,
				    bool original, struct crash_subject *io)
{
	const struct known_crash *is = ledger_find(io->ledger, crash->signature);
	const struct known_crash *c = crash_subject_entry_of(crash, io->target);
	enum ledger_input which;
	const char *file;
	char line[CRASH_LINE];
	struct err e;

	if (!*c->crash_file && !*c->minimized && is)
		c = crash_subject_entry_of(is, io->target);
	which = *c->minimized && !original ? LEDGER_MINIMIZED : LEDGER_INPUT;
	file = ledger_input_path(c, which);
	if (!*file)
		return fail(EXIT_USAGE, "crash %s: no input of it was kept",
			    crash_line(c->signature, line));
	io->crash = ledger_record(io->ledger, c->signature);
	io->entry = c;
	if (ledger_input_check(s->dirfd, c, which, &e) < 0)
		return fail(EXIT_USAGE, "crash %s: %s", crash_line(c->signature, line), e.msg);
	io->path = xasprintf("%s/%s", s->path, file);
	if (!io->target)
		io->target = c->fuzzer;
	return EXIT_DONE;
}

/* Returns the name of the directory that holds a file. end points at the slash before the file, or
 * after it. */
static struct slice crash_subject_dir_of(const char *path, const char *end)
{
	const char *dir;

	while (end > path && *end != '/')
		end--;
	for (dir = end; dir > path && dir[-1] != '/';)
		dir--;
	return (struct slice){dir, (size_t)(end - dir)};
}

static struct slice dir_name(const char *path)
{
	return crash_subject_dir_of(path, path + strlen(path));
}

/* Recognizes "crashes/<crash>/input" and "crashes/<crash>/by/<target>/input". */
static int crash_subject_take_file(const char *text, struct crash_subject *io)
{
	_autofree_ char *dir = NULL, *target = NULL;
	struct slice name, by;

	io->path = realpath(text, NULL); /* allow: a user's path, not a target's */
	if (!io->path)
		return fail(EXIT_USAGE, "'%s': %s", text, strerror(errno));
	name = dir_name(io->path);
	target = xstrndup(name.p, name.n);
	by = name.p > io->path ? crash_subject_dir_of(io->path, name.p - 1) : SLICE("");
	if (slice_eq(by, SLICE(VAULT_BY)) && by.p > io->path)
		name = crash_subject_dir_of(io->path, by.p - 1);
	else
		*target = '\0';
	dir = xstrndup(name.p, name.n);
	io->crash = ledger_record(io->ledger, dir);
	if (!io->crash)
		return EXIT_DONE;
	io->entry = ledger_entry(io->crash, *target ? target : io->crash->by[0]->fuzzer);
	if (!io->entry)
		io->entry = io->crash->by[io->crash->lead];
	if (!io->target)
		io->target = io->entry->fuzzer;
	return EXIT_DONE;
}

/* Tries a crash first, then a file. */
static int crash_subject_choose(const struct state *s, const char *text, bool original,
				struct crash_subject *io)
{
	const struct known_crash *c = NULL;
	struct err e;
	int r = crash_pick(io->ledger, text, &c, &e);

	if (r == 0)
		return crash_subject_take_crash(s, c, original, io);
	return crash_subject_is_file(text) ? crash_subject_take_file(text, io)
					   : fail(EXIT_USAGE, "%s", e.msg);
}

static const struct target *target_named(const struct target_list *l, struct slice name)
{
	for (size_t i = 0; i < l->n; i++)
		if (slice_eq(slice_of(l->v[i].name), name))
			return &l->v[i];
	return NULL;
}

/* "crashes/<target>/crash-...", "triage/<target>/...", "corpus/<target>/<sha1>" */
static const struct target *guess(const struct target_list *l, const char *path)
{
	const struct target *t = target_named(l, dir_name(path));

	return t || l->n != 1 ? t : &l->v[0];
}

static int plan_one(struct session *s, struct crash_subject *io)
{
	const struct target_list *l = &s->common.targets;
	int r = session_recall(s);
	const struct target *t;
	struct err e;

	if (r == EXIT_DONE)
		r = common_find_targets(&s->common);
	if (r != EXIT_DONE)
		return r;
	t = io->target ? target_named(l, slice_of(io->target)) : guess(l, io->path);
	if (!t && io->target)
		return fail(EXIT_USAGE, "no target is called '%s' here (fuzzcell list)",
			    io->target);
	if (!t)
		return fail(EXIT_USAGE, "which target is '%s' of?  Give --target NAME", io->path);
	io->target = t->name;
	/* A target's name contains no special characters of a glob. */
	if (plan_make(s->common.config, l, t->name, &s->plan, &e) < 0)
		return fail(EXIT_USAGE, "%s", e.msg);
	if (s->plan.n == 0)
		return fail(EXIT_USAGE, "target '%s' is not enabled", t->name);
	return EXIT_DONE;
}

int crash_subject(struct session *s, const char *text, const char *target, bool original,
		  struct crash_subject *ret)
{
	struct crash_subject c = {.target = target};
	int r = session_load(s);

	/* A file needs no known crash, so the state may be new; the cell needs the directory. */
	if (r == EXIT_DONE)
		r = crash_subject_is_file(text) ? session_make(s) : session_read(s);
	if (r == EXIT_DONE)
		r = crash_ledger(s->state, &c.ledger);
	if (r == EXIT_DONE)
		r = crash_subject_choose(s->state, text, original, &c);
	if (r == EXIT_DONE)
		r = plan_one(s, &c);
	state_close(s->state);
	s->state = NULL;
	if (r == EXIT_DONE)
		*ret = c;
	else
		crash_subject_done(&c);
	return r;
}
