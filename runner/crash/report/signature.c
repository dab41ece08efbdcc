/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a crash's signature and cheap key from its report. */
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/memory.h"
#include "runner/crash/report/internal.h"

#include <stdio.h>
#include <stdlib.h>

/* The three keys of a crash (signature, bug, raw key): hashes over a few lines of text.
 *
 * The signature's lines are: "offsets" if there are no names, the type without sizes (one type for
 * all memory errors of one direction), then names of functions.  The type decides which names:
 *   - a stack overflow: those of its cycle, in alphabetical order;
 *   - a race: those of both sides;
 *   - a stack without a known function: the exception's type, the panic's text, the cause, the
 * place or the harness's file, else the target's name (key_add_nameless());
 *   - everything else: the top five. */

enum {
	NAMES_TOP = 5,
	KEY_TEXT_MAX = 16 * 1024,
	RAW_TOP = 16, /* frames of the raw key */
	CYCLE_MAX = 10,
};

struct key {
	char text[KEY_TEXT_MAX];
	size_t n;
};

static void key_add(struct key *k, struct slice s)
{
	size_t room = sizeof(k->text) - k->n;

	if (s.n + 1 > room)
		return;
	memcpy(k->text + k->n, s.p, s.n);
	k->n += s.n;
	k->text[k->n++] = '\n';
}

static void key_hash(const struct key *k, char ret[CRASH_KEY_HEX])
{
	char hex[DIGEST_SHA1_HEX];

	digest_sha1_hex((struct slice){k->text, k->n}, hex);
	memcpy(ret, hex, CRASH_KEY_HEX - 1);
	ret[CRASH_KEY_HEX - 1] = '\0';
}

/* The address in a wild pointer differs from input to input, and ASan reports some writes as reads
 * of its shadow.  So all SEGVs have one type. */
static void key_add_type(struct key *k, const struct crash_parser *p, const struct crash_report *r)
{
	struct slice in = slice_of(r->type), line;

	if (r->signal[0] &&
	    (strncmp(r->type, "UNKNOWN", 7) == 0 || strncmp(r->type, "Null-dereference", 16) == 0 ||
	     strncmp(r->type, "Segv", 4) == 0)) {
		key_add(k, SLICE("Segv"));
		return;
	}
	for (bool first = true; scan_line(&in, &line); first = false) {
		if (!first && r->kind == CRASH_TSAN)
			break; /* a race may be reported from either side */
		key_add(k, first ? line : text_first_word(line));
	}
	if (p->v.libc_message[0])
		key_add(k, slice_of(p->v.libc_message));
}

/* The class of a memory error.  An index that is too large hits a redzone, another object, freed
 * memory, or an unmapped address: the values of the input decide which.  So all errors of one
 * direction at one stack are one bug.  A null pointer, and a fault without a direction, have no
 * class ("").  The class has the name of its most frequent type. */
static const char *memory_class(const struct crash_report *r)
{
	static const char *const types[] = {
	    "Heap-buffer-overflow",
	    "Heap-use-after-free",
	    "Stack-buffer-overflow",
	    "Stack-buffer-underflow",
	    "Stack-use-after-return",
	    "Stack-use-after-scope",
	    "Dynamic-stack-buffer-overflow",
	    "Global-buffer-overflow",
	    "Use-after-poison",
	    "Container-overflow",
	};
	struct slice in = slice_of(r->type), type;
	bool found = text_begins(in, SLICE("UNKNOWN "));

	if (!found && (r->kind != CRASH_ASAN || !scan_line(&in, &type)))
		return "";
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && !found; i++)
		found = slice_eq(type, slice_of(types[i]));
	if (!found || r->access == CRASH_ACCESS_NONE)
		return "";
	return r->access == CRASH_ACCESS_WRITE ? "Heap-buffer-overflow\nWRITE"
					       : "Heap-buffer-overflow\nREAD";
}

/* --- names ---------------------------------------------------------------- */

/* The different names in their order, and the whole sequence as indices of them. */
struct names {
	char name[CRASH_FRAMES_MAX][FRAME_NAME_MAX];
	unsigned count[CRASH_FRAMES_MAX];
	size_t n;
	size_t all[CRASH_FRAMES_MAX];
	size_t n_all;
};

/* The name of a frame.  A library without symbols between functions with names counts with its own
 * name. */
static void signature_name_of(const struct crash_frame *f, bool offsets, char ret[FRAME_NAME_MAX])
{
	struct slice module = text_basename(slice_of(f->module));

	if (f->has_function)
		memcpy(ret, f->name, FRAME_NAME_MAX);
	else if (offsets)
		snprintf(ret, FRAME_NAME_MAX, "%.*s+%llx", (int)(module.n < 200 ? module.n : 200),
			 module.p, (unsigned long long)f->offset);
	else
		text_copy(ret, FRAME_NAME_MAX, module);
}

static void names_add(struct names *to, const char *name)
{
	size_t i = 0;

	while (i < to->n && strcmp(to->name[i], name) != 0)
		i++;
	if (i == to->n) {
		text_copy(to->name[i], FRAME_NAME_MAX, slice_of(name));
		to->count[i] = 0;
		to->n++;
	}
	to->count[i]++;
	to->all[to->n_all++] = i;
}

static bool signature_is_harness(const struct crash_frame *f)
{
	return frame_is_harness(slice_of(f->function));
}

/* Collects names without the harness: a bug that two targets reach is one bug. */
static void names_collect(const struct crash_frame *f, size_t n, bool offsets, struct names *ret)
{
	char name[FRAME_NAME_MAX];

	ret->n = ret->n_all = 0;
	for (size_t i = 0; i < n; i++) {
		if (signature_is_harness(&f[i]))
			continue;
		signature_name_of(&f[i], offsets, name);
		if (name[0])
			names_add(ret, name);
	}
}

static void key_add_top(struct key *k, const struct names *names)
{
	for (size_t i = 0; i < names->n && i < NAMES_TOP; i++)
		key_add(k, slice_of(names->name[i]));
}

/* Whether a sequence of `length` names occurs three times from here on. */
static bool signature_is_cycle(const struct names *s, size_t at, size_t length)
{
	if (at + 3 * length > s->n_all)
		return false;
	for (size_t i = 0; i < 2 * length; i++)
		if (s->all[at + i] != s->all[at + i + length])
			return false;
	return true;
}

static int signature_by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the cycle's names sorted: the overflow may hit at any point of the cycle. */
static void add_sorted(struct key *k, const struct names *s, size_t at, size_t length)
{
	const char *list[CYCLE_MAX];

	for (size_t i = 0; i < length; i++)
		list[i] = s->name[s->all[at + i]];
	qsort(list, length, sizeof(list[0]), signature_by_text);
	for (size_t i = 0; i < length; i++)
		if (i == 0 || strcmp(list[i], list[i - 1]) != 0)
			key_add(k, slice_of(list[i]));
}

/* Recursion that follows the input has no strict cycle.  Then the most frequent function represents
 * it. */
static void key_add_cycle(struct key *k, const struct names *s)
{
	size_t most = 0;

	for (size_t at = 0; at < s->n_all; at++)
		for (size_t length = 1; length <= CYCLE_MAX; length++)
			if (signature_is_cycle(s, at, length)) {
				add_sorted(k, s, at, length);
				return;
			}
	for (size_t i = 1; i < s->n; i++)
		if (s->count[i] > s->count[most] ||
		    (s->count[i] == s->count[most] && strcmp(s->name[i], s->name[most]) < 0))
			most = i;
	if (s->n > 0)
		key_add(k, slice_of(s->name[most]));
}

/* --- the signature -------------------------------------------------------- */

static bool is_type(const struct crash_report *r, const char *type)
{
	return strcmp(r->type, type) == 0;
}

static void key_add_target(struct key *k, const struct crash_parser *p)
{
	key_add(k, slice_of(p->o.target ? p->o.target : ""));
}

/* For a stack without a known function of the application. */
static void key_add_nameless(struct key *k, const struct crash_parser *p,
			     const struct crash_report *r)
{
	/* The state of an assertion begins with its message. */
	size_t from = is_type(r, "ASSERT") ? 1 : 0;

	if (p->v.thrown[0])
		key_add(k, slice_of(p->v.thrown));
	/* Frames of other languages are in the state, below a panic's message. */
	if (r->kind == CRASH_PANIC && r->n_state > from) {
		for (size_t i = from; i < r->n_state; i++)
			key_add(k, slice_of(r->state[i]));
		return;
	}
	if (p->v.cause[0] || p->v.place[0]) {
		key_add(k, slice_of(p->v.cause));
		key_add(k, slice_of(p->v.place));
		return;
	}
	if (p->v.pc_null)
		key_add(k, SLICE("jump to null"));
	for (size_t i = 0; i < r->n_frames; i++)
		if (signature_is_harness(&r->frames[i]) && r->frames[i].file[0]) {
			key_add(k, text_basename(slice_of(r->frames[i].file)));
			return;
		}
	key_add_target(k, p);
}

/* Adds the two sides of a race, the lesser first. */
static void add_both(struct key *k, const struct key *a, const struct key *b)
{
	bool swap = a->n > b->n || (a->n == b->n && memcmp(a->text, b->text, a->n) > 0);
	const struct key *first = swap ? b : a, *second = swap ? a : b;

	key_add(k, (struct slice){first->text, first->n});
	key_add(k, (struct slice){second->text, second->n});
}

static void key_add_race(struct key *k, const struct names *one, const struct names *two)
{
	struct key a = {.n = 0}, b = {.n = 0};

	key_add_top(&a, one);
	key_add_top(&b, two);
	add_both(k, &a, &b);
}

static void key_add_names(struct key *k, const struct crash_parser *p, const struct crash_report *r,
			  const struct names *names)
{
	/* The stack of a timeout is wherever the time limit expired. */
	if (is_type(r, "Timeout") || is_type(r, "Overwrites-const-input"))
		key_add_target(k, p);
	else if (names[0].n == 0 && names[1].n == 0)
		key_add_nameless(k, p, r);
	else if (is_type(r, "Stack-overflow"))
		key_add_cycle(k, &names[0]);
	else if (names[1].n > 0)
		key_add_race(k, &names[0], &names[1]);
	else
		key_add_top(k, &names[0]);
	if (p->v.cause[0])
		key_add(k, slice_of(p->v.cause));
}

void report_signature(const struct crash_parser *p, struct crash_report *r)
{
	_autofree_ struct names *names = xcalloc(2, sizeof(*names));
	const char *class = memory_class(r);
	struct key k = {.n = 0};

	names_collect(r->frames, r->n_frames, r->unsymbolized, &names[0]);
	if (p->other.n > 0) {
		size_t n;
		_autofree_ struct crash_frame *f = report_stack(&p->other, false, &n);

		names_collect(f, n, r->unsymbolized, &names[1]);
	}
	if (r->unsymbolized)
		key_add(&k, SLICE("offsets"));
	if (*class)
		key_add(&k, slice_of(class));
	else
		key_add_type(&k, p, r);
	key_add_names(&k, p, r, names);
	key_hash(&k, r->signature);
}

/* --- the bug -------------------------------------------------------------- */

/* Whether the place where the failure was noticed identifies it. */
static bool has_place(const struct crash_report *r)
{
	static const char *const without[] = {"Timeout", "Stack-overflow", "Out-of-memory",
					      "Overwrites-const-input"};
	struct slice in = slice_of(r->type), type;

	if (r->unsymbolized || r->kind == CRASH_CELL || r->kind == CRASH_TSAN ||
	    !scan_line(&in, &type))
		return false;
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		if (text_begins(type, slice_of(without[i])))
			return false;
	return true;
}

/* A compiler may inline a function in one target and not in another.  So frames of one address
 * count as one function, the last of them. */
static const struct crash_frame *signature_place_of(const struct crash_report *r)
{
	size_t i = 0;

	while (i + 1 < r->n_frames && r->frames[i].pc != 0 &&
	       r->frames[i + 1].pc == r->frames[i].pc &&
	       r->frames[i + 1].number == r->frames[i].number + 1)
		i++;
	if (i >= r->n_frames || !r->frames[i].has_function || !r->frames[i].file[0] ||
	    r->frames[i].line == 0)
		return NULL;
	return &r->frames[i];
}

void report_bug_key(struct crash_report *r)
{
	const struct crash_frame *f = has_place(r) ? signature_place_of(r) : NULL;
	struct slice in = slice_of(r->type), type;
	const char *class = memory_class(r);
	struct key k = {.n = 0};
	char line[32];

	if (!f || !scan_line(&in, &type))
		return;
	key_add(&k, *class ? slice_of(class) : type);
	key_add(&k, slice_of(f->name));
	key_add(&k, text_basename(slice_of(f->file)));
	snprintf(line, sizeof(line), "%llu", (unsigned long long)f->line);
	key_add(&k, slice_of(line));
	key_hash(&k, r->bug);
}

/* --- the place ------------------------------------------------------------- */

/* A wrong family hides a bug: an integer overflow on the line of a bad read is another bug. */
static const char *place_family(const struct crash_report *r)
{
	static const struct {
		enum crash_kind kind;
		const char *type; /* its beginning */
		const char *family;
	} types[] = {
	    {CRASH_UBSAN, "Index-out-of-bounds", "memory"},
	    {CRASH_UBSAN, "Object-size", "memory"},
	    {CRASH_UBSAN, "Null-dereference", "null"},
	    {CRASH_ASAN, "Null-dereference", "null"},
	    {CRASH_UBSAN, "Divide-by-zero", "divide"},
	    {CRASH_ASAN, "Floating-point-exception", "divide"},
	    /* ASan reports abort(3) where an engine has no handler for it. */
	    {CRASH_ENGINE, "Fatal-signal", "signal"},
	    {CRASH_ASAN, "Abrt", "signal"},
	    {CRASH_UBSAN, "Invalid-bool-value", "value"},
	    {CRASH_UBSAN, "Invalid-enum-value", "value"},
	    {CRASH_MSAN, "Use-of-uninitialized-value", "value"},
	};

	if (*memory_class(r))
		return "memory";
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (r->kind == types[i].kind &&
		    text_begins(slice_of(r->type), slice_of(types[i].type)))
			return types[i].family;
	return "";
}

/* Unlike in crash_report.bug, an inlined function is a place: one source line is compared. */
static void place_add(struct key *k, const struct crash_frame *f)
{
	key_add(k, slice_of(f->name));
	key_add(k, text_basename(slice_of(f->file)));
}

void crash_place_of(const struct crash_report *r, struct crash_place *ret)
{
	const struct crash_frame *f = r->frames;
	const char *family = has_place(r) ? place_family(r) : "";
	struct key at = {.n = 0}, caller = {.n = 0};
	char line[32];

	*ret = (struct crash_place){0};
	if (!*family || r->n_frames == 0 || !f[0].has_function || !f[0].file[0] || f[0].line == 0)
		return;
	key_add(&at, slice_of(family));
	place_add(&at, &f[0]);
	snprintf(line, sizeof(line), "%llu", (unsigned long long)f[0].line);
	key_add(&at, slice_of(line));
	key_hash(&at, ret->at);
	if (r->n_frames == 1 || !f[1].has_function)
		return;
	place_add(&caller, &f[1]);
	key_hash(&caller, ret->caller);
}

/* --- the raw key ---------------------------------------------------------- */

/* False: there is no raw key.  There is no frame, or a frame has no offset in a module: then it was
 * symbolized, and the key would differ from that of the same crash without symbols. */
static bool collect_raw(const struct stack *s, const struct crash_parser *p, bool by_engine,
			size_t max, struct names *ret)
{
	size_t i, end;

	ret->n = ret->n_all = 0;
	stack_application(s, by_engine, &i, &end);
	for (; i < end && ret->n_all < max; i++) {
		struct frame f;
		struct slice module, build;
		char name[FRAME_NAME_MAX];

		stack_frame(s, i, &f);
		if (slice_eq(f.module, SLICE("<unknown module>")))
			continue;
		if (!f.has_offset)
			return false;
		module = text_basename(f.module);
		/* The same offset in another build can be another bug. */
		build = f.build_id.n > 0 || !p->o.build ? f.build_id : slice_of(p->o.build);
		snprintf(name, sizeof(name), "%.*s+%llx %.*s",
			 (int)(module.n < 160 ? module.n : 160), module.p,
			 (unsigned long long)f.offset, (int)(build.n < 64 ? build.n : 64), build.p);
		names_add(ret, name);
	}
	return ret->n > 0;
}

static void add_sequence(struct key *k, const struct names *s)
{
	for (size_t i = 0; i < s->n_all; i++)
		key_add(k, slice_of(s->name[s->all[i]]));
}

/* False: there is none. */
static bool key_add_raw(struct key *k, const struct crash_parser *p, const struct crash_report *r,
			struct names *names)
{
	bool overflow = is_type(r, "Stack-overflow");
	struct key a = {.n = 0}, b = {.n = 0};

	if (is_type(r, "Timeout")) {
		key_add_target(k, p);
		return p->o.target;
	}
	if (!collect_raw(&p->stack, p, p->v.by_engine, overflow ? CRASH_FRAMES_MAX : RAW_TOP,
			 &names[0]) ||
	    (p->other.n > 0 && !collect_raw(&p->other, p, false, RAW_TOP, &names[1])))
		return false;
	if (overflow)
		key_add_cycle(&a, &names[0]);
	else
		add_sequence(&a, &names[0]);
	add_sequence(&b, &names[1]);
	add_both(k, &a, &b);
	return true;
}

void report_raw_key(const struct crash_parser *p, struct crash_report *r)
{
	_autofree_ struct names *names = xcalloc(2, sizeof(*names));
	struct key k = {.n = 0};

	key_add(&k, SLICE("raw"));
	key_add_type(&k, p, r);
	if (key_add_raw(&k, p, r, names))
		key_hash(&k, r->raw_key);
}
