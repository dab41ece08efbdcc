/* SPDX-License-Identifier: Apache-2.0 */
#include "base/journal.h"

#include "base/scan.h"

#include <sys/stat.h>
#define SD_JOURNAL_SUPPRESS_LOCATION /* source locations are of no use to an operator */
#include <systemd/sd-journal.h>

bool journal_has(int fd, const char *stream)
{
	struct slice s = slice_of(stream ? stream : "");
	uint64_t device, inode;
	struct stat st;

	if (!scan_u64(&s, 10, UINT64_MAX, &device) || !scan_lit(&s, SLICE(":")) ||
	    !scan_u64(&s, 10, UINT64_MAX, &inode) || s.n > 0 || fstat(fd, &st) < 0)
		return false;
	return st.st_dev == device && st.st_ino == inode;
}

int journal_send(const struct iovec *fields, unsigned n)
{
	return sd_journal_sendv(fields, (int)n);
}
