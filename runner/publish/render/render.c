/* SPDX-License-Identifier: Apache-2.0 */
/* An issue's title, body and comments. */
#include "runner/publish/render/render.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/git.h"
#include "base/utf8.h"

#include <stdio.h>
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
	NAME_MAX_SHOWN = 300,
	TITLE_NAME = 80,
	TITLE_TYPE = 70,
	TITLE_FRAME = 60,
	TITLE_ROOM = 8192,
	URL_MAX = 8192,
};

#define U(n) ((unsigned long long)(n))

/* --- title ---------------------------------------------------------------------- */

/* A title is plain text.  Mentions, code and line breaks are removed all the same. */
static void render_title_part(const char *text, size_t max, struct buf *out)
{
	_autobuf_ struct buf clean = BUF_INIT(RENDER_BODY_MAX);
	struct slice s;

	render_clean((struct slice){text, strnlen(text, max + 1)}, RENDER_LINE, NULL, &clean);
	out->full |= clean.full;
	s = render_cut(buf_slice(&clean), max);
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '@')
			buf_puts(out, "(at)");
		else
			buf_put(out, s.p[i] == '`' ? SLICE("'") : (struct slice){s.p + i, 1});
}

void render_title(const struct render_crash *r, struct buf *out)
{
	const struct known_crash *c = r->crash;
	_autobuf_ struct buf text = BUF_INIT(TITLE_ROOM);

	buf_puts(&text, "Fuzzing crash: ");
	render_title_part(*c->fuzzer ? c->fuzzer : "?", TITLE_NAME, &text);
	buf_puts(&text, " \xe2\x80\x94 ");
	if (r->redacted)
		buf_printf(&text, "security-relevant, %.40s", r->name);
	else
		render_title_part(*c->crash_type ? c->crash_type : "crash", TITLE_TYPE, &text);
	if (!r->redacted && *c->top_frame) {
		buf_puts(&text, " in ");
		render_title_part(c->top_frame, TITLE_FRAME, &text);
	}
	out->full |= text.full;
	buf_put(out, render_cut(buf_slice(&text), RENDER_TITLE_MAX));
}

/* --- the stack ------------------------------------------------------------------ */

/* The report from the crash's first line on, without the engine's startup messages. */
static struct slice render_from_headline(struct slice report, const char *headline)
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
static struct slice render_first_lines(struct slice s, size_t max)
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

static struct slice render_last_lines(struct slice s, size_t max)
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

static void render_both_ends(struct slice clean, uint64_t gone, size_t max, struct buf *out)
{
	size_t room = max > GAP ? max - GAP : 0;
	size_t end = room / 4 < STACK_TAIL ? room / 4 : STACK_TAIL;
	struct slice a = render_first_lines(clean, clean.n > max || gone ? room - end : max), b;

	buf_put(out, a);
	b = render_last_lines((struct slice){clean.p + a.n, clean.n - a.n}, end);
	gone += clean.n - a.n - b.n;
	if (gone > 0)
		buf_printf(out, "%s[... %llu bytes left out ...]\n",
			   a.n && a.p[a.n - 1] == '\n' ? "" : "\n", U(gone));
	buf_put(out, b);
}

static void render_report_text(const struct render_crash *r, size_t max, struct buf *out)
{
	_autobuf_ struct buf clean = BUF_INIT(2 << 20);
	struct slice s = render_from_headline(r->report, r->headline);
	uint64_t gone = 0;

	if (s.n > BOTH_MAX) {
		gone = s.n - BOTH_MAX;
		render_clean((struct slice){s.p, SIDE_MAX}, RENDER_LINES, &r->hide, &clean);
		s = (struct slice){s.p + s.n - SIDE_MAX, SIDE_MAX};
	}
	render_clean(s, RENDER_LINES, &r->hide, &clean);
	out->full |= clean.full;
	render_both_ends(buf_slice(&clean), gone, max, out);
}

/* The stack from the ledger, if the report is gone. */
static void render_frames_text(const struct known_crash *c, struct buf *out)
{
	for (size_t i = 0; i < c->frames.n; i++) {
		buf_printf(out, "#%zu ", i);
		render_clean(slice_of(c->frames.v[i]), RENDER_LINE, NULL, out);
		buf_puts(out, "\n");
	}
}

static bool render_has_any(struct slice line, const struct slice *of, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memmem(line.p, line.n, of[i].p, of[i].n))
			return true;
	return false;
}

/* A frame of the engine or the C library. */
static bool render_is_foreign_frame(struct slice line)
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
	       render_has_any(line, marks, sizeof(marks) / sizeof(marks[0]));
}

/* Lines that only concern the engine. */
static bool render_is_note(struct slice line)
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
static void render_short(struct slice text, struct buf *out)
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
		if (in_shadow || render_is_foreign_frame(line) || render_is_note(line))
			continue;
		buf_put(out, line);
		buf_puts(out, "\n");
	}
}

/* Appends the short report, and the whole report in a folded section if it has more. */
static void render_report(struct slice whole, size_t room, struct buf *out)
{
	_autobuf_ struct buf text = BUF_INIT(RENDER_BODY_MAX);

	render_short(whole, &text);
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

/* "### Stack trace" in at most max bytes; a long trace is cut in the middle. */
static void render_stack(const struct render_crash *r, size_t max, struct buf *out)
{
	_autobuf_ struct buf text = BUF_INIT(RENDER_BODY_MAX);
	size_t room = max > FENCES ? max - FENCES : 0;

	if (room > STACK_MAX)
		room = STACK_MAX;
	if (r->report.n > 0)
		render_report_text(r, room, &text);
	else
		render_frames_text(r->crash, &text);
	out->full |= text.full;
	if (text.n == 0)
		return;
	buf_puts(out, "\n### Stack trace\n\n");
	render_report(buf_slice(&text), room, out);
}

/* --- the reproducer ------------------------------------------------------------- */

bool render_is_inline(const struct render_crash *r)
{
	return r->input.p && r->input.n <= r->inline_bytes && r->input.n <= RENDER_INLINE_MAX;
}

/* Can the input be shown unchanged and copied from the page? */
static bool render_is_text(struct slice s)
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

static bool render_is_same(struct slice a, const struct buf *b)
{
	return slice_eq(a, buf_slice(b));
}

static void render_as_text(struct slice input, struct buf *out)
{
	_autobuf_ struct buf clean = BUF_INIT(RENDER_BODY_MAX);

	render_clean(input, RENDER_LINES, NULL, &clean);
	out->full |= clean.full;
	if (!render_is_same(input, &clean))
		return; /* cleaning would change the input */
	render_fence(input, "text", out);
	if (input.p[input.n - 1] != '\n')
		buf_puts(out, "\n(without a newline at its end)\n");
	buf_puts(out, "\n");
}

/* A command that creates the file "reproducer" on any machine. */
static void render_as_base64(struct slice input, struct buf *out)
{
	_autobuf_ struct buf text = BUF_INIT(RENDER_BODY_MAX);

	buf_puts(&text, input.n == 0 ? ": >reproducer\n" : "base64 -d >reproducer <<'END'\n");
	render_base64(input, &text);
	if (input.n > 0)
		buf_puts(&text, "END\n");
	out->full |= text.full;
	render_fence(buf_slice(&text), "sh", out);
}

static void render_elsewhere(const struct render_crash *r, struct buf *out)
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

static const char *render_made(const struct render_crash *r, uint64_t bytes)
{
	if (!r->minimized)
		return "";
	return bytes < r->crash->input_bytes || !r->crash->input_bytes ? ", made smaller"
								       : ", simplified";
}

static void render_input(const struct render_crash *r, struct buf *out)
{
	uint64_t bytes = r->input.p ? r->input.n : r->input_bytes;
	char sha1[DIGEST_SHA1_HEX];

	if (!r->input.p && !r->input_bytes)
		return;
	buf_printf(out, "\n### Reproducer\n\n%llu bytes%s", U(bytes), render_made(r, bytes));
	if (r->input.p) {
		digest_sha1_hex(r->input, sha1);
		buf_printf(out, ", SHA-1 `%s`", sha1);
	}
	buf_puts(out, ".\n\n");
	if (!render_is_inline(r)) {
		render_elsewhere(r, out);
		return;
	}
	if (render_is_text(r->input))
		render_as_text(r->input, out);
	render_as_base64(r->input, out);
}

/* --- commands ------------------------------------------------------------------- */

static void render_option(const char *name, const char *path, struct buf *out)
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
	render_option("--config", config, out);
	render_option("--state-dir", state, out);
}

static void render_for_target(const char *target, struct buf *out)
{
	_autobuf_ struct buf clean = BUF_INIT(COMMAND_MAX);

	render_clean(slice_of(target), RENDER_LINE, NULL, &clean);
	out->full |= clean.full;
	buf_puts(out, " --target ");
	render_word(buf_str(&clean), out);
}

/* The commands for the machine that has the state directory. */
static void render_local(const struct render_crash *r, struct buf *out)
{
	static const char *const verbs[] = {"show", "reproduce"};
	_autobuf_ struct buf clean = BUF_INIT(COMMAND_MAX);

	render_clean(slice_of(r->crash->signature), RENDER_LINE, NULL, &clean);
	out->full |= clean.full;
	for (size_t i = 0; i < 2; i++) {
		buf_printf(out, "fuzzcell crash %s ", verbs[i]);
		render_word(buf_str(&clean), out);
		if (r->target)
			render_for_target(r->target, out);
		buf_puts(out, "\n");
	}
}

/* Options of a sanitizer that only a cell needs. */
static bool render_is_of_cell(struct slice option)
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
static bool render_is_wanted(const char *kind, const char *var)
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
static size_t render_option_len(struct slice in)
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
static void render_without_a_cells(struct slice rest, bool halts, struct buf *out)
{
	size_t n = 0;

	while (rest.n > 0) {
		struct slice one = {rest.p, render_option_len(rest)};
		size_t gone = one.n < rest.n ? one.n + 1 : one.n;

		rest = (struct slice){rest.p + gone, rest.n - gone};
		if (one.n == 0 || render_is_of_cell(one) ||
		    (!halts && scan_lit(&(struct slice){one.p, one.n}, SLICE("halt_on_error="))))
			continue;
		buf_puts(out, n++ ? ":" : "");
		buf_put(out, one);
	}
}

/* Appends the remaining options: "ASAN_OPTIONS=a=1:b=2 ". */
static void render_sanitizer_options(const char *var, const char *kind,
				     const struct render_hide *hide, struct buf *out)
{
	bool halts = strncmp(var, "UBSAN_", 6) != 0 || strcmp(kind, "ubsan") == 0;
	_autobuf_ struct buf text = BUF_INIT(COMMAND_MAX), clean = BUF_INIT(COMMAND_MAX);

	render_without_a_cells(slice_of(strchr(var, '=') + 1), halts, &text);
	out->full |= text.full;
	if (text.n == 0)
		return;
	render_clean(buf_slice(&text), RENDER_LINE, hide, &clean);
	out->full |= clean.full;
	buf_put(out, (struct slice){var, (size_t)(strchr(var, '=') + 1 - var)});
	render_word(buf_str(&clean), out);
	buf_puts(out, " \\\n\t");
}

static void render_flags(const struct render_crash *r, struct buf *out)
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
static void render_sources(const struct render_crash *r, struct buf *out)
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

static void render_by_hand(const struct render_crash *r, struct buf *out)
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
	render_sources(r, out);
	for (size_t i = 0; r->env && r->env[i]; i++)
		if (render_is_wanted(r->crash->kind, r->env[i]))
			render_sanitizer_options(r->env[i], r->crash->kind, &r->hide, out);
	render_word(buf_str(&path), out);
	render_flags(r, out);
	buf_puts(out, " reproducer\n");
}

static void render_commands(const struct render_crash *r, struct buf *out)
{
	_autobuf_ struct buf hand = BUF_INIT(COMMANDS_MAX), local = BUF_INIT(COMMANDS_MAX);
	struct render_crash bare = *r;

	render_by_hand(r, &hand);
	if (hand.full) { /* a target's options can have any length */
		bare.env = bare.argv = NULL;
		buf_clear(&hand);
		render_by_hand(&bare, &hand);
	}
	render_local(r, &local);
	out->full |= hand.full || local.full;
	buf_puts(out, "\n### Reproduction\n\nBy hand:\n\n");
	render_fence(buf_slice(&hand), "sh", out);
	buf_puts(out, "\nOn the machine that fuzzes, in a cell:\n\n");
	render_fence(buf_slice(&local), "sh", out);
}

/* --- the facts ------------------------------------------------------------------ */

static const char *render_sanitizer(const char *kind)
{
	static const char *const names[][2] = {
	    {"asan", "AddressSanitizer"},    {"ubsan", "UndefinedBehaviorSanitizer"},
	    {"msan", "MemorySanitizer"},     {"tsan", "ThreadSanitizer"},
	    {"lsan", "LeakSanitizer"},	     {"engine", "libFuzzer"},
	    {"assert", "an assertion"},	     {"signal", "a signal"},
	    {"panic", "a language runtime"}, {"cell", "the cell's limits"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(kind, names[i][0]) == 0)
			return names[i][1];
	return "unknown";
}

/* "**Name:** `value`" */
static void render_fact(const char *name, const char *value, struct buf *out)
{
	if (!*value)
		return;
	buf_printf(out, "**%s:** ", name);
	render_code(value, NAME_MAX_SHOWN, out);
	buf_puts(out, "\n");
}

static void render_targets(const struct known_crash *c, struct buf *out)
{
	enum { SHOWN = 8 };

	buf_puts(out, "**Fuzzer:** ");
	render_code(c->fuzzer, NAME_MAX_SHOWN, out);
	for (size_t i = 0; i < c->targets.n && i < SHOWN; i++) {
		buf_put(out, i ? SLICE(", ") : SLICE("; also "));
		render_code(c->targets.v[i], NAME_MAX_SHOWN, out);
	}
	buf_puts(out, "\n");
}

/* `src/a.c:12`, as a link if possible. */
static void render_place(const struct render_crash *r, const struct render_place *at,
			 struct buf *out)
{
	_autobuf_ struct buf url = BUF_INIT(URL_MAX);
	char text[SOURCE_PATH_MAX + 24];
	struct err e;
	bool linked = r->link && r->built_of && at->line > 0 &&
		      source_link(r->link, r->built_of, at->path, at->line, &url, &e) == 0;

	if (linked)
		buf_puts(out, "[");
	(void)snprintf(text, sizeof(text), at->line ? "%s:%llu" : "%s", at->path, U(at->line));
	render_code(text, sizeof(text), out);
	if (linked)
		buf_printf(out, "](%s)", buf_str(&url));
}

static void render_places(const struct render_crash *r, struct buf *out)
{
	for (size_t i = 0; i < r->n_places; i++) {
		buf_puts(out, i == 0 ? "**In the sources:** " : ", called from ");
		render_place(r, &r->places[i], out);
	}
	if (r->n_places > 0)
		buf_puts(out, "\n");
}

static void render_type(const struct known_crash *c, struct buf *out)
{
	buf_puts(out, "**Crash type:** ");
	render_code(*c->crash_type ? c->crash_type : "unknown", NAME_MAX_SHOWN, out);
	if (*c->signal) {
		buf_puts(out, " (");
		render_code(c->signal, NAME_MAX_SHOWN, out);
		buf_puts(out, ")");
	}
	buf_puts(out, "\n");
}

static void render_rate(const struct known_crash *c, struct buf *out)
{
	uint64_t replays = c->reproduction.tries, hits = c->reproduction.hits;

	if (!replays)
		buf_puts(out, "**Reproduces:** not measured\n");
	else if (!hits)
		buf_printf(out, "**Reproduces:** never in %llu replays\n", U(replays));
	else
		buf_printf(out, "**Reproduces:** %llu of %llu times\n", U(hits), U(replays));
}

static void render_severity(const struct known_crash *c, struct buf *out)
{
	static const char *const known[] = {"none", "low", "medium", "high"};
	const char *name = "unknown";

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(c->severity, known[i]) == 0)
			name = known[i];
	buf_printf(out, "**Severity:** %s%s\n", name, c->security ? ", security-relevant" : "");
}

static void render_seen(const struct known_crash *c, struct buf *out)
{
	char date[32], last[32];

	buf_printf(out, "**Date:** %s\n", render_time(c->first_seen.time, date));
	if (c->count > 1)
		buf_printf(out, "**Seen:** %llu times, last %s\n", U(c->count),
			   render_time(c->last_seen.time, last));
}

static const char *render_text_of(const char *s)
{
	return s ? s : "";
}

/* The author and the subject are code: no reader is notified by a name in them. */
static void render_edge(const struct render_crash *r, const char *name, const struct ledger_edge *e,
			struct buf *out)
{
	_autobuf_ struct buf url = BUF_INIT(RENDER_BODY_MAX);

	if (!e->commit || !*e->commit)
		return;
	if (r->link)
		source_commits(r->link, &url);
	buf_printf(out, "**%s:** ", name);
	if (url.n > 0 && commit_ok(e->commit)) {
		buf_printf(out, "[`%.12s`](", e->commit);
		buf_put(out, buf_slice(&url));
		buf_printf(out, "%s) ", e->commit);
	} else {
		render_code(e->commit, NAME_MAX_SHOWN, out);
		buf_puts(out, " ");
	}
	render_code(e->subject, NAME_MAX_SHOWN, out);
	buf_puts(out, " by ");
	render_code(e->author, NAME_MAX_SHOWN, out);
	buf_puts(out, ": ");
	render_code(e->text, (size_t)NAME_MAX_SHOWN * 4, out);
	buf_puts(out, "\n");
}

static void render_edges(const struct render_crash *r, struct buf *out)
{
	render_edge(r, "Began with", &r->crash->culprit, out);
	render_edge(r, "Ended with", &r->crash->fix, out);
}

void render_bisected(const struct render_crash *r, struct buf *out)
{
	buf_puts(out, "The history of this crash was searched.\n\n");
	render_edges(r, out);
}

static void render_facts(const struct render_crash *r, struct buf *out)
{
	const struct known_crash *c = r->crash;

	render_targets(c, out);
	render_fact("Label", render_text_of(r->label), out);
	render_fact("Corpus", render_text_of(r->corpus), out);
	render_type(c, out);
	render_fact("Where", c->top_frame, out);
	render_places(r, out);
	render_severity(c, out);
	buf_printf(out, "**Found by:** %s\n", render_sanitizer(c->kind));
	render_rate(c, out);
	render_fact("Commit", c->first_seen.commit, out);
	render_fact("Last commit that was fuzzed without it", render_text_of(r->clean_at), out);
	render_edges(r, out);
	render_seen(c, out);
	render_fact("Crash", c->signature, out);
	render_fact("Likely the same as", c->similar, out);
}

/* --- body ----------------------------------------------------------------------- */

static void render_head(const struct render_crash *r, struct buf *out)
{
	buf_printf(out, "<!-- fuzzcell-signature: %s -->\n## Fuzzing crash report\n\n", r->name);
}

static const char render_footer[] =
    "\n---\nFiled by fuzzcell. Add the label `ignore` to hear no more of this crash, or the "
    "label `wrong` to keep fuzzcell from closing this issue.\n";

static void render_redacted(const struct render_crash *r, struct buf *out)
{
	_autobuf_ struct buf command = BUF_INIT(RENDER_BODY_MAX);

	render_head(r, out);
	render_targets(r->crash, out);
	render_seen(r->crash, out);
	render_fact("Crash", r->crash->signature, out);
	buf_puts(out, "\nThis crash is security-relevant: its type, its stack and its input are "
		      "not published here. On the machine that fuzzes:\n\n");
	render_local(r, &command);
	out->full |= command.full;
	render_fence(buf_slice(&command), "sh", out);
	buf_puts(out, render_footer);
}

static void render_stats(const struct render_crash *r, struct buf *out)
{
	if (!r->stats.known)
		return;
	buf_printf(out,
		   "\n### Fuzzer stats\n\n- Executions: %llu\n- Coverage: %llu edges\n"
		   "- Corpus size: %llu inputs\n",
		   U(r->stats.execs), U(r->stats.cov), U(r->stats.corpus));
}

/* The part after the stack; the stack gets the remaining room. */
static void render_tail(const struct render_crash *r, struct buf *out)
{
	buf_puts(out, "\n" RENDER_INPUT_BEGIN "\n");
	render_input(r, out);
	buf_puts(out, RENDER_INPUT_END "\n");
	render_commands(r, out);
	render_stats(r, out);
	buf_puts(out, render_footer);
}

void render_body(const struct render_crash *r, struct buf *out)
{
	_autobuf_ struct buf first = BUF_INIT(RENDER_BODY_MAX), last = BUF_INIT(RENDER_BODY_MAX);

	if (r->redacted) {
		render_redacted(r, out);
		return;
	}
	render_head(r, &first);
	render_facts(r, &first);
	render_tail(r, &last);
	out->full |= first.full || last.full;
	buf_put(out, buf_slice(&first));
	render_stack(r, first.n + last.n < RENDER_BODY_MAX ? RENDER_BODY_MAX - first.n - last.n : 0,
		     out);
	buf_put(out, buf_slice(&last));
}

/* --- comments ------------------------------------------------------------------- */

static void render_at_commit(const struct ledger_seen *s, bool redacted, struct buf *out)
{
	char date[32];

	if (*s->commit && !redacted) {
		buf_puts(out, " on commit ");
		render_code(s->commit, NAME_MAX_SHOWN, out);
	}
	buf_printf(out, " (%s)", render_time(s->time, date));
}

static void render_how_often(const struct known_crash *c, struct buf *out)
{
	buf_printf(out, ".\n\nSeen %llu times in all.", U(c->count));
	if (c->reproduction.tries)
		buf_printf(out, " Its input fails %llu of %llu times.", U(c->reproduction.hits),
			   U(c->reproduction.tries));
	buf_puts(out, "\n");
}

/* Lists the crash's state in each of its targets; for a single target no list is needed. */
static void render_in_targets(const struct known_crash *c, struct buf *out)
{
	enum { SHOWN = 20 };

	if (c->n_by <= 1)
		return;
	buf_puts(out, "\n");
	for (size_t i = 0; i < c->n_by && i < SHOWN; i++) {
		buf_puts(out, "- ");
		render_code(c->by[i]->fuzzer, NAME_MAX_SHOWN, out);
		buf_printf(out, ": %s\n", ledger_state_name(c->by[i]->state));
	}
	if (c->n_by > SHOWN)
		buf_printf(out, "- and %zu more targets\n", c->n_by - SHOWN);
}

static void render_found_details(const struct render_crash *r, struct buf *out)
{
	_autobuf_ struct buf last = BUF_INIT(RENDER_BODY_MAX);

	render_facts(r, out);
	render_input(r, &last);
	render_commands(r, &last);
	out->full |= last.full;
	render_stack(r, last.n < RENDER_BODY_MAX / 2 ? RENDER_BODY_MAX / 2 - last.n : 0, out);
	buf_put(out, buf_slice(&last));
}

void render_found(const struct render_crash *r, const struct known_crash *c, struct buf *out)
{
	buf_puts(out, "One more target finds this crash: ");
	render_code(r->crash->fuzzer, NAME_MAX_SHOWN, out);
	buf_puts(out, ".\n");
	render_in_targets(c, out);
	buf_puts(out, "\n");
	if (!r->redacted)
		render_found_details(r, out);
}

void render_comment(const struct render_crash *r, enum render_event what, struct buf *out)
{
	static const char *const begin[] = {
	    [RENDER_AGAIN] = "This crash is still there: it was seen again",
	    [RENDER_FIXED] = "This crash is fixed: its inputs pass",
	    [RENDER_REGRESSED] = "This crash came back: it was seen again",
	    [RENDER_PARTLY] = "This crash is fixed in some of its targets, not in all: inputs pass",
	};
	const struct known_crash *c = r->crash;
	bool is_fix = what == RENDER_FIXED || what == RENDER_PARTLY;

	buf_puts(out, begin[what]);
	render_at_commit(is_fix ? &c->fixed : &c->last_seen, r->redacted, out);
	if (what == RENDER_REGRESSED && c->fixed.time) {
		buf_puts(out, "; it was found fixed");
		render_at_commit(&c->fixed, r->redacted, out);
	}
	if (!is_fix)
		render_how_often(c, out);
	else
		buf_puts(out, ", so often that chance is no explanation. They are run again in "
			      "every later run.\n");
	render_in_targets(c, out);
}
