/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"

#include <errno.h>

#define SECONDS_MAX 1e12

/* jansson's own memory ends the process, too: a constructor that fails had a bad argument. */
__attribute__((constructor)) static void json_memory(void)
{
	json_set_alloc_funcs(xmalloc, free);
}

int json_parse(struct slice text, json_t **ret, struct err *e)
{
	json_error_t at;
	json_t *j = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &at);

	if (!j)
		return err_set(e, EBADMSG, "line %d, column %d: %s", at.line, at.column, at.text);
	*ret = j;
	return 0;
}

int json_load(int dirfd, const char *path, size_t max, json_t **ret, struct err *e)
{
	_autofree_ char *text = NULL;
	size_t n;
	int r = fs_read(dirfd, path, max, &text, &n, e);

	if (r < 0)
		return r;
	r = json_parse((struct slice){text, n}, ret, e);
	return r < 0 ? err_wrap(e, "%s", path) : 0;
}

int json_print(const json_t *j, unsigned indent, char **ret, struct err *e)
{
	/* 17 digits, jansson's own choice, print 0.1 as 0.10000000000000001 */
	char *s = json_dumps(j, JSON_INDENT(indent) | JSON_ENCODE_ANY | JSON_ENSURE_ASCII |
				    JSON_REAL_PRECISION(15));

	if (!s)
		return err_set(e, EINVAL, "print JSON");
	*ret = s;
	return 0;
}

uint64_t json_get_u64(const json_t *o, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(o, key));

	return n > 0 ? (uint64_t)n : 0;
}

const char *json_get_text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

uint64_t json_get_us(const json_t *o, const char *key)
{
	double s = json_number_value(json_object_get(o, key));

	if (!(s > 0))
		return 0;
	return (uint64_t)((s < SECONDS_MAX ? s : SECONDS_MAX) * (double)USEC_PER_SEC);
}
