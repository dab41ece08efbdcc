/* SPDX-License-Identifier: Apache-2.0 */
/* Seed archives, through libarchive.  An archive is hostile and may try to exhaust the disk, the
 * memory or our time: every entry counts against the limits, even if it is skipped. */
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/targets/discover.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

DEFINE_CLEANUP(struct archive *, archive_read_free)

#define TEMP_NAME ".seed.new"

enum { READ_BLOCK = 65536, MODE_SEED = 0644 /* readable by the cells' users */ };

struct unpack {
	struct archive *a;
	const char *path;
	const struct seeds_to *to;
	struct seeds_limits most;
	char *data; /* most.file + 1 bytes, used up to the size of the largest entry */
	uint64_t entries, read;
	struct seeds_result *sum;
	bool full; /* a limit of the whole archive was reached */
};

const struct seeds_limits seeds_limits_default = {
    .entries = SEEDS_MAX_ENTRIES,
    .files = SEEDS_MAX_FILES,
    .file = SEEDS_MAX_FILE,
    .bytes = SEEDS_MAX_BYTES,
    .read = SEEDS_MAX_READ,
};

__attribute__((format(printf, 2, 3))) static void skip(struct unpack *u, const char *fmt, ...)
{
	char why[sizeof(u->sum->why)], shown[ESCAPE_ASCII_MAX];
	va_list ap;

	if (u->sum->skipped++ > 0)
		return;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	snprintf(u->sum->why, sizeof(u->sum->why), "%.*s", (int)sizeof(u->sum->why) - 1,
		 escape_ascii(slice_of(why), shown));
}

/* libarchive's error text.  Like the names of entries, it may contain any bytes. */
static const char *seeds_reason(const struct unpack *u)
{
	const char *text = archive_error_string(u->a);

	return text ? text : "damaged";
}

__attribute__((format(printf, 3, 4))) static int damaged(const struct unpack *u, struct err *e,
							 const char *fmt, ...)
{
	char why[ESCAPE_ASCII_MAX], shown[ESCAPE_ASCII_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return err_set(e, EBADMSG, "%s: %.300s", u->path, escape_ascii(slice_of(why), shown));
}

/* Enables each format and filter by name: the "all" functions also enable filters that start
 * programs. */
static int seeds_begin(struct unpack *u, int fd, struct err *e)
{
	struct archive *a = u->a;
	int r = ARCHIVE_OK;

	r |= archive_read_support_format_zip(a);
	r |= archive_read_support_format_tar(a);
	r |= archive_read_support_filter_gzip(a);
	r |= archive_read_support_filter_bzip2(a);
	r |= archive_read_support_filter_compress(a);
	r |= archive_read_support_filter_xz(a);
	r |= archive_read_support_filter_lzma(a);
	r |= archive_read_support_filter_zstd(a);
	r |= archive_read_support_filter_lz4(a);
	if (r != ARCHIVE_OK)
		return err_set(e, ENOTSUP, "libarchive was built without a compression");
	if (archive_read_open_fd(a, fd, READ_BLOCK) != ARCHIVE_OK)
		return damaged(u, e, "not a zip or tar archive: %s", seeds_reason(u));
	return 0;
}

static const char *entry_name(struct archive_entry *entry)
{
	const char *name = archive_entry_pathname(entry);

	return name ? name : "?";
}

/* Reads the entry's content into u->data.  *ret_n above the limit: too large, the rest was read and
 * dropped.  Negative: the entry cannot be read (ARCHIVE_FATAL: nor the rest of the archive). */
static int seeds_read_entry(struct unpack *u, size_t *ret_n)
{
	size_t n = 0;
	ssize_t got;

	do {
		size_t room = u->most.file + 1 - n;
		/* Already too large: read the rest into the same buffer, to count it. */
		char *to = room ? u->data + n : u->data;

		got = archive_read_data(u->a, to, room ? room : u->most.file);
		if (got < 0)
			return (int)got;
		u->read += (uint64_t)got;
		if (room)
			n += (size_t)got;
		u->full = u->read > u->most.read;
	} while (got > 0 && !u->full);
	*ret_n = n;
	return 0;
}

static int write_seed(const struct unpack *u, int dirfd, const char *hex, size_t n, struct err *e)
{
	_autoclose_ int fd = -1;
	int r = fs_open_file(dirfd, TEMP_NAME, O_WRONLY | O_CREAT | O_TRUNC, MODE_SEED, &fd, e);

	if (r < 0)
		return r;
	if (fchmod(fd, MODE_SEED) < 0) /* overrides the umask */
		return err_sys(e, "set the mode of '%s'", TEMP_NAME);
	if (sys_write_all(fd, u->data, n) < 0)
		return err_sys(e, "write a seed of %zu bytes", n);
	if (sys_renameat(dirfd, TEMP_NAME, hex) < 0)
		return err_sys(e, "name the seed '%s'", hex);
	return 0;
}

/* Saves the content under its SHA-1, atomically.  Replaces a file of another size, which a crash of
 * the machine left. */
static int seeds_store(struct unpack *u, int dirfd, size_t n, struct err *e)
{
	char hex[DIGEST_SHA1_HEX];
	struct stat st;
	int r = 0;

	digest_sha1_hex((struct slice){u->data, n}, hex);
	if (fstatat(dirfd, hex, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	    (uint64_t)st.st_size == n) {
		u->sum->known++;
		u->sum->known_bytes += n;
	} else {
		r = write_seed(u, dirfd, hex, n, e);
	}
	if (r < 0) {
		(void)unlinkat(dirfd, TEMP_NAME, 0); /* allow: a full disk needs the room */
		return r;
	}
	u->sum->files++;
	u->sum->bytes += n;
	return 0;
}

static bool seeds_has_room(struct unpack *u, size_t n)
{
	const struct seeds_result *s = u->sum;

	u->full = s->files >= u->most.files || s->bytes + n > u->most.bytes;
	return !u->full;
}

/* Saves the entry, unless a limit forbids it. */
static int seeds_keep(struct unpack *u, const char *name, int dirfd, size_t n, struct err *e)
{
	if (u->full)
		skip(u, "more than %llu GiB uncompressed: the rest is left out",
		     (unsigned long long)(u->most.read >> 30));
	else if (dirfd < 0)
		skip(u, "entry '%.100s': %s", name, u->to->not_placed);
	else if (n > u->most.file)
		skip(u, "entry '%.100s' has more than %zu bytes", name, u->most.file);
	else if (n > 0 && !seeds_has_room(u, n))
		skip(u, "more than %llu files or %llu GiB: the rest is left out",
		     (unsigned long long)u->most.files, (unsigned long long)(u->most.bytes >> 30));
	else if (n > 0)
		return seeds_store(u, dirfd, n, e);
	return 0;
}

static int seeds_take_entry(struct unpack *u, struct archive_entry *entry, struct err *e)
{
	int dirfd = u->to->dirfd;
	size_t n = 0;
	int r = 0;

	/* libarchive reports a hard link as a regular file without content. */
	if (archive_entry_filetype(entry) != AE_IFREG)
		return 0;
	if (u->to->place)
		r = u->to->place(u->to->arg, entry_name(entry), &dirfd, e);
	if (r < 0)
		return r;
	r = seeds_read_entry(u, &n); /* also a skipped entry: its time counts */
	if (r == ARCHIVE_FATAL)
		return damaged(u, e, "entry '%.150s': %s", entry_name(entry), seeds_reason(u));
	if (r < 0) {
		skip(u, "entry '%.100s': %s", entry_name(entry), seeds_reason(u));
		return 0;
	}
	return seeds_keep(u, entry_name(entry), dirfd, n, e);
}

static int seeds_take_all(struct unpack *u, struct err *e)
{
	while (!u->full) {
		struct archive_entry *entry;
		int r = archive_read_next_header(u->a, &entry);

		if (r == ARCHIVE_EOF)
			return 0;
		if (r == ARCHIVE_FATAL)
			return damaged(u, e, "after entry %llu: %s", (unsigned long long)u->entries,
				       seeds_reason(u));
		if (++u->entries > u->most.entries) {
			skip(u, "more than %llu entries: the rest is left out",
			     (unsigned long long)u->most.entries);
			return 0;
		}
		if (r == ARCHIVE_FAILED || r == ARCHIVE_RETRY) {
			skip(u, "entry %llu: %s", (unsigned long long)u->entries, seeds_reason(u));
			continue;
		}
		r = seeds_take_entry(u, entry, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int open_archive(const char *archive, const struct rights *rights, int *ret_fd,
			struct err *e)
{
	_autoclose_ int fd = rights_open_named(rights, archive, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open '%s'", archive);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "'%s' is not a regular file", archive);
	*ret_fd = take_fd(&fd);
	return 0;
}

int discover_unpack(const char *archive, const struct seeds_to *to, struct seeds_result *ret,
		    struct err *e)
{
	CLEANUP(archive_read_free_p) struct archive *a = archive_read_new();
	_autofree_ char *data = NULL;
	_autoclose_ int fd = -1;
	struct unpack u = {.a = a,
			   .path = archive,
			   .to = to,
			   .most = to->most ? *to->most : seeds_limits_default,
			   .sum = ret};
	int r;

	*ret = (struct seeds_result){0};
	data = xmalloc(u.most.file + 1);
	u.data = data;
	if (!a)
		out_of_memory();
	r = open_archive(archive, to->rights, &fd, e);
	if (r == 0)
		r = seeds_begin(&u, fd, e);
	if (r == 0)
		r = seeds_take_all(&u, e);
	if (to->dirfd >= 0)
		(void)unlinkat(to->dirfd, TEMP_NAME, 0); /* allow: of a call that was killed */
	return r;
}

int discover_unpack_seeds(const char *archive, int dirfd, struct seeds_result *ret, struct err *e)
{
	return discover_unpack(archive, &(struct seeds_to){.dirfd = dirfd}, ret, e);
}
