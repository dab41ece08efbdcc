/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of the dashboard for 1,000 runs of 100 targets, with generated files of such runs. Fails
 * when the overview takes 100 ms, the process 50 MiB, or any page 300 KiB.
 *
 * usage: serve DIR [RUNS] [TARGETS]	DIR is made, and stays for inspection */
#include "runner/serve/serve.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

enum { LOOKS = 21, POINTS = 1700, CRASHES = 300, KEPT = 20, BEGAN = 1750000000 };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void when(char out[32], unsigned run)
{
	time_t t = BEGAN + (time_t)run * 3600;

	strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime(&t));
}

static FILE *create(int dir, const char *path)
{
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f)
		die(path);
	return f;
}

/* Writes an object of <target>.stats, without its end. */
static void stats(FILE *f, unsigned target, unsigned run)
{
	fprintf(f,
		"{\"name\": \"library_%03u_fuzzer\", \"reason\": \"%s\", \"fuzzed\": true, "
		"\"rebuilt\": false, \"note\": \"\", \"wall_seconds\": 1800.1, \"cell_seconds\": "
		"1790.5, \"start_seconds\": 0.4, \"cpu_seconds\": 1700.25, \"effective_seconds\": "
		"1690.5, \"starved_share\": 0.01, \"outlook\": {\"cpu_seconds_of_build\": 9000.5, "
		"\"edges_per_cpu_second\": 0.001, \"price\": 0.002, \"edges_in_next_cpu_hour\": "
		"2.5, \"discovery_probability\": 0.00001}, \"cov_of_build_before\": 0, \"execs\": "
		"%u, \"execs_per_cpu_second\": %u, \"cov\": %u, \"edges\": 40000, \"ft\": %u, "
		"\"corpus_units\": %u, \"corpus_bytes\": %u, \"seeds\": 12, \"new_inputs\": 5, "
		"\"new_input_bytes\": 5000, \"files_skipped\": 0, \"memory_peak_bytes\": "
		"104857600, \"memory_limit_bytes\": 536870912, \"kernel_oom_kills\": 0, "
		"\"forks_refused\": 0, \"syscalls_refused\": \"\", \"failures\": {\"crash\": 2, "
		"\"timeout\": 1}, \"failures_total\": 3, \"restarts\": 3, \"crashes_new\": 1, "
		"\"crashes_regressed\": 0, \"crashes_fixed\": 0, \"timeouts_dismissed\": 0, "
		"\"untriaged\": 0, \"log_bytes_dropped\": 0",
		target, run % 7 ? "plateau" : "time-limit", 1000000 + target * 1000 + run,
		500 + target, 1000 + target + run, 3000 + target + 3 * run, 200 + run,
		90000 + run * 100);
}

static void history_of_runs(int dir, unsigned runs, unsigned targets)
{
	FILE *f = create(dir, "stats/run_history.jsonl");

	for (unsigned i = 0; i < runs; i++) {
		char began[32], ended[32];

		when(began, i);
		when(ended, i + 1);
		fprintf(f,
			"{\"v\": 2, \"run\": \"%08u-%06u\", \"status\": \"done\", \"version\": "
			"\"0.1.0\", \"commit\": \"%040u\", \"cgroup_layout\": \"unified\", "
			"\"started\": \"%s\", \"ended\": \"%s\", \"elapsed_seconds\": 3600.0, "
			"\"workers\": 8, \"failures\": 300, \"new_crashes\": 1, \"not_fuzzed\": 0, "
			"\"own_cpu_seconds\": 20.5, \"own_peak_rss_bytes\": 12000000, \"targets\": "
			"%u, \"fuzzed\": %u, \"cpu_seconds\": 170000.5, \"execs\": 100000000, "
			"\"new_inputs\": 500, \"continuous\": false}\n",
			20250000 + i, i, i, began, ended, targets, targets);
	}
	fclose(f);
}

static void history_of_target(int dir, unsigned target, unsigned runs)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "stats/targets/library_%03u_fuzzer.jsonl", target);
	f = create(dir, path);
	for (unsigned i = 0; i < runs; i++) {
		char ended[32];

		when(ended, i + 1);
		stats(f, target, i);
		fprintf(f, ", \"run\": \"%08u-%06u\", \"ended\": \"%s\", \"commit\": \"%040u\"}\n",
			20250000 + i, i, ended, i);
	}
	fclose(f);
}

static void series(int dir, const char *run, unsigned target)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "logs/%s/library_%03u_fuzzer.series", run, target);
	f = create(dir, path);
	fprintf(f,
		"{\"v\":1,\"target\":\"library_%03u_fuzzer\",\"run\":\"%s\",\"started\":"
		"\"2026-01-01T00:00:00Z\",\"columns\":[\"t\",\"execs\",\"cov\",\"ft\","
		"\"corpus_units\",\"corpus_bytes\",\"rss_bytes\",\"cpu_seconds\","
		"\"pressure_cpu\",\"pressure_memory\",\"pressure_io\"]}\n",
		target, run);
	for (unsigned i = 0; i < POINTS; i++)
		fprintf(f, "[%u.5,%u,%u,%u,%u,%u,%u,%u.25,0.01,0.0,0.002]\n", i * 50, i * 40000,
			1000 + i, 3000 + 2 * i, 200 + i, 90000 + 50 * i, 90000000 + i, i * 49);
	fclose(f);
}

static void run_logs(int dir, unsigned run, unsigned targets, bool last)
{
	char path[200], id[32], began[32], ended[32];
	FILE *f;
	struct err e;

	snprintf(id, sizeof(id), "%08u-%06u", 20250000 + run, run);
	snprintf(path, sizeof(path), "logs/%s", id);
	if (fs_mkdirs(dir, path, 0755, &e) < 0)
		die(e.msg);
	snprintf(path, sizeof(path), "logs/%s/summary.json", id);
	when(began, run);
	when(ended, run + 1);
	f = create(dir, path);
	fprintf(f,
		"{\"v\": 1, \"run\": \"%s\", \"status\": \"done\", \"started\": \"%s\", \"ended\": "
		"\"%s\", \"workers\": 8, \"targets\": [",
		id, began, ended);
	for (unsigned i = 0; i < targets; i++) {
		stats(f, i, run);
		fprintf(f, "}%s\n", i + 1 < targets ? "," : "");
		if (last)
			series(dir, id, i);
	}
	fprintf(f, "]}\n");
	fclose(f);
}

static void ledger(int dir, unsigned targets)
{
	FILE *f = create(dir, "known_crashes.json");

	fprintf(f, "{\n");
	for (unsigned i = 0; i < CRASHES; i++)
		fprintf(f,
			"\"%016x\": {\"fuzzer\": \"library_%03u_fuzzer\", \"crash_type\": "
			"\"Heap-buffer-overflow READ 4\", \"top_frame\": \"parse_header_%u\", "
			"\"state\": \"known\", \"count\": %u, \"crash_file\": "
			"\"crashes/%016x/input\"}%s\n",
			i, i % targets, i, i, i, i + 1 < CRASHES ? "," : "");
	fprintf(f, "}\n");
	fclose(f);
}

static void fill(const char *path, unsigned runs, unsigned targets)
{
	struct err e;
	int dir;

	if (fs_mkdirs(AT_FDCWD, path, 0755, &e) < 0)
		die(e.msg);
	dir = openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
	if (dir < 0)
		die(path);
	if (fs_mkdirs(dir, "stats/targets", 0755, &e) < 0)
		die(e.msg);
	history_of_runs(dir, runs, targets);
	for (unsigned i = 0; i < targets; i++)
		history_of_target(dir, i, runs);
	for (unsigned i = runs > KEPT ? runs - KEPT : 0; i < runs; i++)
		run_logs(dir, i, targets, i + 1 == runs);
	ledger(dir, targets);
	close(dir);
}

/* --- measuring ------------------------------------------------------------------- */

struct largest {
	struct serve_site *site;
	char path[200];
	size_t bytes, paths;
	uint64_t slowest_us;
	char slowest[200];
};

static int measure(void *arg, const char *path, struct err *e)
{
	struct largest *l = arg;
	uint64_t began = clock_mono_us(), took;
	struct serve_answer a;
	int r = serve_get(l->site, slice_of(path), &a, e);
	size_t n;

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	took = clock_mono_us() - began;
	n = serve_answer_bytes(&a).n;
	serve_answer_done(&a);
	l->paths++;
	if (n > l->bytes && strstr(path, ".html")) {
		l->bytes = n;
		snprintf(l->path, sizeof(l->path), "%s", path);
	}
	if (took > l->slowest_us) {
		l->slowest_us = took;
		snprintf(l->slowest, sizeof(l->slowest), "%s", path);
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double peak_mib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_maxrss / 1024;
}

static int report(const uint64_t took[LOOKS + 1], double cpu_ms, double overview_mib,
		  const struct largest *l)
{
	bool good = took[LOOKS / 2] < 100000 && overview_mib < 50 && l->bytes < 300 * 1024;

	printf("overview: first %.1f ms, median %.1f ms, worst %.1f ms, %.1f ms of CPU time; %.1f "
	       "MiB (aim: under 100 ms, 50 MiB)\n",
	       (double)took[LOOKS] / 1000, (double)took[LOOKS / 2] / 1000,
	       (double)took[LOOKS - 1] / 1000, cpu_ms, overview_mib);
	printf("all %zu paths: largest page %s with %.1f KiB (aim: under 300 KiB), slowest %s with "
	       "%.1f ms; %.1f MiB\n",
	       l->paths, l->path, (double)l->bytes / 1024, l->slowest, (double)l->slowest_us / 1000,
	       peak_mib());
	return good ? 0 : 1;
}

static int look(const char *path)
{
	uint64_t took[LOOKS + 1];
	struct largest l = {0};
	struct state *s;
	double mib, cpu_ms;
	struct err e;
	int r;

	if (state_open(path, STATE_READ, &s, &e) < 0)
		die(e.msg);
	l.site = serve_open(s);
	for (size_t i = 0; i < LOOKS; i++) {
		struct serve_answer a;
		uint64_t began = clock_mono_us();

		if (serve_get(l.site, SLICE("/"), &a, &e) < 0) {
			fprintf(stderr, "%s\n", e.msg);
			return 1;
		}
		took[i] = clock_mono_us() - began;
		serve_answer_done(&a);
	}
	took[LOOKS] = took[0];
	cpu_ms = (double)clock() * 1000 / CLOCKS_PER_SEC / LOOKS; /* its total so far */
	mib = peak_mib();
	qsort(took, LOOKS, sizeof(took[0]), by_time);
	if (serve_each_path(l.site, measure, &l, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	r = report(took, cpu_ms, mib, &l);
	serve_close(l.site);
	state_close(s);
	return r;
}

static unsigned number(const char *text)
{
	struct slice in = slice_of(text);
	uint64_t n;

	if (!scan_u64(&in, 10, 100000, &n) || in.n > 0 || n == 0) {
		fprintf(stderr, "bad number '%s'\n", text);
		exit(2);
	}
	return (unsigned)n;
}

int main(int argc, char **argv)
{
	unsigned runs = argc > 2 ? number(argv[2]) : 1000;
	unsigned targets = argc > 3 ? number(argv[3]) : 100;
	int status;
	pid_t child;

	if (argc < 2) {
		fprintf(stderr, "usage: serve DIR [RUNS] [TARGETS]\n");
		return 2;
	}
	/* Another process makes the files, so that their cost does not count. */
	child = fork();
	if (child < 0)
		die("fork");
	if (child == 0) {
		fill(argv[1], runs, targets);
		_exit(0);
	}
	if (waitpid(child, &status, 0) < 0 || status != 0)
		return 1;
	printf("%u runs of %u targets\n", runs, targets);
	return look(argv[1]);
}
