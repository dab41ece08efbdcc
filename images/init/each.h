/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_INIT_EACH_H
#define IMAGES_INIT_EACH_H

#include "images/init.h"

/* argv: INIT_EACH, the program's path, the inputs' paths.  Prints "Running: <input>" before each
 * input and "Executed <input> in <n> ms" after it.  Returns never: the process ends with 0, or as
 * the program ended at the first failing input. */
void __attribute__((noreturn)) each_main(char **argv);

/* The exit status when the program cannot be run. */
enum { EACH_FAILED = 127 };

#endif
