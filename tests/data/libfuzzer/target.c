/* SPDX-License-Identifier: Apache-2.0 */
/* Fails in the way that $MODE names, for capture.sh. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *mode = "";
static volatile int sink;
static void *volatile kept;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (getenv("MODE"))
		mode = getenv("MODE");
	if (strcmp(mode, "startexit") == 0)
		_exit(3);
	if (strcmp(mode, "startcrash") == 0)
		*(volatile int *)(uintptr_t)(argc == NULL) = 0;
	return 0;
}

static int is(const char *name)
{
	return strcmp(mode, name) == 0;
}

static void fail(void)
{
	volatile int big = 0x7fffffff;

	if (is("crash"))
		sink = ((volatile char *)malloc(3))[3];
	if (is("segv"))
		*(volatile int *)(uintptr_t)(sink & 0) = 1;
	if (is("ub"))
		sink = big + 1;
	if (is("uninit") && ((volatile char *)malloc(3))[1])
		sink = 2;
	if (is("leak"))
		kept = malloc(40), kept = NULL;
	if (is("abort"))
		abort();
	if (is("exit"))
		exit(5);
	if (is("quietexit"))
		_exit(5);
	if (is("malloc"))
		kept = malloc((size_t)600 << 20);
	while (is("timeout"))
		sink++;
	while (is("oom"))
		memset(malloc(1 << 20), 1, 1 << 20);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 1 && data[0] == 'F' && data[1] == 'U')
		fail();
	return 0;
}
