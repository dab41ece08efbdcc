/* SPDX-License-Identifier: Apache-2.0 */
/* A request to a run: an accepted request can be printed and parsed again, with the same result. */
#include "base/cleanup.h"
#include "runner/control/request.h"
#include "tests/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void say_again(const struct control_request *q)
{
	_autojson_ json_t *o = NULL;
	_autofree_ char *text = NULL;
	struct control_request again;
	struct err e;

	MUST(control_request_json(q, &o, &e) == 0);
	MUST(json_print(o, 0, &text, &e) == 0);
	MUST(control_request_parse(slice_of(text), &again, &e) == 0);
	MUST(again.cmd == q->cmd && again.now == q->now && again.workers == q->workers);
	MUST(strcmp(again.target, q->target) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct control_request q;
	struct err e = {0};

	if (control_request_parse((struct slice){(const char *)data, size}, &q, &e) < 0)
		MUST(e.code > 0 && e.msg[0]);
	else
		say_again(&q);
	return 0;
}
