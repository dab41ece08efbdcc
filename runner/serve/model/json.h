/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_MODEL_JSON_H
#define RUNNER_SERVE_MODEL_JSON_H

#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/* Building an object out of parts that may not come to be (no memory): that is remembered,
 * and told once, by make_done(). */
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

/* taken: the value is ours from now on; NULL is one that did not come to be. */
void make_set(struct make *m, const char *key, json_t *taken);
/* A string, cut to MAKE_TEXT_MAX bytes; what is no UTF-8 becomes "(not UTF-8)". */
enum { MAKE_TEXT_MAX = 2048 };
void make_text(struct make *m, const char *key, const char *text);
void make_number(struct make *m, const char *key, uint64_t n);
/* "2026-11-22T20:05:04Z"; 0: null. */
void make_time(struct make *m, const char *key, uint64_t unix_seconds);
/* "a/<name, percent-encoded><end>". */
void make_href(struct make *m, const char *key, const char *before, const char *name,
	       const char *end);
MUST_CHECK int make_done(struct make *m, json_t **ret, struct err *e);

/* What is copied from an object that somebody else may have written: only a value of the
 * type that it should be. */
enum copy_kind { COPY_NUMBER, COPY_TEXT, COPY_FLAG };
struct copy {
	const char *key;
	enum copy_kind kind;
};
void make_copy(struct make *m, const json_t *from, const struct copy *c, size_t n);

json_t *json_text(const char *text);

/* Reading: what is not there, or is something else, is "" or 0. */
const char *get_text(const json_t *j, const char *key);
double get_number(const json_t *j, const char *key);
uint64_t get_count(const json_t *j, const char *key);
/* Unix seconds of a time as we write them. */
uint64_t get_time(const json_t *j, const char *key);

#endif
