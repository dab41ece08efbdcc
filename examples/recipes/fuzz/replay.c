/* SPDX-License-Identifier: Apache-2.0 */
/* For compilers without libFuzzer: runs the harness on each given file. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	static uint8_t whole[1 << 20];

	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		uint8_t *exact;
		size_t n;

		if (!f) {
			perror(argv[i]);
			return 1;
		}
		n = fread(whole, 1, sizeof(whole), f);
		fclose(f);
		/* Has exactly the input's size, so that the sanitizer finds a read beyond its end.
		 */
		exact = malloc(n ? n : 1);
		if (!exact)
			return 1;
		memcpy(exact, whole, n);
		printf("%s\n", argv[i]);
		fflush(stdout);
		LLVMFuzzerTestOneInput(exact, n);
		free(exact);
	}
	return 0;
}
