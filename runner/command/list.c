/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/units.h"
#include "runner/command/command.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/session.h"
#include "runner/targets/variants.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

struct list_args {
	struct session session;
	bool json, all;
};

static const struct option_spec specs[] = {
    COMMON_OPTIONS(struct list_args, session.common),
    {"json", NULL, "print JSON", OPTION_AT(struct list_args, json)},
    {"all", NULL, "also corpora, build commands, and files that were not taken",
     OPTION_AT(struct list_args, all)},
};

static bool list_wanted(const struct list_args *a, const struct target *t)
{
	return !a->session.common.filter || fnmatch(a->session.common.filter, t->name, 0) == 0;
}

static void print_notes(const struct list_args *a)
{
	const struct target_list *l = &a->session.common.targets;
	char text[ESCAPE_MAX];

	for (size_t i = 0; i < l->n_notes; i++)
		if (l->notes[i].warning || a->all) {
			printf("%s: %s", l->notes[i].warning ? "warning" : "not taken",
			       escape(l->notes[i].path, text));
			printf(": %s\n", escape(l->notes[i].why, text));
		}
}

/* Prints where the target's inputs are and how it is built. */
static void list_print_origin(const struct target *t)
{
	char text[ESCAPE_MAX];

	for (size_t i = 0; i < t->seed_dirs.n; i++)
		printf("    in-tree %s\n", escape(t->seed_dirs.v[i], text));
	if (t->build)
		printf("    build   %s\n", escape(t->build, text));
}

/* "address check:memory! coverage": the builds of a target; "!": a build that is not usable. */
static void list_print_builds(const struct target *t)
{
	char why[VARIANTS_WHY_MAX];

	printf("  %s", t->variant ? t->variant : "main");
	for (size_t i = 0; i < t->n_variants; i++) {
		const struct target *b = &t->variants[i];

		printf(" ");
		if (strcmp(b->variant, target_role_name(b->role)) != 0)
			printf("%s:", target_role_name(b->role));
		printf("%s%s", b->variant, b->unbuilt || *variants_wrong(b, why) ? "!" : "");
	}
}

static void list_print_wrong(const struct target *b)
{
	char why[VARIANTS_WHY_MAX], text[ESCAPE_MAX];

	if (b->unbuilt)
		printf("warning: %s: %s\n", b->name, escape(b->unbuilt, text));
	else if (*variants_wrong(b, why))
		printf("warning: %s: %s: build it with the flags of its variant\n", b->name, why);
}

static void list_add_name(struct strv *io, const char *name)
{
	for (size_t i = 0; i < io->n; i++)
		if (strcmp(io->v[i], name) == 0)
			return;
	strv_push(io, name);
}

/* Prints what is wrong with the builds of the targets, and which targets lack a variant that others
 * have. */
static void list_print_variants(const struct list_args *a)
{
	const struct target_list *l = &a->session.common.targets;
	_autostrv_ struct strv all = {0};

	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < l->v[i].n_variants; k++)
			list_add_name(&all, l->v[i].variants[k].variant);
	for (size_t i = 0; i < l->n; i++) {
		const struct target *t = &l->v[i];

		if (!list_wanted(a, t))
			continue;
		list_print_wrong(t);
		for (size_t k = 0; k < t->n_variants; k++)
			list_print_wrong(&t->variants[k]);
		for (size_t k = 0; k < all.n; k++)
			if (!variants_of(t, all.v[k]))
				printf("warning: %s has no build of the variant '%s'\n", t->name,
				       all.v[k]);
	}
}

/* One line. */
static void list_print_target(const struct target *t)
{
	char size[UNITS_MAX], label[ESCAPE_MAX];

	printf("%-32s %-10s %8s%s%s%s%s%s", t->name, t->engine->name, units_size(t->size, size),
	       t->dict ? "  dict" : "", t->seed_archive ? "  seeds" : "",
	       t->seed_dirs.n ? "  in-tree" : "", t->label ? "  " : "",
	       t->label ? escape(t->label, label) : "");
	if (t->n_variants > 0)
		list_print_builds(t);
	putchar('\n');
}

static void list_print_text(const struct list_args *a)
{
	const struct target_list *l = &a->session.common.targets;

	for (size_t i = 0; i < l->n; i++) {
		const struct target *t = &l->v[i];

		if (!list_wanted(a, t))
			continue;
		list_print_target(t);
		if (a->all)
			list_print_origin(t);
	}
	list_print_variants(a);
	print_notes(a);
}

static json_t *list_text_or_null(const char *s)
{
	return s ? answer_text(s) : json_null();
}

static json_t *list_target_json(const struct target *t);

static json_t *list_builds_json(const struct target *t)
{
	json_t *list = json_array();

	for (size_t i = 0; i < t->n_variants; i++)
		(void)json_array_append_new(list, list_target_json(&t->variants[i]));
	return list;
}

static json_t *list_target_json(const struct target *t)
{
	char wrong[VARIANTS_WHY_MAX];
	json_t *dirs = json_array();

	for (size_t i = 0; i < t->seed_dirs.n; i++)
		(void)json_array_append_new(dirs, list_text_or_null(t->seed_dirs.v[i]));
	return json_pack("{s:o, s:s, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o}",
			 "name", answer_text(t->name), "engine", t->engine->name, "binary",
			 list_text_or_null(t->binary), "bytes", (json_int_t)t->size, "dictionary",
			 list_text_or_null(t->dict), "seed_archive",
			 list_text_or_null(t->seed_archive), "in_tree", dirs, "label",
			 list_text_or_null(t->label), "build", list_text_or_null(t->build),
			 "unbuilt", list_text_or_null(t->unbuilt), "variant",
			 list_text_or_null(t->variant), "role", target_role_name(t->role), "wrong",
			 *variants_wrong(t, wrong) ? json_string(wrong) : json_null(), "variants",
			 list_builds_json(t));
}

static int list_print_json(const struct list_args *a)
{
	const struct target_list *l = &a->session.common.targets;
	_autojson_ json_t *all = json_pack("{s:[], s:[]}", "targets", "notes");

	for (size_t i = 0; i < l->n; i++)
		if (list_wanted(a, &l->v[i]))
			(void)json_array_append_new(json_object_get(all, "targets"),
						    list_target_json(&l->v[i]));
	for (size_t i = 0; i < l->n_notes; i++)
		(void)json_array_append_new(
		    json_object_get(all, "notes"),
		    json_pack("{s:o, s:o, s:b}", "path", list_text_or_null(l->notes[i].path), "why",
			      list_text_or_null(l->notes[i].why), "warning", l->notes[i].warning));
	return answer_print(all);
}

int command_list(int argc, char **argv)
{
	struct list_args a = {0};
	int at = options_parse(argc, argv, "list [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), NULL, &a);
	int r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "list: unexpected '%s'", argv[at]);
	r = session_load(&a.session);
	if (r == EXIT_DONE)
		r = session_builds(&a.session);
	if (r == EXIT_DONE)
		r = common_find_targets(&a.session.common);
	if (r == EXIT_DONE && a.json)
		r = list_print_json(&a);
	else if (r == EXIT_DONE)
		list_print_text(&a);
	if (r == EXIT_DONE && a.session.common.targets.partial)
		r = EXIT_NOT_FUZZED;
	session_close(&a.session);
	return r;
}
