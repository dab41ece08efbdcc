/* SPDX-License-Identifier: Apache-2.0 */
#include "base/escape.h"
#include "base/json.h"
#include "base/units.h"
#include "runner/command/command.h"
#include "runner/command/common/answer.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

struct list_args {
	struct common common;
	bool json, all;
};

static const struct option_spec specs[] = {
    COMMON_OPTIONS(struct list_args, common),
    {"json", NULL, "print JSON", OPTION_AT(struct list_args, json)},
    {"all", NULL, "also corpora, build commands, and files that were not taken",
     OPTION_AT(struct list_args, all)},
};

static bool list_wanted(const struct list_args *a, const struct target *t)
{
	return !a->common.filter || fnmatch(a->common.filter, t->name, 0) == 0;
}

static void print_notes(const struct list_args *a)
{
	const struct target_list *l = &a->common.targets;
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

static void list_print_text(const struct list_args *a)
{
	const struct target_list *l = &a->common.targets;
	char size[UNITS_MAX], label[ESCAPE_MAX];

	for (size_t i = 0; i < l->n; i++) {
		const struct target *t = &l->v[i];

		if (!list_wanted(a, t))
			continue;
		printf("%-32s %-10s %8s%s%s%s%s%s\n", t->name, t->engine->name,
		       units_size(t->size, size), t->dict ? "  dict" : "",
		       t->seed_archive ? "  seeds" : "", t->seed_dirs.n ? "  in-tree" : "",
		       t->label ? "  " : "", t->label ? escape(t->label, label) : "");
		if (a->all)
			list_print_origin(t);
	}
	print_notes(a);
}

static json_t *list_text_or_null(const char *s)
{
	return s ? answer_text(s) : json_null();
}

static json_t *list_target_json(const struct target *t)
{
	json_t *dirs = json_array();

	for (size_t i = 0; i < t->seed_dirs.n; i++)
		(void)json_array_append_new(dirs, list_text_or_null(t->seed_dirs.v[i]));
	return json_pack("{s:o, s:s, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
			 answer_text(t->name), "engine", t->engine->name, "binary",
			 list_text_or_null(t->binary), "bytes", (json_int_t)t->size, "dictionary",
			 list_text_or_null(t->dict), "seed_archive",
			 list_text_or_null(t->seed_archive), "in_tree", dirs, "label",
			 list_text_or_null(t->label), "build", list_text_or_null(t->build),
			 "unbuilt", list_text_or_null(t->unbuilt));
}

static int list_print_json(const struct list_args *a)
{
	const struct target_list *l = &a->common.targets;
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
	r = common_load_config(&a.common);
	if (r == EXIT_DONE)
		r = common_find_targets(&a.common);
	if (r == EXIT_DONE && a.json)
		r = list_print_json(&a);
	else if (r == EXIT_DONE)
		list_print_text(&a);
	if (r == EXIT_DONE && a.common.targets.partial)
		r = EXIT_NOT_FUZZED;
	common_done(&a.common);
	return r;
}
