/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the words of a program as the dictionary that a target's first job gets.
 *
 * usage: words PROGRAM [MOST [GIVEN]]    GIVEN: a dictionary to be joined */
#include "base/cleanup.h"
#include "base/fs.h"
#include "runner/dictionary/literals.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	_autobuf_ struct buf text = BUF_INIT(WORDS_TEXT_MAX);
	struct words w = WORDS_INIT;
	uint64_t most = WORDS_MOST;
	struct slice number = argc > 2 ? slice_of(argv[2]) : SLICE("");
	_autofree_ char *given = NULL;
	size_t n = 0;
	struct err e;
	int fd;

	if (argc < 2 || (argc > 2 && !scan_u64(&number, 10, WORDS_MAX, &most))) {
		fprintf(stderr, "usage: words PROGRAM [MOST [GIVEN]]\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	if (argc > 3 && fs_read(AT_FDCWD, argv[3], WORDS_TEXT_MAX / 2, &given, &n, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	(void)literals_in(fd, &w);
	(void)words_add_given(&w, (struct slice){given, n});
	(void)words_choose(&w, (size_t)most);
	buf_put(&text, (struct slice){given, n});
	words_print(&w, &text);
	words_repeat(&w, &text);
	if (buf_check(&text, &e) < 0)
		return 1;
	fputs(buf_str(&text), stdout);
	words_done(&w);
	return 0;
}
