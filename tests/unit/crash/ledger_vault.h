/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_CRASH_LEDGER_VAULT_H
#define TESTS_UNIT_CRASH_LEDGER_VAULT_H

/* A ledger, and the directories of its crashes. */
#include "tests/unit/crash/ledger_files.h"

#include "runner/crash/vault.h"

#define A   "aaaaaaaaaaaaaaaa"
#define B   "bbbbbbbbbbbbbbbb"
#define C   "cccccccccccccccc"
#define OLD "asan|parse|1"

static inline void vault(const char *signature, const char *input, const char *meta,
			 const char *said)
{
	struct vault_item item = {.signature = slice_of(signature)};
	struct err e = {0};

	if (input)
		item.file[VAULT_INPUT] = slice_of(input);
	if (meta)
		item.file[VAULT_META] = slice_of(meta);
	if (said)
		item.file[VAULT_REPORT] = slice_of(said);
	if (vault_save(dir.fd, &item, NULL, &e) < 0)
		fail_msg("%s", e.msg);
}

/* Three crashes in different states, and a crash with a signature that is no file name. */
static inline void make_ledger(void)
{
	static const char *const frames[] = {"f", "g(int)"};

	vault(A, "1", NULL, NULL);
	vault(B, "22", NULL, NULL);
	vault(C, "333", NULL, NULL);
	vault(OLD, "4444", NULL, NULL);
	parse("{}");
	(void)NOTE(.signature = A, .target = "t", .run = "r1", .commit = "c1", .time = 5,
		   .count = 3, .raw_key = "0123456789abcdef", .artifact = "logs/r1/x",
		   .crash_type = "Heap\nREAD 4", .kind = "asan", .severity = "high",
		   .security = true, .frames = frames, .n_frames = 2,
		   .crash_file = "crashes/" A "/input", .input_bytes = 1, .tries = 3, .hits = 3);
	(void)NOTE(.signature = B, .target = "t", .run = "r1", .crash_type = "Timeout",
		   .unsymbolized = true, .crash_file = "crashes/" B "/input", .input_bytes = 2);
	(void)NOTE(.signature = C, .target = "u", .run = "r1", .crash_type = "Leak");
	(void)NOTE(.signature = OLD, .target = "u", .run = "r1");
	(void)NOTE(.signature = A, .target = "u", .run = "r1", .time = 6);
	OK(ledger_fixed(ledger, A, "t", 9, "c2", "r2", &oops));
	OK(ledger_fixed(ledger, A, "u", 9, "c2", "r2", &oops));
	OK(ledger_issue(ledger, A, "https://example.org/7", &oops));
	OK(ledger_ignore(ledger, B, NULL, SIZE_MAX, "not\nours", &oops));
	OK(ledger_merge(ledger, C, OLD, &oops));
	ledger_next_run(ledger, "r2");
	save();
}

static inline char *printed(void)
{
	char *text = NULL;
	size_t n;

	OK(ledger_print(ledger, &text, &n, &oops));
	return text;
}

#endif
