/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/config/schema.h"
#include "runner/config/value.h"

static const struct schema *const all[] = {
    &schema_root,   &schema_run,     &schema_source, &schema_target, &schema_trigger, &schema_git,
    &schema_github, &schema_webhook, &schema_outbox, &schema_serve,  &schema_bisect};

/* A preset is a value that a user could write; names fit the hints' buffers. */
static void test_tables_are_sound(void **state)
{
	const struct input input = {"test", "/"};
	const struct where at = {.input = &input};
	struct err e;

	(void)state;
	for (size_t s = 0; s < sizeof(all) / sizeof(all[0]); s++) {
		assert_true(all[s]->n <= SCHEMA_MAX_KEYS);
		for (size_t i = 0; i < all[s]->n; i++) {
			const struct key *k = &all[s]->keys[i];
			uint64_t base[64] = {0};

			assert_true(strlen(k->name) <= SCHEMA_MAX_NAME);
			assert_non_null(k->help);
			assert_null(strchr(k->help, '|')); /* a table's cell */
			assert_true(k->offset < sizeof(base) - sizeof(struct strv));
			assert_true(k->min <= k->max);
			if (k->preset && value_read_text(k, k->preset, &at, base, &e) < 0)
				fail_msg("%s: %s", k->name, e.msg);
			value_done(k, base);
		}
	}
	assert_true(sizeof(struct target_config) <= sizeof(uint64_t[64]));
}

static void test_hints(void **state)
{
	static const struct {
		const struct schema *schema;
		const char *prefix, *name, *want;
	} t[] = {
	    {&schema_target, "", "memry", "did you mean \"memory\"?"},
	    {&schema_target, "", "meomry", "did you mean \"memory\"?"}, /* swapped */
	    {&schema_target, "", "Memory", "did you mean \"memory\"?"},
	    {&schema_target, "", "mem", "did you mean \"memory\"?"},
	    {&schema_target, "", "cpu", "did you mean \"cpus\"?"},
	    {&schema_target, "", "max-time", "did you mean \"max_time\"?"},
	    {&schema_target, "", "rss_limit_mb", "did you mean \"rss_limit\"?"},
	    {&schema_target, "", "platau", "did you mean \"plateau\"?"},
	    {&schema_target, "", "wrokers", ""},
	    {&schema_target, "", "workers", "it belongs in \"run\""},
	    {&schema_target, "", "window", "it belongs in \"plateau\""},
	    {&schema_target, "", "plateau.window", ""},
	    {&schema_target, "plateau.", "windw", "did you mean \"window\"?"},
	    {&schema_target, "plateau.", "memory", "it belongs in \"defaults\" or \"targets\""},
	    {&schema_run, "", "totaltime", "did you mean \"total_time\"?"},
	    {&schema_run, "", "crun", "it belongs at the top level"},
	    {&schema_root, "", "memory", "it belongs in \"defaults\" or \"targets\""},
	    {&schema_root, "", "default", "did you mean \"defaults\"?"},
	    {&schema_trigger, "", "intervall", "did you mean \"interval\"?"},
	    {&schema_trigger, "quiet.", "interval", "it belongs in \"trigger\""},
	    {&schema_trigger, "", "patience", "it belongs in \"quiet\""},
	    {&schema_source, "", "kind", ""},
	    {&schema_source, "", "paht", "did you mean \"path\"?"},
	    {&schema_target, "", "xyz", ""},
	    {&schema_target, "", "", ""},
	    {&schema_target, "", "memorymemorymemorymemorymemorymemory", ""},
	};
	char out[SCHEMA_HINT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_string_equal(schema_hint(t[i].schema, t[i].prefix, slice_of(t[i].name), out),
				    t[i].want);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_tables_are_sound),
    cmocka_unit_test(test_hints),
};

UNIT_MAIN(tests)
