/* SPDX-License-Identifier: Apache-2.0 */
/* usage: drive DIR    reads a result of `fuzzcell ci` from standard input, and writes it to DIR in
 * each format. */
#include "base/fs.h"
#include "runner/ci/formats.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX = 64 << 20 };

static int put(int dir, const char *name, struct slice text)
{
	struct err e = {0};

	if (fs_replace(dir, name, text, &e) == 0)
		return 0;
	fprintf(stderr, "%s\n", e.msg);
	return 1;
}

/* Takes j. */
static int put_json(int dir, const char *name, json_t *j)
{
	char *text = NULL;
	struct err e = {0};
	int r = json_print(j, 1, &text, &e);

	json_decref(j);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", name, e.msg);
		return 1;
	}
	r = put(dir, name, slice_of(text));
	free(text);
	return r;
}

int main(int argc, char **argv)
{
	struct buf in = BUF_INIT(MAX), junit = BUF_INIT(MAX), text = BUF_INIT(MAX);
	json_t *result = NULL, *sarif = NULL;
	char block[65536];
	struct err e = {0};
	ssize_t n;
	int dir, r;

	if (argc != 2 || (dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return 2;
	while ((n = read(STDIN_FILENO, block, sizeof(block))) > 0)
		buf_put(&in, (struct slice){block, (size_t)n});
	if (json_parse(buf_slice(&in), &result, &e) < 0 || ci_sarif(result, &sarif, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	ci_junit(result, &junit);
	ci_markdown(result, &text);
	r = put_json(dir, "sarif", sarif);
	if (r == 0)
		r = put_json(dir, "quality", ci_quality(result));
	if (r == 0)
		r = put(dir, "junit", buf_slice(&junit));
	if (r == 0)
		r = put(dir, "markdown", buf_slice(&text));
	json_decref(result);
	buf_done(&in);
	buf_done(&junit);
	buf_done(&text);
	close(dir);
	return r;
}
