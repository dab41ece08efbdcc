/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target without an engine: on the given files, and on the files in the given
 * directories, in the order of their names.  Prints TAP.  A failing target ends the process, which
 * prove detects. Without arguments it runs one empty input. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 1 << 20 };

static unsigned ran, bad;

static void result(const char *path, const char *why)
{
	ran++;
	bad += why != NULL;
	printf("%sok %u - %s%s%s\n", why ? "not " : "", ran, path, why ? ": " : "", why ? why : "");
	fflush(stdout);
}

static void run_file(const char *path)
{
	static uint8_t whole[INPUT_MAX];
	FILE *f = fopen(path, "re");
	uint8_t *exact;
	size_t n;

	if (!f) {
		result(path, strerror(errno));
		return;
	}
	n = fread(whole, 1, sizeof(whole), f);
	fclose(f);
	/* Has exactly the input's size, so that ASan finds a read beyond its end. */
	exact = malloc(n ? n : 1);
	if (!exact) {
		result(path, "no memory");
		return;
	}
	memcpy(exact, whole, n);
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	result(path, NULL);
}

static int visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void run_dir(const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, visible, alphasort);

	if (n < 0) {
		result(path, strerror(errno));
		return;
	}
	for (int i = 0; i < n; i++) {
		char *file = NULL;

		if (asprintf(&file, "%s/%s", path, names[i]->d_name) >= 0)
			run_file(file);
		free(file);
		free(names[i]);
	}
	free(names);
}

int main(int argc, char **argv)
{
	struct stat st;

	for (int i = 1; i < argc; i++) {
		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
			run_dir(argv[i]);
		else
			run_file(argv[i]);
	}
	if (ran == 0) {
		LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
		result("empty input", NULL);
	}
	printf("1..%u\n", ran);
	return bad ? 1 : 0;
}
