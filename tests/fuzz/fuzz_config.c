/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "runner/config/config.h"
#include "tests/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

DEFINE_CLEANUP(struct config *, config_free)

/* Every mistake names the file and is one printable line. */
static void check_error(const struct err *e)
{
	MUST(strncmp(e->msg, "config.json:", 12) == 0);
	for (const char *p = e->msg; *p; p++)
		MUST((unsigned char)*p >= ' ' && *p != 0x7f);
}

static void check_limits(const struct target_config *t)
{
	MUST(t->rss_limit > 0 && t->rss_limit <= t->memory_high);
	MUST(t->memory_high < t->memory && t->scratch < t->memory);
	MUST(t->cpu_milli > 0 && t->pids >= 8 && t->input_timeout_us > 0);
	MUST(t->plateau.rule < PLATEAU_COUNT);
}

/* Every configuration that resolves can be explained. */
static void check_explained(const struct config *c, const char *target)
{
	_autojson_ json_t *before = NULL;
	struct err e;

	MUST(config_explain(c, CONFIG_TARGET(target), &before, &e) == 0);
	MUST(json_object_size(before) > 20);
}

static void check_target(const struct config *c, const char *target)
{
	struct target_config t;
	struct err e;
	int r = config_resolve(c, CONFIG_TARGET(target), &t, &e);

	if (r < 0) {
		check_error(&e); /* two globs may contradict each other */
		return;
	}
	check_limits(&t);
	target_config_done(&t);
	check_explained(c, target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"css_parser_fuzzer", "a", "magic_fuzzer"};
	CLEANUP(config_free_p) struct config *c = NULL;
	struct err e;
	size_t at = 0;

	if (config_parse((struct slice){(const char *)data, size}, "config.json", &c, &e) < 0) {
		check_error(&e);
		return 0;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_target(c, names[i]);
	while (config_unused_glob(c, names, sizeof(names) / sizeof(names[0]), &at))
		;
	return 0;
}
