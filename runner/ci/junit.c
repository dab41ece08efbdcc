/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/ci/formats.h"

#include "base/utf8.h"

#include <string.h>

/* XML has no control characters (XML 1.0, section 2.2). */
static void put(const char *text, struct buf *out)
{
	for (const char *p = text; *p; p++)
		switch (*p) {
		case '&':
			buf_puts(out, "&amp;");
			break;
		case '<':
			buf_puts(out, "&lt;");
			break;
		case '>':
			buf_puts(out, "&gt;");
			break;
		case '"':
			buf_puts(out, "&quot;");
			break;
		case '\n':
			buf_puts(out, "&#10;");
			break;
		default:
			buf_put(out, (unsigned char)*p < 0x20 || *p == 0x7f ? SLICE(" ")
									    : (struct slice){p, 1});
		}
}

static void put_attribute(const char *name, const char *text, struct buf *out)
{
	buf_printf(out, " %s=\"", name);
	put(text, out);
	buf_puts(out, "\"");
}

/* Also a crash of another build of the target: "<target>@<variant>". */
static bool is_of_target(const json_t *crash, const char *target)
{
	const char *name = json_get_text(crash, "target");
	size_t n = strlen(target);

	return strncmp(name, target, n) == 0 && (name[n] == '\0' || name[n] == '@');
}

static bool is_of(const json_t *crash, const char *target, const char *status)
{
	return is_of_target(crash, target) && strcmp(json_get_text(crash, "status"), status) == 0;
}

static void put_failures(const json_t *crashes, const char *target, struct buf *out)
{
	for (size_t i = 0; i < json_array_size(crashes); i++) {
		const json_t *c = json_array_get(crashes, i);
		const json_t *frames = json_object_get(c, "frames");

		if (!is_of(c, target, "new"))
			continue;
		buf_puts(out, "      <failure");
		put_attribute("type", json_get_text(c, "type"), out);
		put_attribute("message", json_get_text(c, "headline"), out);
		buf_puts(out, ">crash ");
		put(json_get_text(c, "signature"), out);
		for (size_t k = 0; k < json_array_size(frames); k++) {
			const json_t *f = json_array_get(frames, k);

			buf_puts(out, "\n  ");
			put(json_get_text(f, "function"), out);
			buf_puts(out, " ");
			put(json_get_text(f, "path"), out);
			buf_printf(out, ":%llu", (unsigned long long)json_get_u64(f, "line"));
		}
		buf_puts(out, "</failure>\n");
		return; /* a test case has one failure; the others are in system-out */
	}
}

/* Further new crashes, and old ones. */
static void put_others(const json_t *crashes, const char *target, struct buf *out)
{
	bool any = false;

	for (size_t i = 0; i < json_array_size(crashes); i++) {
		const json_t *c = json_array_get(crashes, i);

		if (!is_of_target(c, target))
			continue;
		buf_puts(out, any ? "\n" : "      <system-out>");
		any = true;
		put(json_get_text(c, "status"), out);
		buf_puts(out, " crash ");
		put(json_get_text(c, "signature"), out);
		buf_puts(out, ": ");
		put(json_get_text(c, "type"), out);
	}
	if (any)
		buf_puts(out, "</system-out>\n");
}

static bool has_failure(const json_t *crashes, const char *target)
{
	for (size_t i = 0; i < json_array_size(crashes); i++)
		if (is_of(json_array_get(crashes, i), target, "new"))
			return true;
	return false;
}

static void put_target(const json_t *t, const json_t *crashes, struct buf *out)
{
	const char *name = json_get_text(t, "name"), *unbuilt = json_get_text(t, "unbuilt");
	const char *problem = json_get_text(t, "problem");

	buf_puts(out, "    <testcase");
	put_attribute("name", name, out);
	put_attribute("classname", "fuzzcell", out);
	buf_printf(out, " time=\"%.3f\">\n", (double)json_get_us(t, "seconds") / 1e6);
	if (*unbuilt || *problem) {
		buf_puts(out, "      <error");
		put_attribute("type", *unbuilt ? "not-built" : "not-fuzzed", out);
		put_attribute("message", *unbuilt ? unbuilt : problem, out);
		buf_puts(out, "/>\n");
	} else {
		put_failures(crashes, name, out);
	}
	put_others(crashes, name, out);
	buf_puts(out, "    </testcase>\n");
}

void ci_junit(const json_t *result, struct buf *out)
{
	const json_t *targets = json_object_get(result, "targets");
	const json_t *crashes = json_object_get(result, "crashes");
	bool whole = strcmp(json_get_text(result, "status"), "not-built") == 0 &&
		     json_array_size(targets) == 0;
	size_t failures = 0, errors = whole;

	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *t = json_array_get(targets, i);
		bool error = *json_get_text(t, "unbuilt") || *json_get_text(t, "problem");

		errors += error;
		failures += !error && has_failure(crashes, json_get_text(t, "name"));
	}
	buf_puts(out,
		 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"fuzzcell\">\n");
	buf_printf(out,
		   "  <testsuite name=\"fuzzcell\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
		   "time=\"%.3f\">\n",
		   json_array_size(targets) + whole, failures, errors,
		   (double)json_get_us(result, "seconds") / 1e6);
	if (whole) {
		buf_puts(out, "    <testcase name=\"build\" classname=\"fuzzcell\">\n      <error "
			      "type=\"not-built\"");
		put_attribute("message", json_get_text(result, "verdict"), out);
		buf_puts(out, "/>\n    </testcase>\n");
	}
	for (size_t i = 0; i < json_array_size(targets); i++)
		put_target(json_array_get(targets, i), crashes, out);
	buf_puts(out, "  </testsuite>\n</testsuites>\n");
}
