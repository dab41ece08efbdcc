/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/pick.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/corpus/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int pick_fn(void *arg, int at, const char *name, struct err *e);

/* Calls fn for each entry, until a result is not 0. */
static int pick_each(int at, pick_fn *fn, void *arg, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(at, ".");
	const struct dirent *ent;
	int r = 0;

	if (!d)
		return err_sys(e, "open a directory of inputs");
	while (r == 0 && (ent = sys_readdir(d)))
		if (ent->d_name[0] != '.')
			r = fn(arg, at, ent->d_name, e);
	if (r == 0 && errno)
		return err_sys(e, "list a directory of inputs");
	return r < 0 ? r : 0;
}

/* --- a part of the corpus --------------------------------------------------- */

struct part {
	uint64_t salt;
	bool any; /* an input stays */
};

/* The name is the SHA-1 of the content: its first digit is as good as chance, and other salts have
 * other parts. */
static bool pick_is_in(const struct part *p, const char *name)
{
	unsigned digit =
	    (unsigned char)*name <= '9' ? (unsigned)*name - '0' : (unsigned)*name - 'a' + 10;

	return digit % PICK_PART == p->salt % PICK_PART;
}

static int pick_drop(void *arg, int at, const char *name, struct err *e)
{
	struct part *p = arg;

	if (!p->any || pick_is_in(p, name)) {
		p->any = true;
		return 0;
	}
	return sys_unlinkat(at, name, 0) < 0 && errno != ENOENT ? err_sys(e, "remove '%s'", name)
								: 0;
}

int pick_part(int seeds, uint64_t salt, struct err *e)
{
	struct part p = {.salt = salt};

	return pick_each(seeds, pick_drop, &p, e);
}

/* --- inputs of other targets ------------------------------------------------ */

struct others {
	const char *target;
	int to;
	uint64_t all, n, most; /* files of one corpus: in it, seen, to copy */
	size_t corpora;
};

/* Whether this is the corpus of another target, not of the target or of another build of it. */
static bool pick_is_other(const struct others *o, const char *name)
{
	size_t n = strlen(o->target);

	return strncmp(name, o->target, n) != 0 || (name[n] != '\0' && name[n] != '@');
}

static int pick_count_corpus(void *arg, int at, const char *name, struct err *e)
{
	struct others *o = arg;
	struct stat st;

	(void)e;
	o->corpora += pick_is_other(o, name) && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		      S_ISDIR(st.st_mode);
	return 0;
}

static int pick_count_file(void *arg, int at, const char *name, struct err *e)
{
	struct others *o = arg;

	(void)at;
	(void)name;
	(void)e;
	o->all++;
	return 0;
}

/* Copies every file, or as many as `most`, at equal distances. */
static int pick_copy(void *arg, int at, const char *name, struct err *e)
{
	struct others *o = arg;
	uint64_t i = o->n++;
	struct store_sum sum = {0};
	char hex[STORE_NAME];
	struct stat st;

	if (o->all > o->most && i * o->most / o->all == (i + 1) * o->most / o->all)
		return 0;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size > PICK_BYTES_MOST)
		return 0;
	return store_file(at, name, o->to, NULL, &sum, hex, e);
}

static int pick_corpus(void *arg, int at, const char *name, struct err *e)
{
	struct others *o = arg;
	_autoclose_ int dir = -1;
	int r;

	if (!pick_is_other(o, name) || fs_open_dir(at, name, &dir, e) < 0)
		return 0; /* not a corpus */
	o->n = o->all = 0;
	r = pick_each(dir, pick_count_file, o, e);
	return r == 0 ? pick_each(dir, pick_copy, o, e) : r;
}

int pick_others(int corpora, const char *target, int others, struct err *e)
{
	struct others o = {.target = target, .to = others};
	int r = pick_each(corpora, pick_count_corpus, &o, e);

	o.most = o.corpora ? (PICK_OTHERS_MOST + o.corpora - 1) / o.corpora : 0;
	return r == 0 ? pick_each(corpora, pick_corpus, &o, e) : r;
}

struct left_out {
	int seeds, corpus;
};

static int pick_leave(void *arg, int at, const char *name, struct err *e)
{
	const struct left_out *l = arg;

	(void)at;
	if (faccessat(l->corpus, name, F_OK, 0) == 0)
		return 0;
	return sys_unlinkat(l->seeds, name, 0) < 0 && errno != ENOENT
		   ? err_sys(e, "remove '%s'", name)
		   : 0;
}

int pick_leave_out(int seeds, int theirs, int corpus, struct err *e)
{
	struct left_out l = {seeds, corpus};

	return pick_each(theirs, pick_leave, &l, e);
}

int pick_keep(int others, int corpus, struct err *e)
{
	struct others o = {.to = corpus, .most = UINT64_MAX};

	return pick_each(others, pick_copy, &o, e);
}
