/* SPDX-License-Identifier: Apache-2.0 */
/* The longer sections of a body: stack, reproducer, commands. */
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "runner/crash/report/report.h"
#include "runner/publish/render/internal.h"

#include <errno.h>
#include <string.h>

enum {
	STACK_MAX = 24000,    /* bytes shown of a report */
	STACK_TAIL = 4000,    /* of these from its end */
	REPORT_MAX = 4 << 20, /* bytes that are searched for the crash */
	HEADLINE = 100,	      /* bytes of the headline to search for */
	SIDE_MAX = 64 << 10,  /* bytes cleaned at each end; more than is shown */
	BOTH_MAX = 128 << 10,
	COMMAND_MAX = 8 << 10,
	COMMANDS_MAX = 24 << 10,
	FENCES = 512, /* room for text around a block and in its middle */
	GAP = 64,     /* the note about omitted text */
	BUILD_MAX = 1000,
};

#define U(n) ((unsigned long long)(n))

/* --- the stack ------------------------------------------------------------------ */

/* The report from the crash's first line on, without the engine's startup messages. */
static struct slice from_headline(struct slice report)
{
	struct slice head = {report.p, report.n < REPORT_MAX ? report.n : REPORT_MAX};
	struct crash_options o = {0};
	struct crash_report r = {0};
	const char *hit;

	crash_parse(head, &o, &r);
	hit = r.found && *r.headline
		  ? memmem(head.p, head.n, r.headline, strnlen(r.headline, HEADLINE))
		  : NULL;
	crash_report_done(&r);
	if (!hit)
		return report;
	while (hit > report.p && hit[-1] != '\n')
		hit--;
	report.n -= (size_t)(hit - report.p);
	report.p = hit;
	return report;
}

/* Cuts to whole lines, if there are any. */
static struct slice first_lines(struct slice s, size_t max)
{
	const char *end;

	if (s.n <= max)
		return s;
	s = render_cut(s, max);
	end = s.n ? memrchr(s.p, '\n', s.n) : NULL;
	if (end)
		s.n = (size_t)(end - s.p) + 1;
	return s;
}

static struct slice last_lines(struct slice s, size_t max)
{
	const char *begin;
	size_t skip;

	if (s.n <= max)
		return s;
	skip = s.n - max;
	while (skip < s.n && ((unsigned char)s.p[skip] & 0xc0) == 0x80)
		skip++;
	s = (struct slice){s.p + skip, s.n - skip};
	begin = s.n ? memchr(s.p, '\n', s.n) : NULL;
	if (begin)
		s = (struct slice){begin + 1, s.n - (size_t)(begin + 1 - s.p)};
	return s;
}

static int add_both_ends(struct slice clean, uint64_t gone, size_t max, struct buf *out,
			 struct err *e)
{
	size_t room = max > GAP ? max - GAP : 0;
	size_t end = room / 4 < STACK_TAIL ? room / 4 : STACK_TAIL;
	struct slice a = first_lines(clean, clean.n > max || gone ? room - end : max), b;
	int r = buf_add(out, a, e);

	b = last_lines((struct slice){clean.p + a.n, clean.n - a.n}, end);
	gone += clean.n - a.n - b.n;
	if (r == 0 && gone > 0)
		r = buf_addf(out, e, "%s[... %llu bytes left out ...]\n",
			     a.n && a.p[a.n - 1] == '\n' ? "" : "\n", U(gone));
	return r == 0 ? buf_add(out, b, e) : r;
}

static int report_text(const struct render_crash *r, size_t max, struct buf *out, struct err *e)
{
	_autobuf_ struct buf clean = BUF_INIT(2 << 20);
	struct slice s = from_headline(r->report);
	uint64_t gone = 0;
	int rc;

	if (s.n > BOTH_MAX) {
		gone = s.n - BOTH_MAX;
		rc = render_clean((struct slice){s.p, SIDE_MAX}, RENDER_LINES, &r->hide, &clean, e);
		s = (struct slice){s.p + s.n - SIDE_MAX, SIDE_MAX};
		if (rc < 0)
			return rc;
	}
	rc = render_clean(s, RENDER_LINES, &r->hide, &clean, e);
	return rc == 0 ? add_both_ends(buf_slice(&clean), gone, max, out, e) : rc;
}

/* The stack from the ledger, if the report is gone. */
static int frames_text(const struct known_crash *c, struct buf *out, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->frames.n; i++) {
		r = buf_addf(out, e, "#%zu ", i);
		if (r == 0)
			r = render_clean(slice_of(c->frames.v[i]), RENDER_LINE, NULL, out, e);
		if (r == 0)
			r = buf_add(out, SLICE("\n"), e);
	}
	return r;
}

static bool render_parts_has_any(struct slice line, const struct slice *of, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memmem(line.p, line.n, of[i].p, of[i].n))
			return true;
	return false;
}

/* A frame of the engine or the C library. */
static bool is_foreign_frame(struct slice line)
{
	static const struct slice marks[] = {
	    {" in fuzzer::", 12}, {"/FuzzerMain.cpp", 15}, {" in __libc_start", 16},
	    {" in _start", 10},	  {"/libc.so.", 9},	   {"/libc-start.", 12},
	};

	while (line.n > 0 && *line.p == ' ') {
		line.p++;
		line.n--;
	}
	return line.n > 0 && *line.p == '#' &&
	       render_parts_has_any(line, marks, sizeof(marks) / sizeof(marks[0]));
}

/* Lines that only concern the engine. */
static bool is_note(struct slice line)
{
	static const struct slice begins[] = {{"MS: ", 4},
					      {"artifact_prefix=", 16},
					      {"Base64: ", 8},
					      {"NOTE: libFuzzer", 15},
					      {"SUMMARY: libFuzzer", 18},
					      {"      Combine libFuzzer", 23}};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (scan_lit(&(struct slice){line.p, line.n}, begins[i]))
			return true;
	/* The input's bytes: "0x61,0x62,". */
	return line.n >= 5 && memcmp(line.p, "0x", 2) == 0 && line.p[4] == ',';
}

/* The important part of a report: without shadow memory and its legend, foreign frames and
 * notes. */
static int add_short(struct slice text, struct buf *out, struct err *e)
{
	static const struct slice shadow = {"Shadow byte", 11};
	bool in_shadow = false;
	struct slice line;
	int r = 0;

	while (r == 0 && scan_line(&text, &line)) {
		bool begins = scan_lit(&(struct slice){line.p, line.n}, shadow);

		in_shadow =
		    begins || (in_shadow && line.n > 0 && (*line.p == ' ' || *line.p == '='));
		if (in_shadow && line.n > 2 && memcmp(line.p, "==", 2) == 0 && line.p[2] != '>')
			in_shadow = false; /* "==7==ABORTING" */
		if (in_shadow || is_foreign_frame(line) || is_note(line))
			continue;
		r = buf_add(out, line, e);
		if (r == 0)
			r = buf_add(out, SLICE("\n"), e);
	}
	return r;
}

/* Appends the short report, and the whole report in a folded section if it has more. */
static int add_report(struct slice whole, size_t room, struct buf *out, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(RENDER_BODY_MAX);
	int r = add_short(whole, &text, e);

	if (r < 0)
		return r;
	if (text.n == 0 || text.n >= whole.n || text.n + whole.n > room)
		return render_fence(render_cut(whole, room), "text", out, e);
	r = render_fence(buf_slice(&text), "text", out, e);
	if (r == 0)
		r = buf_add(out, SLICE("\n<details><summary>The whole report</summary>\n\n"), e);
	if (r == 0)
		r = render_fence(whole, "text", out, e);
	return r == 0 ? buf_add(out, SLICE("\n</details>\n"), e) : r;
}

int render_stack(const struct render_crash *r, size_t max, struct buf *out, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(RENDER_BODY_MAX);
	size_t room = max > FENCES ? max - FENCES : 0;
	int rc;

	if (room > STACK_MAX)
		room = STACK_MAX;
	rc = r->report.n > 0 ? report_text(r, room, &text, e) : frames_text(r->crash, &text, e);
	if (rc < 0 || text.n == 0)
		return rc;
	rc = buf_add(out, SLICE("\n### Stack trace\n\n"), e);
	return rc == 0 ? add_report(buf_slice(&text), room, out, e) : rc;
}

/* --- the reproducer -------------------------------------------------------------- */

bool render_is_inline(const struct render_crash *r)
{
	return r->input.p && r->input.n <= r->inline_bytes && r->input.n <= RENDER_INLINE_MAX;
}

/* Can the input be shown unchanged and copied from the page? */
static bool render_parts_is_text(struct slice s)
{
	if (s.n == 0)
		return false;
	while (s.n > 0) {
		uint32_t c = 0;
		size_t n = utf8_next(s, &c);

		if (n == 0 || !(utf8_is_plain(c) || c == '\n' || c == '\t'))
			return false;
		s = (struct slice){s.p + n, s.n - n};
	}
	return true;
}

static bool render_parts_is_same(struct slice a, const struct buf *b)
{
	return slice_eq(a, buf_slice(b));
}

static int as_text(struct slice input, struct buf *out, struct err *e)
{
	_autobuf_ struct buf clean = BUF_INIT(RENDER_BODY_MAX);
	int r = render_clean(input, RENDER_LINES, NULL, &clean, e);

	if (r < 0 || !render_parts_is_same(input, &clean))
		return r; /* cleaning would change the input */
	r = render_fence(input, "text", out, e);
	if (r == 0 && input.p[input.n - 1] != '\n')
		r = buf_add(out, SLICE("\n(without a newline at its end)\n"), e);
	return r == 0 ? buf_add(out, SLICE("\n"), e) : r;
}

/* A command that creates the file "reproducer" on any machine. */
static int as_base64(struct slice input, struct buf *out, struct err *e)
{
	_autobuf_ struct buf text = BUF_INIT(RENDER_BODY_MAX);
	int r = input.n == 0 ? buf_add(&text, SLICE(": >reproducer\n"), e)
			     : buf_add(&text, SLICE("base64 -d >reproducer <<'END'\n"), e);

	if (r == 0)
		r = render_base64(input, &text, e);
	if (r == 0 && input.n > 0)
		r = buf_add(&text, SLICE("END\n"), e);
	return r == 0 ? render_fence(buf_slice(&text), "sh", out, e) : r;
}

static int elsewhere(const struct render_crash *r, struct buf *out, struct err *e)
{
	int rc;

	if (r->upload)
		return buf_add(out, SLICE(RENDER_REPRODUCER "\n"), e);
	if (!r->input_path)
		return buf_add(out, SLICE("It is left out here.\n"), e);
	rc = buf_add(out, SLICE("It is in the state directory of the machine that fuzzes: "), e);
	if (rc == 0)
		rc = render_code(r->input_path, 300, out, e);
	return rc == 0 ? buf_add(out, SLICE("\n"), e) : rc;
}

static const char *made(const struct render_crash *r, uint64_t bytes)
{
	if (!r->minimized)
		return "";
	return bytes < r->crash->input_bytes || !r->crash->input_bytes ? ", made smaller"
								       : ", simplified";
}

int render_input(const struct render_crash *r, struct buf *out, struct err *e)
{
	uint64_t bytes = r->input.p ? r->input.n : r->input_bytes;
	char sha1[DIGEST_SHA1_HEX];
	int rc;

	if (!r->input.p && !r->input_bytes)
		return 0;
	rc = buf_addf(out, e, "\n### Reproducer\n\n%llu bytes%s", U(bytes), made(r, bytes));
	if (rc == 0 && r->input.p) {
		digest_sha1_hex(r->input, sha1);
		rc = buf_addf(out, e, ", SHA-1 `%s`", sha1);
	}
	if (rc == 0)
		rc = buf_add(out, SLICE(".\n\n"), e);
	if (rc == 0 && !render_is_inline(r))
		return elsewhere(r, out, e);
	if (rc == 0 && render_parts_is_text(r->input))
		rc = as_text(r->input, out, e);
	return rc == 0 ? as_base64(r->input, out, e) : rc;
}

/* --- commands -------------------------------------------------------------------- */

static int option(const char *name, const char *path, struct buf *out, struct err *e)
{
	_autobuf_ struct buf clean = BUF_INIT(COMMANDS_MAX);
	int r;

	if (!path)
		return 0;
	r = buf_addf(out, e, " %s ", name);
	r = r ? r : render_clean(slice_of(path), RENDER_LINE, NULL, &clean, e);
	return r ? r : render_word(buf_str(&clean), out, e);
}

int render_options(const char *config, const char *state, struct buf *out, struct err *e)
{
	int r = option("--config", config, out, e);

	return r ? r : option("--state-dir", state, out, e);
}

static int for_target(const char *target, struct buf *out, struct err *e)
{
	_autobuf_ struct buf clean = BUF_INIT(COMMAND_MAX);
	int r = render_clean(slice_of(target), RENDER_LINE, NULL, &clean, e);

	if (r == 0)
		r = buf_add(out, SLICE(" --target "), e);
	return r == 0 ? render_word(buf_str(&clean), out, e) : r;
}

int render_local(const struct render_crash *r, struct buf *out, struct err *e)
{
	static const char *const verbs[] = {"show", "reproduce"};
	_autobuf_ struct buf clean = BUF_INIT(COMMAND_MAX);
	int rc = render_clean(slice_of(r->crash->signature), RENDER_LINE, NULL, &clean, e);

	for (size_t i = 0; rc == 0 && i < 2; i++) {
		rc = buf_addf(out, e, "fuzzcell crash %s ", verbs[i]);
		if (rc == 0)
			rc = render_word(buf_str(&clean), out, e);
		if (rc == 0 && r->target)
			rc = for_target(r->target, out, e);
		if (rc == 0)
			rc = buf_add(out, SLICE("\n"), e);
	}
	return rc;
}

/* Options of a sanitizer that only a cell needs. */
static bool is_of_cell(struct slice option)
{
	static const char *const names[] = {"exitcode",
					    "abort_on_error",
					    "handle_abort",
					    "log_path",
					    "log_to_syslog",
					    "color",
					    "print_summary",
					    "help",
					    "symbolize",
					    "external_symbolizer_path",
					    "suppressions",
					    "print_suppressions",
					    "quarantine_size_mb",
					    "max_uar_stack_size_log",
					    "allocator_release_to_os_interval_ms"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct slice rest = option;

		if (scan_lit(&rest, slice_of(names[i])) && rest.n > 0 && *rest.p == '=')
			return true;
	}
	return false;
}

/* Are these options relevant for this kind of crash? */
static bool render_parts_is_wanted(const char *kind, const char *var)
{
	static const struct {
		const char *kind, *first, *second;
	} all[] = {
	    {"msan", "MSAN_OPTIONS=", "UBSAN_OPTIONS="},
	    {"tsan", "TSAN_OPTIONS=", "UBSAN_OPTIONS="},
	    {"lsan", "ASAN_OPTIONS=", "LSAN_OPTIONS="},
	};
	const char *first = "ASAN_OPTIONS=", *second = "UBSAN_OPTIONS=";

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(kind, all[i].kind) == 0) {
			first = all[i].first;
			second = all[i].second;
		}
	return strncmp(var, first, strlen(first)) == 0 || strncmp(var, second, strlen(second)) == 0;
}

/* The length of the first option.  Sanitizers separate options at these characters, and a value
 * may be quoted. */
static size_t option_len(struct slice in)
{
	char quote = '\0';
	size_t n = 0;

	for (; n < in.n && (quote || !strchr(":, \t\r\n", in.p[n])); n++)
		if (quote && in.p[n] == quote)
			quote = '\0';
		else if (!quote && n > 0 && in.p[n - 1] == '=' &&
			 (in.p[n] == '"' || in.p[n] == '\''))
			quote = in.p[n];
	return n;
}

/* Removes options that only a cell needs.  Unless `halts`, removes halt_on_error, too: the crash
 * may come after undefined behaviour that is not the crash itself. */
static int without_a_cells(struct slice rest, bool halts, struct buf *out, struct err *e)
{
	size_t n = 0;
	int r = 0;

	while (r == 0 && rest.n > 0) {
		struct slice one = {rest.p, option_len(rest)};
		size_t gone = one.n < rest.n ? one.n + 1 : one.n;

		rest = (struct slice){rest.p + gone, rest.n - gone};
		if (one.n == 0 || is_of_cell(one) ||
		    (!halts && scan_lit(&(struct slice){one.p, one.n}, SLICE("halt_on_error="))))
			continue;
		r = n++ ? buf_add(out, SLICE(":"), e) : 0;
		if (r == 0)
			r = buf_add(out, one, e);
	}
	return r;
}

/* Appends the remaining options: "ASAN_OPTIONS=a=1:b=2 ". */
static int sanitizer_options(const char *var, const char *kind, const struct render_hide *hide,
			     struct buf *out, struct err *e)
{
	bool halts = strncmp(var, "UBSAN_", 6) != 0 || strcmp(kind, "ubsan") == 0;
	_autobuf_ struct buf text = BUF_INIT(COMMAND_MAX), clean = BUF_INIT(COMMAND_MAX);
	int r = without_a_cells(slice_of(strchr(var, '=') + 1), halts, &text, e);

	if (r < 0 || text.n == 0)
		return r;
	r = render_clean(buf_slice(&text), RENDER_LINE, hide, &clean, e);
	if (r == 0)
		r = buf_add(out, (struct slice){var, (size_t)(strchr(var, '=') + 1 - var)}, e);
	if (r == 0)
		r = render_word(buf_str(&clean), out, e);
	return r == 0 ? buf_add(out, SLICE(" \\\n\t"), e) : r;
}

static int flags(const struct render_crash *r, struct buf *out, struct err *e)
{
	int rc = 0;

	for (size_t i = 1; rc == 0 && r->argv && r->argv[0] && r->argv[i] && r->argv[i + 1]; i++) {
		_autobuf_ struct buf clean = BUF_INIT(COMMAND_MAX);

		rc = render_clean(slice_of(r->argv[i]), RENDER_LINE, &r->hide, &clean, e);
		/* The dash of an option needs no quotes. */
		if (rc == 0)
			rc = buf_add(out, *buf_str(&clean) == '-' ? SLICE(" -") : SLICE(" "), e);
		if (rc == 0)
			rc = render_word(buf_str(&clean) + (*buf_str(&clean) == '-'), out, e);
	}
	return rc;
}

/* Commands for checking out and building the sources. */
static int sources(const struct render_crash *r, struct buf *out, struct err *e)
{
	const char *commit = r->crash->first_seen.commit;
	int rc = 0;

	if (*commit && strspn(commit, "0123456789abcdef") == strlen(commit))
		rc = buf_addf(out, e, "git checkout %s\n", commit);
	if (rc < 0 || !r->build)
		return rc;
	rc = render_clean((struct slice){r->build, strnlen(r->build, BUILD_MAX)}, RENDER_LINE,
			  &r->hide, out, e);
	return rc == 0 ? buf_add(out, SLICE("\n"), e) : rc;
}

static int by_hand(const struct render_crash *r, struct buf *out, struct err *e)
{
	_autobuf_ struct buf path = BUF_INIT(COMMAND_MAX);
	int rc = 0;

	if (r->binary)
		rc = render_clean((struct slice){r->binary, strnlen(r->binary, BUILD_MAX)},
				  RENDER_LINE, &r->hide, &path, e);
	else
		rc = buf_add(&path, SLICE("./"), e);
	if (rc == 0 && !r->binary)
		rc = render_clean(slice_of(r->crash->fuzzer), RENDER_LINE, NULL, &path, e);
	if (rc == 0)
		rc = sources(r, out, e);
	for (size_t i = 0; rc == 0 && r->env && r->env[i]; i++)
		if (render_parts_is_wanted(r->crash->kind, r->env[i]))
			rc = sanitizer_options(r->env[i], r->crash->kind, &r->hide, out, e);
	if (rc == 0)
		rc = render_word(buf_str(&path), out, e);
	if (rc == 0)
		rc = flags(r, out, e);
	return rc == 0 ? buf_add(out, SLICE(" reproducer\n"), e) : rc;
}

int render_commands(const struct render_crash *r, struct buf *out, struct err *e)
{
	_autobuf_ struct buf hand = BUF_INIT(COMMANDS_MAX), local = BUF_INIT(COMMANDS_MAX);
	struct render_crash bare = *r;
	int rc = by_hand(r, &hand, e);

	if (rc == -EFBIG) { /* a target's options can have any length */
		bare.env = bare.argv = NULL;
		buf_clear(&hand);
		rc = by_hand(&bare, &hand, e);
	}
	if (rc == 0)
		rc = render_local(r, &local, e);
	if (rc == 0)
		rc = buf_add(out, SLICE("\n### Reproduction\n\nBy hand:\n\n"), e);
	if (rc == 0)
		rc = render_fence(buf_slice(&hand), "sh", out, e);
	if (rc == 0)
		rc = buf_add(out, SLICE("\nOn the machine that fuzzes, in a cell:\n\n"), e);
	return rc == 0 ? render_fence(buf_slice(&local), "sh", out, e) : rc;
}
