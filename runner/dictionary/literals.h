/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_DICTIONARY_LITERALS_H
#define RUNNER_DICTIONARY_LITERALS_H

#include "runner/dictionary/words.h"

/* Finds the literals of a program in its ELF file and adds them to io.
 *
 * AddressSanitizer describes each global of the code that it instruments.  The strings of its own
 * run-time and of the engine, which are linked into the same file, have no such description.  In a
 * program without AddressSanitizer it finds none.
 *
 * fd: a regular file, open for reading, hostile (see runner/targets/elf.h).  Blocks while it reads;
 * time and memory are bounded.  Returns the number of literals that it read; 0: there are none, or
 * the file is unreadable. */
enum {
	LITERALS_GLOBALS_MAX = 1 << 16,	 /* globals that are read */
	LITERALS_SECTION_MAX = 32 << 20, /* bytes of a section that are read */
	LITERALS_RELOCATIONS_MAX = 1 << 22,
	LITERALS_TABLE_MAX = 1 << 16, /* bytes of a global with more than one literal */
};
size_t literals_in(int fd, struct words *io);

#endif
