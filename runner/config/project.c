/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/config/project.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/owner.h"
#include "runner/config/where.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define USABLE "\"address\", \"undefined\", \"memory\" or \"thread\""

struct known {
	const char *name;
	const char *ignored; /* why; NULL: fuzzcell uses it */
};

/* In the order in which one becomes the main build. */
static const struct known known_sanitizers[] = {
    {"address", NULL},
    {"undefined", NULL},
    {"memory", NULL},
    {"thread", NULL},
    {"none", "it finds no more than the others"},
    {"hwaddress", "it needs hardware of its own"},
    {"dataflow", "it is no build for fuzzing"},
    {"introspector", "it is no build for fuzzing"},
    {NULL, NULL},
};

#define ENGINE "fuzzcell runs libFuzzer"
static const struct known known_engines[] = {
    {"libfuzzer", NULL}, {"afl", ENGINE},	 {"honggfuzz", ENGINE}, {"centipede", ENGINE},
    {"none", ENGINE},	 {"wycheproof", ENGINE}, {"dataflow", ENGINE},	{NULL, NULL},
};
#undef ENGINE

struct reading {
	yaml_document_t *doc;
	const char *name;
	struct project *out;
};

static size_t project_line(const yaml_node_t *n)
{
	return n->start_mark.line + 1;
}

static struct slice project_scalar(const yaml_node_t *n)
{
	return (struct slice){(const char *)n->data.scalar.value, n->data.scalar.length};
}

/* A list of OSS-Fuzz has words, or words with options: "- memory: {experimental: true}". */
static const yaml_node_t *project_word(const struct reading *r, int id)
{
	const yaml_node_t *n = yaml_document_get_node(r->doc, id);

	if (n && n->type == YAML_MAPPING_NODE &&
	    n->data.mapping.pairs.top == n->data.mapping.pairs.start + 1)
		n = yaml_document_get_node(r->doc, n->data.mapping.pairs.start->key);
	return n && n->type == YAML_SCALAR_NODE ? n : NULL;
}

static const struct known *project_known(const struct known *all, struct slice word)
{
	for (; all->name; all++)
		if (slice_eq(word, slice_of(all->name)))
			return all;
	return NULL;
}

/* Marks in used[i] that the list has word number i of `all`.  usable: the words for a user. */
static int project_list(const struct reading *r, const char *key, const yaml_node_t *list,
			const struct known *all, const char *usable, bool *used, struct err *e)
{
	const yaml_node_item_t *at;

	if (list->type != YAML_SEQUENCE_NODE)
		return err_set(e, EINVAL, "%s:%zu: %s: not a list", r->name, project_line(list),
			       key);
	at = list->data.sequence.items.start;
	if (list->data.sequence.items.top - at > PROJECT_LIST_MAX)
		return err_set(e, EINVAL, "%s:%zu: %s: more than %d elements", r->name,
			       project_line(list), key, PROJECT_LIST_MAX);
	for (; at < list->data.sequence.items.top; at++) {
		const yaml_node_t *word = project_word(r, *at);
		const struct known *k = word ? project_known(all, project_scalar(word)) : NULL;
		char text[QUOTE_MAX];

		if (!word)
			return err_set(e, EINVAL, "%s:%zu: %s: an element is not a word", r->name,
				       project_line(list), key);
		if (!k)
			return err_set(e, EINVAL, "%s:%zu: %s: %s is not known (use %s)", r->name,
				       project_line(word), key, quote(project_scalar(word), text),
				       usable);
		if (k->ignored && !used[k - all])
			strv_pushf(&r->out->notes, "%s:%zu: %s: \"%s\" is ignored: %s", r->name,
				   project_line(word), key, k->name, k->ignored);
		used[k - all] = true;
	}
	return 0;
}

static int project_sanitizers(const struct reading *r, const yaml_node_t *list, struct err *e)
{
	bool used[sizeof(known_sanitizers) / sizeof(known_sanitizers[0])] = {false};
	int rc = 0;

	if (list)
		rc = project_list(r, "sanitizers", list, known_sanitizers, USABLE, used, e);
	else
		used[0] = used[1] = true; /* OSS-Fuzz's default */
	for (size_t i = 0; known_sanitizers[i].name; i++)
		if (used[i] && !known_sanitizers[i].ignored)
			strv_push(&r->out->sanitizers, known_sanitizers[i].name);
	if (rc == 0 && list && r->out->sanitizers.n == 0)
		return err_set(e, EINVAL,
			       "%s:%zu: sanitizers: fuzzcell builds with none of them (use " USABLE
			       ")",
			       r->name, project_line(list));
	/* OSS-Fuzz makes it for every project; the list does not have it. */
	if (rc == 0)
		strv_push(&r->out->sanitizers, "coverage");
	return rc;
}

static int project_engines(const struct reading *r, const yaml_node_t *list, struct err *e)
{
	bool used[sizeof(known_engines) / sizeof(known_engines[0])] = {false};
	int rc =
	    list ? project_list(r, "fuzzing_engines", list, known_engines, "\"libfuzzer\"", used, e)
		 : 0;

	if (rc == 0 && list && !used[0])
		return err_set(e, EINVAL,
			       "%s:%zu: fuzzing_engines: \"libfuzzer\" is not among them, and "
			       "fuzzcell has no other engine",
			       r->name, project_line(list));
	return rc;
}

static int project_language(const struct reading *r, const yaml_node_t *n, struct err *e)
{
	char text[QUOTE_MAX];
	struct slice s;

	if (!n)
		return 0;
	if (n->type != YAML_SCALAR_NODE)
		return err_set(e, EINVAL, "%s:%zu: language: not a word", r->name, project_line(n));
	s = project_scalar(n);
	if (slice_eq(s, SLICE("c")) || slice_eq(s, SLICE("c++")))
		return 0;
	return err_set(
	    e, EINVAL,
	    "%s:%zu: language: %s is not supported: fuzzcell builds projects in \"c\" and "
	    "\"c++\"",
	    r->name, project_line(n), quote(s, text));
}

enum { KEY_LANGUAGE, KEY_SANITIZERS, KEY_ENGINES, KEY_COUNT };

static int project_find(const struct reading *r, const yaml_node_t *root,
			const yaml_node_t *ret[KEY_COUNT], struct err *e)
{
	static const char *const keys[KEY_COUNT] = {"language", "sanitizers", "fuzzing_engines"};
	const yaml_node_pair_t *p = root->data.mapping.pairs.start;

	for (; p < root->data.mapping.pairs.top; p++) {
		const yaml_node_t *key = yaml_document_get_node(r->doc, p->key);

		for (size_t i = 0; i < KEY_COUNT; i++) {
			if (!key || key->type != YAML_SCALAR_NODE ||
			    !slice_eq(project_scalar(key), slice_of(keys[i])))
				continue;
			if (ret[i])
				return err_set(e, EINVAL, "%s:%zu: %s: the key is there twice",
					       r->name, project_line(key), keys[i]);
			ret[i] = yaml_document_get_node(r->doc, p->value);
		}
	}
	return 0;
}

static int project_take(const struct reading *r, struct err *e)
{
	const yaml_node_t *root = yaml_document_get_root_node(r->doc);
	const yaml_node_t *found[KEY_COUNT] = {NULL};
	int rc;

	if (!root || root->type != YAML_MAPPING_NODE)
		return err_set(e, EINVAL, "%s:1: not a list of keys such as \"language: c++\"",
			       r->name);
	rc = project_find(r, root, found, e);
	if (rc == 0)
		rc = project_language(r, found[KEY_LANGUAGE], e);
	if (rc == 0)
		rc = project_sanitizers(r, found[KEY_SANITIZERS], e);
	return rc == 0 ? project_engines(r, found[KEY_ENGINES], e) : rc;
}

void project_done(struct project *p)
{
	strv_done(&p->sanitizers);
	strv_done(&p->notes);
}

int project_parse(struct slice text, const char *name, struct project *ret, struct err *e)
{
	struct project p = {.sanitizers = {0}};
	yaml_document_t doc;
	yaml_parser_t y;
	int r;

	if (!yaml_parser_initialize(&y))
		return err_set(e, ENOMEM, "%s: libyaml", name);
	yaml_parser_set_input_string(&y, (const unsigned char *)text.p, text.n);
	if (yaml_parser_load(&y, &doc)) {
		r = project_take(&(const struct reading){&doc, name, &p}, e);
		yaml_document_delete(&doc);
	} else {
		r = err_set(e, EINVAL, "%s:%zu: not YAML: %s", name, y.problem_mark.line + 1,
			    y.problem ? y.problem : "it cannot be read");
	}
	yaml_parser_delete(&y);
	if (r < 0)
		project_done(&p);
	else
		*ret = p;
	return r;
}

int project_read(const char *dir, struct project *ret, struct err *e)
{
	_autofree_ char *path = xasprintf("%s/" PROJECT_FILE, dir), *text = NULL;
	_autorights_ struct rights_back back = {0};
	struct rights rights;
	size_t n = 0;
	int r = rights_of(path, &rights, e);

	if (r == 0)
		r = rights_take(&rights, &back, e);
	if (r == 0)
		r = fs_read(AT_FDCWD, path, PROJECT_MAX, &text, &n, e);
	return r < 0 ? r : project_parse((struct slice){text, n}, path, ret, e);
}
