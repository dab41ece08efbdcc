/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: statistics from the lines that it prints. */
#include "base/quote.h"
#include "runner/engine/libfuzzer/libfuzzer.h"

/* Parses the output of libFuzzer and the sanitizers, one line at a time, in any order.
 * The target writes to the same stream: a line may be forged, cut, or follow an incomplete line
 * of the target.  So lines give statistics and a hint at the fault.  Only libfuzzer_classify()
 * decides, with the exit code.  Nothing here allocates; the time is linear in the length of the
 * line. */

/* A number without anything behind it. */
static bool last_number(struct slice in, uint64_t *out)
{
	uint64_t v;

	scan_blanks(&in);
	if (!engine_number(&in, &v))
		return false;
	scan_blanks(&in);
	if (in.n > 0)
		return false;
	*out = v;
	return true;
}

/* Bytes with libFuzzer's unit: b, Kb, Mb, and trunk's B, KB, MB. */
static bool libfuzzer_lines_size(struct slice in, uint64_t *ret_bytes)
{
	uint64_t v;
	unsigned shift = 0;

	if (!engine_number(&in, &v))
		return false;
	if (scan_lit(&in, SLICE("K")))
		shift = 10;
	else if (scan_lit(&in, SLICE("M")))
		shift = 20;
	if (!scan_lit(&in, SLICE("b")) && !scan_lit(&in, SLICE("B")))
		return false;
	if (in.n > 0 || v > ENGINE_NUMBER_MAX >> shift)
		return false;
	*ret_bytes = v << shift;
	return true;
}

/* --- impossible numbers --------------------------------------------------- */

/* FEATURES_MOST: size of the feature set (FuzzerDefs.h).  LENGTH_MOST: the largest -max_len that
 * libFuzzer chooses by itself (FuzzerDriver.cpp). */
#define FEATURES_MOST (UINT64_C(1) << 21)
#define LENGTH_MOST   (UINT64_C(1) << 20)

#define U(v) ((unsigned long long)(v))

/* Checks the numbers of *now, the next state of *io. */
static bool is_refused(const struct engine_state *now, struct engine_state *io)
{
	if (engine_too_many_edges(now->cov, "reached", io) || engine_too_many_execs(now->execs, io))
		return true;
	if (now->ft > FEATURES_MOST)
		engine_refuse(io, 0, "%llu features, its engine has room for %llu", U(now->ft),
			      U(FEATURES_MOST));
	else if (now->corpus_units > now->execs && now->corpus_units - now->execs > 1)
		engine_refuse(io, 0, "%llu inputs in its corpus after %llu executions",
			      U(now->corpus_units), U(now->execs));
	else
		return false;
	return true;
}

/* --- status lines --------------------------------------------------------- */

static struct slice libfuzzer_lines_word(struct slice *in)
{
	struct slice w;

	scan_blanks(in);
	w = (struct slice){in->p, 0};
	while (w.n < in->n && in->p[w.n] != ' ' && in->p[w.n] != '\t')
		w.n++;
	slice_skip(in, w.n);
	return w;
}

static void read_corpus(struct slice v, struct engine_state *io)
{
	uint64_t units, bytes;

	/* "6/12b"; READ in a merge has no size. */
	if (!engine_number(&v, &units))
		return;
	if (v.n == 0) {
		io->corpus_units = units;
	} else if (scan_lit(&v, SLICE("/")) && libfuzzer_lines_size(v, &bytes)) {
		io->corpus_units = units;
		io->corpus_bytes = bytes;
	}
}

static void libfuzzer_lines_read_field(struct slice key, struct slice v, struct engine_state *io)
{
	uint64_t bytes;

	if (slice_eq(key, SLICE("cov:")))
		last_number(v, &io->cov);
	else if (slice_eq(key, SLICE("ft:")))
		last_number(v, &io->ft);
	else if (slice_eq(key, SLICE("corp:")))
		read_corpus(v, io);
	else if (slice_eq(key, SLICE("lim:")))
		last_number(v, &io->lim);
	else if (slice_eq(key, SLICE("exec/s:")))
		last_number(v, &io->exec_per_s);
	else if (slice_eq(key, SLICE("rss:")) && libfuzzer_lines_size(v, &bytes))
		io->rss_mib = bytes >> 20;
}

static bool is_event(struct slice w)
{
	static const struct slice events[] = {
	    {"NEW", 3},	   {"REDUCE", 6}, {"pulse", 5},	 {"INITED", 6},
	    {"RELOAD", 6}, {"DONE", 4},	  {"LOADED", 6}, {"READ", 4},
	};

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (slice_eq(w, events[i]))
			return true;
	return false;
}

/* Whether fuzzing began.  A pulse without a length limit may come while libFuzzer still reads the
 * initial corpus. */
static bool is_past_start(struct slice event, bool has_lim)
{
	if (slice_eq(event, SLICE("pulse")))
		return has_lim;
	return !slice_eq(event, SLICE("LOADED")) && !slice_eq(event, SLICE("READ"));
}

static bool has_mutation(struct slice names, struct slice name)
{
	return names.n > 0 && memmem(names.p, names.n, name.p, name.n) != NULL;
}

/* Parses the mutations of a kept input, behind "MS:": "2 ChangeByte-ManualDict- DE: ...". */
static void read_mutations(struct slice in, struct engine_state *io)
{
	struct slice names;
	uint64_t n;

	scan_blanks(&in);
	if (!engine_number(&in, &n))
		return;
	names = libfuzzer_lines_word(&in);
	io->kept++;
	io->kept_by_dict += has_mutation(names, SLICE("ManualDict-"));
	io->kept_by_cmp += has_mutation(names, SLICE("CMP-"));
}

static void read_fields(struct slice in, struct engine_state *io, bool *ret_has_lim)
{
	*ret_has_lim = false;
	for (struct slice key = libfuzzer_lines_word(&in); key.n > 0;
	     key = libfuzzer_lines_word(&in)) {
		/* The rest is a list of mutations with words from the target. */
		if (slice_eq(key, SLICE("MS:"))) {
			read_mutations(in, io);
			break;
		}
		if (key.p[key.n - 1] != ':')
			continue;
		*ret_has_lim |= slice_eq(key, SLICE("lim:"));
		libfuzzer_lines_read_field(key, libfuzzer_lines_word(&in), io);
	}
}

/* Parses "#3\tINITED cov: 2 ft: 2 ...".  libFuzzer omits fields that are zero. */
static bool libfuzzer_lines_status(struct slice in, struct engine_state *io)
{
	struct engine_state now;
	struct slice event;
	uint64_t execs;
	bool has_lim;

	if (!scan_lit(&in, SLICE("#")) || !engine_number(&in, &execs) ||
	    !scan_lit(&in, SLICE("\t")))
		return false;
	event = libfuzzer_lines_word(&in);
	if (!is_event(event))
		return false;
	now = *io;
	now.execs = execs;
	read_fields(in, &now, &has_lim);
	if (!is_refused(&now, io)) {
		now.status_lines++;
		if (now.cov > io->cov)
			now.last_new_execs = now.execs;
		if (now.cov > 0)
			now.not_instrumented = false;
		if (slice_eq(event, SLICE("INITED"))) {
			now.restarted |= now.inited;
			now.inited = true;
		}
		*io = now;
	}
	if (slice_eq(event, SLICE("DONE")))
		io->done = true;
	if (is_past_start(event, has_lim))
		io->running = true;
	return true;
}

/* The status may follow an incomplete line of the target. */
static void status_anywhere(struct slice in, struct engine_state *io)
{
	const char *hash;

	while (in.n > 0 && (hash = memchr(in.p, '#', in.n)) != NULL) {
		slice_skip(&in, (size_t)(hash - in.p));
		if (libfuzzer_lines_status(in, io))
			return;
		slice_skip(&in, 1);
	}
}

/* --- lines with a fixed beginning ----------------------------------------- */

/* "INFO: Seed: 3915497236", once before the first input.  Alone, the line is no evidence: a target
 * may print such a line for a seed of its own. */
static void on_seed(struct slice in, struct engine_state *io)
{
	(void)in;
	io->has_seed = true;
}

/* A target may execute itself before its first input, to change its environment. */
enum { STARTS_MOST = 2 };

static void count_start(struct engine_state *io)
{
	if (!io->has_seed)
		return;
	io->has_seed = false;
	if (io->running || io->replaying || io->starts == STARTS_MOST)
		io->restarted = true;
	else
		io->starts++;
}

/* "INFO: Loaded 1 modules   (6 inline 8-bit counters): ...", "(6 guards)", and
 * "INFO: Loaded 1 PC tables (6 PCs): ..." */
static void on_loaded(struct slice in, struct engine_state *io)
{
	uint64_t modules, edges;
	bool counters;

	if (!engine_number(&in, &modules))
		return;
	counters = scan_lit(&in, SLICE(" modules"));
	if (!counters && !scan_lit(&in, SLICE(" PC tables")))
		return;
	scan_blanks(&in);
	if (!scan_lit(&in, SLICE("(")) || !engine_number(&in, &edges))
		return;
	count_start(io);
	if ((counters || io->edges_total == 0) && !engine_too_many_edges(edges, "instrumented", io))
		io->edges_total = edges;
}

static void on_max_len(struct slice in, struct engine_state *io)
{
	uint64_t bytes;

	if (!slice_find(&in, SLICE("larger than ")) || !engine_number(&in, &bytes))
		return;
	if (bytes > LENGTH_MOST)
		engine_refuse(io, 0,
			      "inputs of %llu bytes, its engine makes none above %llu by itself",
			      U(bytes), U(LENGTH_MOST));
	else
		io->max_len = bytes;
}

/* The total, printed after a line for each directory. */
static void on_seed_corpus(struct slice in, struct engine_state *io)
{
	engine_number(&in, &io->seed_files);
}

/* "INFO:        4 files found in DIR" */
static void on_info(struct slice in, struct engine_state *io)
{
	uint64_t files;

	scan_blanks(&in);
	if (engine_number(&in, &files) && scan_lit(&in, SLICE(" files found in ")) &&
	    files <= ENGINE_NUMBER_MAX - io->seed_files)
		io->seed_files += files;
}

static void libfuzzer_lines_on_done(struct slice in, struct engine_state *io)
{
	uint64_t runs;

	if (engine_number(&in, &runs) && scan_lit(&in, SLICE(" runs in "))) {
		if (!engine_too_many_execs(runs, io))
			io->execs = runs;
		io->done = true;
	}
}

static void on_stat(struct slice in, struct engine_state *io)
{
	const struct {
		struct slice name;
		uint64_t *to;
	} stats[] = {
	    {SLICE("number_of_executed_units:"), &io->final.execs},
	    {SLICE("average_exec_per_sec:"), &io->final.exec_per_s},
	    {SLICE("new_units_added:"), &io->final.new_units},
	    {SLICE("slowest_unit_time_sec:"), &io->final.slowest_s},
	    {SLICE("peak_rss_mb:"), &io->final.peak_rss_mib},
	};

	for (size_t i = 0; i < sizeof(stats) / sizeof(stats[0]); i++)
		if (scan_lit(&in, stats[i].name) && last_number(in, stats[i].to))
			io->final.seen = true;
}

/* "Dictionary: 12 entries" */
static void on_dictionary(struct slice in, struct engine_state *io)
{
	uint64_t entries;

	if (engine_number(&in, &entries) && slice_eq(in, SLICE(" entries")))
		io->dict_entries = entries;
}

/* LLVM 14: "ERROR: ... Is the code instrumented for coverage? Exiting.", and libFuzzer ends.
 * Later versions: "WARNING: ... were found so far. Is the ...", and libFuzzer continues. */
static void on_no_inputs(struct slice in, struct engine_state *io)
{
	if (slice_find(&in, SLICE("instrumented for coverage?")) && io->cov == 0)
		io->not_instrumented = true;
}

static void on_graceful(struct slice in, struct engine_state *io)
{
	(void)in;
	io->done = true;
}

static void on_replay(struct slice in, struct engine_state *io)
{
	size_t n = in.n < sizeof(io->input) - 1 ? in.n : sizeof(io->input) - 1;

	if (io->restarted) /* keep the input that caused the restart */
		return;
	io->replaying = true;
	io->done = false;
	io->inputs++;
	memcpy(io->input, in.p, n);
	io->input[n] = '\0';
}

/* "NAME in 0 ms": the end of the announced input.  Not printed if the target calls _exit(). */
static void libfuzzer_lines_on_replayed(struct slice in, struct engine_state *io)
{
	bool cut = strlen(io->input) == sizeof(io->input) - 1;

	if (io->replaying && scan_lit(&in, slice_of(io->input)) &&
	    (cut || scan_lit(&in, SLICE(" in "))))
		io->done = true;
}

/* Printed after the last input.  The lines of single inputs may be hidden behind incomplete lines
 * of the target. */
static void on_all_replayed(struct slice in, struct engine_state *io)
{
	(void)in;
	if (io->replaying)
		io->done = true;
}

static const struct {
	struct slice prefix;
	void (*on)(struct slice rest, struct engine_state *io);
} prefixes[] = {
    {{"INFO: Seed: ", 12}, on_seed},
    {{"INFO: Loaded ", 13}, on_loaded},
    {{"INFO: -max_len is not provided", 30}, on_max_len},
    {{"INFO: seed corpus: files: ", 26}, on_seed_corpus},
    {{"INFO: ", 6}, on_info},
    {{"Done ", 5}, libfuzzer_lines_on_done},
    {{"stat::", 6}, on_stat},
    {{"Dictionary: ", 12}, on_dictionary},
    {{"ERROR: no interesting inputs were found", 39}, on_no_inputs},
    {{"WARNING: no interesting inputs were found", 41}, on_no_inputs},
    {{"INFO: libFuzzer: exiting as requested", 37}, on_graceful},
    {{"Running: ", 9}, on_replay},
    {{"Executed ", 9}, libfuzzer_lines_on_replayed},
    {{"*** NOTE: fuzzing was not performed", 35}, on_all_replayed},
};

/* --- the line ------------------------------------------------------------- */

/* Removes leading colour sequences ("\033[1m") and trailing blanks. */
static void libfuzzer_lines_trim(struct slice *io)
{
	while (io->n > 0 && (io->p[io->n - 1] == '\r' || io->p[io->n - 1] == ' '))
		io->n--;
	while (io->n > 1 && io->p[0] == '\033' && io->p[1] == '[') {
		size_t n = 2;

		while (n < io->n && (io->p[n] == ';' || (io->p[n] >= '0' && io->p[n] <= '9')))
			n++;
		slice_skip(io, n < io->n ? n + 1 : n);
	}
}

void libfuzzer_line(struct slice line, struct engine_state *io)
{
	libfuzzer_lines_trim(&line);
	if (line.n == 0)
		return;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		struct slice rest = line;

		if (scan_lit(&rest, prefixes[i].prefix)) {
			prefixes[i].on(rest, io);
			break;
		}
	}
	status_anywhere(line, io);
	libfuzzer_failure(line, io);
}

/* --- the words of a line ------------------------------------------------------- */

/* "#123\tNEW    cov: 4 ft: 5 ... MS: 3 CMP-EraseBytes-ManualDict- DE: "ab"-"\000c"-": the mutations
 * that use words are in the order of the words.  The target writes to the same stream, so the line
 * may be forged. */

enum { WORD_MAX = 64 }; /* FuzzerDictionary.h: the longest word */

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* The next mutation of "CMP-EraseBytes-" that takes a word. */
static bool next_source(struct slice *io, enum engine_word *ret)
{
	static const struct {
		struct slice name;
		enum engine_word from;
	} sources[] = {
	    {{"ManualDict", 10}, ENGINE_WORD_GIVEN},
	    {{"PersAutoDict", 12}, ENGINE_WORD_KEPT},
	    {{"CMP", 3}, ENGINE_WORD_COMPARED},
	};

	while (io->n > 0) {
		struct slice name = {io->p, 0};

		while (name.n < io->n && is_word_char(io->p[name.n]))
			name.n++;
		slice_skip(io, name.n);
		if (!scan_lit(io, SLICE("-")))
			return false;
		for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
			if (slice_eq(name, sources[i].name)) {
				*ret = sources[i].from;
				return true;
			}
	}
	return false;
}

static void each_word(struct slice names, struct slice in, engine_word_fn *fn, void *arg)
{
	char bytes[WORD_MAX];
	enum engine_word from;
	size_t n;

	while (next_source(&names, &from) && quote_read(&in, bytes, sizeof(bytes), &n)) {
		fn(arg, (struct slice){bytes, n}, from);
		if (!scan_lit(&in, SLICE("-")))
			return;
	}
}

/* "\"ab\" # Uses: 12", between "###### Recommended dictionary. ######" and its end. */
static void libfuzzer_lines_recommended(struct slice in, engine_word_fn *fn, void *arg)
{
	char bytes[WORD_MAX];
	uint64_t uses;
	size_t n;

	if (quote_read(&in, bytes, sizeof(bytes), &n) && scan_lit(&in, SLICE(" # Uses: ")) &&
	    scan_u64(&in, 10, UINT64_MAX, &uses) && in.n == 0)
		fn(arg, (struct slice){bytes, n}, ENGINE_WORD_RECOMMENDED);
}

void libfuzzer_words(struct slice line, engine_word_fn *fn, void *arg)
{
	struct slice names;
	uint64_t number;

	if (line.n > 0 && *line.p == '"') {
		libfuzzer_lines_recommended(line, fn, arg);
		return;
	}
	if (!scan_lit(&line, SLICE("#")) || !scan_u64(&line, 10, UINT64_MAX, &number) ||
	    !scan_lit(&line, SLICE("\tNEW ")) || !slice_find(&line, SLICE(" MS: ")) ||
	    !scan_u64(&line, 10, UINT64_MAX, &number) || !scan_lit(&line, SLICE(" ")))
		return;
	if (!scan_until(&line, ' ', line.n, &names) || !scan_lit(&line, SLICE(" DE: ")))
		return;
	each_word(names, line, fn, arg);
}
