/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/internal.h"

/* Headers of MSan, TSan and LSan. */

static uint64_t pid_in(struct slice line)
{
	uint64_t pid = 0;

	if (text_after(&line, SLICE("(pid=")) && !scan_u64(&line, 10, UINT32_MAX, &pid))
		pid = 0;
	return pid;
}

/* libFuzzer's signal handler allocates, and TSan reports that.  The crash is the reason for the
 * signal, and this stack is also the crash's. */
static bool is_signals_echo(struct crash_parser *p, struct slice said, const struct line *l)
{
	enum crash_kind k = p->v.kind;

	if (!text_begins(said, SLICE("signal-unsafe call inside of a signal")))
		return false;
	if (!verdict_known(p) && p->v.libc_said[0] && !p->stale)
		verdict_new(p, "Fatal-signal", CRASH_ENGINE, l->text);
	else if (!verdict_known(p) || (k != CRASH_ENGINE && k != CRASH_ASSERT && k != CRASH_PANIC))
		return false;
	if (!p->v.echo) {
		p->echo_n = p->state.n;
		p->echo_frames = p->state.frames;
	}
	p->v.echo = true;
	state_drop_echo(p);
	return true;
}

/* "WARNING: ThreadSanitizer: data race (pid=1)", "MemorySanitizer: use-of-..." */
bool kind_msan_tsan(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text;
	bool tsan;
	uint64_t pid;
	size_t n = 0;

	if (!words_has(l->words, WORDS_SANITIZER) || text_has(l->text, SLICE(" suppressions")) ||
	    text_has(l->text, SLICE(" warnings")))
		return false;
	tsan = text_after(&in, SLICE("ThreadSanitizer: "));
	if (!tsan && !text_after(&in, SLICE("MemorySanitizer: ")))
		return false;
	while (n < in.n && in.p[n] != '(' && in.p[n] != ':')
		n++;
	in.n = n;
	if (n == 0 || text_begins(in, SLICE("ABRT")) || text_begins(in, SLICE("ILL")) ||
	    text_begins(in, SLICE("CHECK failed")) || text_begins(in, SLICE("nested bug")) ||
	    text_has(in, SLICE(" on unknown address")))
		return false;
	if (tsan && is_signals_echo(p, in, l))
		return true;
	pid = pid_in(l->text);
	/* TSan continues after a report: the first one counts. */
	if (tsan && pid > 0 && pid == p->tsan_pid && verdict_known(p) && p->v.kind == CRASH_TSAN) {
		p->v.ended = true;
		p->stack.at = p->other.at = STACK_DONE;
		return true;
	}
	p->tsan_pid = pid;
	verdict_reset(p);
	kind_set_type(p, in, tsan ? CRASH_TSAN : CRASH_MSAN, l->text);
	return false;
}

/* Takes the first direct leak, or an indirect leak if there is no direct one. */
bool kind_leak(struct crash_parser *p, const struct line *l)
{
	if (!words_has(l->words, WORDS_LEAK))
		return false;
	if (text_has(l->text, SLICE("Direct leak of ")) &&
	    (!verdict_known(p) || verdict_is(p, "Indirect-leak")))
		verdict_new(p, "Direct-leak", CRASH_LSAN, l->text);
	else if (text_has(l->text, SLICE("Indirect leak of ")) && !verdict_known(p))
		verdict_new(p, "Indirect-leak", CRASH_LSAN, l->text);
	return false;
}
