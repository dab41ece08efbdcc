/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/bazel/graph.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/targets/bazel/label.h"

#include <errno.h>
#include <expat.h>
#include <string.h>

struct bazel_reader {
	XML_Parser xml;
	struct bazel_graph *g;
	struct bazel_rule *rule; /* the current rule, or NULL */
	struct strv *list;	 /* destination of the current list, or NULL */
	uint64_t bytes, labels;
	struct err err;
	bool failed;
};

static void rule_done(struct bazel_rule *r)
{
	free(r->label);
	free(r->class);
	free(r->where);
	free(r->function);
	free(r->generator);
	strv_done(&r->data);
	strv_done(&r->members);
	strv_done(&r->args);
}

void bazel_graph_done(struct bazel_graph *g)
{
	for (size_t i = 0; i < g->n; i++)
		rule_done(&g->rules[i]);
	free(g->rules);
	strv_done(&g->files);
	*g = (struct bazel_graph){0};
}

static int by_label(const void *a, const void *b)
{
	return strcmp(((const struct bazel_rule *)a)->label, ((const struct bazel_rule *)b)->label);
}

static int bazel_graph_by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int to_rule(const void *key, const void *rule)
{
	return strcmp(key, ((const struct bazel_rule *)rule)->label);
}

static int to_text(const void *key, const void *text)
{
	return strcmp(key, *(char *const *)text);
}

const struct bazel_rule *bazel_graph_find(const struct bazel_graph *g, const char *label)
{
	return g->n ? bsearch(label, g->rules, g->n, sizeof(*g->rules), to_rule) : NULL;
}

bool bazel_graph_is_file(const struct bazel_graph *g, const char *label)
{
	return g->files.n &&
	       bsearch(label, g->files.v, g->files.n, sizeof(*g->files.v), to_text) != NULL;
}

/* --- elements ---------------------------------------------------------------------- */

static void bazel_graph_stop(struct bazel_reader *r)
{
	r->failed = true;
	XML_StopParser(r->xml, XML_FALSE);
}

/* Converts a name from UTF-8 to the bytes of the file system: Bazel reads BUILD files as
 * Latin-1. */
static void to_bytes(char *text)
{
	unsigned char *in = (unsigned char *)text, *out = in;

	for (const unsigned char *p = in; *p; p++)
		if (*p >= 0xc4)
			return; /* beyond Latin-1: leave the text as it is */
	while (*in) {
		if ((*in == 0xc2 || *in == 0xc3) && (in[1] & 0xc0) == 0x80) {
			*out++ = (unsigned char)(*in << 6 | (in[1] & 0x3f));
			in += 2;
		} else {
			*out++ = *in++;
		}
	}
	*out = '\0';
}

static void bazel_graph_set(char **to, const char *text)
{
	free(*to);
	*to = xstrdup(text);
}

/* Adds a label, if it is in the main repository and is a valid path.  Ignores other labels. */
static int add_label(struct bazel_reader *r, struct strv *to, const char *value)
{
	_autofree_ char *label = xstrdup(value ? value : "");
	const char *plain;

	to_bytes(label);
	plain = bazel_label_plain(label);
	if (!plain)
		return 0;
	if (++r->labels > BAZEL_LABELS_MAX)
		return err_set(&r->err, E2BIG, "Bazel reports more than %d labels",
			       BAZEL_LABELS_MAX);
	strv_push(to, plain);
	return 0;
}

static const char *bazel_graph_get(const char **attributes, const char *name)
{
	for (; *attributes; attributes += 2)
		if (strcmp(*attributes, name) == 0)
			return attributes[1];
	return NULL;
}

static int begin_rule(struct bazel_reader *r, const char **attributes)
{
	struct bazel_graph *g = r->g;
	const char *plain = bazel_label_plain(bazel_graph_get(attributes, "name"));
	const char *class = bazel_graph_get(attributes, "class"),
		   *where = bazel_graph_get(attributes, "location");

	if (!plain || !class)
		return 0;
	if (g->n >= BAZEL_RULES_MAX)
		return err_set(&r->err, E2BIG, "Bazel reports more than %d rules", BAZEL_RULES_MAX);
	if ((g->n & (g->n - 1)) == 0)
		g->rules = xreallocarray(g->rules, g->n ? 2 * g->n : 1, sizeof(*g->rules));
	r->rule = &g->rules[g->n++];
	r->list = NULL; /* a hostile document may nest a rule in a list */
	*r->rule = (struct bazel_rule){.label = xstrdup(plain),
				       .class = xstrdup(class),
				       .where = where ? xstrdup(where) : NULL};
	return 0;
}

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

/* Includes fuzzing_corpus and fuzzing_dictionary of rules_fuzzing. */
static bool is_group(const struct bazel_rule *r)
{
	return strcmp(r->class, "filegroup") == 0 || strcmp(r->class, "alias") == 0 ||
	       strstr(r->class, "corpus") || strstr(r->class, "dictionary");
}

static struct strv *bazel_graph_place_of(struct bazel_rule *r, const char *attribute)
{
	static const char *const members[] = {"srcs", "data", "actual", "dicts", NULL};
	static const char *const data[] = {"data", "corpus", "dictionary", "dicts", NULL};

	if (is_group(r))
		return is_one_of(attribute, members) ? &r->members : NULL;
	if (strcmp(attribute, "args") == 0)
		return &r->args;
	return is_one_of(attribute, data) ? &r->data : NULL;
}

/* Takes an element of a list, <label value="//a:b"/>, or an attribute with one label,
 * <label name="actual" value="//a:b"/>. */
static int take_label(struct bazel_reader *r, const char **attributes)
{
	const char *name = bazel_graph_get(attributes, "name");
	struct strv *to = name ? bazel_graph_place_of(r->rule, name) : r->list;

	return to && to != &r->rule->args ? add_label(r, to, bazel_graph_get(attributes, "value"))
					  : 0;
}

static int take_string(struct bazel_reader *r, const char **attributes)
{
	const char *name = bazel_graph_get(attributes, "name"),
		   *value = bazel_graph_get(attributes, "value");

	if (!value)
		return 0;
	if (name && strcmp(name, "generator_function") == 0)
		bazel_graph_set(&r->rule->function, value);
	if (name && strcmp(name, "generator_name") == 0)
		bazel_graph_set(&r->rule->generator, value);
	if (name || r->list != &r->rule->args)
		return 0;
	if (++r->labels > BAZEL_LABELS_MAX)
		return err_set(&r->err, E2BIG, "Bazel reports more than %d labels",
			       BAZEL_LABELS_MAX);
	strv_push(r->list, value);
	return 0;
}

static int bazel_graph_begin(struct bazel_reader *r, const char *element, const char **attributes)
{
	const char *name;

	if (strcmp(element, "rule") == 0)
		return begin_rule(r, attributes);
	if (strcmp(element, "source-file") == 0)
		return add_label(r, &r->g->files, bazel_graph_get(attributes, "name"));
	if (!r->rule)
		return 0;
	if (strcmp(element, "list") == 0) {
		name = bazel_graph_get(attributes, "name");
		r->list = name ? bazel_graph_place_of(r->rule, name) : NULL;
		return 0;
	}
	if (strcmp(element, "label") == 0)
		return take_label(r, attributes);
	return strcmp(element, "string") == 0 ? take_string(r, attributes) : 0;
}

static void XMLCALL on_begin(void *arg, const char *element, const char **attributes)
{
	struct bazel_reader *r = arg;

	if (!r->failed && bazel_graph_begin(r, element, attributes) < 0)
		bazel_graph_stop(r);
}

static void XMLCALL bazel_graph_on_end(void *arg, const char *element)
{
	struct bazel_reader *r = arg;

	if (strcmp(element, "rule") == 0)
		r->rule = NULL;
	if (strcmp(element, "list") == 0 || strcmp(element, "rule") == 0)
		r->list = NULL;
}

/* Refuses a document type.  Bazel writes none, and its entities could expand without limit. */
static void XMLCALL on_doctype(void *arg, const char *name, const char *system, const char *public,
			       int internal)
{
	struct bazel_reader *r = arg;

	(void)name;
	(void)system;
	(void)public;
	(void)internal;
	err_set(&r->err, EBADMSG, "Bazel's answer has a document type");
	bazel_graph_stop(r);
}

/* --- a document ---------------------------------------------------------------------- */

struct bazel_reader *bazel_reader_new(struct bazel_graph *to)
{
	struct bazel_reader *r = xcalloc(1, sizeof(*r));

	r->g = to;
	r->xml = XML_ParserCreate(NULL);
	if (!r->xml)
		out_of_memory();
	XML_SetUserData(r->xml, r);
	XML_SetElementHandler(r->xml, on_begin, bazel_graph_on_end);
	XML_SetStartDoctypeDeclHandler(r->xml, on_doctype);
	return r;
}

static int bazel_graph_parse(struct bazel_reader *r, struct slice block, bool last, struct err *e)
{
	if (XML_Parse(r->xml, block.p, (int)block.n, last) == XML_STATUS_OK)
		return 0;
	if (r->failed) {
		*e = r->err;
		return err_code(e);
	}
	return err_set(e, EBADMSG, "Bazel's answer is not XML: line %lu: %s",
		       (unsigned long)XML_GetCurrentLineNumber(r->xml),
		       XML_ErrorString(XML_GetErrorCode(r->xml)));
}

int bazel_reader_feed(struct bazel_reader *r, struct slice block, struct err *e)
{
	enum { PART = 1 << 20 };

	r->bytes += block.n;
	if (r->bytes > BAZEL_XML_MAX)
		return err_set(e, EFBIG, "Bazel's answer is longer than %llu MiB",
			       (unsigned long long)(BAZEL_XML_MAX >> 20));
	while (block.n > 0) {
		size_t n = block.n < PART ? block.n : PART;
		int rc = bazel_graph_parse(r, (struct slice){block.p, n}, false, e);

		if (rc < 0)
			return rc;
		block.p += n;
		block.n -= n;
	}
	return 0;
}

int bazel_reader_end(struct bazel_reader *r, struct err *e)
{
	struct bazel_graph *g = r->g;
	int rc = bazel_graph_parse(r, SLICE(""), true, e);

	if (rc < 0)
		return rc;
	if (g->n)
		qsort(g->rules, g->n, sizeof(*g->rules), by_label);
	if (g->files.n)
		qsort(g->files.v, g->files.n, sizeof(*g->files.v), bazel_graph_by_text);
	return 0;
}

void bazel_reader_free(struct bazel_reader *r)
{
	if (!r)
		return;
	XML_ParserFree(r->xml);
	free(r);
}
