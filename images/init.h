/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_INIT_H
#define IMAGES_INIT_H

#include <stdint.h>

/* What process 1 of a cell (images/init/init.c) and cells/process1.c tell each other, over a
 * SOCK_SEQPACKET socket.  One byte to process 1: start the program.  With the byte come two
 * descriptors, its standard input and its output; the first program has those of process 1.  The
 * end of the socket: exit.  Process 1 sends struct init_message. */

/* Descriptors of process 1 when it begins, beside 0 to 2. */
enum { INIT_SOCKET = 3, INIT_PROGRAM = 4 };

/* How crun finds process 1: it is no file of the cell's. */
#define INIT_PATH "/proc/self/fd/4"

enum init_word {
	/* The sender is the process that executes the program next.  Its number is not used again
	 * before the next byte. */
	INIT_STARTED,
	INIT_FAILED, /* value: errno of what failed: the program was not executed */
	INIT_EXITED, /* value: exit status */
	INIT_KILLED, /* value: signal */
};

struct init_message {
	int32_t word, value;
	/* With INIT_EXITED and INIT_KILLED: the program left something that the next one would
	 * meet: a process, a file, or a change of process 1, /tmp or /dev/shm. */
	int32_t left;
};

#endif
