/* SPDX-License-Identifier: Apache-2.0 */
/* Dictionary words from a job's program, and their usefulness: dictionaries/<target>.dict of the
 * state directory.  They are optional: any failure here only means fewer words. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/dictionary/literals.h"
#include "runner/run/job/fuzzing.h"
#include "runner/run/job/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Larger dictionaries are not joined: the cell gets them as they are. */
enum { GIVEN_MAX = 1 << 20, PRINTED_MAX = 512, MODE_OURS = 0750, PATH_ROOM = 320 };

/* libFuzzer spends the same share of its mutations on a dictionary of any size, so fewer words are
 * tried again and again (docs/corpus.md). */
enum { WORDS_LEAST = 8 };

static const char dir_name[] = "dictionaries";

#define _autowords_ __attribute__((cleanup(words_done)))

const char *job_given_dictionary(const struct job *j)
{
	if (!j->cfg->dictionary)
		return j->target->dict;
	return *j->cfg->dictionary ? j->cfg->dictionary : NULL;
}

/* --- words in the engine's output ------------------------------------------- */

static void words_on_word(void *arg, struct slice bytes, enum engine_word from)
{
	struct words *printed = arg;
	struct word *w = words_find(printed, bytes);

	if (!w && printed->n < PRINTED_MAX)
		w = words_add(printed, bytes);
	if (!w)
		return;
	w->is_learned |= from == ENGINE_WORD_COMPARED || from == ENGINE_WORD_RECOMMENDED;
	w->brought += from != ENGINE_WORD_RECOMMENDED;
}

static enum auto_dictionary words_when(const struct job *j, enum strategy s)
{
	return s == STRATEGY_WORDS ? WORDS_JOINED : j->cfg->auto_dictionary;
}

static bool words_are_wanted(const struct job *j, enum strategy s)
{
	enum auto_dictionary when = words_when(j, s);

	return j->target->engine && j->target->engine->words &&
	       (when == WORDS_JOINED || (when == WORDS_ALONE && !job_given_dictionary(j)));
}

void job_words_line(struct job *j, struct slice line)
{
	if (words_are_wanted(j, j->fleet->strategies.now))
		j->target->engine->words(line, words_on_word, &j->words.printed);
}

/* --- the file --------------------------------------------------------------- */

static void words_load_file(const struct job *j, struct words *io)
{
	_autofree_ char *text = NULL;
	char path[PATH_ROOM];
	struct err e;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s.dict", dir_name, j->target->name);
	if (fs_read(j->env->state->dirfd, path, WORDS_TEXT_MAX, &text, &n, &e) == 0)
		words_load(io, (struct slice){text, n});
}

static int words_save_file(const struct job *j, const struct words *w, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(WORDS_TEXT_MAX);
	_autoclose_ int dir = -1;
	char name[PATH_ROOM];
	int r;

	words_save(w, j->target->name, &text);
	r = buf_check(&text, e);
	if (r == 0)
		r = fs_make_dir(j->env->state->dirfd, dir_name, MODE_OURS, &dir, e);
	snprintf(name, sizeof(name), "%s.dict", j->target->name);
	return r == 0 ? fs_replace(dir, name, buf_slice(&text), e) : r;
}

/* --- before a cell ---------------------------------------------------------- */

/* Opens the dictionary with the rights of the user who named it; setup.c checks them once more. */
static int words_open_given(const struct job *j, const char *path, struct err *e)
{
	struct rights as;
	int r = j->cfg->dictionary ? rights_of_configured(path, &as, e)
				   : rights_of_named(&j->target->rights, path, &as, e);

	if (r < 0)
		return r;
	r = rights_open(&as, AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	return r < 0 ? err_sys(e, "open '%s'", path) : r;
}

/* The given dictionary, with a newline at its end; "" when there is none. */
static int words_read_given(const struct job *j, struct buf *out, struct err *e)
{
	const char *path = job_given_dictionary(j);
	_autoclose_ int fd = -1;
	char chunk[4096];
	struct stat st;
	ssize_t n = 1;

	if (!path)
		return 0;
	fd = words_open_given(j, path, e);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat '%s'", path);
	if (!S_ISREG(st.st_mode) || st.st_size > GIVEN_MAX)
		return err_set(e, EFBIG, "'%s' is not a file of at most %d bytes", path, GIVEN_MAX);
	while (out->n <= GIVEN_MAX && (n = sys_read(fd, chunk, sizeof(chunk))) > 0)
		buf_put(out, (struct slice){chunk, (size_t)n});
	if (n < 0)
		return err_sys(e, "read '%s'", path);
	buf_puts(out, "\n");
	return buf_check(out, e);
}

static void words_of_program(const struct job *j, struct words *io)
{
	_autoclose_ int fd = rights_open(&j->target->rights, AT_FDCWD, j->target->binary,
					 O_RDONLY | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0)
		literals_in(fd, io);
}

/* The given entries come first, so that the engine's line numbers match the user's file. */
static int words_join(const struct job *j, struct buf *given, const struct words *w, struct err *e)
{
	_autoclose_ int dir = -1;
	int r;

	words_print(w, given);
	words_repeat(w, given);
	r = buf_check(given, e);
	if (r == 0)
		r = fs_open_dir(j->env->dirs->work, j->target->name, &dir, e);
	if (r == 0)
		r = fs_replace(dir, JOB_DICTIONARY, buf_slice(given), e);
	if (r == 0 && fchmodat(dir, JOB_DICTIONARY, 0644, 0) < 0)
		r = err_sys(e, "set the mode of the dictionary");
	return r;
}

int job_words_prepare(const struct job *j, struct job_dictionary *ret, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(GIVEN_MAX + WORDS_TEXT_MAX);
	_autowords_ struct words w = WORDS_INIT;
	enum strategy next = j->fleet->strategies.next;
	struct job_dictionary d;
	int r;

	*ret = (struct job_dictionary){0};
	if (!words_are_wanted(j, next))
		return 0;
	words_load_file(j, &w);
	words_of_program(j, &w);
	r = words_read_given(j, &text, e);
	if (r < 0)
		return r;
	d.given = words_add_given(&w, buf_slice(&text));
	d.own = words_choose(&w, WORDS_MOST);
	if (d.own == 0 || (words_when(j, next) == WORDS_ALONE && d.own < WORDS_LEAST))
		return 0;
	r = words_save_file(j, &w, e);
	if (r == 0)
		r = words_join(j, &text, &w, e);
	if (r == 0)
		*ret = d;
	return r;
}

void job_words_prepared(struct job *j, const struct job_dictionary *d, const char *failed)
{
	j->words.has = *d;
	if (*failed)
		joblog_note(&j->log, "dictionary: no words of the program: %s", failed);
	else if (d->own > 0)
		joblog_note(&j->log, "dictionary: %llu words of the program%s%s",
			    (unsigned long long)d->own,
			    job_given_dictionary(j) ? ", joined with " : "",
			    job_given_dictionary(j) ? job_given_dictionary(j) : "");
}

/* --- after a cell ----------------------------------------------------------- */

int job_words_collect(const struct job *j, struct err *e)
{
	_autowords_ struct words w = WORDS_INIT;
	uint64_t entries;

	if (!words_are_wanted(j, j->fleet->strategies.now) || !j->fuzzing)
		return 0;
	/* The engine's number of entries: given entries and repeated words count, too. */
	entries = j->fuzzing->engine.dict_entries;
	if (entries < j->words.has.own)
		entries = j->words.has.own;
	if (entries == 0 && j->words.printed.n == 0)
		return 0;
	words_load_file(j, &w);
	if (entries > 0)
		words_offered(&w, j->fuzzing->execs / entries);
	for (size_t i = 0; i < j->words.printed.n; i++) {
		const struct word *t = &j->words.printed.v[i];

		words_brought(&w, (struct slice){t->bytes, t->n}, t->brought, t->is_learned);
	}
	return words_save_file(j, &w, e);
}

void job_words_collected(struct job *j)
{
	words_done(&j->words.printed);
}
