/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/coverage/blockers.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAMESAKES_MAX = 8,
	CALLS_MAX = 512,
	BACK_MAX = 1000,
	STEPS_MAX = 300 * 1000 * 1000, /* calls that all walks follow together: a second or two */
};

/* Unreached functions (of finder.nodes) that a piece of source text calls; v is owned. */
struct calls {
	size_t *v;
	size_t n, cap;
};

/* An unreached function. */
struct node {
	const struct lcov_file *file;
	struct slice name; /* blockers_call_name() */
	uint32_t line, end;
	uint64_t lines; /* not reached */
	struct calls calls;
	size_t seen; /* by the last walk */
};

struct finder {
	const struct lcov *l;
	const struct listing_file **text; /* of each file of l; owned */
	struct node *nodes;		  /* by name */
	size_t n_nodes, cap_nodes;
	struct blocker *found;
	size_t n_found, cap_found;
	size_t walk, *todo; /* the functions that a walk visits */
	size_t walks;	    /* that are still to come, at most */
	uint64_t steps;	    /* for these */
};

static void *finder_room(void *v, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return v;
	*cap = *cap ? *cap * 2 : 8;
	return xreallocarray(v, *cap, size);
}

/* --- names ------------------------------------------------------------------------- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Whether what follows a closing parenthesis names something inside of it: "f(int) const::Local",
 * "(anonymous namespace)::f". */
static bool name_goes_on(const char *rest)
{
	static const char *const words[] = {" const", " volatile"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncmp(rest, words[i], strlen(words[i])) == 0)
			rest += strlen(words[i]);
	return strncmp(rest, "::", 2) == 0;
}

/* Where the parameters begin, outside of template arguments; the length without any. */
static size_t name_parameters(const char *s, size_t n)
{
	int arguments = 0, depth = 0;
	size_t open = n;

	for (size_t i = 0; i < n; i++) {
		if (depth == 0)
			arguments += (s[i] == '<') - (s[i] == '>');
		if (arguments != 0)
			continue;
		if (s[i] == '(' && depth++ == 0)
			open = i;
		if (s[i] == ')' && depth > 0 && --depth == 0 && !name_goes_on(s + i + 1))
			return open;
	}
	return depth > 0 ? open : n;
}

/* Source text does not call an operator of C++ by its name: "R::operator bool() const". */
static bool name_is_operator(const char *function)
{
	static const char word[] = "operator";

	for (const char *p = function; (p = strstr(p, word)); p++)
		if ((p == function || !is_word(p[-1])) && p[strlen(word)] &&
		    !is_word(p[strlen(word)]))
			return true;
	return false;
}

/* Steps back over the template arguments that end before `end`. */
static size_t name_without_arguments(const char *s, size_t end)
{
	int depth = 0;

	while (end > 0 && (s[end - 1] == '>' || depth > 0)) {
		end--;
		depth += (s[end] == '>') - (s[end] == '<');
	}
	return end;
}

struct slice blockers_call_name(const char *function)
{
	size_t end = name_without_arguments(function, name_parameters(function, strlen(function)));
	size_t from = end;

	if (name_is_operator(function))
		return SLICE("");
	while (from > 0 && is_word(function[from - 1]))
		from--;
	return (struct slice){function + from, end - from < BLOCKERS_NAME_MAX ? end - from : 0};
}

/* --- calls --------------------------------------------------------------------------- */

static int name_compare(struct slice a, struct slice b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int r = n > 0 ? memcmp(a.p, b.p, n) : 0;

	return r != 0 ? r : (a.n > b.n) - (a.n < b.n);
}

static int node_by_name(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	int r = name_compare(x->name, y->name);

	if (r != 0)
		return r;
	return x->file != y->file ? (x->file < y->file ? -1 : 1)
				  : (x->line > y->line) - (x->line < y->line);
}

/* The first node of this name, in this file or behind it; NULL: in any file.  A node of another
 * name if there is none, or n_nodes. */
static size_t node_find(const struct finder *f, struct slice name, const struct lcov_file *file)
{
	size_t from = 0, to = f->n_nodes;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		int r = name_compare(f->nodes[mid].name, name);

		if (r < 0 || (r == 0 && file && f->nodes[mid].file < file))
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static bool node_is(const struct finder *f, size_t at, struct slice name,
		    const struct lcov_file *file)
{
	return at < f->n_nodes && slice_eq(f->nodes[at].name, name) &&
	       (!file || f->nodes[at].file == file);
}

static void calls_add(struct calls *c, size_t node)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i] == node)
			return;
	if (c->n == CALLS_MAX)
		return;
	c->v = finder_room(c->v, c->n, &c->cap, sizeof(*c->v));
	c->v[c->n++] = node;
}

/* A function of the same file comes before namesakes elsewhere. */
static void calls_add_name(const struct finder *f, const struct lcov_file *file, struct slice name,
			   struct calls *io)
{
	size_t at = node_find(f, name, file);

	if (!node_is(f, at, name, file)) {
		file = NULL;
		at = node_find(f, name, NULL);
	}
	for (size_t n = 0; n < NAMESAKES_MAX && node_is(f, at + n, name, file); n++)
		calls_add(io, at + n);
}

/* Every "name(" of a line. */
static void calls_add_line(const struct finder *f, const struct lcov_file *file, uint32_t number,
			   struct calls *io)
{
	struct slice line = listing_line(f->text[file - f->l->v], number);
	size_t i = 0;

	while (i < line.n) {
		size_t from = i, to;

		while (i < line.n && is_word(line.p[i]))
			i++;
		to = i;
		while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t'))
			i++;
		if (to > from && i < line.n && line.p[i] == '(')
			calls_add_name(f, file, (struct slice){line.p + from, to - from}, io);
		if (to == from && i == from)
			i++;
	}
}

/* --- unreached functions ------------------------------------------------------------------ */

/* The first of the file's lines that is at or behind this one. */
static size_t line_from(const struct lcov_file *f, uint32_t line)
{
	size_t from = 0, to = f->n_lines;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (f->lines[mid].line < line)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Functions that begin at one line (instances of a template) count as one, which was reached if one
 * of them was.  *io_at: the first of them; then the next function's. */
static const struct lcov_function *function_next(const struct lcov_file *f, size_t *io_at,
						 bool *ret_reached)
{
	const struct lcov_function *first = &f->functions[*io_at];

	*ret_reached = false;
	for (; *io_at < f->n_functions && f->functions[*io_at].line == first->line; ++*io_at)
		*ret_reached |= f->functions[*io_at].count > 0;
	return first;
}

/* The first reached line behind the first line of an unreached function: of the function around it,
 * if it is a lambda or in a local class.  0: there is none. */
static uint32_t function_leaves(const struct lcov_file *file, const struct lcov_function *fn)
{
	uint32_t end = lcov_function_end(file, fn);

	for (size_t i = line_from(file, fn->line); i < file->n_lines && file->lines[i].line <= end;
	     i++)
		if (file->lines[i].line > fn->line && file->lines[i].count > 0)
			return file->lines[i].line;
	return 0;
}

static void node_add(struct finder *f, const struct lcov_file *file, const struct lcov_function *fn)
{
	uint32_t leaves = function_leaves(file, fn);
	struct node node = {.file = file,
			    .name = blockers_call_name(fn->name),
			    .line = fn->line,
			    .end = leaves ? leaves - 1 : lcov_function_end(file, fn)};

	for (size_t i = line_from(file, node.line);
	     i < file->n_lines && file->lines[i].line <= node.end; i++)
		node.lines += file->lines[i].count == 0;
	f->nodes = finder_room(f->nodes, f->n_nodes, &f->cap_nodes, sizeof(*f->nodes));
	f->nodes[f->n_nodes++] = node;
}

static void nodes_find(struct finder *f)
{
	for (size_t i = 0; i < f->l->n; i++) {
		const struct lcov_file *file = &f->l->v[i];

		for (size_t at = 0; at < file->n_functions;) {
			bool reached;
			const struct lcov_function *fn = function_next(file, &at, &reached);

			if (!reached)
				node_add(f, file, fn);
		}
	}
	if (f->n_nodes > 0)
		qsort(f->nodes, f->n_nodes, sizeof(*f->nodes), node_by_name);
}

static void nodes_read_calls(struct finder *f)
{
	for (size_t i = 0; i < f->n_nodes; i++) {
		struct node *n = &f->nodes[i];

		for (size_t k = line_from(n->file, n->line);
		     k < n->file->n_lines && n->file->lines[k].line <= n->end; k++)
			calls_add_line(f, n->file, n->file->lines[k].line, &n->calls);
	}
}

static bool is_one_sided(const struct lcov_branch *b)
{
	return (b->yes == 0) != (b->no == 0);
}

/* Has the walk visit the functions that it has not seen, behind the n others. */
static size_t walk_push(struct finder *f, const struct calls *c, size_t n)
{
	for (size_t i = 0; i < c->n; i++)
		if (f->nodes[c->v[i]].seen != f->walk) {
			f->nodes[c->v[i]].seen = f->walk;
			f->todo[n++] = c->v[i];
		}
	return n;
}

/* The steps of the next walk: the same for each, and what the walks before it left. */
static uint64_t walk_begin(struct finder *f)
{
	uint64_t steps = f->walks > 0 ? f->steps / f->walks : 0;

	f->walks -= f->walks > 0;
	f->steps -= steps;
	f->walk++;
	return steps;
}

/* Adds the functions that two lists of calls lead to, the nearest first. */
static void blocker_add_calls(struct finder *f, const struct calls *a, const struct calls *b,
			      struct blocker *io)
{
	uint64_t steps = walk_begin(f);
	size_t n = walk_push(f, a, 0);

	n = walk_push(f, b, n);
	for (size_t i = 0; i < n; i++) {
		const struct node *node = &f->nodes[f->todo[i]];

		io->functions++;
		io->lines += node->lines;
		if (node->calls.n + 1 > steps)
			continue;
		steps -= node->calls.n + 1;
		n = walk_push(f, &node->calls, n);
	}
	f->steps += steps;
}

/* --- conditions of reached functions --------------------------------------------------------- */

/* A condition with one outcome, in a function that was reached. */
struct candidate_branch {
	const struct lcov_branch *b;
	uint64_t lines;
	struct calls calls;   /* of the unreached lines */
	struct calls in_line; /* of the condition's own line; the first condition has them */
	size_t first;	      /* the first condition in this line */
};

struct scope {
	struct finder *f;
	const struct lcov_file *file;
	const struct lcov_function *fn;
	struct candidate_branch *v; /* by line */
	size_t n, cap;
	size_t branch;	    /* of the file: the next one of the walk */
	uint32_t evaluated; /* the last line so far with a condition that was; 0: none */
	uint32_t before;    /* the last reached line so far, or the first of its condition */
};

static int branch_by_line(const void *a, const void *b)
{
	const struct lcov_branch *x = a, *y = b;

	return x->line < y->line ? -1 : x->line > y->line;
}

/* The last condition in these lines that lacks the outcome `missing`; NULL: none nearby. */
static struct candidate_branch *scope_last(struct scope *s, uint32_t from, uint32_t to,
					   bool missing)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->v[mid].b->line <= to)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t i = low; i-- > 0 && s->v[i].b->line >= from && low - i <= BACK_MAX;)
		if ((s->v[i].b->yes == 0) == missing)
			return &s->v[i];
	return NULL;
}

/* The condition that blocks the unreached lines that begin at `line`.  A body follows its
 * condition; an else branch, and what follows an early return, follow a body. */
static struct candidate_branch *scope_blocker(struct scope *s, uint32_t line)
{
	struct candidate_branch *c = scope_last(s, line, line, true); /* a switch's label */

	if (!c)
		c = scope_last(s, s->before, line, true);
	if (!c)
		c = scope_last(s, 0, line, false);
	return c ? c : scope_last(s, 0, line, true);
}

/* Walks over a reached line.  If only operands stand in it that were never evaluated, it belongs to
 * a condition that began in a line before: "a &&\n b". */
static void scope_pass(struct scope *s, uint32_t line)
{
	const struct lcov_file *f = s->file;
	bool has_branch = false;

	for (; s->branch < f->n_branches && f->branches[s->branch].line <= line; s->branch++) {
		const struct lcov_branch *b = &f->branches[s->branch];

		has_branch |= b->line == line;
		if (b->line == line && (b->yes > 0 || b->no > 0))
			s->evaluated = line;
	}
	s->before = has_branch && s->evaluated > 0 ? s->evaluated : line;
}

static void scope_walk(struct scope *s, uint32_t from, uint32_t end)
{
	const struct lcov_file *f = s->file;
	struct candidate_branch *c = NULL;
	bool inside = false;

	for (size_t i = line_from(f, from); i < f->n_lines && f->lines[i].line <= end; i++) {
		uint32_t line = f->lines[i].line;

		if (f->lines[i].count > 0) {
			scope_pass(s, line);
			inside = false;
			continue;
		}
		if (!inside || scope_last(s, line, line, true))
			c = scope_blocker(s, line);
		inside = true;
		if (!c)
			continue;
		c->lines++;
		calls_add_line(s->f, f, line, &c->calls);
	}
}

/* A label of a switch is no condition that should have been false. */
static bool scope_is_label(const struct scope *s, const struct lcov_branch *b)
{
	struct slice line = listing_line(s->f->text[s->file - s->f->l->v], b->line);

	scan_blanks(&line);
	return b->no == 0 && (scan_lit(&line, SLICE("default")) || scan_lit(&line, SLICE("case ")));
}

/* A body can stand in the condition's line. */
static void scope_add(struct scope *s, const struct lcov_branch *b)
{
	struct candidate_branch *c;

	s->v = finder_room(s->v, s->n, &s->cap, sizeof(*s->v));
	c = &s->v[s->n];
	*c = (struct candidate_branch){.b = b, .first = s->n};
	if (s->n > 0 && c[-1].b->line == b->line)
		c->first = c[-1].first;
	else
		calls_add_line(s->f, s->file, b->line, &c->in_line);
	s->n++;
}

static void scope_take(const struct scope *s, const struct candidate_branch *c)
{
	struct finder *f = s->f;
	struct blocker b = {
	    .file = s->file,
	    .function = s->fn,
	    .line = c->b->line,
	    .text = listing_line(f->text[s->file - f->l->v], c->b->line),
	    .missing = c->b->yes == 0,
	    .evaluated = c->b->yes + c->b->no,
	    .lines = c->lines,
	};

	/* Conditions of one line that lack the same outcome are one: the last has the lines. */
	if (c->lines == 0 && c + 1 < s->v + s->n && c[1].b->line == b.line &&
	    (c[1].b->yes == 0) == b.missing)
		return;
	blocker_add_calls(f, &c->calls, &s->v[c->first].in_line, &b);
	if (b.lines == 0)
		return;
	f->found = finder_room(f->found, f->n_found, &f->cap_found, sizeof(*f->found));
	f->found[f->n_found++] = b;
}

/* The function's lines in a range. */
static void scope_find(struct finder *f, const struct lcov_file *file,
		       const struct lcov_function *fn, uint32_t from, uint32_t end,
		       size_t *io_branch)
{
	struct scope s = {.f = f, .file = file, .fn = fn, .before = from};

	while (*io_branch < file->n_branches && file->branches[*io_branch].line < from)
		++*io_branch;
	s.branch = *io_branch;
	for (; *io_branch < file->n_branches && file->branches[*io_branch].line <= end;
	     ++*io_branch) {
		if (!is_one_sided(&file->branches[*io_branch]) ||
		    scope_is_label(&s, &file->branches[*io_branch]))
			continue;
		scope_add(&s, &file->branches[*io_branch]);
	}
	if (s.n > 0)
		scope_walk(&s, from, end);
	for (size_t i = 0; i < s.n; i++)
		scope_take(&s, &s.v[i]);
	for (size_t i = 0; i < s.n; i++) {
		free(s.v[i].calls.v);
		free(s.v[i].in_line.v);
	}
	free(s.v);
}

static int blocker_by_lines(const void *a, const void *b)
{
	const struct blocker *x = a, *y = b;

	if (x->lines != y->lines)
		return x->lines > y->lines ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static void blockers_of_file(struct finder *f, struct lcov_file *file)
{
	const struct lcov_function *outer = NULL; /* the last reached function */
	size_t branch = 0;

	if (file->n_branches > 0)
		qsort(file->branches, file->n_branches, sizeof(*file->branches), branch_by_line);
	for (size_t at = 0; at < file->n_functions;) {
		bool reached;
		const struct lcov_function *fn = function_next(file, &at, &reached);
		uint32_t from = reached ? fn->line : function_leaves(file, fn);

		if (reached)
			outer = fn;
		if (outer && from > 0)
			scope_find(f, file, outer, from, lcov_function_end(file, fn), &branch);
	}
}

static void finder_done(struct finder *f)
{
	for (size_t i = 0; i < f->n_nodes; i++)
		free(f->nodes[i].calls.v);
	free(f->nodes);
	free(f->todo);
	free(f->text);
}

/* Each text belongs to one file, so that it is read once. */
static void finder_take_text(struct finder *f, const struct listing *text)
{
	_autofree_ bool *taken = xcalloc(text->n + 1, sizeof(*taken));

	f->text = xcalloc(f->l->n + 1, sizeof(const struct listing_file *));
	for (size_t i = 0; i < f->l->n; i++) {
		const struct listing_file *file = listing_find(text, f->l->v[i].path);

		if (!file || taken[file - text->v])
			continue;
		taken[file - text->v] = true;
		f->text[i] = file;
	}
}

void blockers_find(struct lcov *l, const struct listing *text, struct blocker **ret, size_t *ret_n)
{
	struct finder f = {.l = l};

	finder_take_text(&f, text);
	nodes_find(&f);
	nodes_read_calls(&f);
	f.todo = xcalloc(f.n_nodes + 1, sizeof(*f.todo));
	f.steps = STEPS_MAX;
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < l->v[i].n_branches; k++)
			f.walks += is_one_sided(&l->v[i].branches[k]);
	for (size_t i = 0; i < l->n; i++)
		blockers_of_file(&f, &l->v[i]);
	if (f.n_found > 0)
		qsort(f.found, f.n_found, sizeof(*f.found), blocker_by_lines);
	*ret = f.found;
	*ret_n = f.n_found < BLOCKERS_MAX ? f.n_found : BLOCKERS_MAX;
	finder_done(&f);
}
