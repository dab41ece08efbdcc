/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_ENGINE_ADAPTER_H
#define RUNNER_ENGINE_ADAPTER_H

#include "runner/engine/engine.h"

/* The parts that engine adapters share, for runner/engine/ only.  They are pure, as the adapters
 * are. */

static inline void slice_skip(struct slice *io, size_t n)
{
	io->p += n;
	io->n -= n;
}

/* Moves *io past the first occurrence; false and unmoved when there is none. */
static inline bool slice_find(struct slice *io, struct slice needle)
{
	const char *hit = io->n ? memmem(io->p, io->n, needle.p, needle.n) : NULL;

	if (!hit)
		return false;
	slice_skip(io, (size_t)(hit - io->p) + needle.n);
	return true;
}

/* Removes tail from the end; false and unchanged if the slice does not end with it. */
static inline bool slice_cut_end(struct slice *io, struct slice tail)
{
	if (io->n < tail.n || memcmp(io->p + io->n - tail.n, tail.p, tail.n) != 0)
		return false;
	io->n -= tail.n;
	return true;
}

/* Lower-case digits, as in names that are hashes. */
static inline bool slice_is_hex(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!s.p[i] || !strchr("0123456789abcdef", s.p[i]))
			return false;
	return true;
}

/* A number of an engine's output.  JSON numbers are exact up to this size. */
#define ENGINE_NUMBER_MAX (UINT64_C(1) << 53)
static inline bool engine_number(struct slice *in, uint64_t *ret)
{
	return scan_u64(in, 10, ENGINE_NUMBER_MAX, ret);
}

/* Copies s to the string `to` of cap bytes, cut, and with '?' for bytes that are not printable.
 * Returns the length. */
size_t slice_print(struct slice s, size_t cap, char *to);

/* Sets the fault and its text, tool and text behind each other and without addresses.  The first
 * report counts; later reports are its consequences.  There are three exceptions:
 * - Any report replaces an error of the engine.
 * - Any other tool's report replaces undefined behaviour.
 * - The engine's timeout and out-of-memory replace everything, because they end the process. */
void engine_set_fault(struct engine_state *io, enum engine_fault f, struct slice tool,
		      struct slice text);

/* Counts a line with an impossible number, for this reason.  edges: the number, if it is one of
 * edges, else 0. */
__attribute__((format(printf, 3, 4))) void engine_refuse(struct engine_state *io, uint64_t edges,
							 const char *fmt, ...);
/* These call engine_refuse() and return true if the number is impossible.
 * what: "reached", "instrumented". */
bool engine_too_many_edges(uint64_t edges, const char *what, struct engine_state *io);
bool engine_too_many_execs(uint64_t execs, struct engine_state *io);

/* Adds a step of engine_cmd.nest. */
void engine_add_step(struct engine_cmd *c, const char *what, const char *from, const char *to);
/* Adds the inputs of a replay with engine_ops.one_input, at the end of argv. */
void engine_add_inputs(const struct engine_replay *job, struct engine_cmd *c);

/* Whether a signal is that of a crash. */
bool engine_is_deadly(int signo);

/* --- sanitizers (compiler-rt of LLVM 14 to 19) ------------------------------------------- */

/* The exit code of every sanitizer's reports.  Their defaults are 1, 23, 66 and 77, which libFuzzer
 * or LSan's fatal errors use as well. */
enum { SANITIZER_EXIT = 76 };

/* Parses the reports of sanitizers in a line into io: fault, fault_text. */
void sanitizer_line(struct slice line, struct engine_state *io);

/* The environment of a cell.  The user's *_OPTIONS are merged into it. */
struct sanitizer_env {
	const char *const *env; /* the user's */
	uint64_t rss_limit_mib;
	const char *symbolizer;			   /* or NULL */
	const char *known_leaks, *known_undefined; /* files of suppressions, or NULL */
	bool ub_goes_on; /* undefined behaviour is reported, and does not end a program that
			    was built with recovery */
	/* The engine has no handler for deadly signals: the sanitizers report abort(3), too. */
	bool reports_abort;
	/* The engine sees a failure by its signal: a report ends with abort(3), and without the
	 * names of functions. */
	bool ends_by_signal;
	bool no_leaks; /* the engine does not look for leaks */
};
MUST_CHECK int sanitizer_env(const struct sanitizer_env *o, struct strv *io, struct err *e);

/* --- engines that are programs of their own ------------------------------------------------ */

/* The last step of building a command: adds the environment to c, with the binary's directory first
 * in PATH, and moves c to *ret.  On an error, frees c. */
MUST_CHECK int separate_command(const char *binary, const struct sanitizer_env *env,
				struct engine_cmd *c, struct engine_cmd *ret, struct err *e);
/* engine_ops.replay, with engine_ops.one_input */
MUST_CHECK int separate_replay(const struct engine_replay *job, struct engine_cmd *ret,
			       struct err *e);
/* Parses a line of fuzzcell-each, which runs replays (images/init/each.h); false: it is none. */
bool separate_line(struct slice line, struct engine_state *io);
/* The same for programs that exit with 0 also if they ran nothing: only a line of their own may set
 * io->done. */
bool separate_line_unproven(struct slice line, struct engine_state *io);
/* engine_ops.classify: such an engine exits with 0 when it was stopped, also after crashes. */
enum engine_end separate_classify(const struct engine_state *s, int code, int signo);

#endif
