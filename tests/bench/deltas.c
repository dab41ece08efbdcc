/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the deltas of a round: each of another shard, with random inputs of 4 to 200 bytes for the
 * corpora of some targets.  The same arguments give the same deltas.
 *
 * usage: deltas DIR DELTAS INPUTS TARGETS    INPUTS: of each delta; targets are t0_fuzzer, ... */
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/pack.h"
#include "base/scan.h"
#include "runner/policy/chance.h"
#include "runner/rounds/delta.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_MAX = 200, INPUT_MIN = 4, MOST = 100000 };

struct input {
	char bytes[INPUT_MAX];
	size_t n;
	char sha1[DIGEST_SHA1_HEX];
};

static void make_input(struct input *i, struct chance *c)
{
	i->n = INPUT_MIN + (size_t)(chance_uniform(c) * (INPUT_MAX - INPUT_MIN));
	for (size_t k = 0; k < i->n; k++)
		i->bytes[k] = (char)(chance_uniform(c) * 256);
	digest_sha1_hex((struct slice){i->bytes, i->n}, i->sha1);
}

static json_t *make_head(uint64_t shard, uint64_t shards, uint64_t targets, const struct input *v,
			 size_t n)
{
	json_t *inputs = json_object();
	char name[64];

	for (size_t i = 0; i < n; i++) {
		json_t *names;

		snprintf(name, sizeof(name), "corpus/t%llu_fuzzer",
			 (unsigned long long)(i % targets));
		names = json_object_get(inputs, name);
		if (!names) {
			names = json_array();
			(void)json_object_set_new(inputs, name, names);
		}
		(void)json_array_append_new(names, json_string(v[i].sha1));
	}
	snprintf(name, sizeof(name), "%016llx", (unsigned long long)shard);
	return json_pack("{s:i, s:s, s:s, s:i, s:s, s:i, s:I, s:I, s:s, s:i, s:i, s:b, s:o, s:{}, "
			 "s:{}, s:{}}",
			 "v", DELTA_VERSION, "id", "", "source", name, "seq", 1, "plan",
			 "0123456789abcdef", "round", 1, "shard", (json_int_t)shard, "shards",
			 (json_int_t)shards, "node", name, "until", 1700000000, "due", 1700000000,
			 "last", 1, "inputs", inputs, "files", "slices", "histories");
}

static int add_all(struct pack *p, json_t *head, const struct input *v, size_t n, struct err *e)
{
	_autofree_ char *text = NULL;
	int r = delta_identify(head, e);

	if (r == 0)
		r = json_print(head, 0, &text, e);
	if (r == 0)
		r = pack_add(p, DELTA_HEAD, 0644, slice_of(text), e);
	for (size_t i = 0; r == 0 && i < n; i++) {
		char name[sizeof(DELTA_OBJECTS) + DIGEST_SHA1_HEX];

		snprintf(name, sizeof(name), DELTA_OBJECTS "%s", v[i].sha1);
		r = pack_add(p, name, 0644, (struct slice){v[i].bytes, v[i].n}, e);
	}
	return r == 0 ? pack_close(p, e) : r;
}

static int put(const char *dir, json_t *head, const struct input *v, size_t n, struct err *e)
{
	_autoclose_ int fd = -1;
	struct pack *p;
	char path[4096];
	int r;

	snprintf(path, sizeof(path), "%s/%s" DELTA_SUFFIX, dir, json_get_text(head, "source"));
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_sys(e, "%s", path);
	r = pack_open(fd, &p, e);
	if (r < 0)
		return r;
	r = add_all(p, head, v, n, e);
	pack_free(p);
	return r;
}

static bool number(const char *text, uint64_t *ret)
{
	struct slice in = slice_of(text);

	return scan_u64(&in, 10, MOST, ret) && in.n == 0 && *ret > 0;
}

int main(int argc, char **argv)
{
	uint64_t deltas, inputs, targets;
	struct input *v;
	struct chance c;
	struct err e;
	int r = 0;

	if (argc != 5 || !number(argv[2], &deltas) || !number(argv[3], &inputs) ||
	    !number(argv[4], &targets)) {
		(void)fprintf(stderr, "usage: deltas DIR DELTAS INPUTS TARGETS\n");
		return 2;
	}
	chance_seed(&c, 1);
	v = calloc(inputs, sizeof(*v));
	for (uint64_t d = 1; v && r == 0 && d <= deltas; d++) {
		_autojson_ json_t *head = NULL;

		for (size_t i = 0; i < inputs; i++)
			make_input(&v[i], &c);
		head = make_head(d, deltas, targets, v, inputs);
		r = put(argv[1], head, v, inputs, &e);
	}
	free(v);
	if (r < 0)
		(void)fprintf(stderr, "deltas: %s\n", e.msg);
	return r < 0;
}
