/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/ledger/input.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/crash/ledger/internal.h"
#include "runner/crash/vault.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct noted {
	const char *path, *sha1; /* "": none */
	uint64_t bytes;		 /* 0: unknown; with a digest: empty */
};

static struct noted noted_of(const struct known_crash *c, enum ledger_input which)
{
	if (which == LEDGER_MINIMIZED)
		return (struct noted){c->minimized, c->minimized_sha1, c->minimized_bytes};
	return (struct noted){c->crash_file, c->input_sha1, c->input_bytes};
}

const char *ledger_input_path(const struct known_crash *c, enum ledger_input which)
{
	return noted_of(c, which).path;
}

/* --- opening -------------------------------------------------------------- */

/* Takes the path's next name; false: the name is not a plain one. */
static bool next_name(struct slice *path, char out[NAME_MAX + 1])
{
	struct slice name;

	if (!scan_until(path, '/', NAME_MAX + 1, &name)) {
		name = *path;
		path->n = 0;
	} else {
		path->p++; /* the slash */
		path->n--;
		if (path->n == 0)
			return false;
	}
	if (!fs_name_ok(name))
		return false;
	memcpy(out, name.p, name.n);
	out[name.n] = '\0';
	return true;
}

static int ledger_input_open_below(int dirfd, const char *path, int *ret_fd, struct err *e)
{
	_autoclose_ int at = -1;
	struct slice left = slice_of(path);
	char name[NAME_MAX + 1];
	struct stat st;

	while (left.n > 0) {
		int from = at >= 0 ? at : dirfd, fd;

		if (!next_name(&left, name))
			return err_set(e, EINVAL, "'%.300s' is no path below the state directory",
				       path);
		fd = sys_openat(from, name,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
				    (left.n > 0 ? O_DIRECTORY : 0),
				0);
		if (fd < 0 && errno == ENOENT)
			return err_set(e, ENOENT, "%.300s is gone", path);
		if (fd < 0)
			return err_sys(e, "'%.300s'", path);
		close_p(&at);
		at = fd;
	}
	if (at < 0)
		return err_set(e, ENOENT, "no reproducer was kept");
	if (fstat(at, &st) < 0)
		return err_sys(e, "'%.300s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "'%.300s' is not a regular file", path);
	*ret_fd = take_fd(&at);
	return 0;
}

/* --- comparing ------------------------------------------------------------ */

static int ledger_input_compare(int fd, const struct noted *n, struct err *e)
{
	char hex[DIGEST_SHA1_HEX];
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "'%.300s'", n->path);
	if ((n->bytes > 0 || *n->sha1) && (uint64_t)st.st_size != n->bytes)
		return err_set(e, EBADMSG, "'%.300s' is damaged: %llu bytes, not %llu", n->path,
			       (unsigned long long)st.st_size, (unsigned long long)n->bytes);
	if (!*n->sha1)
		return 0;
	r = digest_sha1_file(fd, LEDGER_INPUT_MAX, hex, e);
	if (r < 0)
		return err_wrap(e, "'%.300s'", n->path);
	if (strcmp(hex, n->sha1) != 0)
		return err_set(e, EBADMSG,
			       "'%.300s' is damaged: its content is no longer what was noted",
			       n->path);
	return 0;
}

int ledger_input_open(int state_dirfd, const struct known_crash *c, enum ledger_input which,
		      int *ret_fd, struct err *e)
{
	struct noted n = noted_of(c, which);
	_autoclose_ int fd = -1;
	int r = ledger_input_open_below(state_dirfd, n.path, &fd, e);

	if (r == 0)
		r = ledger_input_compare(fd, &n, e);
	if (r == 0)
		*ret_fd = take_fd(&fd);
	return r;
}

int ledger_input_check(int state_dirfd, const struct known_crash *c, enum ledger_input which,
		       struct err *e)
{
	_autoclose_ int fd = -1;

	return ledger_input_open(state_dirfd, c, which, &fd, e);
}

int ledger_input_check_all(int state_dirfd, const struct known_crash *c, struct err *e)
{
	int r = 0;

	for (enum ledger_input i = 0; i < LEDGER_INPUT_COUNT && r == 0; i++)
		if (*ledger_input_path(c, i))
			r = ledger_input_check(state_dirfd, c, i, e);
	return r;
}

/* --- noting --------------------------------------------------------------- */

/* Takes the digest of a reproducer that was noted without one. */
static void ledger_input_adopt(int state_dirfd, struct found *n, enum ledger_input which)
{
	struct known_crash *c = &n->c;
	char **sha1 = which == LEDGER_INPUT ? &c->input_sha1 : &c->minimized_sha1;
	uint64_t *bytes = which == LEDGER_INPUT ? &c->input_bytes : &c->minimized_bytes;
	struct noted noted = noted_of(c, which);
	_autoclose_ int fd = -1;
	char hex[DIGEST_SHA1_HEX];
	struct stat st;
	struct err why;

	if (*noted.sha1 || ledger_input_open_below(state_dirfd, noted.path, &fd, &why) < 0 ||
	    fstat(fd, &st) < 0 || (noted.bytes > 0 && (uint64_t)st.st_size != noted.bytes) ||
	    digest_sha1_file(fd, LEDGER_INPUT_MAX, hex, &why) < 0)
		return; /* the next replay reports the error */
	*bytes = (uint64_t)st.st_size;
	ledger_set(sha1, hex, LEDGER_TEXT_MAX, false);
}

bool ledger_is_sha1(const char *text)
{
	return strlen(text) == DIGEST_SHA1_HEX - 1 &&
	       strspn(text, "0123456789abcdef") == DIGEST_SHA1_HEX - 1;
}

int ledger_reproduced(struct ledger *l, const char *signature, const char *target, const char *path,
		      struct err *e)
{
	struct record *n = ledger_exact(l, signature);
	struct found *t;

	if (!n)
		n = ledger_head(l, signature);
	t = n ? ledger_entry_of(n, target) : NULL;
	if (!t)
		return err_set(e, ENOENT, "no crash '%.100s' of target '%.100s'", signature,
			       target);
	for (enum ledger_input i = 0; i < LEDGER_INPUT_COUNT; i++) {
		struct noted noted = noted_of(&t->c, i);

		if (*path && strcmp(noted.path, path) == 0 && !*noted.sha1)
			t->adopt[i] = l->dirty = true;
	}
	return 0;
}

static void adopt_of(int state_dirfd, struct record *n, struct found *t)
{
	if (!t->adopt[LEDGER_INPUT] && !t->adopt[LEDGER_MINIMIZED])
		return;
	n->changed = true; /* whatever the result: a child process may have read another content */
	for (enum ledger_input i = 0; i < LEDGER_INPUT_COUNT; i++) {
		if (t->adopt[i])
			ledger_input_adopt(state_dirfd, t, i);
		t->adopt[i] = false;
	}
	ledger_summarize(n);
}

void ledger_adopt_inputs(struct ledger *l, int state_dirfd)
{
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < l->v[i]->c.n_by; k++)
			adopt_of(state_dirfd, l->v[i], ledger_entry_at(l->v[i], k));
}

/* --- restoring ------------------------------------------------------------- */

/* Restores a reproducer from other places, where its content has its digest as name. */

struct input_mend {
	int state_dirfd;
	const struct known_crash *c;
	enum ledger_input which;
	const char *sha1;
	uint64_t bytes;
	char place[VAULT_PLACE];
};

static enum vault_file ledger_input_file_of(enum ledger_input which)
{
	return which == LEDGER_INPUT ? VAULT_INPUT : VAULT_MINIMIZED;
}

/* Only files in the vault may be changed: in the crash's own place or the target's. */
static bool is_in_vault(struct input_mend *m)
{
	const char *targets[] = {"", m->c->fuzzer};
	char path[VAULT_PATH];
	struct err e;

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		if (vault_place(slice_of(m->c->signature), targets[i], m->place, &e) < 0)
			continue;
		vault_path(m->place, ledger_input_file_of(m->which), path);
		if (strcmp(path, ledger_input_path(m->c, m->which)) == 0)
			return true;
	}
	return false;
}

static int ledger_input_read_all(int fd, struct buf *out, struct err *e)
{
	char block[16384];
	ssize_t n;

	do {
		n = sys_read(fd, block, sizeof(block));
		if (n < 0)
			return err_sys(e, "read it");
		buf_put(out, (struct slice){block, (size_t)n});
	} while (n > 0 && !out->full);
	return buf_check(out, e);
}

/* 1: copied from there.  0: no such input is there. */
static int copy_from(const struct input_mend *m, char *path, struct err *e)
{
	char sha1[DIGEST_SHA1_HEX];
	struct known_crash there = {
	    .crash_file = path, .input_sha1 = sha1, .input_bytes = m->bytes};
	struct vault_item item = {
	    .signature = slice_of(m->c->signature), .target = m->c->fuzzer, .place = m->place};
	_autobuf_ struct buf text = BUF_INIT(LEDGER_INPUT_MAX);
	_autoclose_ int fd = -1;
	struct err none;
	int r;

	snprintf(sha1, sizeof(sha1), "%s", m->sha1);
	if (ledger_input_open(m->state_dirfd, &there, LEDGER_INPUT, &fd, &none) < 0)
		return 0;
	r = ledger_input_read_all(fd, &text, e);
	item.file[ledger_input_file_of(m->which)] = buf_slice(&text);
	if (r == 0)
		r = vault_save(m->state_dirfd, &item, NULL, e);
	return r < 0 ? r : 1;
}

static bool ledger_input_ends_with(const char *text, const char *tail)
{
	size_t n = strlen(text), k = strlen(tail);

	return n >= k && strcmp(text + n - k, tail) == 0;
}

static int from_artifacts(const struct input_mend *m, const char **ret_from, struct err *e)
{
	const struct ledger_list *l = &m->c->artifacts;
	int r = 0;

	for (size_t i = l->n; i > 0 && r == 0; i--)
		if (ledger_input_ends_with(l->v[i - 1], m->sha1)) {
			r = copy_from(m, l->v[i - 1], e);
			*ret_from = "its artifact";
		}
	return r;
}

static int from_room(const struct input_mend *m, const char *room, struct err *e)
{
	_autofree_ char *path = xasprintf("%s/%s/%s", room, m->c->fuzzer, m->sha1);

	return copy_from(m, path, e);
}

int ledger_input_mend(int state_dirfd, const struct known_crash *c, enum ledger_input which,
		      const char **ret_from, struct err *e)
{
	static const char *const rooms[] = {"regressions", "quarantine"};
	bool first = which == LEDGER_INPUT;
	struct input_mend m = {.state_dirfd = state_dirfd,
			       .c = c,
			       .which = which,
			       .sha1 = first ? c->input_sha1 : c->minimized_sha1,
			       .bytes = first ? c->input_bytes : c->minimized_bytes};
	int r = 0;

	if (!*m.sha1 || !is_in_vault(&m))
		return err_set(e, ENOENT, "its content was not noted");
	r = from_artifacts(&m, ret_from, e);
	for (size_t i = 0; r == 0 && i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		r = from_room(&m, rooms[i], e);
		*ret_from = rooms[i];
	}
	if (r == 0)
		return err_set(e, ENOENT, "no copy of it is left");
	return r < 0 ? r : 0;
}
