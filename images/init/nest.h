/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_INIT_NEST_H
#define IMAGES_INIT_NEST_H

#include "images/init.h"

/* argv: INIT_NEST, steps, "--", the program with its arguments.  Each step is three words:
 *
 *   link FROM TO    makes TO a symbolic link to FROM, and the directories above TO
 *   links FROM TO   makes TO a directory with a link to each name in the directory FROM; names that
 *                   are there already stay.  If FROM does not exist, TO is empty.
 *   in DIR -        makes DIR the working directory; it is made if it does not exist
 *   data BYTES -    limits the private memory of each process (RLIMIT_DATA)
 *   save DIR FILE   when the program has ended, copies a file of DIR to FILE, if there is one.  The
 *                   process then ends as the program ended.
 *
 * Returns the words after "--"; NULL if a step failed, which standard error then names. */
char **nest_make(char **argv);

#endif
