/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_H
#define RECORD_H

#include <stddef.h>
#include <stdint.h>

enum { RECORD_NAME_MAX = 16 };

/* A record is the letter 'R', the length of a name, and the name. */

/* Copies the name of the first record and returns its length; -1: there is no record.
 * Planted bug: a name may be longer than RECORD_NAME_MAX. */
int record_name(const uint8_t *data, size_t size, char name[RECORD_NAME_MAX]);

/* The number of complete records. */
size_t record_count(const uint8_t *data, size_t size);

#endif
