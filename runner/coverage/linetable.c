/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/coverage/linetable.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/strv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_FUNCTION UINT32_MAX
#define NOT_WANTED  UINT32_MAX
/* The address of an edge with a block that was optimised away (LLVM's blockaddress).  The entry of
 * its function is an edge, too. */
enum { NO_BLOCK = 1 };

/* A function of the program. */
struct function {
	uint64_t begin, end;
	bool edges; /* it has edges of its own */
	bool rows;
	bool always;	     /* counts as reached */
	bool made;	     /* by the compiler: it has no lines */
	uint32_t file, line; /* where it begins; file NOT_WANTED: elsewhere, or not known */
};

/* A line with machine code in a function. */
struct row {
	uint32_t file, line, function;
};

struct linetable {
	linetable_wants_fn *wants;
	void *arg;
	struct function *functions;
	size_t n_functions;
	uint32_t *edges; /* the function of each edge */
	size_t n_edges;
	size_t lost; /* edges without a function */

	/* Of the compiled file that is read: its directories, and for each of its files the index
	 * in paths, or NOT_WANTED. */
	struct strv dirs;
	char *name; /* of the file that is described; NULL: none */
	uint32_t *files;
	size_t n_files, cap_files;
	size_t all_files;
	size_t last; /* the function of the last row */

	struct strv paths; /* of wanted files, several times the same */
	struct row *rows;
	size_t n_rows, cap_rows;
	bool full;
};

/* --- functions --------------------------------------------------------------- */

static bool begins_with(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/* Constructors of global variables, by clang's names; and parts that a compiler split off: an edge
 * of the other part may be the only one. */
static bool counts_always(const char *name)
{
	return begins_with(name, "_GLOBAL__") || begins_with(name, "__cxx_global_var_init") ||
	       strstr(name, ".cold") || strstr(name, ".part");
}

/* What LLVMFuzzerInitialize() calls is not known. */
static bool initializes(const struct symbols *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i].name, "LLVMFuzzerInitialize") == 0)
			return true;
	return false;
}

static uint32_t function_at(const struct linetable *t, uint64_t address)
{
	size_t low = 0, high = t->n_functions;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->functions[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && address < t->functions[low - 1].end ? (uint32_t)(low - 1) : NO_FUNCTION;
}

struct linetable *linetable_new(const struct pcs *edges, const struct symbols *functions,
				linetable_wants_fn *wants, void *arg)
{
	struct linetable *t = xcalloc(1, sizeof(*t));
	bool always = initializes(functions);

	t->wants = wants;
	t->arg = arg;
	t->n_functions = functions->n < NO_FUNCTION ? functions->n : 0;
	t->functions = xcalloc(t->n_functions + 1, sizeof(*t->functions));
	for (size_t i = 0; i < t->n_functions; i++)
		t->functions[i] = (struct function){
		    .begin = functions->v[i].begin,
		    .end = functions->v[i].end,
		    .always = always || counts_always(functions->v[i].name),
		    .made = strcmp(functions->v[i].name, "__clang_call_terminate") == 0,
		    .file = NOT_WANTED};
	for (size_t i = 1; i < t->n_functions; i++) /* several names of one function */
		if (t->functions[i].begin == t->functions[i - 1].begin)
			t->functions[i].always |= t->functions[i - 1].always;
	t->n_edges = edges->n;
	t->edges = xcalloc(t->n_edges + 1, sizeof(*t->edges));
	for (size_t i = 0; i < t->n_edges; i++) {
		t->edges[i] = function_at(t, edges->v[i].address);
		t->lost += t->edges[i] == NO_FUNCTION && edges->v[i].address != NO_BLOCK;
		if (t->edges[i] != NO_FUNCTION)
			t->functions[t->edges[i]].edges = true;
	}
	return t;
}

void linetable_free(struct linetable *t)
{
	if (!t)
		return;
	strv_done(&t->dirs);
	strv_done(&t->paths);
	free(t->name);
	free(t->files);
	free(t->functions);
	free(t->edges);
	free(t->rows);
	free(t);
}

/* --- names of files ---------------------------------------------------------- */

/* Where the last name of a path from root to `to` begins. */
static char *last_name(char *root, char *to)
{
	while (to > root && to[-1] != '/')
		to--;
	return to;
}

/* Removes "." and "..", where a name stands before it. */
static void plain_path(char *io)
{
	char *root = io + (*io == '/'), *to = root;
	const char *from = root;

	while (*from) {
		size_t n = strcspn(from, "/");
		char *last = last_name(root, to);
		bool is_up = n == 2 && memcmp(from, "..", 2) == 0;
		bool after_up = to - last == 2 && memcmp(last, "..", 2) == 0;

		if (is_up && to > root && !after_up) {
			to = last > root ? last - 1 : root;
		} else if (n > 0 && !(n == 1 && *from == '.') && !(is_up && root > io)) {
			if (to > root)
				*to++ = '/';
			memmove(to, from, n);
			to += n;
		}
		from += n;
		from += *from == '/';
	}
	*to = '\0';
}

/* Directory 0 is that of the compiler (DWARF 5).  Before DWARF 5 it is not in the table. */
static char *path_in(const struct linetable *t, uint64_t dir, const char *name)
{
	const char *first = t->dirs.n > 0 ? t->dirs.v[0] : "";
	const char *in = dir < t->dirs.n ? t->dirs.v[dir] : "";

	if (*name == '/' || !*in)
		return xstrdup(name);
	if (*in == '/' || !*first || dir == 0)
		return xasprintf("%s/%s", in, name);
	return xasprintf("%s/%s/%s", first, in, name);
}

/* path: an index, or NOT_WANTED. */
static void add_entry(struct linetable *t, uint32_t path)
{
	if (t->all_files++ >= LINETABLE_FILES_MAX) {
		t->full = true;
		return;
	}
	if (t->n_files == t->cap_files) {
		t->cap_files = t->cap_files ? t->cap_files * 2 : 64;
		t->files = xreallocarray(t->files, t->cap_files, sizeof(*t->files));
	}
	t->files[t->n_files++] = path;
}

static void add_file(struct linetable *t, uint64_t dir)
{
	_autofree_ char *name = take_ptr(&t->name);
	_autofree_ char *path = path_in(t, dir, name);

	plain_path(path);
	if (!t->wants(t->arg, path)) {
		add_entry(t, NOT_WANTED);
		return;
	}
	add_entry(t, (uint32_t)t->paths.n);
	strv_push(&t->paths, path);
}

/* --- the text ---------------------------------------------------------------- */

static void skip_blanks(struct slice *in)
{
	while (in->n > 0 && *in->p == ' ') {
		in->p++;
		in->n--;
	}
}

static bool take_number(struct slice *in, uint64_t *ret)
{
	skip_blanks(in);
	return scan_u64(in, 10, UINT64_MAX, ret);
}

/* "[  3]" */
static bool take_index(struct slice *in, uint64_t *ret)
{
	return take_number(in, ret) && scan_lit(in, SLICE("]"));
}

/* The next byte of a text as LLVM escapes it: \\, \", \t, \n, and three octal digits. */
static char take_byte(struct slice *io)
{
	char c = *io->p++;
	uint64_t octal;
	struct slice digits = {io->p, io->n >= 4 ? 3 : 0};

	io->n--;
	if (c != '\\' || io->n == 0)
		return c;
	if (digits.n == 3 && scan_u64(&digits, 8, 255, &octal) && digits.n == 0) {
		io->p += 3;
		io->n -= 3;
		return (char)octal;
	}
	c = *io->p++;
	io->n--;
	if (c == 't')
		c = '\t';
	else if (c == 'n')
		c = '\n';
	return c;
}

/* The text in quotes. */
static char *take_quoted(struct slice in)
{
	char *text, *out;

	while (in.n > 0 && *in.p != '"') {
		in.p++;
		in.n--;
	}
	while (in.n > 1 && in.p[in.n - 1] != '"')
		in.n--;
	if (in.n < 2 || in.n > LINETABLE_PATH_MAX)
		return xstrdup("?");
	in = (struct slice){in.p + 1, in.n - 2};
	text = out = xcalloc(in.n + 1, 1);
	while (in.n > 0)
		*out++ = take_byte(&in);
	return text;
}

/* Indexes begin at 1 before DWARF 5. */
static void take_dir(struct linetable *t, struct slice line)
{
	_autofree_ char *dir = NULL;
	uint64_t at;

	if (!take_index(&line, &at))
		return;
	if (at == 1 && t->dirs.n == 0)
		strv_push(&t->dirs, "");
	dir = take_quoted(line);
	strv_push(&t->dirs, dir);
}

static void take_file(struct linetable *t, struct slice line)
{
	uint64_t at;

	if (take_index(&line, &at) && at == 1 && t->n_files == 0)
		add_entry(t, NOT_WANTED);
}

static void add_row(struct linetable *t, uint32_t file, uint32_t line, uint32_t function)
{
	struct row *last = t->n_rows ? &t->rows[t->n_rows - 1] : NULL;

	if (last && last->file == file && last->line == line && last->function == function)
		return;
	if (t->n_rows == LINETABLE_ROWS_MAX) {
		t->full = true;
		return;
	}
	if (!t->rows || t->n_rows == t->cap_rows) {
		t->cap_rows = t->cap_rows ? t->cap_rows * 2 : 1024;
		t->rows = xreallocarray(t->rows, t->cap_rows, sizeof(*t->rows));
	}
	t->rows[t->n_rows++] = (struct row){file, line, function};
}

static bool is_in(const struct linetable *t, size_t function, uint64_t address)
{
	return function < t->n_functions && t->functions[function].begin <= address &&
	       address < t->functions[function].end;
}

/* "0x<address> <line> <column> <file> ..." */
static void take_row(struct linetable *t, struct slice in)
{
	uint64_t address, line, column, file;

	if (!scan_u64(&in, 16, UINT64_MAX, &address) || !take_number(&in, &line) ||
	    !take_number(&in, &column) || !take_number(&in, &file) ||
	    (in.n >= 12 && memcmp(in.p + in.n - 12, "end_sequence", 12) == 0))
		return;
	if (!is_in(t, t->last, address))
		t->last = function_at(t, address);
	if (t->last != NO_FUNCTION)
		t->functions[t->last].rows = true;
	else if (t->n_functions == 0 || address < t->functions[0].begin)
		return; /* the linker threw it away, and left its lines at address 0 */
	if (line == 0 || line > INT32_MAX || file >= t->n_files || t->files[file] == NOT_WANTED)
		return;
	if (t->last != NO_FUNCTION && t->functions[t->last].begin == address) {
		t->functions[t->last].file = t->files[file];
		t->functions[t->last].line = (uint32_t)line;
	}
	add_row(t, t->files[file], (uint32_t)line, (uint32_t)t->last);
}

static void begin_file(struct linetable *t)
{
	strv_done(&t->dirs);
	t->n_files = 0;
	free(t->name);
	t->name = NULL;
}

void linetable_take(struct linetable *t, struct slice line)
{
	uint64_t dir;

	while (line.n > 0 && line.p[line.n - 1] == ' ')
		line.n--;
	if (scan_lit(&line, SLICE("0x"))) {
		take_row(t, line);
	} else if (scan_lit(&line, SLICE("debug_line["))) {
		begin_file(t);
	} else if (scan_lit(&line, SLICE("include_directories["))) {
		take_dir(t, line);
	} else if (scan_lit(&line, SLICE("file_names["))) {
		take_file(t, line);
	} else if (skip_blanks(&line), scan_lit(&line, SLICE("name: "))) {
		free(t->name);
		t->name = take_quoted(line);
	} else if (t->name && scan_lit(&line, SLICE("dir_index: ")) && take_number(&line, &dir)) {
		add_file(t, dir);
	}
}

/* --- answers ----------------------------------------------------------------- */

int linetable_check(const struct linetable *t, struct err *e)
{
	bool known = t->lost == 0;

	if (t->full)
		return err_set(e, E2BIG, "its line table is too large");
	for (size_t i = 0; i < t->n_functions; i++) {
		const struct function *f = &t->functions[i];

		known = known && (!f->edges || f->rows || f->made);
	}
	return known ? 0
		     : err_set(e, ENODATA, "%s",
			       t->all_files ? "a part of the program has no line numbers"
					    : "the program has no debug information");
}

bool linetable_has_files(const struct linetable *t)
{
	return t->n_rows > 0;
}

/* A line, to be sorted. */
struct found {
	const char *path;
	uint32_t line;
	bool reached;
};

struct all_found {
	struct found *v;
	size_t n, cap;
};

static void add_found(struct all_found *to, const char *path, uint32_t line, bool reached)
{
	if (to->n == to->cap) {
		to->cap = to->cap ? to->cap * 2 : 1024;
		to->v = xreallocarray(to->v, to->cap, sizeof(*to->v));
	}
	to->v[to->n++] = (struct found){path, line, reached};
}

/* The reached one of the same line is last. */
static int by_place(const void *x, const void *y)
{
	const struct found *a = x, *b = y;
	int r = a->path == b->path ? 0 : strcmp(a->path, b->path);

	if (r)
		return r;
	if (a->line != b->line)
		return a->line > b->line ? 1 : -1;
	return a->reached - b->reached;
}

static void mark_functions(const struct linetable *t, const struct bits *reached, bool *ret)
{
	for (size_t i = 0; i < t->n_functions; i++)
		ret[i] = t->functions[i].always || !t->functions[i].edges;
	for (size_t i = 0; i < t->n_edges; i++)
		if (t->edges[i] != NO_FUNCTION && bits_has(reached, (uint32_t)i))
			ret[t->edges[i]] = true;
}

/* --- lines between those with machine code ----------------------------------- */

/* The lines of a function's text: from its first row to its last one before the next function of
 * the file begins.  What was inlined is elsewhere. */
struct span {
	const char *path;
	uint32_t function, first, last, next;
};

static int by_first(const void *x, const void *y)
{
	const struct span *a = x, *b = y;
	int r = a->path == b->path ? 0 : strcmp(a->path, b->path);

	return r ? r : (a->first > b->first) - (a->first < b->first);
}

/* Spans without their ends, by file and line. */
static struct span *find_spans(const struct linetable *t, size_t *ret_n)
{
	struct span *v = xcalloc(t->n_functions + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < t->n_functions; i++) {
		const struct function *f = &t->functions[i];

		if (f->file != NOT_WANTED)
			v[n++] = (struct span){t->paths.v[f->file], (uint32_t)i, f->line, f->line,
					       UINT32_MAX};
	}
	if (n > 0)
		qsort(v, n, sizeof(*v), by_first);
	for (size_t i = n; i-- > 1;)
		if (strcmp(v[i].path, v[i - 1].path) == 0)
			v[i - 1].next = v[i].first > v[i - 1].first ? v[i].first : v[i].next;
	*ret_n = n;
	return v;
}

static void end_spans(const struct linetable *t, struct span *v, size_t n)
{
	struct span **of = xcalloc(t->n_functions + 1, sizeof(struct span *));

	for (size_t i = 0; i < n; i++)
		of[v[i].function] = &v[i];
	for (size_t i = 0; i < t->n_rows; i++) {
		const struct row *r = &t->rows[i];
		struct span *s = r->function != NO_FUNCTION ? of[r->function] : NULL;

		if (s && t->functions[r->function].file == r->file && r->line > s->last &&
		    r->line < s->next)
			s->last = r->line;
	}
	free(of);
}

static void add_spans(const struct linetable *t, const bool *marked, struct all_found *to)
{
	size_t n;
	struct span *v = find_spans(t, &n);

	end_spans(t, v, n);
	for (size_t i = 0; i < n; i++)
		for (uint32_t line = v[i].first;
		     line <= v[i].last && v[i].last - v[i].first < LINETABLE_SPAN_MAX &&
		     to->n < LINETABLE_ROWS_MAX;
		     line++)
			add_found(to, v[i].path, line, marked[v[i].function]);
	free(v);
}

static struct all_found find_lines(const struct linetable *t, const struct bits *reached)
{
	bool *marked = xcalloc(t->n_functions + 1, sizeof(*marked));
	struct all_found all = {0};

	mark_functions(t, reached, marked);
	add_spans(t, marked, &all);
	for (size_t i = 0; i < t->n_rows; i++) {
		const struct row *r = &t->rows[i];

		add_found(&all, t->paths.v[r->file], r->line,
			  r->function == NO_FUNCTION || marked[r->function]);
	}
	free(marked);
	if (all.n > 0)
		qsort(all.v, all.n, sizeof(*all.v), by_place);
	return all;
}

/* Adds the lines of the file of v[at]; returns the index behind them. */
static size_t add_lines(const struct found *v, size_t n, size_t at, struct lcov_file *to)
{
	size_t end = at;

	while (end < n && strcmp(v[end].path, v[at].path) == 0)
		end++;
	to->path = xstrdup(v[at].path);
	to->lines = xcalloc(end - at, sizeof(*to->lines));
	for (; at < end; at++)
		if (at + 1 == end || v[at + 1].line != v[at].line)
			to->lines[to->n_lines++] = (struct lcov_line){v[at].line, v[at].reached};
	return end;
}

int linetable_lcov(const struct linetable *t, const struct bits *reached, struct lcov *ret,
		   struct err *e)
{
	int r = linetable_check(t, e);
	struct all_found all;
	size_t files = 0;

	if (r < 0)
		return r;
	all = find_lines(t, reached);
	for (size_t i = 0; i < all.n; i++)
		files += i == 0 || strcmp(all.v[i].path, all.v[i - 1].path) != 0;
	*ret = (struct lcov){.v = xcalloc(files + 1, sizeof(*ret->v))};
	for (size_t i = 0; i < all.n;)
		i = add_lines(all.v, all.n, i, &ret->v[ret->n++]);
	free(all.v);
	return 0;
}
