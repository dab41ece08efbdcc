/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file_id.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

static int64_t nanoseconds(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

struct file_id file_id_of(const struct stat *st)
{
	return (struct file_id){
	    .size = (uint64_t)st->st_size,
	    .mtime_ns = nanoseconds(&st->st_mtim),
	    .ctime_ns = nanoseconds(&st->st_ctim),
	};
}

bool file_id_look(const char *path, struct file_id *ret)
{
	struct stat st;

	if (stat(path, &st) < 0 || st.st_size <= 0)
		return false;
	*ret = file_id_of(&st);
	return true;
}

bool file_id_same(const struct file_id *a, const struct file_id *b)
{
	return a->size > 0 && a->size == b->size && a->mtime_ns == b->mtime_ns &&
	       a->ctime_ns == b->ctime_ns;
}

const char *file_id_text(const struct file_id *f, char out[FILE_ID_TEXT])
{
	*out = '\0';
	if (f->size > 0)
		snprintf(out, FILE_ID_TEXT, "%llx.%llx.%llx", (unsigned long long)f->size,
			 (unsigned long long)f->mtime_ns, (unsigned long long)f->ctime_ns);
	return out;
}

const char *file_id_now(const char *path, char out[FILE_ID_TEXT])
{
	struct file_id is = {0};

	(void)file_id_look(path, &is);
	return file_id_text(&is, out);
}
