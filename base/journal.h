/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_JOURNAL_H
#define BASE_JOURNAL_H

#include <stdbool.h>
#include <sys/uio.h>

/* systemd's journal. */

/* Does the journal read fd?  stream is $JOURNAL_STREAM, "DEVICE:INODE" (systemd.exec(5)).  The
 * variable alone proves nothing: a program inherits it even when its output is redirected.  With
 * NULL the answer is no. */
bool journal_has(int fd, const char *stream);
/* Sends one entry of fields "NAME=value", each at most once.  Returns 0 or a negative errno. */
int journal_send(const struct iovec *fields, unsigned n);

#endif
