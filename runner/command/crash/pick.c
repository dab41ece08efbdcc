/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/command/crash/pick.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/escape.h"

#include <errno.h>
#include <string.h>

enum { SHOWN = 5, NAMES_MAX = 400, NAME_SHOWN = 60 };

/* "a, b, c and 4 more" */
static int several(const struct ledger *l, const char *text, size_t found, struct err *e)
{
	_autobuf_ struct buf names = BUF_INIT(NAMES_MAX);
	char shown[ESCAPE_MAX], typed[ESCAPE_MAX];
	size_t n = strlen(text), left = found;

	for (size_t i = 0; i < ledger_count(l) && left + SHOWN > found; i++) {
		const char *s = ledger_at(l, i)->signature;

		if (strncmp(s, text, n) != 0)
			continue;
		buf_printf(&names, "%s%.*s", left == found ? "" : ", ", NAME_SHOWN,
			   escape(s, shown));
		if (names.full)
			break;
		left--;
	}
	if (left == 0)
		return err_set(e, ENOTUNIQ, "'%.60s' begins %zu crashes: %s", escape(text, typed),
			       found, buf_str(&names));
	return err_set(e, ENOTUNIQ, "'%.60s' begins %zu crashes: %s and %zu more",
		       escape(text, typed), found, buf_str(&names), left);
}

int crash_pick(const struct ledger *l, const char *text, const struct known_crash **ret,
	       struct err *e)
{
	const struct known_crash *c = ledger_record(l, text);
	size_t found = 0, n = strlen(text);
	char typed[ESCAPE_MAX];

	if (!c)
		c = ledger_find(l, text);
	if (c) {
		*ret = c;
		return 0;
	}
	for (size_t i = 0; n > 0 && i < ledger_count(l); i++)
		if (strncmp(ledger_at(l, i)->signature, text, n) == 0) {
			c = ledger_at(l, i);
			found++;
		}
	if (found == 0)
		return err_set(e, ENOENT, "no crash '%.60s' (fuzzcell crash list)",
			       escape(text, typed));
	if (found > 1)
		return several(l, text, found, e);
	*ret = c;
	return 0;
}
