/* SPDX-License-Identifier: Apache-2.0 */
/* A crash with text from a hostile target, as an issue.  The body is always UTF-8 of a bounded size
 * without control characters.  It has only our marker and our placeholders. */
#include "base/cleanup.h"
#include "base/utf8.h"
#include "runner/publish/render/render.h"
#include "tests/fuzz/must.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned count(struct slice s, struct slice what)
{
	unsigned n = 0;

	while (s.n >= what.n) {
		const char *hit = memmem(s.p, s.n, what.p, what.n);

		if (!hit)
			break;
		n++;
		s.n -= (size_t)(hit - s.p) + 1;
		s.p = hit + 1;
	}
	return n;
}

static void check_text(struct slice s, bool lines)
{
	while (s.n > 0) {
		uint32_t c = 0;
		size_t n = utf8_next(s, &c);

		MUST(n > 0);
		MUST(utf8_is_plain(c) || (lines && (c == '\n' || c == '\t')));
		s = (struct slice){s.p + n, s.n - n};
	}
}

/* A code block that our text opens ends only where our text closes it. */
static void check_fences(struct slice s)
{
	size_t open = 0; /* backticks of the current fence; 0: outside */
	struct slice line;

	while (scan_line(&s, &line)) {
		size_t n = 0;

		while (n < line.n && line.p[n] == '`')
			n++;
		if (!open && n >= 3 && !memchr(line.p + n, '`', line.n - n))
			open = n;
		else if (open && n >= open && n == line.n)
			open = 0;
		else if (!open)
			MUST(count(line, SLICE("<img")) == 0 || memchr(line.p, '`', line.n));
	}
	MUST(!open);
}

static void check_body(const struct render_crash *r)
{
	_autobuf_ struct buf b = BUF_INIT(RENDER_BODY_MAX), title = BUF_INIT(RENDER_BODY_MAX);

	render_body(r, &b);
	MUST(!b.full && b.n <= RENDER_BODY_MAX);
	check_text(buf_slice(&b), true);
	check_fences(buf_slice(&b));
	MUST(count(buf_slice(&b), SLICE("<!--")) == 3); /* the marker, around the reproducer */
	MUST(count(buf_slice(&b), SLICE(RENDER_REPRODUCER)) ==
	     (r->upload && r->input.p && !render_is_inline(r)));
	render_title(r, &title);
	MUST(!title.full && title.n <= RENDER_TITLE_MAX);
	check_text(buf_slice(&title), false);
	MUST(!strchr(buf_str(&title), '@') && !strchr(buf_str(&title), '`'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = {(const char *)data, size};
	_autofree_ char *text = strndup(size ? in.p : "", size < 1024 ? size : 1024);
	_autofree_ char *sig = strdup("0123456789abcdef"), *none = strdup("");
	char *frames[] = {text};
	struct known_crash c = {.signature = sig,
				.fuzzer = text,
				.crash_type = text,
				.kind = text,
				.signal = text,
				.top_frame = text,
				.frames = {frames, 1},
				.targets = {frames, 1},
				.severity = text,
				.similar = text,
				.first_seen = {1, text, none},
				.last_seen = {2, none, none}};
	struct render_crash r = {.crash = &c,
				 .name = sig,
				 .report = in,
				 .input = in,
				 .build = text,
				 .binary = text,
				 .input_path = text,
				 .hide = {"/state", "/src"},
				 .places = {{.line = size}},
				 .n_places = 1,
				 .link = "https://host/{commit}/{path}#L{line}",
				 .built_of = "c0ffee",
				 .clean_at = text,
				 .label = text,
				 .corpus = text,
				 .inline_bytes = size % 3 ? 4096 : 3,
				 .upload = size % 2};

	MUST(text && sig && none);
	(void)snprintf(r.places[0].path, sizeof(r.places[0].path), "%s", text);
	check_body(&r);
	r.report.n = 0;
	r.binary = r.build = NULL;
	check_body(&r);
	return 0;
}
