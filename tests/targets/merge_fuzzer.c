/* SPDX-License-Identifier: Apache-2.0 */
/* Its corpus can have every kind of bad input, by the first byte:
 * C  writes beyond the heap               L  leaks
 * E  exits                                A  keeps 24 MiB: a single input is harmless, many are not
 * X  exits with _exit(0)                  W  appends to the control file of the merge
 * T  never returns                        Z  replaces that file
 * S  never returns and blocks signals     N  sleeps
 * M  takes memory without end             F  is flaky: the clock decides which edge it takes
 * All other inputs have some dozens of features.
 * Promise: results.  A merge measures the rest, and loses none of it. */
#include "bomb.h"

#include <fcntl.h>
#include <signal.h>

static void *volatile held;
static volatile int edge;

static void overflow(const uint8_t *data, size_t size)
{
	volatile uint8_t *p = malloc(size);

	if (p)
		p[size] = data[0];
	free((void *)p);
}

static void leak(void)
{
	held = malloc(64);
	held = NULL;
}

static void hang(void)
{
	volatile uint64_t turns = 0;

	for (;;)
		turns++;
}

static void explode(void)
{
	for (;;) {
		(void)bomb_block((size_t)(8 * PLANTED_MIB));
		planted_nap(20);
	}
}

/* Forged content for the merge's control file. */
static void scribble(int how)
{
	static const char text[] = "STARTED 0 1\nFT 0 1 2 3\nCOV 0 1\nSTARTED 99999 1\n";
	int fd = open("/work/control", O_WRONLY | how);

	if (fd < 0)
		return;
	(void)!write(fd, text, sizeof(text) - 1);
	close(fd);
}

static void flaky(void)
{
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	switch (t.tv_nsec / 64 % 8) {
	case 0:
		edge = 10;
		break;
	case 1:
		edge += 3;
		break;
	case 2:
		edge ^= 5;
		break;
	case 3:
		edge *= 7;
		break;
	default:
		edge = 0;
	}
}

__attribute__((optnone)) static int more(const uint8_t *data, size_t size)
{
	volatile int steps = 0;

	for (size_t i = 0; i < size && i < 64; i++)
		switch (data[i]) {
		case 'a':
			steps++;
			break;
		case 'b':
			steps--;
			break;
		case 'c':
			steps *= 2;
			break;
		case 'd':
			steps += steps > 3 ? 1 : 2;
			break;
		default:
			break;
		}
	return planted_work(data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sigset_t all;

	switch (size > 0 ? data[0] : 0) {
	case 'C':
		overflow(data, size);
		break;
	case 'E':
		exit(7);
	case 'X':
		_exit(0);
	case 'T':
		hang();
		break;
	case 'S':
		sigfillset(&all);
		(void)sigprocmask(SIG_BLOCK, &all, NULL);
		hang();
		break;
	case 'M':
		explode();
		break;
	case 'A':
		(void)bomb_block((size_t)(24 * PLANTED_MIB));
		break;
	case 'L':
		leak();
		break;
	case 'W':
		scribble(O_APPEND);
		break;
	case 'Z':
		scribble(O_TRUNC);
		break;
	case 'N':
		planted_nap(100);
		break;
	case 'F':
		flaky();
		break;
	default:
		return more(data, size);
	}
	return 0;
}
