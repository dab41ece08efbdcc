/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the state that ClusterFuzz would show for a crash. */
#include "runner/crash/report/internal.h"

/* The big platforms' crash state: up to three lines, an assertion's text or names of frames.
 * Frames come from all stacks of a report until there are three: after the short stack of a use
 * after free, the stack of the free continues it. */

void state_clear(struct state *s)
{
	s->n = 0;
	s->frames = 0;
	s->looked = 0;
	s->raw_n = 0;
}

void state_add(struct state *s, struct slice text)
{
	size_t room = sizeof(s->text) - s->n;
	size_t n = text.n < room ? text.n : room;

	memcpy(s->text + s->n, text.p, n);
	s->n += n;
}

void state_set(struct state *s, struct slice text, unsigned frames)
{
	s->n = 0;
	s->frames = frames;
	if (text.n > STATE_TEXT_MAX / 2)
		text.n = STATE_TEXT_MAX / 2; /* frames must fit behind it */
	state_add(s, text);
}

static uint64_t state_hash_of(struct slice s)
{
	uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a */

	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * UINT64_C(1099511628211);
	return h;
}

static void state_remember(struct state *s, struct slice name)
{
	struct state_raw *r;

	if (s->raw_n == STATE_RAW_MAX)
		return;
	r = &s->raw[s->raw_n++];
	r->hash = state_hash_of(name);
	text_copy(r->name, sizeof(r->name), name);
}

void state_name(struct crash_parser *p, struct slice name)
{
	if (p->v.cast_open) { /* the report did not name the real type */
		p->v.cast_open = false;
		state_add(&p->state, SLICE("\n"));
		p->state.frames++;
	}
	if (name.n > 400)
		name.n = 400; /* more than a line's 80 characters, after shortening */
	state_remember(&p->state, name);
	if (p->state.frames >= CRASH_STATE_MAX)
		return;
	state_add(&p->state, name);
	state_add(&p->state, SLICE("\n"));
	p->state.frames++;
}

void state_drop_echo(struct crash_parser *p)
{
	p->state.n = p->echo_n;
	p->state.frames = p->echo_frames;
}

/* Like text_find(), but faster in short texts that seldom have the first character of needle. */
static const char *find_short(struct slice s, struct slice needle)
{
	const char *at;

	while (s.n >= needle.n && (at = memchr(s.p, needle.p[0], s.n - needle.n + 1))) {
		text_skip(&s, (size_t)(at - s.p));
		if (memcmp(at, needle.p, needle.n) == 0)
			return at;
		text_skip(&s, 1);
	}
	return NULL;
}

/* Removes every occurrence, in place. */
static void state_erase(char *text, size_t *n, struct slice what)
{
	const char *first = find_short((struct slice){text, *n}, what);
	size_t to;

	if (!first)
		return;
	to = (size_t)(first - text);
	for (size_t i = to; i < *n;) {
		if (*n - i >= what.n && memcmp(text + i, what.p, what.n) == 0)
			i += what.n;
		else
			text[to++] = text[i++];
	}
	*n = to;
}

/* "void f<int>(int) /src/a.c:3" -> "void f<int>": cut at the first bracket, or at the first blank
 * if there is none.  The platforms keep the hash of a Rust name, although it differs in each
 * build. */
static struct slice state_shorten(char *text, size_t n)
{
	struct slice s;
	size_t at;

	state_erase(text, &n, SLICE("non-virtual thunk to "));
	state_erase(text, &n, SLICE("(anonymous namespace)::"));
	state_erase(text, &n, SLICE("`anonymous namespace'::"));
	s = (struct slice){text, n};
	at = text_last(s, '!');
	if (at < s.n)
		text_skip(&s, at + 1);
	for (size_t i = 1; i < s.n; i++)
		if (s.p[i] == '(' || s.p[i] == '[')
			return text_trim((struct slice){s.p, i});
	s = text_first_word(text_trim(s));
	frame_rust_drop_hash(&s);
	return s;
}

/* Names the harness by its source file. */
static bool harness_file(const struct frame *f, struct frame *ret)
{
	if (!text_begins(f->function, SLICE("LLVMFuzzerTestOneInput")) || f->line == 0 ||
	    f->file.n == 0)
		return false;
	*ret = *f;
	ret->function = text_basename(f->file);
	ret->text = ret->function;
	return true;
}

/* "(/bin/t+0x12)" -> "/bin/t+0x12" */
static struct slice module_text(struct slice text)
{
	if (text_begins(text, SLICE("(")) && text_ends(text, SLICE(")"))) {
		text_skip(&text, 1);
		text.n--;
	}
	return text;
}

/* TSan's stacks begin with its interceptors, "pthread_mutex_lock <null>". */
static bool is_interceptor(const struct crash_parser *p, const struct frame *f)
{
	bool of_tsan = p->v.kind == CRASH_TSAN || (f->pc == 0 && f->has_offset);

	return of_tsan && f->line == 0 && frame_ignored(f, FRAME_VIEW_WIDE);
}

bool state_wants(const struct crash_parser *p)
{
	const struct state *s = &p->state;
	bool want_all = strcmp(p->v.type, "Stack-overflow") == 0 && s->raw_n < STATE_RAW_MAX;

	return (s->frames < CRASH_STATE_MAX || want_all) && s->looked < STATE_LOOKED_MAX;
}

void state_frame(struct crash_parser *p, const struct frame *f)
{
	struct state *s = &p->state;
	struct frame harness;
	struct slice name;
	char text[1024];
	size_t n;

	if (!state_wants(p))
		return;
	s->looked++;
	if (harness_file(f, &harness))
		f = &harness;
	if (f->text.n < 3 || frame_ignored(f, FRAME_VIEW_STATE) || is_interceptor(p, f))
		return;
	if (f->function.n == 0 && f->module.n > 0) {
		state_name(p, module_text(f->text));
		return;
	}
	/* TSan prints a file between function and module, and "<null>" if it is unknown.  Neither
	 * is part of the name. */
	name = f->module.n > 0 && (f->file.n > 0 || text_ends(f->text, SLICE(" <null>")))
		   ? f->function
		   : f->text;
	n = name.n < sizeof(text) ? name.n : sizeof(text);
	memcpy(text, name.p, n);
	state_name(p, state_shorten(text, n));
}

/* --- the end -------------------------------------------------------------- */

/* Whether a cycle of `length` frames occurs three times from here on. */
static bool state_is_cycle(const struct state *s, size_t at, size_t length)
{
	if (at + 3 * length >= s->raw_n)
		return false;
	for (size_t i = 0; i < 2 * length; i++)
		if (s->raw[at + i].hash != s->raw[at + i + length].hash)
			return false;
	return true;
}

/* A stack overflow's state is the beginning of its cycle. */
static void find_cycle(struct state *s)
{
	for (size_t at = 0; at < s->raw_n; at++)
		for (size_t length = 1; length <= 10; length++)
			if (state_is_cycle(s, at, length)) {
				s->n = 0;
				for (size_t i = 0; i < length && i < CRASH_STATE_MAX; i++) {
					state_add(s, slice_of(s->raw[at + i].name));
					state_add(s, SLICE("\n"));
				}
				return;
			}
}

struct out {
	char *p;
	size_t n, cap;
};

static void state_emit(struct out *o, struct slice s)
{
	for (size_t i = 0; i < s.n && o->n + 1 < o->cap; i++)
		if ((s.p[i] >= ' ' && s.p[i] <= '~') || s.p[i] == '\t')
			o->p[o->n++] = s.p[i];
	o->p[o->n] = '\0';
}

static bool numeric(char c)
{
	return text_digit(c) || c == '.';
}

/* The length of the run of digits and dots at i, if it is a number of its own and not part of a
 * name or place. */
static size_t state_number_at(struct slice s, size_t i)
{
	char before = ' ';
	size_t n = 0, digits = 0, least = 4;

	if (i > 0)
		before = s.p[i - 1];
	if (before == ':' || numeric(before))
		return 0;
	while (i + n < s.n && numeric(s.p[i + n])) {
		digits += text_digit(s.p[i + n]);
		n++;
	}
	if (i > 0 && before == ' ')
		least = 2;
	else if (before == '@' || before == '#')
		least = 1;
	if (n < least || digits == 0 ||
	    (i + n < s.n && text_word(s.p[i + n]) && s.p[i + n] != '_' && s.p[i + n] != '$'))
		return 0;
	return n;
}

static size_t address_at(struct slice s, size_t i)
{
	size_t n = 2;

	if (s.n - i < 6 || s.p[i] != '0' || s.p[i + 1] != 'x')
		return 0;
	while (i + n < s.n && text_hex(s.p[i + n]))
		n++;
	if (n < 6)
		return 0;
	while (i + n < s.n && s.p[i + n] == 'U')
		n++;
	return n;
}

/* Adds the line without the offset at its end.  Addresses and numbers get placeholders, unless
 * `keep`. */
static void normalise(struct slice line, bool keep, struct out *o)
{
	size_t plus = text_last(line, '+');
	struct slice tail = {line.p + plus, line.n - plus};
	uint64_t v;

	if (scan_lit(&tail, SLICE("+0x")) && scan_u64(&tail, 16, UINT64_MAX, &v) && tail.n == 0)
		line.n = plus;
	for (size_t i = 0; i < line.n;) {
		size_t address = keep ? 0 : address_at(line, i), number = 0;

		if (!keep && !address && numeric(line.p[i]))
			number = state_number_at(line, i);
		if (address) {
			state_emit(o, SLICE("ADDRESS"));
			i += address;
		} else if (number) {
			state_emit(o, SLICE("NUMBER"));
			i += number;
		} else {
			state_emit(o, (struct slice){line.p + i++, 1});
		}
	}
}

static void add_line(struct crash_report *r, struct slice line)
{
	const size_t cap = 80;
	struct out o;

	if (r->n_state == CRASH_STATE_MAX)
		return;
	o = (struct out){r->state[r->n_state], 0, sizeof(r->state[0])};
	o.p[0] = '\0';
	normalise(line, strcmp(r->type, "V8 correctness failure") == 0, &o);
	if (o.n > cap && strncmp(o.p, "Bad-cast", 8) != 0)
		o.p[cap] = '\0';
	r->n_state++;
}

static bool named_by_target(const char *type)
{
	return strcmp(type, "Out-of-memory") == 0 || strcmp(type, "Timeout") == 0 ||
	       strcmp(type, "Overwrites-const-input") == 0;
}

void state_finish(struct crash_parser *p, struct crash_report *r)
{
	struct slice text, line;

	if (strcmp(p->v.type, "Stack-overflow") == 0)
		find_cycle(&p->state);
	text = (struct slice){p->state.text, p->state.n};
	if (p->o.target && named_by_target(p->v.type))
		text = slice_of(p->o.target);
	if (text_trim(text).n == 0)
		text = p->o.target ? slice_of(p->o.target) : SLICE("NULL");
	while (scan_line(&text, &line))
		add_line(r, line);
}
