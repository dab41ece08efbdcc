/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_MODEL_JSON_H
#define RUNNER_SERVE_MODEL_JSON_H

#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/* Builds an object from parts that may fail for lack of memory.  The failure is remembered, and
 * make_done() returns it. */
struct make {
	json_t *j;
	bool bad;
};

#define MAKE_INIT  ((struct make){.j = json_object()})
#define _automake_ __attribute__((cleanup(make_drop)))

static inline void make_drop(struct make *m)
{
	json_decref(m->j);
}

/* taken: takes ownership of the value; NULL: creating the value failed. */
void make_set(struct make *m, const char *key, json_t *taken);
/* A string, cut to MAKE_TEXT_MAX bytes; invalid UTF-8 becomes "(not UTF-8)". */
enum { MAKE_TEXT_MAX = 2048 };
void make_text(struct make *m, const char *key, const char *text);
void make_number(struct make *m, const char *key, uint64_t n);
/* "2026-11-22T20:05:04Z"; 0: null. */
void make_time(struct make *m, const char *key, uint64_t unix_seconds);
/* "a/<name, percent-encoded><end>". */
void make_href(struct make *m, const char *key, const char *before, const char *name,
	       const char *end);
MUST_CHECK int make_done(struct make *m, json_t **ret, struct err *e);

/* A key to copy from an untrusted object, if its value has this type. */
enum copy_kind { COPY_NUMBER, COPY_TEXT, COPY_FLAG };
struct copy {
	const char *key;
	enum copy_kind kind;
};
void make_copy(struct make *m, const json_t *from, const struct copy *c, size_t n);

json_t *json_text(const char *text);

/* Reading: a value that is missing or of another type is "" or 0. */
const char *get_text(const json_t *j, const char *key);
double get_number(const json_t *j, const char *key);
uint64_t get_count(const json_t *j, const char *key);
/* Unix seconds of a time in the format of make_time(). */
uint64_t get_time(const json_t *j, const char *key);

#endif
