/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/triage/kept.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX ".report-"
#define LOST   "lost-"

enum { HEAD_MAX = 128 << 10, LINE_TEXT_MAX = 1024, SWEEP_MAX = 10000 };

/* --- while the cell lives --------------------------------------------------- */

static void to_ring(struct kept_output *k, struct slice s)
{
	if (!k->ring)
		k->ring = xmalloc(KEPT_BEFORE);
	while (s.n > 0) {
		size_t at = (size_t)(k->n % KEPT_BEFORE);
		size_t n = s.n < KEPT_BEFORE - at ? s.n : KEPT_BEFORE - at;

		memcpy(k->ring + at, s.p, n);
		k->n += n;
		s = (struct slice){s.p + n, s.n - n};
	}
}

/* Keeps whole lines while there is room: the first lines name the failure. */
static void to_after(struct kept_output *k, struct slice line)
{
	if (k->after.max == 0)
		k->after.max = KEPT_AFTER;
	if (k->after.n + line.n + 1 >= KEPT_AFTER)
		k->after.max = k->after.n; /* keeps no later line, not even a shorter line */
	buf_put(&k->after, line);
	buf_puts(&k->after, "\n");
}

void kept_line(struct kept_output *k, struct slice line, bool failing)
{
	if (failing) {
		to_after(k, line);
		return;
	}
	to_ring(k, line);
	to_ring(k, SLICE("\n"));
}

int kept_text_before(const struct kept_output *k, struct buf *ret, struct err *e)
{
	size_t at = k->n > KEPT_BEFORE ? (size_t)(k->n % KEPT_BEFORE) : 0;
	size_t n = k->n > KEPT_BEFORE ? KEPT_BEFORE : (size_t)k->n;
	struct slice first, second = {k->ring, at}, line;

	if (!k->ring)
		return 0;
	first = (struct slice){k->ring + at, n - at};
	/* The oldest line has lost its beginning. */
	if (k->n > KEPT_BEFORE && memchr(first.p, '\n', first.n))
		(void)scan_line(&first, &line);
	else if (k->n > KEPT_BEFORE) {
		first.n = 0;
		(void)scan_line(&second, &line);
	}
	buf_put(ret, first);
	buf_put(ret, second);
	return buf_check(ret, e);
}

int kept_text(const struct kept_output *k, struct buf *ret, struct err *e)
{
	int r = kept_text_before(k, ret, e);

	buf_put(ret, buf_slice(&k->after));
	return r == 0 ? buf_check(ret, e) : r;
}

void kept_output_done(struct kept_output *k)
{
	free(k->ring);
	buf_done(&k->after);
	*k = (struct kept_output){0};
}

/* --- beside the artifact ------------------------------------------------------ */

static int kept_name_of(const char *artifact, char out[KEPT_NAME], struct err *e)
{
	int n = snprintf(out, KEPT_NAME, PREFIX "%s", artifact);

	if (n < 0 || n >= KEPT_NAME || !fs_name_ok(slice_of(artifact)) || *artifact == '.')
		return err_set(e, EINVAL, "'%.100s' is not the name of an artifact", artifact);
	return 0;
}

/* Text that JSON cannot represent becomes "": it must not prevent an artifact from being saved. */
static json_t *kept_text_json(const char *text)
{
	json_t *j = text && strlen(text) <= LINE_TEXT_MAX ? json_string(text) : NULL;

	return j ? j : json_string("");
}

static int head_text(const struct kept *k, char **ret, struct err *e)
{
	_autojson_ json_t *j = json_pack(
	    "{s:i, s:o, s:o, s:I, s:I, s:I, s:I, s:f, s:o, s:o, s:b}", "v", 1, "run",
	    kept_text_json(k->run), "commit", kept_text_json(k->commit), "time",
	    (json_int_t)k->time, "binary_size", (json_int_t)k->binary.size, "binary_mtime_ns",
	    (json_int_t)k->binary.mtime_ns, "binary_ctime_ns", (json_int_t)k->binary.ctime_ns,
	    "starved", k->starved, "own", kept_text_json(k->own), "detail",
	    kept_text_json(k->detail), "by_text", k->by_text);
	int r;

	if (k->report)
		(void)!json_object_set(j, "report", k->report);
	r = json_print(j, 0, ret, e);
	if (r < 0 || !k->report || strlen(*ret) < HEAD_MAX)
		return r;
	/* Without it, triage parses the text. */
	free(*ret);
	*ret = NULL;
	(void)!json_object_del(j, "report");
	return json_print(j, 0, ret, e);
}

int kept_write(int queue, const char *artifact, const struct kept *k, struct err *e)
{
	_autobuf_ struct buf b = BUF_INIT(HEAD_MAX + KEPT_TEXT_MAX);
	_autofree_ char *head = NULL;
	char name[KEPT_NAME];

	if (kept_name_of(artifact, name, e) < 0 || head_text(k, &head, e) < 0)
		return err_code(e);
	buf_printf(&b, "%s\n", head);
	buf_put(&b, k->text);
	if (buf_check(&b, e) < 0)
		return err_code(e);
	return fs_replace(queue, name, buf_slice(&b), e);
}

bool kept_is_lost(const char *name)
{
	size_t n = strlen(LOST);

	return strncmp(name, LOST, n) == 0 && strlen(name) == n + DIGEST_SHA1_HEX - 1 &&
	       strspn(name + n, "0123456789abcdef") == DIGEST_SHA1_HEX - 1;
}

/* The report comes first: without its place in the queue it is removed. */
int kept_write_lost(int queue, const char *cell, const struct kept *k, struct err *e)
{
	char name[sizeof(LOST) + DIGEST_SHA1_HEX] = LOST;
	int r;

	digest_sha1_hex(slice_of(cell), name + strlen(LOST));
	r = kept_write(queue, name, k, e);
	return r == 0 ? fs_replace(queue, name, SLICE(""), e) : r;
}

static bool kept_read_head(struct kept *k)
{
	const json_t *run = json_object_get(k->head, "run");
	const json_t *commit = json_object_get(k->head, "commit");
	json_int_t time = json_integer_value(json_object_get(k->head, "time"));
	json_int_t size = json_integer_value(json_object_get(k->head, "binary_size"));

	if (json_integer_value(json_object_get(k->head, "v")) != 1 || !json_is_string(run) ||
	    !json_is_string(commit) || time < 0 || size < 0)
		return false;
	k->starved = json_number_value(json_object_get(k->head, "starved"));
	k->own = json_get_text(k->head, "own");
	k->detail = json_get_text(k->head, "detail");
	k->by_text = json_is_true(json_object_get(k->head, "by_text"));
	k->report = json_object_get(k->head, "report");
	k->run = json_string_value(run);
	k->commit = json_string_value(commit);
	k->time = (uint64_t)time;
	k->binary.size = (uint64_t)size;
	k->binary.mtime_ns = json_integer_value(json_object_get(k->head, "binary_mtime_ns"));
	k->binary.ctime_ns = json_integer_value(json_object_get(k->head, "binary_ctime_ns"));
	return true;
}

int kept_read(int queue, const char *artifact, struct kept *ret, struct err *e)
{
	struct kept k = {0};
	char name[KEPT_NAME];
	struct slice head;
	size_t n = 0;
	int r = kept_name_of(artifact, name, e);

	if (r == 0)
		r = fs_read(queue, name, HEAD_MAX + KEPT_TEXT_MAX, &k.data, &n, e);
	if (r < 0)
		return r;
	k.text = (struct slice){k.data, n};
	if (!scan_line(&k.text, &head) || json_parse(head, &k.head, e) < 0 || !kept_read_head(&k)) {
		kept_done(&k);
		return err_set(e, EBADMSG, "'%s' is not a kept report", name);
	}
	*ret = k;
	return 0;
}

void kept_done(struct kept *k)
{
	json_decref(k->head);
	free(k->data);
	*k = (struct kept){0};
}

static int remove_file(int queue, const char *name, struct err *e)
{
	if (sys_unlinkat(queue, name, 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove '%s'", name);
	return 0;
}

int kept_remove(int queue, const char *artifact, struct err *e)
{
	char name[KEPT_NAME];
	int r = kept_name_of(artifact, name, e);

	return r == 0 ? remove_file(queue, name, e) : r;
}

/* Whether the file is a report without an artifact, or a temporary file of fs_replace(). */
static bool is_left(int queue, const char *name)
{
	size_t n = strlen(PREFIX);

	if (strncmp(name, "." PREFIX, n + 1) == 0)
		return true;
	return strncmp(name, PREFIX, n) == 0 &&
	       faccessat(queue, name + n, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

int kept_sweep(int queue, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(queue, ".");
	const struct dirent *ent;
	unsigned n = 0;
	int r = 0;

	if (!d)
		return err_sys(e, "open a queue of triage");
	while (r == 0 && n < SWEEP_MAX && (ent = sys_readdir(d))) {
		if (!is_left(queue, ent->d_name))
			continue;
		r = remove_file(queue, ent->d_name, e);
		n++;
	}
	return r;
}
