/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/crash/json.h"

#include "base/cleanup.h"

#include <errno.h>

int crash_json_all(const struct ledger *l, json_t **ret, struct err *e)
{
	_autofree_ char *text = NULL;
	size_t n;
	int r = ledger_print(l, &text, &n, e);

	return r < 0 ? r : json_parse((struct slice){text, n}, ret, e);
}

int crash_json_one(const json_t *all, const char *signature, json_t **ret, struct err *e)
{
	json_t *crash = json_object_get(all, signature);

	if (!json_is_object(crash))
		return err_set(e, ENOENT, "no crash '%.100s'", signature);
	/* The signature comes first in the output. */
	*ret = json_pack("{s:s}", "signature", signature);
	(void)json_object_update_missing(*ret, crash);
	return 0;
}
