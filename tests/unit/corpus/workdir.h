/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CORPUS_WORKDIR_H
#define TESTS_UNIT_CORPUS_WORKDIR_H

/* The working directory of its tests. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fault.h"
#include "runner/corpus/workdir.h"
#include "runner/engine/libfuzzer/libfuzzer.h"
#include "tests/unit/corpus/files.h"

#include <sys/wait.h>

static struct scratch dir;
static int work, corpus, crashes, quarantined, queued;

static inline int each_setup(void **state)
{
	(void)state;
	dir = (struct scratch)SCRATCH_INIT;
	scratch_make(&dir);
	work = make_dir_at(dir.fd, "work");
	corpus = make_dir_at(dir.fd, "corpus");
	crashes = make_dir_at(dir.fd, "crashes");
	quarantined = make_dir_at(dir.fd, "quarantine");
	queued = make_dir_at(dir.fd, "triage");
	umask(022);
	return 0;
}

static inline int each_teardown(void **state)
{
	(void)state;
	close(work);
	close(corpus);
	close(crashes);
	close(quarantined);
	close(queued);
	scratch_remove(&dir);
	return 0;
}

/* Only root can give files to a cell's user; otherwise the cell has our user. */
static inline uid_t cell_uid(void)
{
	return geteuid() == 0 ? 0x7f000001 : geteuid();
}

static inline struct workdir_prepare preparation(void)
{
	return (struct workdir_prepare){.work = work,
					.target = "t",
					.uid = cell_uid(),
					.gid = geteuid() == 0 ? cell_uid() : getegid(),
					.corpus = corpus,
					.quarantine = -1};
}

static inline void prepare(void)
{
	struct workdir_prepare p = preparation();
	struct workdir_seeds seeds;
	char note[200];
	struct err e = {0};

	if (workdir_prepare(&p, &seeds, note, &e) < 0)
		fail_msg("%s", e.msg);
}

static inline struct workdir_collect collection(enum engine_artifact cause)
{
	return (struct workdir_collect){.work = work,
					.target = "t",
					.crashes = crashes,
					.corpus = corpus,
					.quarantine = quarantined,
					.triage = queued,
					.engine = &engine_libfuzzer,
					.cause = cause};
}

static inline struct workdir_found collect(enum engine_artifact cause, char *names, size_t n)
{
	_autobuf_ struct buf b = BUF_INIT(1 << 20);
	struct workdir_collect c = collection(cause);
	struct workdir_found found = {.inputs = 99};
	struct err e = {0};

	if (workdir_collect(&c, &found, &b, &e) < 0)
		fail_msg("%s", e.msg);
	snprintf(names, n, "%s", buf_str(&b));
	return found;
}

/* The engine's name of an artifact, in the working directory. */
static inline const char *fresh(const char *kind, const char *content)
{
	static char path[80];

	snprintf(path, sizeof(path), "t/artifacts/%s", artifact_of(kind, content));
	return path;
}

static inline void leave(const char *kind, const char *content)
{
	scratch_write(work, fresh(kind, content), content);
}

static inline struct stat stat_of(int dirfd, const char *path)
{
	struct stat st = {0};

	assert_int_equal(fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st;
}

#endif
