/* SPDX-License-Identifier: Apache-2.0 */
/* `fuzzcell crash`: its subcommands, and what they share. */
#include "runner/command/crash/crash.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/memory.h"
#include "runner/crash/ledger/input.h"
#include "runner/crash/vault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* --- output ---------------------------------------------------------------- */

_Static_assert((int)CRASH_LINE >= (int)ESCAPE_MAX, "escape() writes into it");

const char *crash_line(const char *text, char out[CRASH_LINE])
{
	char flat[ESCAPE_MAX];
	size_t n = 0;

	for (; text[n] && n + 1 < sizeof(flat); n++)
		flat[n] = (char)(text[n] == '\n' ? ' ' : text[n]);
	flat[n] = '\0';
	return escape(flat, out);
}

const char *crash_time(uint64_t seconds, char out[32])
{
	time_t t = (time_t)seconds;
	struct tm tm;

	if (!seconds || seconds > UINT32_MAX || !gmtime_r(&t, &tm) ||
	    strftime(out, 32, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
		out[0] = '\0';
	return out;
}

static void print_frame(const struct crash_frame *f)
{
	printf("  #%-3u %s", f->number, f->has_function ? f->function : "?");
	if (*f->file)
		printf("  %s", f->file);
	if (*f->file && f->line)
		printf(":%llu", (unsigned long long)f->line);
	if (*f->file && f->line && f->column)
		printf(":%llu", (unsigned long long)f->column);
	if (!*f->file && *f->module)
		printf("  (%s+0x%llx)", f->module, (unsigned long long)f->offset);
	putchar('\n');
}

void crash_print_report(const struct crash_report *r)
{
	char line[CRASH_LINE];

	printf("%s: %s\n", crash_kind_name(r->kind), crash_line(r->type, line));
	printf("signature  %s%s\n", r->signature,
	       r->unsymbolized ? " (by offsets: the report has no names)" : "");
	printf("severity   %s%s\n", crash_severity_name(r->severity),
	       r->security ? ", security-relevant" : "");
	if (*r->address)
		printf("address    %s\n", r->address);
	if (*r->signal)
		printf("signal     %s\n", r->signal);
	for (size_t i = 0; i < r->n_state; i++)
		printf("%s%s\n", i ? "           " : "state      ", r->state[i]);
	if (r->n_frames)
		printf("frames of the application (%zu of %zu)\n", r->n_frames, r->raw_frames);
	for (size_t i = 0; i < r->n_frames; i++)
		print_frame(&r->frames[i]);
}

void crash_print_marked(struct slice text, const struct crash_report *r)
{
	struct crash_mark m = {r, 0};
	struct slice line;

	while (scan_line(&text, &line)) {
		char raw[ESCAPE_MAX], shown[ESCAPE_MAX];
		size_t n = line.n < sizeof(raw) - 1 ? line.n : sizeof(raw) - 1;

		memcpy(raw, line.p, n);
		raw[n] = '\0';
		for (size_t i = 0; i < n; i++)
			if (raw[i] == '\0' || raw[i] == '\t') /* a NUL would end the line */
				raw[i] = raw[i] ? ' ' : '?';
		printf("%c %s\n", crash_mark_line(&m, line) ? '>' : ' ', escape(raw, shown));
	}
}

/* --- the frames of the application in a text ------------------------------- */

/* "    #3 0x55d0 in name file:1:2", "#3 name ..." */
static bool same_frame(const struct crash_frame *f, unsigned number, uint64_t pc, struct slice rest)
{
	if (f->number != number)
		return false;
	if (f->pc && pc)
		return f->pc == pc;
	return f->has_function && rest.n > 0 &&
	       memmem(rest.p, rest.n, f->function, strlen(f->function));
}

/* Whether the line is the next frame as Go prints it: "main.(*T).parse(0x1)" for "main.T.parse". */
static bool is_go_frame(const struct crash_mark *m, struct slice line)
{
	const char *name = m->next < m->r->n_frames ? m->r->frames[m->next].function : "";
	size_t i = 0;

	if (!*name)
		return false;
	for (; *name && i < line.n; i++)
		if (line.p[i] == *name)
			name++;
		else if (!line.p[i] || !strchr("(*)", line.p[i]))
			return false;
	return !*name && i < line.n && line.p[i] == '(';
}

bool crash_mark_line(struct crash_mark *m, struct slice line)
{
	uint64_t number, pc = 0;

	scan_blanks(&line);
	if (is_go_frame(m, line)) {
		m->next++;
		return true;
	}
	if (!scan_lit(&line, SLICE("#")) || !scan_u64(&line, 10, UINT32_MAX, &number))
		return false;
	scan_blanks(&line);
	if (scan_lit(&line, SLICE("0x")) && !scan_u64(&line, 16, UINT64_MAX, &pc))
		return false;
	for (size_t i = m->next; i < m->r->n_frames; i++)
		if (same_frame(&m->r->frames[i], (unsigned)number, pc, line)) {
			m->next = i + 1;
			return true;
		}
	return false;
}

/* --- as JSON --------------------------------------------------------------- */

int crash_json_all(const struct ledger *l, json_t **ret, struct err *e)
{
	_autofree_ char *text = NULL;
	size_t n;
	int r = ledger_print(l, &text, &n, e);

	return r < 0 ? r : json_parse((struct slice){text, n}, ret, e);
}

int crash_json_one(const json_t *all, const char *signature, json_t **ret, struct err *e)
{
	json_t *crash = json_object_get(all, signature);

	if (!json_is_object(crash))
		return err_set(e, ENOENT, "no crash '%.100s'", signature);
	/* The signature comes first in the output. */
	*ret = json_pack("{s:s}", "signature", signature);
	(void)json_object_update_missing(*ret, crash);
	return 0;
}

/* --- the crash that a user names ------------------------------------------- */

enum { SHOWN = 5, NAMES_MAX = 400, NAME_SHOWN = 60 };

/* "a, b, c and 4 more" */
static int several(const struct ledger *l, const char *text, size_t found, struct err *e)
{
	_autobuf_ struct buf names = BUF_INIT(NAMES_MAX);
	char shown[ESCAPE_MAX], typed[ESCAPE_MAX];
	size_t n = strlen(text), left = found;

	for (size_t i = 0; i < ledger_count(l) && left + SHOWN > found; i++) {
		const char *s = ledger_at(l, i)->signature;

		if (strncmp(s, text, n) != 0)
			continue;
		buf_printf(&names, "%s%.*s", left == found ? "" : ", ", NAME_SHOWN,
			   escape(s, shown));
		if (names.full)
			break;
		left--;
	}
	if (left == 0)
		return err_set(e, ENOTUNIQ, "'%.60s' begins %zu crashes: %s", escape(text, typed),
			       found, buf_str(&names));
	return err_set(e, ENOTUNIQ, "'%.60s' begins %zu crashes: %s and %zu more",
		       escape(text, typed), found, buf_str(&names), left);
}

int crash_pick(const struct ledger *l, const char *text, const struct known_crash **ret,
	       struct err *e)
{
	const struct known_crash *c = ledger_record(l, text);
	size_t found = 0, n = strlen(text);
	char typed[ESCAPE_MAX];

	if (!c)
		c = ledger_find(l, text);
	if (c) {
		*ret = c;
		return 0;
	}
	for (size_t i = 0; n > 0 && i < ledger_count(l); i++)
		if (strncmp(ledger_at(l, i)->signature, text, n) == 0) {
			c = ledger_at(l, i);
			found++;
		}
	if (found == 0)
		return err_set(e, ENOENT, "no crash '%.60s' (fuzzcell crash list)",
			       escape(text, typed));
	if (found > 1)
		return several(l, text, found, e);
	*ret = c;
	return 0;
}

int crash_ledger(const struct state *s, struct ledger **ret)
{
	char shown[ESCAPE_MAX];
	struct err e;

	if (ledger_load(s->dirfd, ret, &e) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	if (*ledger_warning(*ret))
		fprintf(stderr, "warning: %s\n", escape(ledger_warning(*ret), shown));
	return EXIT_DONE;
}

int crash_find(const struct ledger *l, const char *text, const struct known_crash **ret)
{
	struct err e;

	return crash_pick(l, text, ret, &e) < 0 ? fail(EXIT_USAGE, "%s", e.msg) : EXIT_DONE;
}

/* --- the input that a user names ------------------------------------------- */

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

	if (r == 0 && c)
		return crash_subject_take_crash(s, c, original, io);
	return crash_subject_is_file(text) ? crash_subject_take_file(text, io)
					   : fail(EXIT_USAGE, "%s", e.msg);
}

static const struct target *target_named(const struct target_list *l, struct slice name)
{
	_autofree_ char *text = xstrndup(name.p, name.n);

	return common_target(l, text);
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
	if (plan_make_one(s->common.config, t, &s->plan, &e) < 0)
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

int crash_subject_known(struct session *s, const char *text, const char *target,
			struct crash_subject *ret)
{
	const struct known_crash *c = NULL;
	char sig[CRASH_LINE], name[CRASH_LINE];
	int r = session_load(s);

	*ret = (struct crash_subject){.target = target};
	if (r == EXIT_DONE)
		r = session_read(s);
	if (r == EXIT_DONE)
		r = crash_ledger(s->state, &ret->ledger);
	if (r == EXIT_DONE)
		r = crash_find(ret->ledger, text, &c);
	if (r == EXIT_DONE && c) {
		ret->entry = target ? ledger_entry(c, target) : c->by[c->lead];
		ret->crash = c;
		if (!ret->entry || !*ret->entry->crash_file)
			r = fail(EXIT_USAGE, "crash %s: no input of %s was kept",
				 crash_line(c->signature, sig),
				 target ? crash_line(target, name) : "it");
	}
	state_close(s->state);
	s->state = NULL;
	return r;
}

/* --- the subcommands ------------------------------------------------------- */

static const struct command subcommands[] = {
    {"parse", "FILE", "print the crash in a report (-: standard input)", command_crash_parse},
    {"list", "", "list the known crashes", command_crash_list},
    {"show", "CRASH", "show all facts about a crash, and its report", command_crash_show},
    {"reproduce", "CRASH|FILE", "run its input in a cell, or print the command",
     command_crash_reproduce},
    {"bisect", "CRASH", "find the commit with which it began, or ended", command_crash_bisect},
    {"minimize", "CRASH", "minimise its input", command_crash_minimize},
    {"triage", "", "triage the artifacts that wait", command_crash_triage},
    {"ignore", "CRASH", "stop counting it", command_crash_ignore},
    {"unignore", "CRASH", "count it again", command_crash_unignore},
    {"merge", "CRASH INTO", "merge one crash into another", command_crash_merge},
    {"split", "CRASH", "undo the merge of a crash", command_crash_split},
    {"export", "CRASH", "write an archive that reproduces it anywhere", command_crash_export},
    {"issue", "CRASH", "print the text of its issue, without filing it", command_crash_issue},
};
enum { N = sizeof(subcommands) / sizeof(subcommands[0]) };

static int crash_help(void)
{
	printf("usage: fuzzcell crash SUBCOMMAND [OPTION]...\n\n");
	for (size_t i = 0; i < N; i++)
		printf("  %-10s %-11s %s\n", subcommands[i].name, subcommands[i].args,
		       subcommands[i].help);
	printf("\nA CRASH is a signature, or a prefix that no other signature has.\n"
	       "fuzzcell crash SUBCOMMAND --help has the options; docs/crashes.md has examples\n");
	return EXIT_DONE;
}

int command_crash(int argc, char **argv)
{
	return command_pick(argc, argv, subcommands, N, crash_help);
}
