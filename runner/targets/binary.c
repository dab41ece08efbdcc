/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out which engine is in a program. */
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/targets/elf.h"
#include "runner/targets/source.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* The search works in blocks.  Each block begins with the end of the block before, to find a mark
 * across the border.  From 128 KiB on, malloc() would map new pages for each program. */
enum { BLOCK = 1 << 16, OVERLAP = 256 };

/* Engines with engine_ops.marks, .also and .unless in a program: 1 << index of the engine. */
struct found {
	uint64_t marked, also, excluded;
};

static bool has_text(const char *p, size_t n, const char *text)
{
	size_t len = strlen(text);

	return len <= OVERLAP && memmem(p, n, text, len);
}

static bool has_mark(const struct engine_ops *engine, const char *p, size_t n)
{
	for (const char *const *m = engine->marks; *m; m++)
		if (has_text(p, n, *m))
			return true;
	return false;
}

static void engines_in(const char *p, size_t n, struct found *io)
{
	const struct engine_ops *engine;

	for (size_t i = 0; (engine = engine_at(i)); i++) {
		uint64_t bit = UINT64_C(1) << i;

		if (!(io->marked & bit) && has_mark(engine, p, n))
			io->marked |= bit;
		if (engine->also && !(io->also & bit) && has_text(p, n, engine->also))
			io->also |= bit;
		if (engine->unless && !(io->excluded & bit) && has_text(p, n, engine->unless))
			io->excluded |= bit;
	}
}

/* The last engine of the table with a mark. */
static const struct engine_ops *engine_of(const struct found *f)
{
	const struct engine_ops *engine, *last = NULL;

	for (size_t i = 0; (engine = engine_at(i)); i++) {
		uint64_t is = f->marked & ~f->excluded & (engine->also ? f->also : UINT64_MAX);

		if (is & (UINT64_C(1) << i))
			last = engine;
	}
	return last;
}

/* Refuses object files and core dumps of a target, which contain its strings too. */
static bool is_elf_program(const char *p, size_t n)
{
	unsigned type;

	if (n < EI_NIDENT + 2 || memcmp(p, ELFMAG, SELFMAG) != 0)
		return false;
	type = (unsigned char)p[p[EI_DATA] == ELFDATA2MSB ? EI_NIDENT + 1 : EI_NIDENT];
	return type == ET_EXEC || type == ET_DYN;
}

/* Searches up to the offset `to`, or the end of the file.  The bound matters because a file may
 * grow as fast as we read. */
static int binary_search(int fd, uint64_t from, uint64_t to, char *block, uint64_t *io_searched,
			 const struct engine_ops **ret, struct err *e)
{
	struct found found = {0};
	size_t kept = 0;

	*ret = NULL;
	for (uint64_t at = from; at < to;) {
		uint64_t want = to - at < BLOCK ? to - at : BLOCK;
		size_t n, keep;
		ssize_t got;

		if (*io_searched > DISCOVER_MAX_SEARCH)
			return err_set(e, EFBIG, "more than %llu GiB of programs to search",
				       (unsigned long long)(DISCOVER_MAX_SEARCH >> 30));
		got = sys_pread(fd, block + kept, (size_t)want, (off_t)at);
		if (got < 0)
			return err_sys(e, "read");
		if (got == 0)
			break;
		at += (uint64_t)got;
		*io_searched += (uint64_t)got;
		n = kept + (size_t)got;
		engines_in(block, n, &found);
		keep = n < OVERLAP ? n : OVERLAP;
		memmove(block, block + n - keep, keep);
		kept = keep;
	}
	*ret = engine_of(&found);
	return 0;
}

/* Finds the section with constant strings. */
static bool find_constants(int fd, uint64_t *ret_from, uint64_t *ret_to)
{
	struct elf_file m;
	bool found = false;

	if (elf_open(fd, &m) != ELF_READ)
		return false;
	for (uint64_t i = 0; i < m.n && !found; i++) {
		struct elf_header s = elf_section(&m, i);

		found = s.type == SHT_PROGBITS && s.at < m.size && s.size <= m.size - s.at &&
			elf_is_named(&m, &s, ".rodata");
		*ret_from = s.at;
		*ret_to = s.at + s.size;
	}
	elf_done(&m);
	return found;
}

/* Searches the constants first.  They are a twentieth of a program, and a run may search 2,000
 * programs before it starts. */
static int find_engine(int fd, char *block, uint64_t *io_searched, struct binary *io, struct err *e)
{
	uint64_t from, to;
	int r = 0;

	if (io->elf && find_constants(fd, &from, &to))
		r = binary_search(fd, from, to, block, io_searched, &io->engine, e);
	if (r == 0 && !io->engine)
		r = binary_search(fd, 0, DISCOVER_MAX_BINARY, block, io_searched, &io->engine, e);
	return r;
}

int binary_probe(int fd, uint64_t *io_searched, struct binary *ret, struct err *e)
{
	_autofree_ char *block = NULL;
	struct binary b = {0};
	struct stat before, after;
	ssize_t n;
	int r;

	if (fstat(fd, &before) < 0)
		return err_sys(e, "stat");
	b.size = (uint64_t)before.st_size;
	b.executable = before.st_mode & 0111;
	b.too_large = b.size > DISCOVER_MAX_BINARY;
	block = xmalloc(OVERLAP + BLOCK);
	/* Read only the head first: most files of a directory are not programs. */
	n = sys_pread(fd, block, OVERLAP, 0);
	if (n < 0)
		return err_sys(e, "read");
	b.elf = is_elf_program(block, (size_t)n);
	b.script = n >= 2 && memcmp(block, "#!", 2) == 0;
	if ((b.elf || b.script) && !b.too_large) {
		r = find_engine(fd, block, io_searched, &b, e);
		if (r < 0)
			return r;
	}
	if (fstat(fd, &after) < 0)
		return err_sys(e, "stat");
	b.changed = after.st_size != before.st_size ||
		    after.st_mtim.tv_sec != before.st_mtim.tv_sec ||
		    after.st_mtim.tv_nsec != before.st_mtim.tv_nsec;
	*ret = b;
	return 0;
}
