/* SPDX-License-Identifier: Apache-2.0 */
/* launch BINARY DIR SEEDS [-flag=value...]: becomes a fuzz job as the adapter makes
 * it; SEEDS "-": none; -DICT=PATH: the dictionary.  For capture.sh. */
#include "runner/engine/libfuzzer/libfuzzer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int launch(char **argv)
{
	char dirs[2][4096];
	const char *seeds[] = {argv[3][0] == '-' ? NULL : argv[3], NULL};
	const char *mode = getenv("MODE") ? getenv("MODE") : "";
	char entry[64];
	const char *env[] = {entry, NULL};
	bool dict = argv[4] && strncmp(argv[4], "-DICT=", 6) == 0;
	struct engine_fuzz job = {
	    .binary = argv[1],
	    .corpus_dir = dirs[0],
	    .seed_dirs = seeds,
	    .artifact_dir = dirs[1],
	    .dict = dict ? argv[4] + 6 : NULL,
	    .max_time_s = 60,
	    .input_timeout_s = strcmp(mode, "timeout") == 0 ? 2 : 60,
	    .rss_limit_mib = 500,
	    .seed = 1,
	    .flags = (const char *const *)(argv + (dict ? 5 : 4)),
	    .env = env,
	};
	struct engine_cmd c;
	struct err e;

	snprintf(entry, sizeof(entry), "MODE=%s", mode);
	snprintf(dirs[0], sizeof(dirs[0]), "%s/corpus", argv[2]);
	snprintf(dirs[1], sizeof(dirs[1]), "%s/art", argv[2]);
	if (engine_libfuzzer.fuzz(&job, &c, &e) < 0) {
		fprintf(stderr, "launch: %s\n", e.msg);
		return 99;
	}
	execve(c.argv.v[0], c.argv.v, c.env.v);
	perror("launch: execve");
	engine_cmd_done(&c);
	return 99;
}

int main(int argc, char **argv)
{
	return argc < 4 ? 99 : launch(argv);
}
