/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SYS_H
#define BASE_SYS_H

#include <dirent.h>
#include <stddef.h>
#include <sys/types.h>

/* Wrappers of all system calls that can fail at runtime.  ci/banned.sh rejects direct calls
 * elsewhere; tests make each call fail in turn.  On failure each returns -1 (or NULL) and sets
 * errno, like the call that it wraps.  Every descriptor is created close-on-exec. */
int sys_openat(int dirfd, const char *path, int flags, mode_t mode);
int sys_mkdirat(int dirfd, const char *path, mode_t mode);
int sys_write_all(int fd, const void *buf, size_t n);
ssize_t sys_read(int fd, void *buf, size_t n);		  /* retries EINTR */
ssize_t sys_pread(int fd, void *buf, size_t n, off_t at); /* retries EINTR */
/* Reads n bytes at an offset; fewer only at the file's end. */
ssize_t sys_pread_all(int fd, void *buf, size_t n, off_t at);
int sys_fsync(int fd);
int sys_renameat(int dirfd, const char *from, const char *to);
int sys_rename_to(int from_dirfd, const char *from, int to_dirfd, const char *to);
/* Exchanges two directory entries atomically. */
int sys_exchange(int a_dirfd, const char *a, int b_dirfd, const char *b);
int sys_linkat(int from_dirfd, const char *from, int to_dirfd, const char *to);
int sys_unlinkat(int dirfd, const char *path, int flags);
int sys_ftruncate(int fd, off_t size);
int sys_syncfs(int fd);
int sys_pipe(int ret_fds[2]);
/* A directory stream on dirfd/path ("." for dirfd itself); closedir() it. */
DIR *sys_opendirat(int dirfd, const char *path);
/* The next entry that is neither "." nor ".."; NULL with errno 0 at the end. */
const struct dirent *sys_readdir(DIR *d);

#endif
