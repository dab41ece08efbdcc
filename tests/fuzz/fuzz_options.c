/* SPDX-License-Identifier: Apache-2.0 */
/* A target's .options file with any content: the result fits into an argument vector and an
 * environment. */
#include "runner/engine/libfuzzer/libfuzzer.h"
#include "runner/targets/optfile.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void note(void *arg, unsigned line, bool warning, const char *why)
{
	(void)arg;
	(void)warning;
	check(line > 0 && why[0]);
}

static void check_strings(const struct strv *s)
{
	for (size_t i = 0; i < s->n; i++)
		for (const char *p = s->v[i]; *p; p++)
			check((unsigned char)*p >= ' ' && *p != 0x7f);
	check(!s->v || !s->v[s->n]);
}

static void check_flags(const struct strv *s)
{
	char why[160];

	for (size_t i = 0; i < s->n; i++) {
		size_t n = strcspn(s->v[i], "=") + 1;

		check(engine_libfuzzer.flag_ok(slice_of(s->v[i]), why));
		for (size_t k = 0; k < i; k++)
			check(strncmp(s->v[i], s->v[k], n) != 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct optfile o;
	struct err e;

	if (optfile_parse((struct slice){(const char *)data, size}, &engine_libfuzzer, note, NULL,
			  &o, &e) < 0) {
		check(e.msg[0] && size > OPTFILE_MAX);
		return 0;
	}
	check_strings(&o.flags);
	check_strings(&o.env);
	check_flags(&o.flags);
	for (size_t i = 0; i < o.env.n; i++)
		check(strchr(o.env.v[i], '=') && o.env.v[i][0] != '=');
	check(!o.dict || o.dict[0]);
	optfile_done(&o);
	return 0;
}
