/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PUBLISH_HEADERS_H
#define TESTS_PUBLISH_HEADERS_H

#include "runner/publish/http/http.h"

/* Adds "Name: value". */
static inline void put_header(struct http_headers *h, const char *line)
{
	const char *colon = strstr(line, ": ");
	char name[64];

	assert_non_null(colon);
	assert_true((size_t)(colon - line) < sizeof(name));
	memcpy(name, line, (size_t)(colon - line));
	name[colon - line] = '\0';
	http_headers_field(h, name, colon + 2);
}

#endif
