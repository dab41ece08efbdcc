/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/outbox/outbox.h"
#include "base/cleanup.h"
#include "runner/serve/model/model.h"

#include <errno.h>

DEFINE_CLEANUP(struct outbox *, outbox_close)

int outbox_part(struct serve_site *s, json_t **ret, struct err *e)
{
	CLEANUP(outbox_close_p) struct outbox *o = NULL;
	_automake_ struct make m = MAKE_INIT;
	uint64_t oldest = 0;
	struct err why;

	/* An outbox that is damaged or not accessible is a finding of `fuzzcell doctor`.  The
	 * page is still shown. */
	if (outbox_read(s->state->dirfd, &o, &why) < 0) {
		*ret = json_null();
		return 0;
	}
	for (size_t i = 0; i < outbox_count(o); i++) {
		uint64_t t = outbox_at(o, i)->created;

		if (!oldest || t < oldest)
			oldest = t;
	}
	make_number(&m, "pending", outbox_count(o));
	make_time(&m, "oldest", oldest);
	return make_done(&m, ret, e);
}
