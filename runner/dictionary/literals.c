/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/dictionary/literals.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/targets/elf.h"

#include <elf.h>
#include <stdlib.h>

/* A program without -ffunction-sections has some 30 sections.  Sections beyond the limit are
 * ignored. */
enum {
	MAPPED_MAX = 64,
	NAME_ROOM = 24,
	RELOCATIONS_CHUNK = 4096,
	RUN_MIN = 3,
	SIGNATURE_MIN = 3,
	SIGNATURE_MAX = 16,
	SORTED_LONG = 32
};

/* struct __asan_global of the sanitizers' run-time: eight words. */
enum { GLOBAL_BEG, GLOBAL_SIZE, GLOBAL_ROOM, GLOBAL_NAME, GLOBAL_MODULE, GLOBAL_DYNAMIC };
enum {
	GLOBAL_WORDS = 8,
	GLOBAL_BYTES = 8 * GLOBAL_WORDS,
	REDZONE_UNIT = 32,
	REDZONE_MAX = 1 << 18
};
#define SIZE_MAX_GLOBAL (UINT64_C(1) << 40)

struct reader {
	struct elf_file elf;
	struct elf_header mapped[MAPPED_MAX]; /* sections that are loaded into memory */
	size_t n_mapped;
	struct words *words;
	size_t seen;  /* literals */
	size_t texts; /* texts of tables that were read */
	size_t left;  /* globals that may still be read */
	/* The last literal, and how many literals up to it were in alphabetical order. */
	char last[WORD_BYTES];
	size_t sorted;
};

static bool is_mapped(const struct elf_header *s)
{
	return s->type == SHT_PROGBITS && (s->flags & SHF_ALLOC) && s->size > 0;
}

static void reader_map(struct reader *r)
{
	for (uint64_t i = 0; i < r->elf.n && r->n_mapped < MAPPED_MAX; i++) {
		struct elf_header s = elf_section(&r->elf, i);

		if (is_mapped(&s))
			r->mapped[r->n_mapped++] = s;
	}
}

/* The section that holds n bytes at an address of the program; NULL: none. */
static const struct elf_header *reader_at(const struct reader *r, uint64_t addr, uint64_t n)
{
	for (size_t i = 0; i < r->n_mapped; i++) {
		const struct elf_header *s = &r->mapped[i];

		if (addr >= s->addr && addr - s->addr < s->size && n <= s->size - (addr - s->addr))
			return s;
	}
	return NULL;
}

static bool reader_get(const struct reader *r, uint64_t addr, void *to, uint64_t n)
{
	const struct elf_header *s = reader_at(r, addr, n);

	return s && addr - s->addr <= UINT64_MAX - s->at &&
	       elf_read(&r->elf, to, n, s->at + (addr - s->addr));
}

/* --- runs of text ----------------------------------------------------------- */

static bool is_print(char c)
{
	return (c >= ' ' && c <= '~') || c == '\t' || c == '\n' || c == '\r';
}

/* A long sorted table (all entities of HTML, all scripts of Unicode) must not displace all other
 * words.  All but its first words get this penalty. */
static uint32_t table_penalty(struct reader *r, struct slice text)
{
	char now[WORD_BYTES] = "";

	memcpy(now, text.p, text.n < sizeof(now) ? text.n : sizeof(now));
	r->sorted = memcmp(r->last, now, sizeof(now)) < 0 ? r->sorted + 1 : 0;
	memcpy(r->last, now, sizeof(now));
	return r->sorted < SORTED_LONG ? 0 : 3;
}

static void add_literal(struct reader *r, struct slice text, uint32_t penalty)
{
	r->seen++;
	words_add_literal(r->words, text, penalty + table_penalty(r, text));
}

/* Adds texts that end with a NUL byte. */
static void add_runs(struct reader *r, struct slice s)
{
	size_t from = 0;

	for (size_t i = 0; i < s.n && r->texts < LITERALS_GLOBALS_MAX; i++) {
		struct slice run = {s.p + from, i - from};

		if (is_print(s.p[i]))
			continue;
		from = i + 1;
		if (s.p[i] != '\0' || run.n < RUN_MIN)
			continue;
		add_literal(r, run, 1);
		r->texts++;
	}
}

/* --- AddressSanitizer's globals --------------------------------------------- */

static uint64_t word_of(const char *global, size_t i)
{
	uint64_t v;

	memcpy(&v, global + 8 * i, sizeof(v));
	return v;
}

/* The rule of LLVM's AddressSanitizer pass (getRedzoneSizeForGlobal): a quarter of the size, at
 * least a unit, up to a multiple of the unit.  Small globals share a unit with their redzone since
 * LLVM 13. */
static bool is_redzone(uint64_t size, uint64_t room)
{
	uint64_t zone = size / REDZONE_UNIT / 4 * REDZONE_UNIT, sum;

	if (size == 0 || size > SIZE_MAX_GLOBAL)
		return false;
	if (size <= REDZONE_UNIT / 2 && room == REDZONE_UNIT)
		return true;
	zone = zone < REDZONE_UNIT ? REDZONE_UNIT : zone;
	zone = zone > REDZONE_MAX ? REDZONE_MAX : zone;
	sum = size + zone;
	return room == (sum + REDZONE_UNIT - 1) / REDZONE_UNIT * REDZONE_UNIT;
}

/* Whether g describes a global.  Descriptions are in a section of their own, or among other data.
 */
static bool is_global(const struct reader *r, const char *g)
{
	uint64_t size = word_of(g, GLOBAL_SIZE), room = word_of(g, GLOBAL_ROOM);
	uint64_t name = word_of(g, GLOBAL_NAME), module = word_of(g, GLOBAL_MODULE);

	return is_redzone(size, room) && word_of(g, GLOBAL_DYNAMIC) <= 1 && name != module &&
	       reader_at(r, name, 1) && reader_at(r, module, 1);
}

/* The names that compilers give to an unnamed string: clang 14 and before, later ones, rustc. */
static bool is_string(const char name[NAME_ROOM])
{
	static const char *const names[] = {"<string literal>", ".str", "alloc_"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* The variables that hold a function's name, for messages. */
static bool is_function_name(const char name[NAME_ROOM])
{
	return strncmp(name, "__func__", 8) == 0 || strncmp(name, "__FUNCTION__", 12) == 0 ||
	       strncmp(name, "__PRETTY_FUNCTION__", 19) == 0;
}

/* The name may be the last bytes of its section. */
static bool literals_read_name(const struct reader *r, uint64_t addr, char ret[NAME_ROOM])
{
	const struct elf_header *s = reader_at(r, addr, 1);
	uint64_t n = s ? s->size - (addr - s->addr) : 0;

	if (n > NAME_ROOM - 1)
		n = NAME_ROOM - 1;
	memset(ret, 0, NAME_ROOM);
	return n > 0 && reader_get(r, addr, ret, n);
}

static void read_string(struct reader *r, uint64_t addr, uint64_t size)
{
	char bytes[WORD_BYTES + 1];

	if (size > sizeof(bytes) || !reader_get(r, addr, bytes, size))
		return;
	add_literal(r, (struct slice){bytes, size - (bytes[size - 1] == '\0')}, 0);
}

/* A constant of some bytes, like "static const uint8_t magic[8]", is often a signature.  With more
 * zeros it is a table of numbers. */
static bool is_signature(const struct elf_header *s, const char *bytes, size_t n)
{
	size_t zeros = 0;

	if ((s->flags & SHF_WRITE) || n < SIGNATURE_MIN || n > SIGNATURE_MAX || !bytes[n - 1])
		return false;
	for (size_t i = 0; i < n; i++)
		zeros += !bytes[i];
	return zeros <= n / 4;
}

/* In a table of numbers, runs of printable bytes occur by chance. */
static bool is_textual(struct slice s)
{
	size_t set = 0, printable = 0;

	for (size_t i = 0; i < s.n; i++) {
		set += s.p[i] != '\0';
		printable += is_print(s.p[i]);
	}
	return printable >= set - set / 8;
}

/* Reads a table that may hold texts. */
static void read_table(struct reader *r, uint64_t addr, uint64_t size)
{
	const struct elf_header *s = reader_at(r, addr, size);
	_autofree_ char *bytes = NULL;

	if (!s || size > LITERALS_TABLE_MAX)
		return;
	bytes = xmalloc(size);
	if (!reader_get(r, addr, bytes, size))
		return;
	if (is_textual((struct slice){bytes, size}))
		add_runs(r, (struct slice){bytes, size});
	if (is_signature(s, bytes, size))
		add_literal(r, (struct slice){bytes, size}, 2);
}

static void read_global(struct reader *r, const char *g)
{
	uint64_t addr = word_of(g, GLOBAL_BEG), size = word_of(g, GLOBAL_SIZE);
	char name[NAME_ROOM];

	if (!literals_read_name(r, word_of(g, GLOBAL_NAME), name))
		return;
	if (is_string(name))
		read_string(r, addr, size);
	else if (!is_function_name(name))
		read_table(r, addr, size);
}

/* --- relocations ------------------------------------------------------------ */

static bool is_relative(const struct elf_file *m, uint64_t type)
{
	return (m->machine == EM_X86_64 && type == R_X86_64_RELATIVE) ||
	       (m->machine == EM_AARCH64 && type == R_AARCH64_RELATIVE);
}

/* Pointers of a position-independent program are in its relocations, not in its data. */
static void literals_relocate(const struct elf_file *m, const Elf64_Rela *rela, size_t n,
			      const struct elf_header *s, char *data)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t at = rela[i].r_offset;

		if (at < s->addr || at - s->addr >= s->size || s->size - (at - s->addr) < 8 ||
		    !is_relative(m, ELF64_R_TYPE(rela[i].r_info)))
			continue;
		memcpy(data + (at - s->addr), &rela[i].r_addend, 8);
	}
}

static void relocate_by(const struct elf_file *m, const struct elf_header *table, size_t *left,
			const struct elf_header *s, char *data)
{
	Elf64_Rela chunk[RELOCATIONS_CHUNK / sizeof(Elf64_Rela)];
	const size_t room = sizeof(chunk) / sizeof(chunk[0]);
	uint64_t at = table->at, n = table->size / sizeof(chunk[0]);

	while (n > 0 && *left > 0) {
		size_t now = n < room ? (size_t)n : room;

		now = now < *left ? now : *left;
		if (!elf_read(m, chunk, now * sizeof(chunk[0]), at))
			return;
		literals_relocate(m, chunk, now, s, data);
		at += now * sizeof(chunk[0]);
		n -= now;
		*left -= now;
	}
}

static void relocate_section(const struct elf_file *m, const struct elf_header *s, char *data)
{
	size_t left = LITERALS_RELOCATIONS_MAX;

	for (uint64_t i = 0; i < m->n; i++) {
		struct elf_header table = elf_section(m, i);

		if (table.type == SHT_RELA)
			relocate_by(m, &table, &left, s, data);
	}
}

/* --- sections --------------------------------------------------------------- */

static char *literals_read_section(const struct reader *r, const struct elf_header *s,
				   size_t *ret_n)
{
	size_t n = s->size < LITERALS_SECTION_MAX ? (size_t)s->size : LITERALS_SECTION_MAX;
	char *data = n > 0 && n <= r->elf.size ? xmalloc(n) : NULL;

	if (!data || !elf_read(&r->elf, data, n, s->at)) {
		free(data);
		return NULL;
	}
	*ret_n = n;
	return data;
}

static void read_globals(struct reader *r, const struct elf_header *from)
{
	struct elf_header s = *from;
	size_t n = 0;
	_autofree_ char *data = literals_read_section(r, &s, &n);

	if (!data)
		return;
	s.size = n; /* the bytes that were read */
	relocate_section(&r->elf, &s, data);
	for (size_t at = 0; n >= GLOBAL_BYTES && at <= n - GLOBAL_BYTES && r->left > 0;) {
		if (!is_global(r, data + at)) {
			at += 8;
			continue;
		}
		r->left--;
		read_global(r, data + at);
		at += GLOBAL_BYTES;
	}
}

size_t literals_in(int fd, struct words *io)
{
	static const char *const places[] = {"asan_globals", ".data", ".data.rel.ro"};
	struct reader r = {.words = io, .left = LITERALS_GLOBALS_MAX};

	if (elf_open(fd, &r.elf) != ELF_READ)
		return 0;
	reader_map(&r);
	for (size_t i = 0; !r.elf.is_32 && i < r.n_mapped; i++)
		for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++)
			if (elf_is_named(&r.elf, &r.mapped[i], places[k]))
				read_globals(&r, &r.mapped[i]);
	elf_done(&r.elf);
	return r.seen;
}
