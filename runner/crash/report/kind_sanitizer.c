/* SPDX-License-Identifier: Apache-2.0 */
/* Names failures that ASan, MSan, TSan and LSan report. */
#include "runner/crash/report/internal.h"

/* Headers of ASan and HWASan, and of signals that any sanitizer caught (formats: compiler-rt of
 * LLVM 14 to 19, sanitizer_common). */

static enum crash_kind tool_kind(struct slice line)
{
	static const struct {
		struct slice name;
		enum crash_kind kind;
	} tools[] = {
	    {{"HWAddressSanitizer", 18}, CRASH_OTHER},
	    {{"AddressSanitizer", 16}, CRASH_ASAN},
	    {{"MemorySanitizer", 15}, CRASH_MSAN},
	    {{"ThreadSanitizer", 15}, CRASH_TSAN},
	    {{"LeakSanitizer", 13}, CRASH_LSAN},
	    {{"UndefinedBehaviorSanitizer", 26}, CRASH_UBSAN},
	};

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (text_has(line, tools[i].name))
			return tools[i].kind;
	return CRASH_OTHER;
}

static const struct {
	struct slice message;
	const char *signal;
} signals[] = {
    {{"Sanitizer: SEGV", 15}, "SIGSEGV"},
    {{"Sanitizer: BUS", 14}, "SIGBUS"},
    {{"Sanitizer: FPE", 14}, "SIGFPE"},
    {{"Sanitizer: ILL", 14}, "SIGILL"},
    {{"Sanitizer: ABRT", 15}, "SIGABRT"},
    {{"Sanitizer: TRAP", 15}, "SIGTRAP"},
    {{"Sanitizer: stack-overflow", 25}, "SIGSEGV"},
};

static const char *signal_of(struct slice line)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (text_has(line, signals[i].message))
			return signals[i].signal;
	return "";
}

static void kind_sanitizer_set_signal(struct crash_parser *p, struct slice line)
{
	const char *s = signal_of(line);

	if (*s)
		text_copy(p->v.signal, sizeof(p->v.signal), slice_of(s));
}

/* "heap_use-after-free" -> "Heap-use-after-free", the type */
static void kind_set_type(struct crash_parser *p, struct slice type, enum crash_kind kind,
			  struct slice line)
{
	char text[160];
	size_t n = 0;

	type = text_trim(type);
	for (; n < type.n && n < sizeof(text); n++) {
		text[n] = text_lower(type.p[n]);
		if (text[n] == '_')
			text[n] = '-';
	}
	if (n > 0)
		text[0] = text_upper(text[0]);
	type = (struct slice){text, n};
	if (slice_eq(type, SLICE("Int-divide-by-zero")))
		type = SLICE("Divide-by-zero");
	else if (slice_eq(type, SLICE("Unknown-crash")))
		type = SLICE("UNKNOWN");
	else if (slice_eq(type, SLICE("Illegal-instruction")))
		type = SLICE("Ill");
	verdict_type(p, type, kind, line);
}

/* A run of hexadecimal digits and 'x'. */
static struct slice hex_run(struct slice in)
{
	size_t n = 0;

	while (n < in.n && (text_hex(in.p[n]) || in.p[n] == 'x' || in.p[n] == 'X'))
		n++;
	return (struct slice){in.p, n};
}

/* --- signals that follow an assertion ------------------------------------- */

/* Types that are more precise than the signal that ends the process. */
static bool outranks_signals(const struct crash_parser *p)
{
	static const char *const types[] = {
	    "Arbitrary file open",
	    "Arbitrary DNS resolution",
	    "ASSERT",
	    "CHECK failure",
	    "Command injection",
	    "DCHECK failure",
	    "Fatal error",
	    "Security CHECK failure",
	    "Security DCHECK failure",
	    "V8 API error",
	    "Stack-overflow",
	    "Out-of-memory",
	    "Timeout",
	    "Unreachable code",
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (verdict_is(p, types[i]))
			return true;
	return false;
}

bool kind_is_echo(struct crash_parser *p, const struct line *l)
{
	if (!words_has(l->words, WORDS_SANITIZER) || !outranks_signals(p) ||
	    !(text_has(l->text, SLICE("Sanitizer: ABRT ")) ||
	      text_has(l->text, SLICE("Sanitizer: ILL ")) ||
	      text_has(l->text, SLICE("Sanitizer: TRAP ")) ||
	      text_has(l->text, SLICE("Sanitizer: breakpoint "))))
		return false;
	kind_sanitizer_set_signal(p, l->text);
	p->v.by_engine = false;
	stack_restart(&p->stack, true); /* the signal's stack is the symbolized one */
	return true;
}

/* Addresses that programs write to on purpose when an assertion fails. */
static bool is_assert_address(struct slice address)
{
	static const uint64_t known[] = {0xbbadbeef, 0x0000bbadbeef, 0xfbadbeef,
					 0x1f75b7dd, 0x977537dd,     0x9f7537dd};
	uint64_t v;

	scan_lit(&address, SLICE("0x"));
	if (!scan_u64(&address, 16, UINT64_MAX, &v))
		return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (v == known[i])
			return true;
	return false;
}

static void save_assert(struct crash_parser *p)
{
	p->before = p->v;
	p->before_n = p->state.n;
	p->before_frames = p->state.frames;
	memcpy(p->before_text, p->state.text, p->state.n);
	p->can_go_back = true;
}

/* "SCARINESS: 10 (signal)": the fault was only how the assertion ended the process. */
bool kind_scariness(struct crash_parser *p, const struct line *l)
{
	if (!words_has(l->words, WORDS_SCARINESS) || !p->can_go_back || !verdict_known(p) ||
	    !text_has(l->text, SLICE(" (signal)")))
		return false;
	memcpy(p->before.signal, p->v.signal, sizeof(p->v.signal));
	p->v = p->before;
	state_set(&p->state, (struct slice){p->before_text, p->before_n}, p->before_frames);
	p->can_go_back = false;
	return false;
}

/* "XSanitizer: SEGV on unknown address 0x000000000008 (pc ..." */
static bool on_segv(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text, address;
	bool asserted = verdict_known(p) && text_has(slice_of(p->v.type), SLICE("ASSERT"));

	if (!text_after(&in, SLICE("Sanitizer")) ||
	    (!text_has(in, SLICE("SEGV")) && !text_has(in, SLICE("access-violation"))) ||
	    !text_after(&in, SLICE(" on unknown address ")))
		return false;
	address = hex_run(in);
	if (address.n == 0)
		return false;
	if (asserted && is_assert_address(address)) {
		stack_restart(&p->stack, true);
		return true;
	}
	if (asserted)
		save_assert(p);
	verdict_new(p, "UNKNOWN", tool_kind(l->text), l->text);
	verdict_address(p, address);
	p->can_go_back = asserted;
	kind_sanitizer_set_signal(p, l->text);
	return true;
}

/* "The signal is caused by a READ memory access." */
bool kind_caused(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text;
	size_t n = strlen(p->v.type);

	if (!words_has(l->words, WORDS_CAUSED) || !verdict_is(p, "UNKNOWN") ||
	    !text_after(&in, SLICE("The signal is caused by a ")))
		return false;
	in = text_first_word(in);
	if (slice_eq(in, SLICE("READ")) || slice_eq(in, SLICE("WRITE"))) {
		p->v.type[n++] = ' ';
		text_copy(p->v.type + n, sizeof(p->v.type) - n, in);
	}
	return false;
}

/* --- other headers -------------------------------------------------------- */

/* Types with a name that differs from the header's words. */
static bool on_special(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text;

	if (text_after(&in, SLICE("AddressSanitizer: attempting free on address which was not "
				  "malloc()-ed: "))) {
		verdict_new(p, "Invalid-free", CRASH_ASAN, l->text);
		verdict_address(p, hex_run(in));
		return true;
	}
	if (text_after(&in, SLICE("AddressSanitizer")) &&
	    text_after(&in, SLICE("double-free on "))) {
		scan_lit(&in, SLICE("unknown "));
		scan_lit(&in, SLICE("address "));
		if (hex_run(in).n > 0) {
			verdict_new(p, "Heap-double-free", CRASH_ASAN, l->text);
			verdict_address(p, hex_run(in));
			return true;
		}
	}
	if (text_has(l->text, SLICE("Sanitizer: FPE "))) {
		verdict_new(p, "Floating-point-exception", tool_kind(l->text), l->text);
		kind_sanitizer_set_signal(p, l->text);
		return true;
	}
	return false;
}

/* "memcpy-param-overlap: memory ranges [0x1,0x2) and [0x3, 0x4) overlap" */
static void on_overlap(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text;
	const char *open;

	if (!text_after(&in, SLICE("AddressSanitizer")) ||
	    !text_after(&in, SLICE("memcpy-param-overlap")))
		return;
	open = in.n ? memchr(in.p, '[', in.n) : NULL;
	if (!open)
		return;
	text_skip(&in, (size_t)(open - in.p));
	in.n = text_last(in, ')') < in.n ? text_last(in, ')') + 1 : in.n;
	verdict_new(p, "Memcpy-param-overlap", CRASH_ASAN, l->text);
	verdict_address(p, in);
}

/* Moves past "ERROR: XSanitizer" and the colon. */
static bool after_tool(struct slice *io)
{
	struct slice in = *io;

	if (!text_after(&in, SLICE("ERROR: ")))
		return false;
	while (in.n > 0 && ((text_lower(in.p[0]) >= 'a' && text_lower(in.p[0]) <= 'z')))
		text_skip(&in, 1);
	if (!text_ends((struct slice){io->p, (size_t)(in.p - io->p)}, SLICE("Sanitizer")))
		return false;
	while (in.n > 0 && (in.p[0] == ':' || in.p[0] == ' '))
		text_skip(&in, 1);
	*io = in;
	return true;
}

/* "ERROR: XSanitizer: TYPE on [unknown] address 0x..." */
static void on_typed_address(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text, type = {0}, address = {0}, rest;

	if (!after_tool(&in))
		return;
	rest = in;
	while (text_after(&rest, SLICE(" on "))) {
		struct slice at = rest;

		if (!scan_lit(&at, SLICE("unknown address ")))
			scan_lit(&at, SLICE("address "));
		if (hex_run(at).n > 0) {
			type = (struct slice){in.p, (size_t)(rest.p - in.p) - 4};
			address = hex_run(at);
		}
	}
	if (address.n == 0)
		return;
	text_cut(&type, SLICE(" (")); /* "alloc-dealloc-mismatch (malloc vs operator delete)" */
	verdict_reset(p);
	kind_set_type(p, type, tool_kind(l->text), l->text);
	verdict_address(p, address);
	kind_sanitizer_set_signal(p, l->text);
}

bool kind_sanitizer(struct crash_parser *p, const struct line *l)
{
	if (!words_has(l->words, WORDS_SANITIZER))
		return false;
	on_overlap(p, l);
	if (on_segv(p, l) || on_special(p, l))
		return true;
	/* A runtime of another language caught it first, and its report is more precise. */
	if (!(verdict_known(p) && (p->v.go || p->v.python)))
		on_typed_address(p, l);
	return false;
}

/* Headers without an address; they count only if no other crash is known.  "negative-size-param:
 * (size=-1)", and "SEGV on unknown address (pc", a fault at an address that the machine cannot
 * have. */
bool kind_asan_other(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text;
	size_t n = 0;

	if (!words_has(l->words, WORDS_SANITIZER) || verdict_known(p) || !after_tool(&in) ||
	    text_has(l->text, SLICE("LeakSanitizer: ")))
		return false;
	while (n < in.n && in.p[n] != '(' && in.p[n] != ':' && in.p[n] != ';')
		n++;
	in.n = n;
	in = text_trim(in);
	text_drop(&in, SLICE(" on unknown address"));
	if (in.n == 0)
		return false;
	verdict_reset(p);
	kind_set_type(p, slice_eq(in, SLICE("SEGV")) ? SLICE("unknown-crash") : in,
		      tool_kind(l->text), l->text);
	kind_sanitizer_set_signal(p, l->text);
	return false;
}

/* "  WRITE of size 4 at 0x7f15 thread T0", "Atomic write of size 8 at ..." */
bool kind_access(struct crash_parser *p, const struct line *l)
{
	struct slice in = l->text, word, size;
	char upper[32] = "";
	size_t n = strlen(p->v.type);
	uint64_t v;

	if (!words_has(l->words, WORDS_SIZE) || !verdict_known(p) || strchr(p->v.type, '\n'))
		return false;
	word = in = text_trim(in);
	text_cut(&word, SLICE(" of size "));
	text_skip(&in, word.n);
	if (!scan_lit(&in, SLICE(" of size ")) || word.n >= sizeof(upper) ||
	    text_first_word(word).n + (text_begins(word, SLICE("Atomic ")) ? word.n - 6 : 0) !=
		word.n)
		return false;
	size = text_first_word(in);
	text_skip(&in, size.n);
	if (!scan_lit(&in, SLICE(" at ")) || size.n > 20)
		return false;
	verdict_address(p, text_first_word(in));
	if (strncmp(p->v.type, "UNKNOWN", 7) == 0)
		return false;
	for (size_t i = 0; i < word.n; i++)
		upper[i] = text_upper(word.p[i]);
	if (scan_u64(&(struct slice){size.p, size.n}, 10, UINT64_MAX, &v))
		p->v.access_size = v;
	if (word.n + size.n + 2 < sizeof(p->v.type) - n) {
		p->v.type[n++] = '\n';
		text_copy(p->v.type + n, sizeof(p->v.type) - n, (struct slice){upper, word.n});
		n += word.n;
		p->v.type[n++] = ' ';
		text_copy(p->v.type + n, sizeof(p->v.type) - n, size);
	}
	return false;
}

/* --- MSan, TSan and LSan --------------------------------------------------- */

static uint64_t pid_in(struct slice line)
{
	uint64_t pid = 0;

	if (text_after(&line, SLICE("(pid=")) && !scan_u64(&line, 10, UINT32_MAX, &pid))
		pid = 0;
	return pid;
}

/* libFuzzer's signal handler allocates, and TSan reports that.  The crash is the reason for the
 * signal, and this stack is also the crash's. */
static bool is_signals_echo(struct crash_parser *p, struct slice message, const struct line *l)
{
	enum crash_kind k = p->v.kind;

	if (!text_begins(message, SLICE("signal-unsafe call inside of a signal")))
		return false;
	if (!verdict_known(p) && p->v.libc_message[0] && !p->stale)
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
