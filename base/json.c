/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/cleanup.h"
#include "base/fs.h"

#include <errno.h>

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
		return err_set(e, ENOMEM, "print JSON");
	*ret = s;
	return 0;
}
