/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pack.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <sys/stat.h>

DEFINE_CLEANUP(struct archive_entry *, archive_entry_free)

enum { CHUNK = 65536 };

struct pack {
	struct archive *a;
	int fd;
	int failed; /* errno of the first failed write; after it nothing is written */
};

/* Writes with sys_write_all(), so that tests can simulate a full disk.  The failure is stored in p
 * and not reported to libarchive: version 3.6 never frees the compressor of a failed archive. */
static ssize_t on_write(struct archive *a, void *arg, const void *bytes, size_t n)
{
	struct pack *p = arg;

	(void)a;
	if (!p->failed && sys_write_all(p->fd, bytes, n) < 0)
		p->failed = errno;
	return (ssize_t)n;
}

static int pack_failed(const struct pack *p, struct err *e, const char *what)
{
	const char *why = archive_error_string(p->a);
	int code = archive_errno(p->a);

	if (p->failed)
		return err_set(e, p->failed, "%s: %s", what, strerror(p->failed));
	return err_set(e, code > 0 ? code : EIO, "%s: %.200s", what, why ? why : "unknown");
}

/* r is libarchive's result. */
static int pack_check(const struct pack *p, la_ssize_t r, struct err *e, const char *what)
{
	return r < ARCHIVE_OK || p->failed ? pack_failed(p, e, what) : 0;
}

/* Writes no timestamp, so that archives are reproducible. */
static int set_tar_gz(struct archive *a)
{
	int r = archive_write_add_filter_gzip(a);

	r |= archive_write_set_format_pax_restricted(a);
	r |= archive_write_set_filter_option(a, "gzip", "timestamp", NULL);
	return r;
}

static int set_zip(struct archive *a)
{
	int r = archive_write_set_format_zip(a);

	r |= archive_write_zip_set_compression_deflate(a);
	return r;
}

static int begin_archive(int fd, int (*format)(struct archive *a), struct pack **ret, struct err *e)
{
	struct pack *p = xcalloc(1, sizeof(*p));
	int r;

	*p = (struct pack){.a = archive_write_new(), .fd = fd};
	if (!p->a)
		out_of_memory();
	r = format(p->a);
	r |= archive_write_set_bytes_in_last_block(p->a, 1);
	if (r == ARCHIVE_OK)
		r = archive_write_open(p->a, p, NULL, on_write, NULL);
	r = pack_check(p, r, e, "begin an archive");
	if (r < 0) {
		pack_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

int pack_open(int fd, struct pack **ret, struct err *e)
{
	return begin_archive(fd, set_tar_gz, ret, e);
}

int pack_open_zip(int fd, struct pack **ret, struct err *e)
{
	return begin_archive(fd, set_zip, ret, e);
}

static int pack_begin(struct pack *p, const char *name, mode_t mode, uint64_t size, struct err *e)
{
	CLEANUP(archive_entry_free_p) struct archive_entry *entry = archive_entry_new();

	if (!entry)
		out_of_memory();
	if (strlen(name) > PACK_NAME_MAX || *name == '/' || !*name)
		return err_set(e, EINVAL, "'%.100s' cannot be a name in an archive", name);
	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, mode);
	archive_entry_set_size(entry, (la_int64_t)size);
	archive_entry_set_mtime(entry, 0, 0);
	return pack_check(p, archive_write_header(p->a, entry), e, name);
}

static int pack_put(struct pack *p, const char *name, struct slice data, struct err *e)
{
	while (data.n > 0) {
		la_ssize_t n = archive_write_data(p->a, data.p, data.n);

		if (n <= 0 || p->failed)
			return pack_failed(p, e, name);
		data.p += n;
		data.n -= (size_t)n;
	}
	return 0;
}

int pack_add(struct pack *p, const char *name, mode_t mode, struct slice data, struct err *e)
{
	if (pack_begin(p, name, mode, data.n, e) < 0 || pack_put(p, name, data, e) < 0)
		return err_code(e);
	return pack_check(p, archive_write_finish_entry(p->a), e, name);
}

int pack_add_file(struct pack *p, const char *name, mode_t mode, int fd, struct err *e)
{
	char chunk[CHUNK];
	struct stat st;
	off_t at = 0;
	int r;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat '%s'", name);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "'%s' is not a regular file", name);
	r = pack_begin(p, name, mode, (uint64_t)st.st_size, e);
	while (r == 0 && at < st.st_size) {
		size_t want = st.st_size - at < CHUNK ? (size_t)(st.st_size - at) : CHUNK;
		ssize_t n = sys_pread(fd, chunk, want, at);

		if (n < 0)
			return err_sys(e, "read '%s'", name);
		if (n == 0)
			return err_set(e, EIO, "'%s' became shorter while it was read", name);
		r = pack_put(p, name, (struct slice){chunk, (size_t)n}, e);
		at += n;
	}
	return r < 0 ? r : pack_check(p, archive_write_finish_entry(p->a), e, name);
}

int pack_close(struct pack *p, struct err *e)
{
	return pack_check(p, archive_write_close(p->a), e, "end an archive");
}

void pack_free(struct pack *p)
{
	if (!p)
		return;
	/* An incomplete archive gets no end: nothing more is written. */
	if (!p->failed)
		p->failed = ECANCELED;
	archive_write_free(p->a);
	free(p);
}
