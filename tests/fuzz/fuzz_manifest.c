/* SPDX-License-Identifier: Apache-2.0 */
/* A manifest with a real directory for its paths: "b" is a target's binary, "d" a file, "o" an
 * options file, "s" a directory. */
#include "base/cleanup.h"
#include "runner/targets/names.h"
#include "runner/targets/source.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* These replace the C library's functions.  A cell refuses these calls, and a refused call is a
 * finding.  Here paths of other users are read with our own rights, or not at all. */
int setfsuid(uid_t uid)
{
	(void)uid;
	return (int)geteuid();
}

int setfsgid(gid_t gid)
{
	(void)gid;
	return (int)getegid();
}

int setgroups(size_t n, const gid_t *groups)
{
	(void)n;
	(void)groups;
	errno = EPERM;
	return -1;
}

static char dir[] = "/tmp/fuzz-manifest-XXXXXX";

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void make(int at, const char *name, struct slice text, mode_t mode)
{
	_autoclose_ int fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, mode);

	check(fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n);
}

static void remove_dir(void)
{
	static const char *const files[] = {"b", "d", "o"};
	_autoclose_ int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < 3; i++)
		unlinkat(at, files[i], 0);
	unlinkat(at, "s", AT_REMOVEDIR);
	rmdir(dir);
}

static void prepare(void)
{
	_autoclose_ int at = -1;

	check(mkdtemp(dir));
	at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check(at >= 0 && mkdirat(at, "s", 0755) == 0);
	make(at, "b", SLICE("#!/bin/true LLVMFuzzerTestOneInput"), 0755);
	make(at, "d", SLICE(""), 0644);
	make(at, "o", SLICE("[libfuzzer]\nmax_len = 1\nfork = 1\n[asan]\na = b\n"), 0644);
	atexit(remove_dir);
}

static void check_target(const struct target *t)
{
	char why[160];

	check(names_target_ok(slice_of(t->name)));
	check(t->binary[0] == '/' && t->engine);
	check(!t->dir || t->dir[0] == '/');
	check(!t->dict || t->dict[0] == '/');
	check(!t->seed_archive || t->seed_archive[0] == '/');
	for (size_t i = 0; i < t->seed_dirs.n; i++)
		check(t->seed_dirs.v[i][0] == '/');
	for (size_t i = 0; i < t->flags.n; i++)
		check(t->engine->flag_ok(slice_of(t->flags.v[i]), why));
	for (size_t i = 0; i < t->env.n; i++)
		check(strchr(t->env.v[i], '=') > t->env.v[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct target_list l = {0};
	static bool ready;
	struct err e = {0};

	if (!ready)
		prepare();
	ready = true;
	if (manifest_parse((struct slice){(const char *)data, size}, dir, &l, &e) < 0)
		check(e.code > 0 && e.msg[0]);
	for (size_t i = 0; i < l.n; i++)
		check_target(&l.v[i]);
	target_list_done(&l);
	return 0;
}
