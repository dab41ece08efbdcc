/* SPDX-License-Identifier: Apache-2.0 */
/* A full disk, failing calls, or a kill at each step. */
#include "tests/unit/publish/outboxes.h"

/* The outbox calls of a run, from opening to closing; stops at the first error. */
static int story(void)
{
	_autojson_ json_t *event = json_pack("{s:s}", "event", "new");
	struct outbox_outcome c = {
	    .now = T0, .why = "x", .url = "u", .retry_max_s = 60, .whole_place = true};
	struct outbox_work w = {0};
	struct outbox *o = NULL;
	bool fresh;
	struct err e = {0};
	int r = outbox_open(dir.fd, &o, &e);

	for (int i = 0; r == 0 && i < 2; i++) {
		const struct outbox_item item = {"github",
						 i ? "github-new-b" : "github-new-a",
						 i ? "github-b" : "github-a",
						 "s",
						 event,
						 "u"};

		r = outbox_queue(o, &item, T0, &fresh, &e);
	}
	if (r == 0 && outbox_count(o) == 2) {
		r = outbox_begin(o, 1, &w, &e);
		if (r == 0)
			r = outbox_progress(o, &w, &e);
		if (r == 0)
			r = outbox_later(o, &w, &c, &e);
		outbox_work_done(&w);
	}
	if (r == 0 && outbox_count(o) == 2) {
		r = outbox_begin(o, 0, &w, &e);
		if (r == 0)
			r = outbox_sent(o, &w, &c, &e);
		outbox_work_done(&w);
	}
	if (r < 0 && r != -ENOENT)
		assert_true(*e.msg);
	outbox_close(o);
	return r;
}

/* Whatever happened, after one more run without faults a was sent once, and b waits. */
static void check_story(void)
{
	_autojson_ json_t *record = NULL;
	struct err e;

	open_box();
	assert_string_equal(outbox_warning(box), "");
	assert_int_equal(outbox_chain(box, "github-a", &record, &e), 0);
	assert_string_equal(outbox_chain_how(record, "github-new-a"), "told");
	assert_int_equal(json_array_size(json_object_get(record, "told")), 1);
	for (size_t i = 0; i < outbox_count(box); i++)
		if (strcmp(outbox_at(box, i)->id, "github-new-b") != 0) {
			struct outbox_work w = {0};

			/* The entry's file is gone at the next attempt: it was sent. */
			assert_int_equal(outbox_begin(box, i, &w, &e), -ENOENT);
			outbox_work_done(&w);
		}
	assert_int_equal(outbox_count(box), 1);
	assert_string_equal(outbox_at(box, 0)->id, "github-new-b");
	close_box();
	assert_false(scratch_has(dir.fd, "outbox/.github-new-a.json.new"));
	assert_false(scratch_has(dir.fd, "outbox/damaged"));
}

static void wipe(void)
{
	struct err e;

	assert_int_equal(fs_remove_tree(dir.fd, "outbox", &e), 0);
}

static unsigned calls; /* calls that can fail, in a whole scenario */

static void test_dying(void **state)
{
	int status = 86;

	(void)state;
	for (calls = 0; status == 86; calls++) {
		pid_t pid = fork();

		if (pid == 0) {
			fault_arm(calls + 1, FAULT_DIE);
			(void)story();
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		status = WEXITSTATUS(status);
		assert_true(status == 0 || status == 86);
		(void)story();
		check_story();
		wipe();
	}
	assert_in_range(calls, 60, 400); /* the process was killed at many places */
}

static void test_failing_calls(void **state)
{
	(void)state;
	for (unsigned nth = 1; nth <= calls; nth++) {
		fault_arm(nth, FAULT_FAIL);
		(void)story();
		fault_arm(0, FAULT_FAIL);
		(void)story();
		check_story();
		wipe();
	}
}

static const struct CMUnitTest tests[] = {
    BOX(test_dying),
    BOX(test_failing_calls),
};

UNIT_MAIN(tests)
