/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/optfile.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/targets/names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- single flags and variables ------------------------------------------------ */

static bool is_key_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* [A-Za-z0-9_]+, at most OPTFILE_KEY_MAX bytes. */
static bool optfile_key_ok(struct slice key)
{
	if (key.n == 0 || key.n > OPTFILE_KEY_MAX)
		return false;
	for (size_t i = 0; i < key.n; i++)
		if (!is_key_char(key.p[i]))
			return false;
	return true;
}

bool optfile_env_name_ok(struct slice name)
{
	return optfile_key_ok(name) && !(name.p[0] >= '0' && name.p[0] <= '9');
}

bool optfile_value_ok(struct slice value)
{
	if (value.n > OPTFILE_VALUE_MAX)
		return false;
	for (size_t i = 0; i < value.n; i++)
		if ((unsigned char)value.p[i] < ' ' || value.p[i] == 0x7f)
			return false;
	return true;
}

/* key must pass optfile_key_ok() */
static void optfile_lower(struct slice key, char out[OPTFILE_KEY_MAX + 1])
{
	for (size_t i = 0; i < key.n; i++)
		out[i] = (char)(key.p[i] >= 'A' && key.p[i] <= 'Z' ? key.p[i] + 32 : key.p[i]);
	out[key.n] = '\0';
}

/* Adds a flag.  It replaces a flag of the same name, because the engine uses the last one. */
static void put_flag(struct strv *flags, const char *key, const char *flag)
{
	size_t n = strlen(key);

	strv_push(flags, flag);
	for (size_t i = 0; i + 1 < flags->n; i++) {
		if (strncmp(flags->v[i] + 1, key, n) != 0 || flags->v[i][n + 1] != '=')
			continue;
		free(flags->v[i]);
		flags->v[i] = flags->v[--flags->n];
		flags->v[flags->n] = NULL;
		break;
	}
}

static bool optfile_number(struct slice value, uint64_t max, uint64_t *ret)
{
	uint64_t v;

	if (!scan_u64(&value, 10, max, &v) || value.n > 0 || v == 0)
		return false;
	*ret = v;
	return true;
}

/* Takes the flags that the engine must not get.  1: taken, 0: another flag, -1: a bad value. */
static int optfile_limit(struct optfile *io, const char *key, struct slice value,
			 char why[OPTFILE_WHY_MAX])
{
	enum { DAY_S = 86400, TIB_IN_MIB = 1024 * 1024 };
	bool timeout = strcmp(key, "timeout") == 0;
	uint64_t max = timeout ? DAY_S : TIB_IN_MIB;

	if (!timeout && strcmp(key, "rss_limit_mb") != 0)
		return 0;
	if (optfile_number(value, max, timeout ? &io->input_timeout_s : &io->rss_limit_mib))
		return 1;
	snprintf(why, OPTFILE_WHY_MAX, "'%s' must be a number in [1, %llu]", key,
		 (unsigned long long)max);
	return -1;
}

static bool key_known(const struct engine_ops *engine, const char *key, char why[OPTFILE_WHY_MAX])
{
	const char *near;
	size_t n = 0;

	for (; engine->flags[n]; n++)
		if (strcmp(engine->flags[n], key) == 0)
			return true;
	near = names_near(slice_of(key), engine->flags, n);
	snprintf(why, OPTFILE_WHY_MAX, "unknown flag '%s'%s%s%s", key,
		 near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
	return false;
}

bool optfile_flag(struct optfile *io, const struct engine_ops *engine, struct slice key,
		  struct slice value, char why[OPTFILE_WHY_MAX])
{
	_autofree_ char *flag = NULL;
	char name[OPTFILE_KEY_MAX + 1], reason[160] = "";
	int r;

	if (!optfile_key_ok(key) || !optfile_value_ok(value)) {
		snprintf(why, OPTFILE_WHY_MAX, "not a name and a value");
		return false;
	}
	optfile_lower(key, name);
	r = optfile_limit(io, name, value, why);
	if (r != 0)
		return r > 0;
	if (!key_known(engine, name, why))
		return false;
	if (strcmp(name, "dict") == 0 && value.n > 0) {
		free(io->dict);
		io->dict = xstrndup(value.p, value.n);
		return true;
	}
	flag = xasprintf("-%s=%.*s", name, (int)value.n, value.p);
	/* Only the configuration may set -runs: with "runs = 1", a pushed file could make any
	 * target pass. */
	if (strcmp(name, "runs") == 0) {
		snprintf(reason, sizeof(reason), "set the key \"runs\" instead");
	} else if (engine->flag_ok(slice_of(flag), reason)) {
		put_flag(&io->flags, name, flag);
		return true;
	}
	snprintf(why, OPTFILE_WHY_MAX, "flag '%s' is refused: %s", name, reason);
	return false;
}

/* --- an options file ----------------------------------------------------------- */

void optfile_done(struct optfile *o)
{
	strv_done(&o->flags);
	strv_done(&o->env);
	free(o->dict);
	*o = (struct optfile){0};
}

/* The meaning of a section's keys. */
enum kind { KIND_UNKNOWN, KIND_ENGINE, KIND_SANITIZER, KIND_ENV, KIND_OTHER_ENGINE };

static const struct section {
	const char *name;
	enum kind kind;
	const char *variable;
} sections[] = {
    {"libfuzzer", KIND_ENGINE, NULL},
    {"asan", KIND_SANITIZER, "ASAN_OPTIONS"},
    {"ubsan", KIND_SANITIZER, "UBSAN_OPTIONS"},
    {"msan", KIND_SANITIZER, "MSAN_OPTIONS"},
    {"lsan", KIND_SANITIZER, "LSAN_OPTIONS"},
    {"tsan", KIND_SANITIZER, "TSAN_OPTIONS"},
    {"hwasan", KIND_SANITIZER, "HWASAN_OPTIONS"},
    {"env", KIND_ENV, NULL},
    {"afl", KIND_OTHER_ENGINE, NULL},
    {"AFL", KIND_OTHER_ENGINE, NULL},
    {"honggfuzz", KIND_OTHER_ENGINE, NULL},
    {"centipede", KIND_OTHER_ENGINE, NULL},
    {"jazzer", KIND_OTHER_ENGINE, NULL},
};
enum { SECTIONS = sizeof(sections) / sizeof(sections[0]) };

struct entry {
	const struct section *section;
	unsigned line;
	struct slice key, value;
	char lower[OPTFILE_KEY_MAX + 1]; /* the key in lower case, like configparser */
	char number[24];		 /* the value of random(a, b) */
	bool gone;			 /* a later entry replaces it */
};

struct parse {
	const struct engine_ops *engine;
	optfile_note_fn *note;
	void *arg;
	const struct section *section;
	bool in_section;
	struct entry v[OPTFILE_MAX_KEYS];
	size_t n;
};

__attribute__((format(printf, 4, 5))) static void doubt(const struct parse *p, unsigned line,
							bool warning, const char *fmt, ...)
{
	char why[OPTFILE_WHY_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	p->note(p->arg, line, warning, why);
}

/* --- lines ------------------------------------------------------------------ */

static struct slice optfile_trimmed(struct slice s)
{
	while (s.n > 0 && strchr(" \t\r\f\v", s.p[0]) && s.p[0])
		s = (struct slice){s.p + 1, s.n - 1};
	while (s.n > 0 && strchr(" \t\r\f\v", s.p[s.n - 1]) && s.p[s.n - 1])
		s.n--;
	return s;
}

static void open_section(struct parse *p, struct slice name, unsigned line)
{
	const char *known[SECTIONS];
	const char *near;

	p->section = NULL;
	p->in_section = true;
	for (size_t i = 0; i < SECTIONS; i++) {
		known[i] = sections[i].name;
		if (!slice_eq(name, slice_of(sections[i].name)))
			continue;
		p->section = &sections[i];
		if (sections[i].kind == KIND_OTHER_ENGINE)
			doubt(p, line, false, "section [%s] is another engine's", known[i]);
		return;
	}
	near = names_near(name, known, SECTIONS);
	doubt(p, line, true, "unknown section [%.*s]: dropped%s%s%s",
	      (int)(name.n < OPTFILE_KEY_MAX ? name.n : OPTFILE_KEY_MAX), name.p,
	      near ? " (did you mean [" : "", near ? near : "", near ? "]?)" : "");
}

static void optfile_add_entry(struct parse *p, struct slice key, struct slice value, unsigned line)
{
	struct entry *x = &p->v[p->n];

	if (p->n == OPTFILE_MAX_KEYS) {
		doubt(p, line, true, "more than %d keys: dropped", OPTFILE_MAX_KEYS);
		return;
	}
	*x = (struct entry){.section = p->section, .line = line, .key = key, .value = value};
	optfile_lower(key, x->lower);
	p->n++;
	for (size_t i = 0; i + 1 < p->n; i++) {
		if (p->v[i].gone || p->v[i].section != x->section ||
		    strcmp(p->v[i].lower, x->lower) != 0)
			continue;
		p->v[i].gone = true;
		doubt(p, line, true, "'%s' is also in line %u: the later one counts", x->lower,
		      p->v[i].line);
		return;
	}
}

/* A line that is neither blank nor a comment nor a section. */
static void optfile_parse_entry(struct parse *p, struct slice s, unsigned line)
{
	size_t at = 0;
	struct slice key, value;

	while (at < s.n && s.p[at] != '=' && s.p[at] != ':')
		at++;
	key = optfile_trimmed((struct slice){s.p, at});
	if (at == s.n || !optfile_key_ok(key)) {
		doubt(p, line, true, "not a [section] or 'key = value': dropped");
		return;
	}
	value = optfile_trimmed((struct slice){s.p + at + 1, s.n - at - 1});
	if (!optfile_value_ok(value))
		doubt(p, line, true,
		      "the value of '%.*s' is longer than %d bytes or has a control "
		      "character: dropped",
		      (int)key.n, key.p, OPTFILE_VALUE_MAX);
	else if (!p->in_section)
		doubt(p, line, true, "'%.*s' stands before any [section]: dropped", (int)key.n,
		      key.p);
	else if (p->section && p->section->kind != KIND_OTHER_ENGINE)
		optfile_add_entry(p, key, value, line); /* else the note is on the section's line */
}

static void optfile_parse_lines(struct parse *p, struct slice text)
{
	struct slice s;

	(void)scan_lit(&text, SLICE("\xef\xbb\xbf")); /* an optional byte order mark */
	for (unsigned line = 1; scan_line(&text, &s); line++) {
		s = optfile_trimmed(s);
		if (s.n == 0 || s.p[0] == '#' || s.p[0] == ';')
			continue;
		if (s.p[0] == '[' && s.p[s.n - 1] == ']' && s.n > 2)
			open_section(p, (struct slice){s.p + 1, s.n - 2}, line);
		else
			optfile_parse_entry(p, s, line);
	}
}

/* --- from entries to options ------------------------------------------------ */

/* Replaces random(a, b) by the middle of the range.  A random number would make two runs differ for
 * no visible reason.  False: malformed. */
static bool settle_random(struct entry *x, bool *ret_was)
{
	struct slice s = x->value;
	uint64_t a, b;

	*ret_was = scan_lit(&s, SLICE("random("));
	if (!*ret_was)
		return true;
	scan_blanks(&s);
	if (!scan_u64(&s, 10, UINT32_MAX, &a))
		return false;
	scan_blanks(&s);
	if (!scan_lit(&s, SLICE(",")))
		return false;
	scan_blanks(&s);
	if (!scan_u64(&s, 10, UINT32_MAX, &b))
		return false;
	scan_blanks(&s);
	if (!slice_eq(s, SLICE(")")) || b < a)
		return false;
	a += (b - a) / 2;
	snprintf(x->number, sizeof(x->number), "%llu", (unsigned long long)a);
	x->value = slice_of(x->number);
	return true;
}

static void engine_entry(struct parse *p, struct entry *x, struct optfile *io)
{
	char why[OPTFILE_WHY_MAX];
	bool random;

	if (!settle_random(x, &random)) {
		doubt(p, x->line, true, "'%s': write random(least, most): dropped", x->lower);
		return;
	}
	if (random)
		doubt(p, x->line, false, "'%s': random() is taken as its middle, %s", x->lower,
		      x->number);
	if (!optfile_flag(io, p->engine, x->key, x->value, why))
		doubt(p, x->line, true, "%s: dropped", why);
}

static void env_entry(struct parse *p, const struct entry *x, struct optfile *io)
{
	/* The list of ClusterFuzz. */
	static const char *const allowed[] = {"AFL_DRIVER_DONT_DEFER", "GODEBUG"};

	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		if (strcasecmp(allowed[i], x->lower) != 0)
			continue;
		strv_pushf(&io->env, "%s=%.*s", allowed[i], (int)x->value.n, x->value.p);
		return;
	}
	doubt(p, x->line, true,
	      "an options file may not set variable '%.*s' (only AFL_DRIVER_DONT_DEFER, "
	      "GODEBUG): dropped",
	      (int)x->key.n, x->key.p);
}

/* Appends "key=value".  The runtimes end a value at ':' and blanks, unless it is quoted. */
static void sanitizer_entry(struct parse *p, const struct entry *x, struct buf *io)
{
	bool quote = false, quoted = false;

	for (size_t i = 0; i < x->value.n; i++) {
		quote = quote || strchr(": ,", x->value.p[i]);
		quoted = quoted || x->value.p[i] == '"' || x->value.p[i] == '\'';
	}
	if (quoted)
		doubt(p, x->line, true, "'%s': a quote in a sanitizer option: dropped", x->lower);
	else
		buf_printf(io, "%s%s=%s%.*s%s", io->n ? ":" : "", x->lower, quote ? "\"" : "",
			   (int)x->value.n, x->value.p, quote ? "\"" : "");
}

static int optfile_sanitizer(struct parse *p, const struct section *s, struct optfile *io,
			     struct err *e)
{
	_autobuf_ struct buf b = BUF_INIT(2 * (size_t)OPTFILE_MAX);

	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].section == s && !p->v[i].gone)
			sanitizer_entry(p, &p->v[i], &b);
	if (b.n > 0)
		strv_pushf(&io->env, "%s=%s", s->variable, buf_str(&b));
	return buf_check(&b, e);
}

static int optfile_apply(struct parse *p, struct optfile *io, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct entry *x = &p->v[i];

		if (x->gone)
			continue;
		if (x->section->kind == KIND_ENGINE)
			engine_entry(p, x, io);
		else if (x->section->kind == KIND_ENV)
			env_entry(p, x, io);
	}
	for (size_t i = 0; r == 0 && i < SECTIONS; i++)
		if (sections[i].kind == KIND_SANITIZER)
			r = optfile_sanitizer(p, &sections[i], io, e);
	return r;
}

int optfile_parse(struct slice text, const struct engine_ops *engine, optfile_note_fn *note,
		  void *arg, struct optfile *ret, struct err *e)
{
	_autofree_ struct parse *p = NULL;
	struct optfile o = {0};
	int r;

	if (text.n > OPTFILE_MAX)
		return err_set(e, EFBIG, "more than %d bytes of options", OPTFILE_MAX);
	p = xcalloc(1, sizeof(*p));
	p->engine = engine;
	p->note = note;
	p->arg = arg;
	optfile_parse_lines(p, text);
	r = optfile_apply(p, &o, e);
	if (r < 0)
		optfile_done(&o);
	else
		*ret = o;
	return r;
}
