/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_INIT_H
#define IMAGES_INIT_H

#include <stdint.h>

/* The protocol between process 1 of a cell (images/init/init.c) and cells/process1.c, over a
 * SOCK_SEQPACKET socket.  A struct init_request starts the program.  Two descriptors come with it:
 * the program's standard input and its output.  The first program has those of process 1.  When the
 * socket closes, process 1 exits.  Process 1 sends struct init_message. */

/* Descriptors of process 1 when it begins, beside 0 to 2. */
enum { INIT_SOCKET = 3, INIT_PROGRAM = 4 };

/* The path with which crun executes process 1, which is no file in the cell. */
#define INIT_PATH "/proc/self/fd/4"

/* Programs of these names are not files.
 * INIT_NEST: process 1 makes links and directories, and then runs a program (images/init/nest.h).
 * INIT_EACH: it runs a program once for each of several inputs (images/init/each.h).  At the signal
 * EACH_DUMP, the program gets SIGABRT. */
#define INIT_NEST "fuzzcell-nest"
#define INIT_EACH "fuzzcell-each"
enum { EACH_DUMP = 15 /* SIGTERM */ };

struct init_request {
	int32_t cpu; /* the only CPU of the program; negative: it has those of process 1 */
};

enum init_event {
	/* The sender is the process that executes the program next.  Its number is not used again
	 * before the next request. */
	INIT_STARTED,
	INIT_FAILED, /* value: errno; the program was not executed */
	INIT_EXITED, /* value: exit status */
	INIT_KILLED, /* value: signal */
};

struct init_message {
	int32_t event, value;
	/* With INIT_EXITED and INIT_KILLED: the program left traces that could affect the next one:
	 * a process, a file, or a change of process 1, /tmp or /dev/shm. */
	int32_t left;
};

#endif
