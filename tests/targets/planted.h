/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TARGETS_PLANTED_H
#define TESTS_TARGETS_PLANTED_H

/* Shared by the planted targets.  Each target is one file that tries to break one promise of the
 * guarantee table (docs/cells.md).  The end-to-end tests run it in a cell and read its
 * output.
 *
 * A target prints each attempt and its result on stderr, one line each:
 *
 *     planted: WHAT: NUMBER NAME      refused: errno and its name
 *     planted: WHAT: 159 SIGSYS       refused by death: 128 + the signal
 *     planted: WHAT: SUCCEEDED        the promise is broken
 *
 * Inside a cell: /work/corpus, /work/artifacts and /tmp are writable,
 * /seeds/0, /seeds/1 and /target are not.  PLANTED_ROOT puts a prefix before
 * these paths, to try a target by hand outside a cell.
 *
 * Bombs have a cap far above any cell's limit, so that a bomb started outside a cell by mistake
 * ends: it prints "planted: WHAT: reached its cap" and exits with PLANTED_CAP_EXIT.  In a cell that
 * line means a failed test. */

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PLANTED_CAP_EXIT 99
#define PLANTED_MIB	 (UINT64_C(1) << 20)
#define PLANTED_GIB	 (UINT64_C(1) << 30)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Prints the result of an attempt: err is 0 (success), an errno, or 128 + a signal's number when
 * the attempt was killed. */
static inline void planted_report(const char *what, int err)
{
	const char *name;

	if (err == 0) {
		dprintf(STDERR_FILENO, "planted: %s: SUCCEEDED\n", what);
		return;
	}
	if (err > 128) {
		name = sigabbrev_np(err - 128);
		dprintf(STDERR_FILENO, "planted: %s: %d SIG%s\n", what, err, name ? name : "?");
		return;
	}
	name = strerrorname_np(err);
	dprintf(STDERR_FILENO, "planted: %s: %d %s\n", what, err, name ? name : "?");
}

/* Ends a bomb that reached its cap. */
_Noreturn static inline void planted_cap(const char *what)
{
	dprintf(STDERR_FILENO, "planted: %s: reached its cap\n", what);
	_exit(PLANTED_CAP_EXIT);
}

/* A number from the environment, in decimal; otherwise is its default. */
static inline uint64_t planted_env(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* PLANTED_ROOT + path, in buf; a path that does not fit is cut. */
static inline const char *planted_path(char *buf, size_t size, const char *path)
{
	const char *root = getenv("PLANTED_ROOT");

	(void)snprintf(buf, size, "%s%s", root ? root : "", path);
	return buf;
}

/* Waits without using CPU. */
static inline void planted_nap(long milliseconds)
{
	struct timespec t = {.tv_sec = milliseconds / 1000,
			     .tv_nsec = milliseconds % 1000 * 1000000};

	(void)nanosleep(&t, NULL);
}

/* Seconds of CLOCK_MONOTONIC. */
static inline time_t planted_now(void)
{
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* A magic is one first byte.  An engine finds it within its first thousand inputs, which is fast
 * even in an emulator that is 20 times slower. */
static inline bool planted_magic(const uint8_t *data, size_t size, char magic)
{
	return size > 0 && data[0] == (uint8_t)magic;
}

/* Some ordinary work with a dozen edges, for targets that go on fuzzing. */
static inline int planted_work(const uint8_t *data, size_t size)
{
	volatile unsigned int sum = 0;

	for (size_t i = 0; i < size && i < 16; i++) {
		if (data[i] >= '0' && data[i] <= '9')
			sum = sum * 10 + data[i];
		else if (data[i] == '+')
			sum += 1;
		else if (data[i] == '-')
			sum -= 1;
		else if (data[i] > 0x7f)
			sum ^= data[i];
	}
	return 0;
}

#endif
