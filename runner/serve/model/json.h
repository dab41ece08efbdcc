/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_MODEL_JSON_H
#define RUNNER_SERVE_MODEL_JSON_H

#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/* Sets a member of an object.  taken: takes ownership; NULL: the member is left out. */
void make_set(json_t *m, const char *key, json_t *taken);
/* A string, cut to MAKE_TEXT_MAX bytes; invalid UTF-8 becomes "(not UTF-8)". */
enum { MAKE_TEXT_MAX = 2048 };
void make_text(json_t *m, const char *key, const char *text);
void make_number(json_t *m, const char *key, uint64_t n);
/* "2026-11-22T20:05:04Z"; 0: null. */
void make_time(json_t *m, const char *key, uint64_t unix_seconds);
/* "a/<name, percent-encoded><end>". */
void make_href(json_t *m, const char *key, const char *before, const char *name, const char *end);

/* A key to copy from an untrusted object, if its value has this type. */
enum copy_kind { COPY_NUMBER, COPY_TEXT, COPY_FLAG };
struct copy {
	const char *key;
	enum copy_kind kind;
};
void make_copy(json_t *m, const json_t *from, const struct copy *c, size_t n);

json_t *json_text(const char *text);

/* Reading: a value that is missing or of another type is "" or 0. */
const char *get_text(const json_t *j, const char *key);
double get_number(const json_t *j, const char *key);
uint64_t get_count(const json_t *j, const char *key);
/* Unix seconds of a time in the format of make_time(). */
uint64_t get_time(const json_t *j, const char *key);

#endif
