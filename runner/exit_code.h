/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_EXIT_CODE_H
#define RUNNER_EXIT_CODE_H

/* The exit statuses of the program. docs/fuzzcell.1 describes them for each command;
 * runner/run/job/reason.h chooses a run's. */
enum exit_code {
	EXIT_DONE = 0,
	EXIT_CRASHES = 1,    /* run --fail-on-crash, regress: crashes or failures were found */
	EXIT_USAGE = 2,	     /* wrong usage or configuration */
	EXIT_MACHINE = 3,    /* this machine cannot enforce a limit or provide a resource */
	EXIT_LOCKED = 4,     /* another run holds the lock */
	EXIT_NOT_FUZZED = 5, /* finished, but a target was not really fuzzed, or was given up */
	EXIT_BUILD = 6,	     /* nothing could be built */
	EXIT_INTERNAL = 70,
};

#endif
