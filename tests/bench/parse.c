/* SPDX-License-Identifier: Apache-2.0 */
/* The speed of the parser for crash reports, on one core: all files as one text, like a log of many
 * processes, and each file by itself, which includes the parser's start.
 *
 * usage: parse FILE...    prints 10^6 bytes per second of CPU time, of the fastest of some rounds:
 * other processes make a round slower, never faster */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "runner/crash/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FILE_MAX = 16 << 20, TEXT_MAX = 64 << 20, TEXT_LEAST = 16 << 20, ROUNDS = 9 };

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void parse(struct slice text)
{
	struct crash_report r;

	crash_parse(text, NULL, &r);
	crash_report_done(&r);
}

/* The end of each file in the text. */
struct files {
	struct buf text;
	size_t *ends, n;
};

static int read_files(int n, char **names, struct files *to, struct err *e)
{
	for (int i = 0; i < n; i++) {
		_autofree_ char *text = NULL;
		size_t size;
		int rc = fs_read(AT_FDCWD, names[i], FILE_MAX, &text, &size, e);

		if (rc == 0) {
			buf_put(&to->text, (struct slice){text, size});
			rc = buf_check(&to->text, e);
		}
		if (rc < 0)
			return rc;
		to->ends[to->n++] = to->text.n;
	}
	return 0;
}

static void parse_each(const struct files *f)
{
	size_t begin = 0;

	for (size_t i = 0; i < f->n; begin = f->ends[i++])
		parse((struct slice){f->text.p + begin, f->ends[i] - begin});
}

static void parse_joined(const struct files *f)
{
	parse(buf_slice(&f->text));
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double measure(const struct files *f, void (*run)(const struct files *f))
{
	double rates[ROUNDS];

	for (unsigned i = 0; i < ROUNDS; i++) {
		double begin = cpu_seconds();
		size_t bytes = 0;

		for (; bytes < TEXT_LEAST; bytes += f->text.n)
			run(f);
		rates[i] = (double)bytes / 1e6 / (cpu_seconds() - begin);
	}
	qsort(rates, ROUNDS, sizeof(rates[0]), by_value);
	return rates[ROUNDS - 1];
}

static int bench(int n, char **names, struct err *e)
{
	_autofree_ size_t *ends = calloc((size_t)n, sizeof(*ends));
	struct files f = {.text = BUF_INIT(TEXT_MAX), .ends = ends};
	int rc = ends ? read_files(n, names, &f, e) : err_set(e, ENOMEM, "allocate %d ends", n);

	if (rc == 0 && f.text.n == 0)
		rc = err_set(e, EINVAL, "the files are empty");
	if (rc == 0)
		printf("   %zu reports of %.1f kB: %.0f MB/s joined (aim: 200), %.0f MB/s each by "
		       "itself\n",
		       f.n, (double)f.text.n / 1e3 / (double)f.n, measure(&f, parse_joined),
		       measure(&f, parse_each));
	buf_done(&f.text);
	return rc;
}

int main(int argc, char **argv)
{
	struct err e;

	if (argc < 2) {
		fputs("usage: parse FILE...\n", stderr);
		return 2;
	}
	if (bench(argc - 1, argv + 1, &e) < 0) {
		fprintf(stderr, "parse: %s\n", e.msg);
		return 1;
	}
	return 0;
}
