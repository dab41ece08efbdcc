/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/outbox/outbox.h"
#include "base/cleanup.h"
#include "runner/serve/model/model.h"

DEFINE_CLEANUP(struct outbox *, outbox_close)

json_t *outbox_part(struct serve_site *s)
{
	CLEANUP(outbox_close_p) struct outbox *o = NULL;
	_autojson_ json_t *m = json_object();
	uint64_t oldest = 0;
	struct err why;

	/* An outbox that is damaged or not accessible is a finding of `fuzzcell doctor`.  The
	 * page is still shown. */
	if (outbox_read(s->state->dirfd, &o, &why) < 0)
		return json_null();
	for (size_t i = 0; i < outbox_count(o); i++) {
		uint64_t t = outbox_at(o, i)->created;

		if (!oldest || t < oldest)
			oldest = t;
	}
	make_number(m, "pending", outbox_count(o));
	make_time(m, "oldest", oldest);
	return take_ptr(&m);
}
