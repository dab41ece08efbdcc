/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded curves; tests/fleet/record.sh records them. */
#include "tests/bench/schedule_world.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MOST = 64, EDGES_MOST = 1000000, LINE_MOST = 1000, PATH_MOST = 1000 };

/* The word after "KEY=" of a line. */
static void word(const char *line, const char *key, char *ret, size_t size)
{
	const char *at = strstr(line, key);
	size_t n = at ? strcspn(at + strlen(key), " \n") : 0;

	if (n >= size)
		n = size - 1;
	(void)snprintf(ret, size, "%.*s", (int)n, at ? at + strlen(key) : "");
}

static bool head(struct world_target *t, const char *line)
{
	char edges[16];

	if (line[0] != '#')
		return false;
	word(line, "target=", t->name, sizeof(t->name));
	word(line, "version=", t->version, sizeof(t->version));
	word(line, " edges=", edges, sizeof(edges));
	t->edges_total = strtoull(edges, NULL, 10);
	t->type = WORLD_RECORDED;
	t->edges.v = room_for(EDGES_MOST, sizeof(double));
	return t->name[0] && t->edges_total > 0 && t->edges_total <= EDGES_MOST;
}

/* "cpu_seconds cov ft execs" */
static bool point(struct world_target *t, char *line, bool first)
{
	double v[4];

	for (int i = 0; i < 4; i++) {
		char *end;

		v[i] = strtod(line, &end);
		if (end == line || !(v[i] >= 0 && v[i] < 1e15))
			return false;
		line = end;
	}
	if (v[0] < t->recorded_s || v[1] > EDGES_MOST)
		return false;
	if (first)
		t->base = (uint64_t)v[1];
	while (t->base + t->edges.n < (uint64_t)v[1])
		t->edges.v[t->edges.n++] = v[0];
	t->recorded_s = v[0];
	t->executions = v[0] > 0 ? v[3] / v[0] : 0;
	return true;
}

static bool curve(struct world_target *t, FILE *f)
{
	char line[LINE_MOST];
	bool good = fgets(line, sizeof(line), f) && head(t, line), first = true;

	while (good && fgets(line, sizeof(line), f)) {
		good = point(t, line, first);
		first = false;
	}
	return good && t->recorded_s > 0;
}

static bool read_file(struct world *w, const char *dir, const char *name)
{
	char path[PATH_MOST];
	bool good = false;
	FILE *f = NULL;

	if (w->n < FILES_MOST && snprintf(path, sizeof(path), "%s/%s", dir, name) < PATH_MOST)
		f = fopen(path, "re");
	if (f) {
		good = curve(&w->v[w->n++], f);
		(void)fclose(f);
	}
	if (!good)
		(void)fprintf(stderr, "%s/%s: no curve\n", dir, name);
	return good;
}

static int is_curve(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 4 && strcmp(e->d_name + n - 4, ".tsv") == 0;
}

bool world_read(struct world *w, const char *dir)
{
	struct dirent **names = NULL;
	int n = scandir(dir, &names, is_curve, alphasort);
	bool good = true;

	*w = (struct world){.v = room_for(FILES_MOST, sizeof(*w->v))};
	if (n < 0 && errno != ENOENT) {
		perror(dir);
		good = false;
	}
	for (int i = 0; i < n; i++) {
		good = good && read_file(w, dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return good;
}
