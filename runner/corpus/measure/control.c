/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/corpus/measure/control.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* --- the words and numbers of a file -------------------------------------- */

/* Reads a file of words and decimal numbers in blocks: lines of any length in bounded memory and
 * linear time.  The struct is large: put at most one on a stack. */
enum { NUMBERS_BLOCK = 1 << 16, NUMBERS_END = -1 };

struct numbers {
	int fd;
	uint64_t at; /* of the next byte in the file */
	size_t pos, n, ahead;
	int error; /* errno of a failed read; the file seems to end there */
	char block[NUMBERS_BLOCK];
};

enum number_end {
	NUMBER_OK,
	NUMBER_CUT, /* the file ends within it */
	NUMBER_BAD, /* there is other text */
};

/* Starts at offset `at`.  ahead: how much to read at a time, 0: whole blocks. */
static void numbers_start(struct numbers *in, int fd, uint64_t at, size_t ahead)
{
	in->fd = fd;
	in->at = at;
	in->pos = in->n = 0;
	in->ahead = ahead && ahead < NUMBERS_BLOCK ? ahead : NUMBERS_BLOCK;
	in->error = 0;
}

static bool numbers_refill(struct numbers *in)
{
	ssize_t n;

	if (in->error)
		return false;
	n = sys_pread(in->fd, in->block, in->ahead, (off_t)in->at);
	if (n < 0)
		in->error = errno;
	if (n <= 0)
		return false;
	in->n = (size_t)n;
	in->pos = 0;
	return true;
}

/* Returns the next byte without consuming it, or NUMBERS_END. */
static int numbers_peek(struct numbers *in)
{
	if (in->pos == in->n && !numbers_refill(in))
		return NUMBERS_END;
	return (unsigned char)in->block[in->pos];
}

static void numbers_take(struct numbers *in)
{
	in->pos++;
	in->at++;
}

/* The usual case: the block holds all of the text. */
static bool take_equal(struct numbers *in, struct slice text)
{
	if (text.n > in->n - in->pos || memcmp(in->block + in->pos, text.p, text.n) != 0)
		return false;
	in->pos += text.n;
	in->at += text.n;
	return true;
}

/* Consumes exactly this text. */
static enum number_end numbers_text(struct numbers *in, struct slice text)
{
	if (take_equal(in, text))
		return NUMBER_OK;
	for (size_t i = 0; i < text.n; i++) {
		int c = numbers_peek(in);

		if (c == NUMBERS_END)
			return NUMBER_CUT;
		if (c != (unsigned char)text.p[i])
			return NUMBER_BAD;
		numbers_take(in);
	}
	return NUMBER_OK;
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

/* Consumes a number up to max, and the blank or newline behind it. */
static enum number_end numbers_next(struct numbers *in, uint32_t max, uint32_t *ret,
				    char *ret_after)
{
	uint64_t v = 0;
	bool any = false;
	int c;

	for (c = numbers_peek(in); is_digit(c); c = numbers_peek(in)) {
		v = v * 10 + (uint64_t)(c - '0');
		if (v > max)
			return NUMBER_BAD;
		any = true;
		numbers_take(in);
	}
	if (c == NUMBERS_END)
		return NUMBER_CUT;
	if (!any || (c != ' ' && c != '\n'))
		return NUMBER_BAD;
	numbers_take(in);
	*ret = (uint32_t)v;
	*ret_after = (char)c;
	return NUMBER_OK;
}

DEFINE_CLEANUP(struct control *, control_free)

enum { READER_MIN = 1024, DIGITS_MAX = 10 /* of a feature, and a blank */ };

/* --- the file and its head ---------------------------------------------------- */

/* Errors that a cell can cause, unlike those of a failing disk. */
static bool is_theirs(int code)
{
	return code == ENOENT || code == ELOOP || code == EISDIR || code == ENXIO;
}

static int open_control(int dirfd, const char *file, int *ret_fd, struct err *e)
{
	_autoclose_ int fd =
	    sys_openat(dirfd, file, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	struct stat st;

	if (fd < 0 && is_theirs(errno))
		return err_set(e, EBADMSG, "open control file '%s': %s", file, strerror(errno));
	if (fd < 0)
		return err_sys(e, "open control file '%s'", file);
	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat control file '%s'", file);
	/* A further hard link may be a file that we must not write. */
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return err_set(e, EBADMSG, "control file '%s' is not a file of its own", file);
	*ret_fd = take_fd(&fd);
	return 0;
}

static int check_head(struct numbers *in, const char *dir, const struct candidates *list,
		      struct err *e)
{
	char line[PATH_MAX + STORE_NAME + 2];
	int n = snprintf(line, sizeof(line), "%zu\n0\n", list->n);
	enum number_end end = numbers_text(in, (struct slice){line, (size_t)n});

	n = snprintf(line, sizeof(line), "%s/", dir);
	for (size_t i = 0; end == NUMBER_OK && i < list->n; i++) {
		end = numbers_text(in, (struct slice){line, (size_t)n});
		if (end == NUMBER_OK)
			end = numbers_text(in, slice_of(list->v[i].name));
		if (end == NUMBER_OK)
			end = numbers_text(in, SLICE("\n"));
	}
	if (in->error)
		return err_set(e, in->error, "read the head: %s", strerror(in->error));
	if (end != NUMBER_OK)
		return err_set(e, EBADMSG, "it does not begin as it was written");
	return 0;
}

/* --- its records -------------------------------------------------------------- */

struct record {
	struct control *c;
	struct numbers *in;
	struct control_input input;
	struct control_reader edges;
};

static void reader_room(struct control_reader *r, size_t n)
{
	size_t cap = r->cap ? r->cap : READER_MIN;

	if (n <= r->cap)
		return;
	while (cap < n)
		cap *= 2;
	r->v = xreallocarray(r->v, cap, sizeof(*r->v));
	r->cap = cap;
}

/* "WORD <id>" and the character behind it. */
static enum number_end word_and_id(struct record *rec, struct slice word, char *ret_after)
{
	enum number_end end = numbers_text(rec->in, word);
	uint32_t id;

	if (end == NUMBER_OK)
		end = numbers_next(rec->in, UINT32_MAX, &id, ret_after);
	return end == NUMBER_OK && id != rec->c->next ? NUMBER_BAD : end;
}

static enum number_end features(struct record *rec)
{
	char after;
	enum number_end end = word_and_id(rec, SLICE("FT "), &after);
	uint32_t n = 0, v;

	rec->input.features_at = rec->in->at;
	for (; end == NUMBER_OK && after == ' '; n++)
		end = n < CONTROL_FEATURES_MAX
			  ? numbers_next(rec->in, CONTROL_FEATURES - 1, &v, &after)
			  : NUMBER_BAD;
	rec->input.features = n;
	return end;
}

/* Keeps the edges until the record is complete. */
static enum number_end edges(struct record *rec)
{
	char after;
	enum number_end end = word_and_id(rec, SLICE("COV "), &after);
	uint32_t n = 0;

	rec->input.edges_at = rec->in->at;
	for (; end == NUMBER_OK && after == ' '; n++) {
		if (n == CONTROL_FEATURES_MAX)
			return NUMBER_BAD;
		reader_room(&rec->edges, n + 1);
		end = numbers_next(rec->in, CONTROL_EDGES - 1, &rec->edges.v[n], &after);
	}
	rec->input.edges = n;
	return end;
}

static void control_finish(struct record *rec, enum control_state state)
{
	rec->input.state = state;
	rec->c->inputs[rec->c->next++] = rec->input;
	rec->c->good = rec->in->at;
}

static enum number_end run_of_one(struct record *rec)
{
	enum number_end end = features(rec);

	if (end == NUMBER_OK)
		end = edges(rec);
	if (end != NUMBER_OK)
		return end;
	for (size_t i = 0; i < rec->input.edges; i++)
		bits_add(&rec->c->edges, rec->edges.v[i]);
	control_finish(rec, CONTROL_RAN);
	return NUMBER_OK;
}

static enum number_end control_started(struct record *rec)
{
	char after;
	enum number_end end = word_and_id(rec, SLICE("STARTED "), &after);
	uint32_t size;

	if (end == NUMBER_OK && after == ' ')
		end = numbers_next(rec->in, UINT32_MAX, &size, &after);
	else if (end == NUMBER_OK)
		return NUMBER_BAD;
	return end == NUMBER_OK && after != '\n' ? NUMBER_BAD : end;
}

static enum number_end one_record(struct record *rec)
{
	enum number_end end = control_started(rec);
	int next;

	rec->input = (struct control_input){0};
	if (end != NUMBER_OK)
		return end;
	next = numbers_peek(rec->in);
	if (next == NUMBERS_END)
		rec->c->started = true;
	else if (next == 'S') { /* it failed, and the next one was run */
		rec->input.features_at = rec->c->good;
		control_finish(rec, CONTROL_FAILED);
	} else
		return run_of_one(rec);
	return NUMBER_OK;
}

static int read_records(struct control *c, struct numbers *in, struct err *e)
{
	struct record rec = {.c = c, .in = in};
	enum number_end end = NUMBER_OK;

	c->good = in->at;
	while (end == NUMBER_OK && !c->started && numbers_peek(in) != NUMBERS_END)
		end = c->next < c->n ? one_record(&rec) : NUMBER_BAD;
	control_reader_done(&rec.edges);
	if (in->error)
		return err_set(e, in->error, "read the records: %s", strerror(in->error));
	if (end == NUMBER_CUT)
		snprintf(c->why, sizeof(c->why), "the record of input %zu is cut", c->next);
	else if (end == NUMBER_BAD && c->next == c->n)
		snprintf(c->why, sizeof(c->why), "there is more behind the last record");
	else if (end == NUMBER_BAD)
		snprintf(c->why, sizeof(c->why),
			 "byte %llu, the record of input %zu: not as an "
			 "engine writes it",
			 (unsigned long long)in->at, c->next);
	return 0;
}

int control_read_fd(int fd, const char *dir, const struct candidates *list, struct control **ret,
		    struct err *e)
{
	CLEANUP(control_free_p) struct control *c = xcalloc(1, sizeof(*c));
	_autofree_ struct numbers *in = xmalloc(sizeof(*in));
	int r;

	c->fd = -1;
	c->n = list->n;
	c->inputs = xcalloc(list->n, sizeof(*c->inputs));
	numbers_start(in, fd, 0, 0);
	r = check_head(in, dir, list, e);
	if (r == 0)
		r = read_records(c, in, e);
	if (r < 0)
		return r;
	c->fd = fd;
	*ret = take_ptr(&c);
	return 0;
}

int control_read(int dirfd, const char *file, const char *dir, const struct candidates *list,
		 struct control **ret, struct err *e)
{
	_autoclose_ int fd = -1;
	int r = open_control(dirfd, file, &fd, e);

	if (r < 0)
		return r;
	r = control_read_fd(fd, dir, list, ret, e);
	if (r < 0)
		return err_wrap(e, "control file '%s'", file);
	(void)take_fd(&fd);
	return 0;
}

/* --- one input's numbers --------------------------------------------------------- */

static int control_compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Every known version writes them in order, but this is not specified. */
static size_t in_order(uint32_t *v, size_t n)
{
	size_t i = 1, kept = 1;

	while (i < n && v[i - 1] < v[i])
		i++;
	if (i >= n)
		return n;
	qsort(v, n, sizeof(*v), control_compare);
	for (i = 1; i < n; i++)
		if (v[i] != v[kept - 1])
			v[kept++] = v[i];
	return kept;
}

static int control_numbers(const struct control *c, uint64_t at, size_t n, uint32_t below,
			   struct control_reader *reader, size_t *ret_n, struct err *e)
{
	enum number_end end = NUMBER_OK;
	struct numbers *in;
	char after;

	reader_room(reader, n);
	if (!reader->in)
		reader->in = xmalloc(sizeof(*reader->in));
	in = reader->in;
	numbers_start(in, c->fd, at, n < NUMBERS_BLOCK / DIGITS_MAX ? n * DIGITS_MAX : 0);
	for (size_t i = 0; i < n && end == NUMBER_OK; i++)
		end = numbers_next(in, below - 1, &reader->v[i], &after);
	if (in->error)
		return err_set(e, in->error, "read a control file: %s", strerror(in->error));
	if (end != NUMBER_OK)
		return err_set(e, EBADMSG, "a control file changed while it was read");
	*ret_n = n ? in_order(reader->v, n) : 0;
	return 0;
}

int control_features(const struct control *c, size_t i, struct control_reader *reader,
		     size_t *ret_n, struct err *e)
{
	const struct control_input *input = &c->inputs[i];

	return control_numbers(c, input->features_at, input->features, CONTROL_FEATURES, reader,
			       ret_n, e);
}

int control_edges(const struct control *c, size_t i, struct control_reader *reader, size_t *ret_n,
		  struct err *e)
{
	const struct control_input *input = &c->inputs[i];

	return control_numbers(c, input->edges_at, input->edges, CONTROL_EDGES, reader, ret_n, e);
}

void control_reader_done(struct control_reader *r)
{
	free(r->v);
	free(r->in);
	*r = (struct control_reader){0};
}

/* --- writing -------------------------------------------------------------- */

enum { MODE_CONTROL = 0600, FLUSH_AT = 1 << 16 };

static int flush(int fd, struct buf *text, size_t above, const char *file, struct err *e)
{
	int r = buf_check(text, e);

	if (r < 0 || text->n <= above)
		return r;
	if (sys_write_all(fd, text->p, text->n) < 0)
		return err_sys(e, "write '%s'", file);
	buf_clear(text);
	return 0;
}

static int write_head(int fd, const char *file, const char *dir, const struct candidates *list,
		      struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(FLUSH_AT + PATH_MAX + STORE_NAME);
	int r = 0;

	buf_printf(&text, "%zu\n0\n", list->n);
	for (size_t i = 0; r == 0 && i < list->n; i++) {
		buf_printf(&text, "%s/%s\n", dir, list->v[i].name);
		r = flush(fd, &text, FLUSH_AT, file, e);
	}
	return r < 0 ? r : flush(fd, &text, 0, file, e);
}

int control_write(int dirfd, const char *file, const char *dir, const struct candidates *list,
		  uid_t uid, gid_t gid, struct err *e)
{
	_autoclose_ int fd = -1;
	int r;

	if (dir[0] != '/' || strchr(dir, '\n') || strlen(dir) >= PATH_MAX - STORE_NAME)
		return err_set(e, EINVAL, "'%s' is no path of a stage", dir);
	if (list->n == 0)
		return err_set(e, EINVAL, "a control file for no inputs");
	r = fs_remove_tree(dirfd, file, e); /* a cell may have left any file there */
	if (r < 0)
		return r;
	fd = sys_openat(dirfd, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, MODE_CONTROL);
	if (fd < 0)
		return err_sys(e, "create '%s'", file);
	r = write_head(fd, file, dir, list, e);
	if (r < 0)
		return r;
	if (fchmod(fd, MODE_CONTROL) < 0 || fchown(fd, uid, gid) < 0)
		return err_sys(e, "give '%s' to user %u", file, (unsigned)uid);
	return 0;
}

void control_rewind(struct control *c, size_t first)
{
	size_t i = first;

	while (i < c->next && c->inputs[i].state != CONTROL_FAILED)
		i++;
	if (i >= c->next)
		return;
	c->good = c->inputs[i].features_at;
	memset(c->inputs + i, 0, (c->next - i) * sizeof(*c->inputs));
	c->next = i;
	c->started = true;
	c->why[0] = '\0';
}

int control_repair(struct control *c, const struct candidates *list, bool skip, struct err *e)
{
	char line[64];
	int n;

	if (skip && c->next == c->n)
		return err_set(e, EINVAL, "no input is left that could be skipped");
	if (sys_ftruncate(c->fd, (off_t)c->good) < 0)
		return err_sys(e, "cut the control file");
	c->started = false;
	c->why[0] = '\0';
	if (!skip)
		return 0;
	n = snprintf(line, sizeof(line), "STARTED %zu %llu\n", c->next,
		     (unsigned long long)list->v[c->next].size);
	if (lseek(c->fd, (off_t)c->good, SEEK_SET) < 0 || sys_write_all(c->fd, line, (size_t)n) < 0)
		return err_sys(e, "write the control file");
	c->good += (uint64_t)n;
	c->inputs[c->next].state = CONTROL_FAILED;
	c->next++;
	return 0;
}

void control_free(struct control *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	bits_done(&c->edges);
	free(c->inputs);
	free(c);
}
