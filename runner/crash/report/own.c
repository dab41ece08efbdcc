/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"
#include "runner/crash/report/internal.h"

#include <stdio.h>
#include <string.h>

/* Crashes without a report: processes that the cell refused or killed, or that ended without
 * output. */

static const struct {
	const char *name, *type;
	enum crash_kind kind;
	const char *headline;
} kinds[] = {
    [CRASH_OWN_SECCOMP] = {"syscall", "Refused-system-call", CRASH_CELL,
			   "the cell refused a system call"},
    [CRASH_OWN_MEMORY] = {"memory", "Cell-memory-limit", CRASH_CELL,
			  "the kernel killed the cell for its memory"},
    [CRASH_OWN_PIDS] = {"pids", "Cell-process-limit", CRASH_CELL,
			"the cell's process limit refused a fork"},
    [CRASH_OWN_SIGNAL] = {"signal", "Fatal-signal", CRASH_SIGNAL,
			  "died by a signal without a report"},
    [CRASH_OWN_EXIT] = {"exit", "Unexpected-exit", CRASH_ENGINE,
			"ended by itself without a report"},
    [CRASH_OWN_INTERRUPT] = {"interrupt", "Self-interrupt", CRASH_ENGINE,
			     "ended as by a stop signal, which fuzzcell did not send"},
    [CRASH_OWN_TIME] = {"time", "Timeout", CRASH_CELL,
			"the cell's deadline passed without a report"},
};
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == CRASH_OWN_COUNT, "describe every one");

const char *crash_own_name(enum crash_own what)
{
	return what < CRASH_OWN_COUNT ? kinds[what].name : "";
}

enum crash_own crash_own_find(const char *name)
{
	unsigned what = 0;

	while (what < CRASH_OWN_COUNT && strcmp(kinds[what].name, name) != 0)
		what++;
	return (enum crash_own)what;
}

static void add_state(struct crash_report *r, const char *text)
{
	if (*text)
		text_copy(r->state[r->n_state++], sizeof(r->state[0]), slice_of(text));
}

void crash_report_own(enum crash_own what, const char *detail, const char *target,
		      struct crash_report *ret)
{
	struct crash_report r = {.found = true, .kind = kinds[what].kind};
	char key[640], hex[DIGEST_SHA1_HEX];

	detail = detail ? detail : "";
	target = target ? target : "";
	text_copy(r.type, sizeof(r.type), slice_of(kinds[what].type));
	add_state(&r, detail);
	add_state(&r, target);
	if (what == CRASH_OWN_SIGNAL)
		text_copy(r.signal, sizeof(r.signal), slice_of(detail));
	snprintf(r.headline, sizeof(r.headline), "%s%s%.100s", kinds[what].headline,
		 *detail ? ": " : "", detail);
	snprintf(key, sizeof(key), "own\n%s\n%.200s\n%.200s\n", r.type, detail, target);
	digest_sha1_hex(slice_of(key), hex);
	memcpy(r.signature, hex, CRASH_KEY_HEX - 1);
	memcpy(r.raw_key, hex, CRASH_KEY_HEX - 1);
	*ret = r;
}
