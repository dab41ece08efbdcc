/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_JOURNAL_H
#define BASE_JOURNAL_H

#include <stdbool.h>
#include <sys/uio.h>

/* systemd's journal. */

/* Is fd what the journal reads?  stream is $JOURNAL_STREAM, "DEVICE:INODE" (systemd.exec(5)); it
 * may be inherited by a program whose output goes elsewhere by now.  NULL: no. */
bool journal_has(int fd, const char *stream);
/* One entry of fields "NAME=value", each at most once.  0, or a negative errno. */
int journal_send(const struct iovec *fields, unsigned n);

#endif
