/* SPDX-License-Identifier: Apache-2.0 */
/* Downloads of a crash's files.  They are never shown, because their content is the target's. */
#include "base/cleanup.h"
#include "runner/crash/ledger/input.h"
#include "runner/crash/vault.h"
#include "runner/serve/model/model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool download_allowed(const struct serve_site *s, const struct known_crash *c)
{
	return c->security ? s->limits.security_downloads : s->limits.downloads;
}

static bool is_in_vault_of(const char *signature, const char *path)
{
	struct slice s = slice_of(path);
	char name[VAULT_NAME];
	struct err ignored;

	return vault_name(slice_of(signature), name, &ignored) == 0 &&
	       scan_lit(&s, SLICE("crashes/")) && scan_lit(&s, slice_of(name)) &&
	       scan_lit(&s, SLICE("/"));
}

/* The ledger's paths are not trusted.  Only the files of the crash, and of crashes merged into
 * it, may leave the machine. */
static bool is_of_crash(const struct known_crash *c, enum ledger_input which)
{
	const char *path = ledger_input_path(c, which);

	for (size_t i = 0; i < c->aliases.n; i++)
		if (is_in_vault_of(c->aliases.v[i], path))
			return true;
	return is_in_vault_of(c->signature, path);
}

bool download_has(const struct serve_site *s, const struct known_crash *c, enum download which)
{
	_autoclose_ int fd = -1;
	struct err ignored;

	switch (which) {
	case DOWNLOAD_INPUT:
		return is_of_crash(c, LEDGER_INPUT);
	case DOWNLOAD_MINIMIZED:
		return is_of_crash(c, LEDGER_MINIMIZED);
	case DOWNLOAD_REPORT:
		return vault_open(s->state->dirfd, slice_of(c->signature), c->fuzzer, VAULT_REPORT,
				  &fd, &ignored) == 0;
	case DOWNLOAD_COUNT:
	default:
		return false;
	}
}

static int open_input(struct serve_site *s, const struct known_crash *c, enum ledger_input which,
		      int *ret_fd, struct err *e)
{
	if (!is_of_crash(c, which))
		return err_set(e, ENOENT, "no reproducer was kept");
	return ledger_input_open(s->state->dirfd, c, which, ret_fd, e);
}

static int download_open(struct serve_site *s, const struct known_crash *c, enum download which,
			 int *ret_fd, struct err *e)
{
	if (which == DOWNLOAD_REPORT)
		return vault_open(s->state->dirfd, slice_of(c->signature), c->fuzzer, VAULT_REPORT,
				  ret_fd, e);
	return open_input(s, c, which == DOWNLOAD_INPUT ? LEDGER_INPUT : LEDGER_MINIMIZED, ret_fd,
			  e);
}

/* A missing file and a shortage of memory or descriptors keep their errors; other errors mean a
 * damaged file (-EBADMSG). */
static int check_opened(int r, const struct err *why, struct err *e)
{
	if (r == 0)
		return 0;
	if (r == -ENOENT || r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return err_set(e, -r, "%s", why->msg);
	return err_set(e, EBADMSG, "%s", why->msg);
}

static int take_size(struct serve_answer *a, struct err *e)
{
	struct stat st;

	if (fstat(a->fd, &st) < 0)
		return err_sys(e, "stat the file");
	if ((uint64_t)st.st_size > VAULT_BYTES_MAX)
		return err_set(e, EBADMSG, "the file has more than %llu bytes",
			       (unsigned long long)VAULT_BYTES_MAX);
	a->size = (uint64_t)st.st_size;
	return 0;
}

/* A name that is safe in a quoted header and on any file system. */
static void name_file(const char *name, enum download which, struct serve_answer *a)
{
	snprintf(a->file, sizeof(a->file), "crash-%s-%s", name, download_name(which));
	for (char *c = a->file; *c; c++)
		if (*c == '%' || *c == '~')
			*c = '_';
}

const char *download_name(enum download which)
{
	static const char *const names[] = {
	    [DOWNLOAD_INPUT] = "input.bin",
	    [DOWNLOAD_MINIMIZED] = "minimized.bin",
	    [DOWNLOAD_REPORT] = "report.txt",
	};

	_Static_assert(sizeof(names) / sizeof(names[0]) == DOWNLOAD_COUNT, "name every file");
	return which < DOWNLOAD_COUNT ? names[which] : "";
}

int download_get(struct serve_site *s, const char *name, enum download which,
		 struct serve_answer *a, struct err *e)
{
	const struct known_crash *c;
	const struct ledger *l;
	char of[VAULT_NAME];
	struct err why;
	int r = site_ledger(s, &l, e);

	if (r < 0)
		return r;
	c = crash_named(l, name);
	if (!c || vault_name(slice_of(c->signature), of, &why) < 0)
		return err_set(e, ENOENT, "no such crash");
	if (!download_allowed(s, c))
		return err_set(e, EPERM,
			       c->security ? "this crash is security-relevant: \"serve\": "
					     "{\"downloads\": \"all\"} offers its files"
					   : "\"serve\": {\"downloads\": \"none\"}: no files are "
					     "offered");
	r = check_opened(download_open(s, c, which, &a->fd, &why), &why, e);
	if (r == 0)
		r = take_size(a, e);
	name_file(of, which, a);
	a->type = "application/octet-stream";
	return r;
}
