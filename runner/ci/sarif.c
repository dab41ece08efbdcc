/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/ci/formats.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The specification's own address of the schema (section 3.13.3). */
#define SCHEMA                                                                \
	"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/" \
	"sarif-schema-2.1.0.json"

enum { RULE_MAX = 80, STEPS_MAX = 50 };

/* --- rules: one for each type of crash -------------------------------------------- */

/* "Heap-buffer-overflow" of "Heap-buffer-overflow READ 4". */
static void rule_id(const json_t *crash, char ret[RULE_MAX])
{
	const char *type = json_get_text(crash, "type");
	size_t n = strcspn(type, " \n");

	snprintf(ret, RULE_MAX, "%.*s", n && n < RULE_MAX ? (int)n : 7, n ? type : "Failure");
}

static size_t rule_at(const json_t *rules, const char *id)
{
	size_t i = 0;

	while (i < json_array_size(rules) &&
	       strcmp(json_get_text(json_array_get(rules, i), "id"), id) != 0)
		i++;
	return i;
}

/* GitHub shows a severity for rules with the tag "security" (a score of CVSS). */
static const char *score(const json_t *crash)
{
	const char *severity = json_get_text(crash, "severity");

	if (strcmp(severity, "high") == 0)
		return "8.0";
	return strcmp(severity, "medium") == 0 ? "5.5" : "3.0";
}

static void add_rule(json_t *rules, const json_t *crash)
{
	bool security = json_is_true(json_object_get(crash, "security"));
	char id[RULE_MAX];
	json_t *rule, *properties;

	rule_id(crash, id);
	if (rule_at(rules, id) < json_array_size(rules))
		return;
	properties = json_pack("{s:[s], s:s}", "tags", "fuzzing", "precision", "very-high");
	if (security) {
		(void)json_array_append_new(json_object_get(properties, "tags"),
					    json_string("security"));
		(void)json_object_set_new(properties, "security-severity",
					  json_string(score(crash)));
	}
	rule = json_pack("{s:s, s:s, s:{s:s}, s:{s:s}, s:o}", "id", id, "name", id,
			 "shortDescription", "text", id, "fullDescription", "text",
			 "A fuzz target fails in this way.", "properties", properties);
	(void)json_array_append_new(rules, rule);
}

/* --- results ------------------------------------------------------------------------ */

/* path "": the place is not in the repository. */
static json_t *location(const char *path, uint64_t line, const char *message)
{
	json_t *physical =
	    json_pack("{s:{s:s, s:s}}", "artifactLocation", "uri", path, "uriBaseId", "%SRCROOT%");
	json_t *j;

	(void)json_object_set_new(physical, "region",
				  json_pack("{s:I}", "startLine", (json_int_t)(line ? line : 1)));
	j = json_pack("{s:o}", "physicalLocation", physical);
	if (message)
		(void)json_object_set_new(j, "message", json_pack("{s:s}", "text", message));
	return j;
}

/* A URI reference: other bytes are percent-encoded (RFC 3986, section 2.1). */
static void put_uri(const char *path, char *out, size_t max)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = 0;

	for (const char *p = path; *p && n + 4 < max; p++) {
		unsigned char c = (unsigned char)*p;

		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    strchr("-._~/", c)) {
			out[n++] = (char)c;
			continue;
		}
		out[n++] = '%';
		out[n++] = hex[c >> 4];
		out[n++] = hex[c & 15];
	}
	out[n] = '\0';
}

/* The stack, the outermost function first, as far as it is in the repository. */
static json_t *flow(const json_t *crash)
{
	const json_t *frames = json_object_get(crash, "frames");
	json_t *steps = json_array();
	char uri[4096];

	for (size_t i = json_array_size(frames); i-- > 0;) {
		const json_t *f = json_array_get(frames, i);
		const char *path = json_get_text(f, "path");

		if (!*path || json_array_size(steps) == STEPS_MAX)
			continue;
		put_uri(path, uri, sizeof(uri));
		(void)json_array_append_new(steps,
					    json_pack("{s:o}", "location",
						      location(uri, json_get_u64(f, "line"),
							       json_get_text(f, "function"))));
	}
	return steps;
}

static json_t *result_json(const json_t *crash, const json_t *rules)
{
	bool is_new = strcmp(json_get_text(crash, "status"), "new") == 0;
	const char *path = json_get_text(crash, "path"), *target = json_get_text(crash, "target");
	json_t *steps = flow(crash), *j;
	char id[RULE_MAX], uri[4096], text[1200];

	rule_id(crash, id);
	put_uri(*path ? path : target, uri, sizeof(uri));
	snprintf(text, sizeof(text), "%.300s in target %.130s: %.300s (crash %.64s)",
		 json_get_text(crash, "type"), target, json_get_text(crash, "headline"),
		 json_get_text(crash, "signature"));
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ' ';
	j = json_pack("{s:s, s:I, s:s, s:s, s:{s:o}, s:[o], s:{s:s}}", "ruleId", id, "ruleIndex",
		      (json_int_t)rule_at(rules, id), "level", is_new ? "error" : "note",
		      "baselineState", is_new ? "new" : "unchanged", "message", "text",
		      json_stringn_nocheck(text, strlen(text)), "locations",
		      location(uri, json_get_u64(crash, "line"), NULL), "partialFingerprints",
		      "fuzzcellSignature/v1", json_get_text(crash, "signature"));
	if (json_array_size(steps) > 0)
		(void)json_object_set_new(
		    j, "codeFlows",
		    json_pack("[{s:[{s:o}]}]", "threadFlows", "locations", json_incref(steps)));
	json_decref(steps);
	return j;
}

int ci_sarif(const json_t *result, json_t **ret, struct err *e)
{
	const json_t *crashes = json_object_get(result, "crashes");
	json_t *rules = json_array(), *results = json_array();
	bool built = strcmp(json_get_text(result, "status"), "not-built") != 0;

	for (size_t i = 0; i < json_array_size(crashes); i++) {
		const json_t *c = json_array_get(crashes, i);
		const char *status = json_get_text(c, "status");

		if (strcmp(status, "new") != 0 && strcmp(status, "old") != 0)
			continue;
		add_rule(rules, c);
		(void)json_array_append_new(results, result_json(c, rules));
	}
	*ret = json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:[{s:b}], s:o, s:s}]}", "$schema",
			 SCHEMA, "version", "2.1.0", "runs", "tool", "driver", "name", "fuzzcell",
			 "version", json_get_text(result, "version"), "rules", rules, "invocations",
			 "executionSuccessful", (int)built, "results", results, "columnKind",
			 "utf16CodeUnits");
	return *ret ? 0 : err_set(e, EINVAL, "the result is not UTF-8");
}
