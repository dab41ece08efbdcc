/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes a library that it opens by itself.  Its own file has neither the library's counters nor
 * an entry that names the library.
 * Promise: truth.  Coverage in the library is believed. */
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
