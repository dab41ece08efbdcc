/* SPDX-License-Identifier: Apache-2.0 */
/* The pure functions of a merge. */
#include "tests/unit/unit.h"

#include "runner/run/merge/all.h"
#include "runner/run/merge/internal.h"

static const struct row {
	const char *what;
	struct merge_facts facts;
	size_t next, n;
	bool started, damaged, full;
	enum merge_act act;
} rows[] = {
    {"all is measured", {.ran = true}, 5, 5, .act = MERGE_DONE},
    {"... whatever the cell died of then",
     {.ran = true, .first = 5},
     5,
     5,
     .full = true,
     .act = MERGE_DONE},
    {"no cell yet", {.ran = false}, 0, 5, .act = MERGE_RUN},
    {"no cell yet, but an earlier merge's",
     {.ran = false},
     3,
     5,
     .started = true,
     .act = MERGE_RUN},
    {"it died on an input", {.ran = true}, 3, 5, .started = true, .act = MERGE_BLAME},
    {"... on its first", {.ran = true, .first = 3}, 3, 5, .started = true, .act = MERGE_BLAME},
    {"we ended it: the input in work is innocent",
     {.ran = true, .ours = true},
     3,
     5,
     .started = true,
     .act = MERGE_RUN},
    {"we ended it before it got anywhere", {.ran = true, .ours = true}, 0, 5, .act = MERGE_RUN},
    {"memory adds up: once more, alone",
     {.ran = true, .accumulates = true},
     3,
     5,
     .started = true,
     .act = MERGE_RUN},
    {"alone it is bad",
     {.ran = true, .accumulates = true, .first = 3},
     3,
     5,
     .started = true,
     .act = MERGE_BLAME},
    {"it died between two inputs", {.ran = true, .first = 1}, 3, 5, .act = MERGE_RUN},
    {"it died before its first", {.ran = true, .first = 3}, 3, 5, .act = MERGE_STRIKE},
    {"it never began", {.ran = true}, 0, 5, .act = MERGE_STRIKE},
    {"a record is spoiled", {.ran = true, .first = 1}, 3, 5, .damaged = true, .act = MERGE_RUN},
    {"the same one again", {.ran = true, .first = 3}, 3, 5, .damaged = true, .act = MERGE_BLAME},
    {"no room for more records",
     {.ran = true},
     3,
     5,
     .damaged = true,
     .full = true,
     .act = MERGE_FULL},
    {"no room for one record",
     {.ran = true},
     0,
     5,
     .damaged = true,
     .full = true,
     .act = MERGE_STRIKE},
};

static void test_judge(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		struct control c = {.n = r->n, .next = r->next, .started = r->started};

		if (r->damaged)
			c.why[0] = 'x';
		if (merge_judge(&r->facts, &c, r->full) != r->act)
			fail_msg("%s: %d instead of %d", r->what,
				 (int)merge_judge(&r->facts, &c, r->full), (int)r->act);
	}
}

static void test_verdict_names(void **state)
{
	(void)state;
	for (unsigned v = 0; v < MERGE_VERDICT_COUNT; v++)
		for (unsigned q = 0; q < v; q++)
			assert_string_not_equal(merge_verdict_name((enum merge_verdict)v),
						merge_verdict_name((enum merge_verdict)q));
	assert_string_equal(merge_verdict_name(MERGE_REPLACED), "replaced");
	assert_string_equal(merge_verdict_name(MERGE_KEPT), "kept");
	assert_string_equal(merge_verdict_name(MERGE_CLEANED), "cleaned");
	assert_string_equal(merge_verdict_name(MERGE_VERDICT_COUNT), "unknown");
}

static void test_history_line(void **state)
{
	struct merge_line l = {
	    .target = "t", .run = "20261121-103008", .real_us = 1700000000500000};
	struct merge_result r = {.verdict = MERGE_KEPT,
				 .why = "it \"missed\" 3",
				 .before = {100, 5000, 20, 30},
				 .after = {90, 4000, 19, 29},
				 .cover = {40, 2000, 19, 29},
				 .candidates = 120,
				 .new_inputs = 7,
				 .bad = 2,
				 .reused = 11,
				 .cells = 4,
				 .wall_us = 1500000};
	_autojson_ json_t *j = NULL;
	char *text;
	struct err e;

	(void)state;
	assert_int_equal(merge_history_line(&l, &r, &j, &e), 0);
	assert_int_equal(json_print(j, 0, &text, &e), 0);
	assert_string_equal(
	    text, "{\"v\": 1, \"run\": \"20261121-103008\", \"target\": \"t\", "
		  "\"time\": 1700000000, \"commit\": null, \"verdict\": \"kept\", "
		  "\"why\": \"it \\\"missed\\\" 3\", \"files\": 90, \"bytes\": 4000, "
		  "\"edges\": 19, \"features\": 29, "
		  "\"cover\": {\"files\": 40, \"bytes\": 2000}, \"before\": {\"files\": 100, "
		  "\"bytes\": 5000, \"edges\": 20, \"features\": 30}, \"new_inputs\": 7, "
		  "\"candidates\": 120, \"bad\": 2, \"restored\": 0, \"reused\": 11, \"cells\": 4, "
		  "\"seconds\": 1.5}");
	free(text);
}

static void test_share(void **state)
{
	const uint64_t gib = UINT64_C(1) << 30;

	(void)state;
	assert_int_equal(merge_all_share(2, 1, gib, 8 * gib), 2); /* one large corpus: both */
	assert_int_equal(merge_all_share(2, 2, gib, 8 * gib), 1); /* one worker each */
	assert_int_equal(merge_all_share(2, 500, gib, 8 * gib), 1);
	assert_int_equal(merge_all_share(8, 3, gib, 8 * gib), 2);
	assert_int_equal(merge_all_share(8, 1, gib, 3 * gib), 3); /* as memory allows */
	assert_int_equal(merge_all_share(8, 1, gib, 0), 1);	  /* then it runs alone */
	assert_int_equal(merge_all_share(8, 0, gib, 8 * gib), 1);
	assert_int_equal(merge_all_share(8, 1, UINT64_MAX, UINT64_MAX), 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_judge),
    cmocka_unit_test(test_verdict_names),
    cmocka_unit_test(test_history_line),
    cmocka_unit_test(test_share),
};

UNIT_MAIN(tests)
