/* SPDX-License-Identifier: Apache-2.0 */
/* The longer sections of a body: stack, reproducer, commands. */
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "runner/publish/render/internal.h"

#include <string.h>

enum {
	STACK_MAX = 24000,   /* bytes shown of a report */
	STACK_TAIL = 4000,   /* of these from its end */
	HEADLINE = 100,	     /* bytes of the headline to search for */
	SIDE_MAX = 64 << 10, /* bytes cleaned at each end; more than is shown */
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
static struct slice from_headline(struct slice report, const char *headline)
{
	const char *hit = headline && *headline
			      ? memmem(report.p, report.n, headline, strnlen(headline, HEADLINE))
			      : NULL;

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

static void add_both_ends(struct slice clean, uint64_t gone, size_t max, struct buf *out)
{
	size_t room = max > GAP ? max - GAP : 0;
	size_t end = room / 4 < STACK_TAIL ? room / 4 : STACK_TAIL;
	struct slice a = first_lines(clean, clean.n > max || gone ? room - end : max), b;

	buf_put(out, a);
	b = last_lines((struct slice){clean.p + a.n, clean.n - a.n}, end);
	gone += clean.n - a.n - b.n;
	if (gone > 0)
		buf_printf(out, "%s[... %llu bytes left out ...]\n",
			   a.n && a.p[a.n - 1] == '\n' ? "" : "\n", U(gone));
	buf_put(out, b);
}

static void report_text(const struct render_crash *r, size_t max, struct buf *out)
{
	_autobuf_ struct buf clean = BUF_INIT(2 << 20);
	struct slice s = from_headline(r->report, r->headline);
	uint64_t gone = 0;

	if (s.n > BOTH_MAX) {
		gone = s.n - BOTH_MAX;
		render_clean((struct slice){s.p, SIDE_MAX}, RENDER_LINES, &r->hide, &clean);
		s = (struct slice){s.p + s.n - SIDE_MAX, SIDE_MAX};
	}
	render_clean(s, RENDER_LINES, &r->hide, &clean);
	out->full |= clean.full;
	add_both_ends(buf_slice(&clean), gone, max, out);
}

/* The stack from the ledger, if the report is gone. */
static void frames_text(const struct known_crash *c, struct buf *out)
{
	for (size_t i = 0; i < c->frames.n; i++) {
		buf_printf(out, "#%zu ", i);
		render_clean(slice_of(c->frames.v[i]), RENDER_LINE, NULL, out);
		buf_puts(out, "\n");
	}
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
static void add_short(struct slice text, struct buf *out)
{
	static const struct slice shadow = {"Shadow byte", 11};
	bool in_shadow = false;
	struct slice line;
	while (scan_line(&text, &line)) {
		bool begins = scan_lit(&(struct slice){line.p, line.n}, shadow);

		in_shadow =
		    begins || (in_shadow && line.n > 0 && (*line.p == ' ' || *line.p == '='));
		if (in_shadow && line.n > 2 && memcmp(line.p, "==", 2) == 0 && line.p[2] != '>')
			in_shadow = false; /* "==7==ABORTING" */
		if (in_shadow || is_foreign_frame(line) || is_note(line))
			continue;
		buf_put(out, line);
		buf_puts(out, "\n");
	}
}

/* Appends the short report, and the whole report in a folded section if it has more. */
static void add_report(struct slice whole, size_t room, struct buf *out)
{
	_autobuf_ struct buf text = BUF_INIT(RENDER_BODY_MAX);
	add_short(whole, &text);
	out->full |= text.full;

	if (text.n == 0 || text.n >= whole.n || text.n + whole.n > room) {
		render_fence(render_cut(whole, room), "text", out);
		return;
	}
	render_fence(buf_slice(&text), "text", out);
	buf_puts(out, "\n<details><summary>The whole report</summary>\n\n");
	render_fence(whole, "text", out);
	buf_puts(out, "\n</details>\n");
}

void render_stack(const struct render_crash *r, size_t max, struct buf *out)
{
	_autobuf_ struct buf text = BUF_INIT(RENDER_BODY_MAX);
	size_t room = max > FENCES ? max - FENCES : 0;

	if (room > STACK_MAX)
		room = STACK_MAX;
	if (r->report.n > 0)
		report_text(r, room, &text);
	else
		frames_text(r->crash, &text);
	out->full |= text.full;
	if (text.n == 0)
		return;
	buf_puts(out, "\n### Stack trace\n\n");
	add_report(buf_slice(&text), room, out);
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

static void as_text(struct slice input, struct buf *out)
{
	_autobuf_ struct buf clean = BUF_INIT(RENDER_BODY_MAX);
	render_clean(input, RENDER_LINES, NULL, &clean);

	out->full |= clean.full;
	if (!render_parts_is_same(input, &clean))
		return; /* cleaning would change the input */
	render_fence(input, "text", out);
	if (input.p[input.n - 1] != '\n')
		buf_puts(out, "\n(without a newline at its end)\n");
	buf_puts(out, "\n");
}

/* A command that creates the file "reproducer" on any machine. */
static void as_base64(struct slice input, struct buf *out)
{
	_autobuf_ struct buf text = BUF_INIT(RENDER_BODY_MAX);

	buf_puts(&text, input.n == 0 ? ": >reproducer\n" : "base64 -d >reproducer <<'END'\n");
	render_base64(input, &text);
	if (input.n > 0)
		buf_puts(&text, "END\n");
	out->full |= text.full;
	render_fence(buf_slice(&text), "sh", out);
}

static void elsewhere(const struct render_crash *r, struct buf *out)
{

	if (r->upload) {
		buf_puts(out, RENDER_REPRODUCER "\n");
	} else if (!r->input_path) {
		buf_puts(out, "It is left out here.\n");
	} else {
		buf_puts(out, "It is in the state directory of the machine that fuzzes: ");
		render_code(r->input_path, 300, out);
		buf_puts(out, "\n");
	}
}

static const char *made(const struct render_crash *r, uint64_t bytes)
{
	if (!r->minimized)
		return "";
	return bytes < r->crash->input_bytes || !r->crash->input_bytes ? ", made smaller"
								       : ", simplified";
}

void render_input(const struct render_crash *r, struct buf *out)
{
	uint64_t bytes = r->input.p ? r->input.n : r->input_bytes;
	char sha1[DIGEST_SHA1_HEX];

	if (!r->input.p && !r->input_bytes)
		return;
	buf_printf(out, "\n### Reproducer\n\n%llu bytes%s", U(bytes), made(r, bytes));
	if (r->input.p) {
		digest_sha1_hex(r->input, sha1);
		buf_printf(out, ", SHA-1 `%s`", sha1);
	}
	buf_puts(out, ".\n\n");
	if (!render_is_inline(r)) {
		elsewhere(r, out);
		return;
	}
	if (render_parts_is_text(r->input))
		as_text(r->input, out);
	as_base64(r->input, out);
}

/* --- commands -------------------------------------------------------------------- */

static void option(const char *name, const char *path, struct buf *out)
{
	_autobuf_ struct buf clean = BUF_INIT(COMMANDS_MAX);

	if (!path)
		return;
	buf_printf(out, " %s ", name);
	render_clean(slice_of(path), RENDER_LINE, NULL, &clean);
	out->full |= clean.full;
	render_word(buf_str(&clean), out);
}

void render_options(const char *config, const char *state, struct buf *out)
{
	option("--config", config, out);

	option("--state-dir", state, out);
}

static void for_target(const char *target, struct buf *out)
{
	_autobuf_ struct buf clean = BUF_INIT(COMMAND_MAX);
	render_clean(slice_of(target), RENDER_LINE, NULL, &clean);
	out->full |= clean.full;

	buf_puts(out, " --target ");
	render_word(buf_str(&clean), out);
}

void render_local(const struct render_crash *r, struct buf *out)
{
	static const char *const verbs[] = {"show", "reproduce"};
	_autobuf_ struct buf clean = BUF_INIT(COMMAND_MAX);
	render_clean(slice_of(r->crash->signature), RENDER_LINE, NULL, &clean);
	out->full |= clean.full;

	for (size_t i = 0; i < 2; i++) {
		buf_printf(out, "fuzzcell crash %s ", verbs[i]);
		render_word(buf_str(&clean), out);
		if (r->target)
			for_target(r->target, out);
		buf_puts(out, "\n");
	}
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
static void without_a_cells(struct slice rest, bool halts, struct buf *out)
{
	size_t n = 0;

	while (rest.n > 0) {
		struct slice one = {rest.p, option_len(rest)};
		size_t gone = one.n < rest.n ? one.n + 1 : one.n;

		rest = (struct slice){rest.p + gone, rest.n - gone};
		if (one.n == 0 || is_of_cell(one) ||
		    (!halts && scan_lit(&(struct slice){one.p, one.n}, SLICE("halt_on_error="))))
			continue;
		buf_puts(out, n++ ? ":" : "");
		buf_put(out, one);
	}
}

/* Appends the remaining options: "ASAN_OPTIONS=a=1:b=2 ". */
static void sanitizer_options(const char *var, const char *kind, const struct render_hide *hide,
			      struct buf *out)
{
	bool halts = strncmp(var, "UBSAN_", 6) != 0 || strcmp(kind, "ubsan") == 0;
	_autobuf_ struct buf text = BUF_INIT(COMMAND_MAX), clean = BUF_INIT(COMMAND_MAX);

	without_a_cells(slice_of(strchr(var, '=') + 1), halts, &text);
	out->full |= text.full;
	if (text.n == 0)
		return;
	render_clean(buf_slice(&text), RENDER_LINE, hide, &clean);
	out->full |= clean.full;
	buf_put(out, (struct slice){var, (size_t)(strchr(var, '=') + 1 - var)});
	render_word(buf_str(&clean), out);
	buf_puts(out, " \\\n\t");
}

static void flags(const struct render_crash *r, struct buf *out)
{
	for (size_t i = 1; r->argv && r->argv[0] && r->argv[i] && r->argv[i + 1]; i++) {
		_autobuf_ struct buf clean = BUF_INIT(COMMAND_MAX);

		render_clean(slice_of(r->argv[i]), RENDER_LINE, &r->hide, &clean);
		out->full |= clean.full;
		/* The dash of an option needs no quotes. */
		buf_put(out, *buf_str(&clean) == '-' ? SLICE(" -") : SLICE(" "));
		render_word(buf_str(&clean) + (*buf_str(&clean) == '-'), out);
	}
}

/* Commands for checking out and building the sources. */
static void sources(const struct render_crash *r, struct buf *out)
{
	const char *commit = r->crash->first_seen.commit;

	if (*commit && strspn(commit, "0123456789abcdef") == strlen(commit))
		buf_printf(out, "git checkout %s\n", commit);
	if (!r->build)
		return;
	render_clean((struct slice){r->build, strnlen(r->build, BUILD_MAX)}, RENDER_LINE, &r->hide,
		     out);
	buf_puts(out, "\n");
}

static void by_hand(const struct render_crash *r, struct buf *out)
{
	_autobuf_ struct buf path = BUF_INIT(COMMAND_MAX);

	if (r->binary) {
		render_clean((struct slice){r->binary, strnlen(r->binary, BUILD_MAX)}, RENDER_LINE,
			     &r->hide, &path);
	} else {
		buf_puts(&path, "./");
		render_clean(slice_of(r->crash->fuzzer), RENDER_LINE, NULL, &path);
	}
	out->full |= path.full;
	sources(r, out);
	for (size_t i = 0; r->env && r->env[i]; i++)
		if (render_parts_is_wanted(r->crash->kind, r->env[i]))
			sanitizer_options(r->env[i], r->crash->kind, &r->hide, out);
	render_word(buf_str(&path), out);
	flags(r, out);
	buf_puts(out, " reproducer\n");
}

void render_commands(const struct render_crash *r, struct buf *out)
{
	_autobuf_ struct buf hand = BUF_INIT(COMMANDS_MAX), local = BUF_INIT(COMMANDS_MAX);
	struct render_crash bare = *r;

	by_hand(r, &hand);
	if (hand.full) { /* a target's options can have any length */
		bare.env = bare.argv = NULL;
		buf_clear(&hand);
		by_hand(&bare, &hand);
	}
	render_local(r, &local);
	out->full |= hand.full || local.full;
	buf_puts(out, "\n### Reproduction\n\nBy hand:\n\n");
	render_fence(buf_slice(&hand), "sh", out);
	buf_puts(out, "\nOn the machine that fuzzes, in a cell:\n\n");
	render_fence(buf_slice(&local), "sh", out);
}
