/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "runner/config/schema.h"
#include "runner/config/value.h"

#include <fcntl.h>
#include <stdio.h>

/* docs/configuration.md agrees with the schema, and its examples work. */

static const struct {
	const struct schema *schema;
	const char *prefix; /* the prefix of the keys in the document */
} all[] = {
    {&schema_root, ""},
    {&schema_run, "run."},
    {&schema_source, "discovery[]."},
    {&schema_target, ""},
    {&schema_trigger, "trigger."},
    {&schema_git, "git."},
    {&schema_github, "github."},
    {&schema_webhook, "webhooks[]."},
    {&schema_outbox, "outbox."},
    {&schema_serve, "serve."},
    {&schema_bisect, "bisect."},
};

/* From the root of the repository, where `make unit` runs. */
static char *document(void)
{
	char *text = NULL;
	struct err e;
	size_t n;

	if (fs_read(AT_FDCWD, "docs/configuration.md", 1 << 20, &text, &n, &e) < 0)
		fail_msg("%s", e.msg);
	return text;
}

static void put_range(const struct key *k, char *out, size_t n)
{
	char min[VALUE_TEXT_MAX], max[VALUE_TEXT_MAX], step[VALUE_TEXT_MAX];
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; k->choices && k->choices[i]; i++)
		at += (size_t)snprintf(out + at, n - at, "%s`%s`", i ? ", " : "", k->choices[i]);
	if (k->type <= VALUE_SIGNED)
		at += (size_t)snprintf(out + at, n - at, "`%s` to `%s`",
				       value_number(k->type, k->min, min),
				       value_number(k->type, k->max, max));
	if (k->step)
		at += (size_t)snprintf(out + at, n - at, ", multiples of `%s`",
				       value_number(k->type, k->step, step));
	if (k->word)
		at += (size_t)snprintf(out + at, n - at, ", or `%s`", k->word);
	if (k->type == VALUE_BOOL)
		snprintf(out + at, n - at, "`true`, `false`");
	if (k->type == VALUE_PATH)
		snprintf(out + at, n - at, "%s%s",
			 k->flags & KEY_ABSOLUTE ? "absolute" : "at most 4095 bytes",
			 k->flags & KEY_EMPTY ? ", or `\"\"`" : "");
	if (k->type == VALUE_TEXT)
		snprintf(out + at, n - at, "at most %d bytes", VALUE_WORD_MAX);
	if (k->type >= VALUE_FLAGS && k->type <= VALUE_WORDS)
		snprintf(out + at, n - at, "%sat most %d", at ? ": " : "", VALUE_LIST_MAX);
	if (k->flags & KEY_DERIVED)
		snprintf(out, n, "cannot be set");
}

/* The row of the document's table for a key. */
static void put_row(const struct key *k, const char *prefix, char *out, size_t n)
{
	char range[256], preset[64] = "unset";

	put_range(k, range, sizeof(range));
	if (k->preset)
		snprintf(preset, sizeof(preset), "`%s`", k->preset);
	if (k->flags & KEY_REQUIRED)
		snprintf(preset, sizeof(preset), "required");
	if (k->flags & KEY_DERIVED)
		snprintf(preset, sizeof(preset), "derived");
	snprintf(out, n, "| `%s%s` | %s | %s | %s | %s |\n", prefix, k->name,
		 schema_type_name(k->type), preset, range, k->help);
}

static void test_every_key_has_its_row(void **state)
{
	_autofree_ char *text = document();
	unsigned missing = 0;

	(void)state;
	for (size_t s = 0; s < sizeof(all) / sizeof(all[0]); s++) {
		for (size_t i = 0; i < all[s].schema->n; i++) {
			char row[1024];

			if (all[s].schema->keys[i].type == VALUE_SECTION)
				continue;
			put_row(&all[s].schema->keys[i], all[s].prefix, row, sizeof(row));
			if (strstr(text, row))
				continue;
			print_error("docs/configuration.md lacks: %s", row);
			missing++;
		}
	}
	assert_int_equal(missing, 0);
}

/* The examples are valid configurations; together they have every key. */
static void test_examples_are_valid(void **state)
{
	_autofree_ char *text = document(), *shown = calloc(1, strlen(text) + 1);
	const char *at = text, *end;
	unsigned examples = 0;
	struct err e;

	(void)state;
	assert_non_null(shown);
	for (; (at = strstr(at, "```json\n")); at = end, examples++) {
		struct config *c = NULL;

		at += strlen("```json\n");
		end = strstr(at, "```\n");
		assert_non_null(end);
		if (config_parse((struct slice){at, (size_t)(end - at)}, "/etc/example", &c, &e) <
		    0)
			fail_msg("%s", e.msg);
		config_free(c);
		strncat(shown, at, (size_t)(end - at));
		end += strlen("```\n");
	}
	assert_true(examples > 0);
	for (size_t s = 0; s < sizeof(all) / sizeof(all[0]); s++) {
		for (size_t i = 0; i < all[s].schema->n; i++) {
			const struct key *k = &all[s].schema->keys[i];
			const char *dot = strchr(k->name, '.');
			char quoted[64];

			snprintf(quoted, sizeof(quoted), "\"%s\":", dot ? dot + 1 : k->name);
			if (!(k->flags & KEY_DERIVED) && !strstr(shown, quoted))
				fail_msg("no example has %s", quoted);
		}
	}
}

/* "| `"memory": "2 apples"` | `defaults.memory: ...` |": a member of the file, and its error. */
static void test_mistakes_get_what_is_said(void **state)
{
	_autofree_ char *text = document();
	struct slice in = slice_of(text), line, member, message;
	unsigned rows = 0;

	(void)state;
	while (scan_line(&in, &line)) {
		char file[512], want[512];
		struct config *c = NULL;
		struct err e;

		if (!scan_lit(&line, SLICE("| `\"")) || !scan_until(&line, '`', 300, &member) ||
		    !scan_lit(&line, SLICE("` | `")) || !scan_until(&line, '`', 300, &message))
			continue;
		snprintf(file, sizeof(file), "{\"%.*s}", (int)member.n, member.p);
		snprintf(want, sizeof(want), "config.json:1: %.*s", (int)message.n, message.p);
		if (config_parse(slice_of(file), "config.json", &c, &e) == 0)
			fail_msg("accepted: %s", file);
		assert_string_equal(e.msg, want);
		rows++;
	}
	assert_true(rows >= 15);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_key_has_its_row),
    cmocka_unit_test(test_examples_are_valid),
    cmocka_unit_test(test_mistakes_get_what_is_said),
};

UNIT_MAIN(tests)
