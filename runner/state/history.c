/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/state/history.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* *ret_fd is -1, and the result 0, if the file does not exist. */
static int history_open(const struct state *s, const char *name, int *ret_fd, struct err *e)
{
	_autofree_ char *path = xasprintf("stats/%s", name);
	_autoclose_ int fd = -1;
	int r = fs_open_file(s->dirfd, path, O_RDONLY, 0, &fd, e);

	if (r < 0 && r != -ENOENT)
		return r;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* --- reading forwards ---------------------------------------------------------- */

/* Reads the end of the file, from the first line that begins in it. */
static int read_tail(int fd, char **ret, struct slice *ret_text, struct err *e)
{
	_autofree_ char *text = NULL;
	struct slice in, first;
	struct stat st;
	uint64_t size, at;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat");
	size = (uint64_t)st.st_size;
	at = size > HISTORY_READ_MAX ? size - HISTORY_READ_MAX : 0;
	text = xmalloc((size_t)(size - at) + 1);
	in.p = text;
	n = sys_pread_all(fd, text, (size_t)(size - at), (off_t)at);
	if (n < 0)
		return err_sys(e, "read");
	in.n = (size_t)n;
	if (at > 0)
		(void)scan_line(&in, &first); /* this line is incomplete */
	*ret = take_ptr(&text);
	*ret_text = in;
	return 0;
}

static int each_line(struct slice text, history_fn *fn, void *arg, uint64_t *damaged, struct err *e)
{
	struct slice line;

	while (scan_line(&text, &line)) {
		_autojson_ json_t *j = NULL;
		struct err why;
		int r;

		if (json_parse(line, &j, &why) < 0 || !json_is_object(j)) {
			++*damaged;
			continue;
		}
		r = fn(arg, j, e);
		if (r != 0)
			return r;
	}
	return 0;
}

int history_each(const struct state *s, const char *name, history_fn *fn, void *arg,
		 uint64_t *ret_damaged, struct err *e)
{
	_autofree_ char *text = NULL;
	_autoclose_ int fd = -1;
	struct slice in;
	int r = history_open(s, name, &fd, e);

	*ret_damaged = 0;
	if (r < 0 || fd < 0)
		return r;
	r = read_tail(fd, &text, &in, e);
	if (r < 0)
		return err_wrap(e, "history 'stats/%s'", name);
	return each_line(in, fn, arg, ret_damaged, e);
}

/* --- the newest lines, read backwards ------------------------------------------ */

enum { BLOCK_MIN = 4096, BLOCK_MAX = 1 << 20 };

/* The bytes [at, at + n) of the file that were not returned yet, and the offset where reading
 * ends. */
struct back {
	int fd;
	char *p;
	size_t n, room, block;
	uint64_t at, from;
};

static void back_done(struct back *b)
{
	free(b->p);
}

static int back_begin(struct back *b, struct err *e)
{
	struct stat st;

	if (fstat(b->fd, &st) < 0)
		return err_sys(e, "stat");
	b->at = (uint64_t)st.st_size;
	b->from = b->at > HISTORY_READ_MAX ? b->at - HISTORY_READ_MAX : 0;
	b->block = BLOCK_MIN;
	return 0;
}

/* Reads another block before these bytes.  Blocks grow: few lines cost little, and long lines are
 * not moved often. */
static int back_read(struct back *b, struct err *e)
{
	size_t more = b->at - b->from < b->block ? (size_t)(b->at - b->from) : b->block;
	ssize_t got;

	if (b->n + more > b->room) {
		b->room = b->n + more;
		b->p = xreallocarray(b->p, b->room, 1);
	}
	memmove(b->p + more, b->p, b->n);
	got = sys_pread_all(b->fd, b->p, more, (off_t)(b->at - more));
	if (got < 0)
		return err_sys(e, "read");
	if ((size_t)got < more)
		return err_set(e, EIO, "the file became shorter");
	b->at -= more;
	b->n += more;
	if (b->block < BLOCK_MAX || b->block < b->n)
		b->block *= 2;
	return 0;
}

/* The last line that was not returned yet; false: there is none.  It is valid until the next
 * call. */
static int back_line(struct back *b, bool *ret_any, struct slice *ret, struct err *e)
{
	for (size_t known = 0;;) {
		const char *nl = b->n > known ? memrchr(b->p, '\n', b->n - known) : NULL;
		int r;

		if (nl) {
			size_t start = (size_t)(nl - b->p) + 1;

			*ret = (struct slice){b->p + start, b->n - start};
			b->n = start - 1;
			*ret_any = true;
			return 0;
		}
		if (b->at == b->from)
			break;
		known = b->n; /* these bytes have no newline */
		r = back_read(b, e);
		if (r < 0)
			return r;
	}
	/* A line that began before HISTORY_READ_MAX is incomplete. */
	*ret_any = b->n > 0 && b->from == 0;
	*ret = (struct slice){b->p, b->n};
	b->n = 0;
	return 0;
}

/* Newest first. */
static int history_collect(struct back *b, size_t n, json_t *to, uint64_t *damaged, struct err *e)
{
	bool last = true, any = true;
	struct slice line;

	while (json_array_size(to) < n) {
		_autojson_ json_t *j = NULL;
		struct err why;
		int r = back_line(b, &any, &line, e);

		if (r < 0 || !any)
			return r;
		if (last && line.n == 0) { /* the empty text behind the last newline */
			last = false;
			continue;
		}
		last = false;
		if (json_parse(line, &j, &why) < 0 || !json_is_object(j)) {
			++*damaged;
			continue;
		}
		history_lean(j);
		json_array_append(to, j);
	}
	return 0;
}

static json_t *turn_round(const json_t *from)
{
	json_t *to = json_array();

	for (size_t i = json_array_size(from); i-- > 0;)
		json_array_append(to, json_array_get(from, i));
	return to;
}

int history_last(const struct state *s, const char *name, size_t n, json_t **ret,
		 uint64_t *ret_damaged, struct err *e)
{
	_autojson_ json_t *lines = json_array();
	_autoclose_ int fd = -1;
	CLEANUP(back_done) struct back b = {.fd = -1};
	int r = history_open(s, name, &fd, e);

	*ret_damaged = 0;
	b.fd = fd;
	if (r == 0 && fd >= 0)
		r = back_begin(&b, e);
	if (r == 0 && fd >= 0)
		r = history_collect(&b, n, lines, ret_damaged, e);
	if (r < 0)
		return err_wrap(e, "history 'stats/%s'", name);
	*ret = turn_round(lines);
	return 0;
}

/* --- lines that hold all targets of a run --------------------------------------- */

static json_int_t history_whole(const json_t *target, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(target, key));

	return v > 0 ? v : 0;
}

/* Saturates; real numbers do not come near the limit. */
static json_int_t history_plus(json_int_t a, json_int_t b)
{
	json_int_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static bool was_fuzzed(const json_t *target)
{
	return json_is_true(json_object_get(target, "fuzzed"));
}

struct sums {
	json_int_t fuzzed, execs, inputs;
	double cpu;
	bool has_fuzzed, has_execs, has_inputs, has_cpu; /* some target has this key */
};

static void history_add_target(const json_t *t, struct sums *s)
{
	s->fuzzed += was_fuzzed(t);
	s->execs = history_plus(s->execs, history_whole(t, "execs"));
	s->inputs = history_plus(s->inputs, history_whole(t, "new_inputs"));
	s->cpu += json_number_value(json_object_get(t, "cpu_seconds"));
	s->has_fuzzed |= json_object_get(t, "fuzzed") != NULL;
	s->has_execs |= json_object_get(t, "execs") != NULL;
	s->has_inputs |= json_object_get(t, "new_inputs") != NULL;
	s->has_cpu |= json_object_get(t, "cpu_seconds") != NULL;
}

void history_lean(json_t *run)
{
	const json_t *all = json_object_get(run, "targets");
	json_int_t n = (json_int_t)json_array_size(all);
	struct sums s = {0};

	if (!json_is_array(all))
		return;
	for (size_t i = 0; i < json_array_size(all); i++)
		history_add_target(json_array_get(all, i), &s);
	json_object_set_new(run, "targets", json_integer(n));
	if (s.has_fuzzed)
		json_object_set_new(run, "fuzzed", json_integer(s.fuzzed));
	if (s.has_cpu)
		json_object_set_new(run, "cpu_seconds", json_real(s.cpu));
	if (s.has_execs)
		json_object_set_new(run, "execs", json_integer(s.execs));
	if (s.has_inputs)
		json_object_set_new(run, "new_inputs", json_integer(s.inputs));
}

int history_target_name(const char *target, char **ret, struct err *e)
{
	if (!fs_name_ok(slice_of(target)) || *target == '.')
		return err_set(e, EINVAL, "'%.100s' is not a valid target name", target);
	*ret = xasprintf("targets/%s.jsonl", target);
	return 0;
}
