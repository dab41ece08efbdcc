/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes a library that it opens by itself: no section of its own file has the counters of it, and
 * no table says that it needs it.  Promise: truth.  What it reaches there is believed. */
#include "planted.h"

#include <dlfcn.h>

static int (*work)(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	void *library = dlopen("./liblibrary.so", RTLD_NOW);

	(void)argc;
	(void)argv;
	if (library) {
		void *at = dlsym(library, "library_work");

		memcpy(&work, &at, sizeof(work));
	}
	if (!work) {
		(void)fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return work ? work(data, size) : 0;
}
