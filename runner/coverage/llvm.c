/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/coverage/llvm.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/scan.h"
#include "runner/targets/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VERSION_MAX = 99, VERSION_LEAST = 11, COMMENT_MAX = 1 << 20 };

void llvm_done(struct llvm *l)
{
	free(l->profdata);
	free(l->cov);
	free(l->filt);
	*l = (struct llvm){0};
}

/* --- the compiler ------------------------------------------------------------------ */

/* The newest of "clang version 14.0.6" in the strings of the compilers. */
static unsigned llvm_newest_in(const char *text, size_t n)
{
	static const char mark[] = "clang version ";
	unsigned newest = 0;

	for (const char *p = text; (p = memmem(p, n - (size_t)(p - text), mark, strlen(mark)));) {
		struct slice rest;
		uint64_t v;

		p += strlen(mark);
		rest = (struct slice){p, n - (size_t)(p - text)};
		if (scan_u64(&rest, 10, VERSION_MAX, &v) && v > newest)
			newest = (unsigned)v;
	}
	return newest;
}

static unsigned llvm_in_section(const struct elf_file *f, const struct elf_header *h)
{
	_autofree_ char *text = NULL;

	if (h->size == 0 || h->size > COMMENT_MAX)
		return 0;
	text = xmalloc(h->size);
	return elf_read(f, text, h->size, h->at) ? llvm_newest_in(text, h->size) : 0;
}

unsigned llvm_version_of(const struct target *build)
{
	_autoclose_ int fd =
	    rights_open(&build->rights, AT_FDCWD, build->binary, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct elf_file f;
	unsigned version = 0;

	if (fd < 0 || elf_open(fd, &f) != ELF_READ)
		return 0;
	for (uint64_t i = 0; i < f.n && version == 0; i++) {
		struct elf_header h = elf_section(&f, i);

		if (elf_is_named(&f, &h, ".comment"))
			version = llvm_in_section(&f, &h);
	}
	elf_done(&f);
	return version;
}

/* --- the tools ----------------------------------------------------------------------- */

/* The path of a tool in a cell.  version 0: the name without a version. */
static char *llvm_tool(const char *name, unsigned version)
{
	return version ? xasprintf("/usr/lib/llvm-%u/bin/%s", version, name)
		       : xasprintf("/usr/bin/%s", name);
}

static bool llvm_has(const char *rootfs, const char *name, unsigned version)
{
	_autofree_ char *path = llvm_tool(name, version);
	_autofree_ char *host = xasprintf("%s%s", rootfs ? rootfs : "", path);

	return access(host, X_OK) == 0;
}

static bool llvm_take(const char *rootfs, unsigned version, struct llvm *ret)
{
	if (!llvm_has(rootfs, "llvm-profdata", version) || !llvm_has(rootfs, "llvm-cov", version))
		return false;
	*ret = (struct llvm){
	    .version = version,
	    .profdata = llvm_tool("llvm-profdata", version),
	    .cov = llvm_tool("llvm-cov", version),
	    .filt = llvm_has(rootfs, "llvm-cxxfilt", version) ? llvm_tool("llvm-cxxfilt", version)
							      : NULL,
	};
	return true;
}

static int llvm_missing(const char *rootfs, unsigned version, unsigned older, struct err *e)
{
	const char *where = rootfs ? " in the rootfs" : "";
	char package[32] = "llvm";

	if (version)
		snprintf(package, sizeof(package), "llvm-%u", version);
	if (older)
		return err_set(e, ENOENT,
			       "the program was built by clang %u, and LLVM %u is too old to read "
			       "its profile: install the package %s%s",
			       version, older, package, where);
	return err_set(e, ENOENT,
		       "llvm-cov and llvm-profdata are missing: install the package %s%s", package,
		       where);
}

int llvm_find(const char *rootfs, unsigned version, struct llvm *ret, struct err *e)
{
	struct llvm other;

	for (unsigned v = version; v > 0 && v <= VERSION_MAX; v++)
		if (llvm_take(rootfs, v, ret))
			return 0;
	for (unsigned v = VERSION_MAX; v >= VERSION_LEAST; v--) {
		if (!llvm_take(rootfs, v, &other))
			continue;
		if (version == 0) {
			*ret = other;
			return 0;
		}
		llvm_done(&other);
		return llvm_missing(rootfs, version, v, e);
	}
	/* A distribution with one LLVM; llvm-profdata refuses a profile that it cannot read. */
	return llvm_take(rootfs, 0, ret) ? 0 : llvm_missing(rootfs, version, 0, e);
}
