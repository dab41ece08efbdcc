/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_INIT_EACH_H
#define IMAGES_INIT_EACH_H

#include "images/init.h"

/* argv: INIT_EACH, a path AT, the program's path, its arguments, "--", the inputs' paths.  Each
 * input is the program's last argument and its standard input.  If AT is not "-", the symbolic link
 * AT leads to the input instead; the directory above AT exists.  Prints "Running: <input>" before
 * each input and "Executed <input> in <n> ms" after it.  Returns never: the process ends with 0, or
 * as the program ended at the first failing input. */
void __attribute__((noreturn)) each_main(char **argv);

/* Ends this process as a child ended that has this status (waitpid(2)). */
void __attribute__((noreturn)) each_end_as(int status);

/* The exit status when the program cannot be run. */
enum { EACH_FAILED = 127 };

#endif
