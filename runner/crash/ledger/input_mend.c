/* SPDX-License-Identifier: Apache-2.0 */
/* Restores a reproducer from other places, where its content has its digest as name. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/crash/ledger/input.h"
#include "runner/crash/vault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct mend {
	int state_dirfd;
	const struct known_crash *c;
	enum ledger_input which;
	const char *sha1;
	uint64_t bytes;
	char place[VAULT_PLACE];
};

static enum vault_file ledger_input_mend_file_of(enum ledger_input which)
{
	return which == LEDGER_INPUT ? VAULT_INPUT : VAULT_MINIMIZED;
}

/* Only files in the vault may be changed: in the crash's own place or the target's. */
static bool is_in_vault(struct mend *m)
{
	const char *targets[] = {"", m->c->fuzzer};
	char path[VAULT_PATH];
	struct err e;

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		if (vault_place(slice_of(m->c->signature), targets[i], m->place, &e) < 0)
			continue;
		vault_path(m->place, ledger_input_mend_file_of(m->which), path);
		if (strcmp(path, ledger_input_path(m->c, m->which)) == 0)
			return true;
	}
	return false;
}

static int ledger_input_mend_read_all(int fd, struct buf *out, struct err *e)
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
static int copy_from(const struct mend *m, char *path, struct err *e)
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
	r = ledger_input_mend_read_all(fd, &text, e);
	item.file[ledger_input_mend_file_of(m->which)] = buf_slice(&text);
	if (r == 0)
		r = vault_save(m->state_dirfd, &item, NULL, e);
	return r < 0 ? r : 1;
}

static bool ledger_input_mend_ends_with(const char *text, const char *tail)
{
	size_t n = strlen(text), k = strlen(tail);

	return n >= k && strcmp(text + n - k, tail) == 0;
}

static int from_artifacts(const struct mend *m, const char **ret_from, struct err *e)
{
	const struct ledger_list *l = &m->c->artifacts;
	int r = 0;

	for (size_t i = l->n; i > 0 && r == 0; i--)
		if (ledger_input_mend_ends_with(l->v[i - 1], m->sha1)) {
			r = copy_from(m, l->v[i - 1], e);
			*ret_from = "its artifact";
		}
	return r;
}

static int from_room(const struct mend *m, const char *room, struct err *e)
{
	_autofree_ char *path = xasprintf("%s/%s/%s", room, m->c->fuzzer, m->sha1);

	return path ? copy_from(m, path, e) : err_sys(e, "allocate a path");
}

int ledger_input_mend(int state_dirfd, const struct known_crash *c, enum ledger_input which,
		      const char **ret_from, struct err *e)
{
	static const char *const rooms[] = {"regressions", "quarantine"};
	bool first = which == LEDGER_INPUT;
	struct mend m = {.state_dirfd = state_dirfd,
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
