/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of the programs in cells: options of the sanitizers, and a few variables that
 * programs expect. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "runner/engine/adapter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_(n) #n
#define TEXT(n)	 TEXT_(n)
#define EXITCODE TEXT(EXIT)
/* SANITIZER_EXIT as a macro, for the preprocessor. */
#define EXIT 76
_Static_assert(EXIT == SANITIZER_EXIT, "one exit code in two places");

/* Options that classification and isolation depend on.  They follow the user's options, because
 * the last value of an option counts.  Reports go to stderr, without colours. */
#define FORCED                                                               \
	"exitcode=" EXITCODE ":log_path=stderr:log_to_syslog=0:color=never:" \
	"print_summary=1:help=0"

/* A sanitizer's options, in this order: own, the user's, forced. */
struct san {
	const char *name;
	const char *own;
	const char *forced;
};

static const struct san sans[] = {
    /* The stack-use-after-return, release_to_os and odr options are those of ClusterFuzz.
     * may_return_null: the program must handle a failed huge malloc.  add_options() adds
     * quarantine_size_mb, which depends on the memory limit. */
    {"ASAN_OPTIONS",
     "detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=1:"
     "max_uar_stack_size_log=16:allocator_release_to_os_interval_ms=500:detect_odr_violation=0",
     FORCED ":halt_on_error=1"},
    /* In an ASan program, UBSan's values of the common options override ASan's. */
    {"UBSAN_OPTIONS", "print_stacktrace=1:silence_unsigned_overflow=1", FORCED ":halt_on_error=1"},
    {"MSAN_OPTIONS", "allocator_may_return_null=1:allocator_release_to_os_interval_ms=500",
     FORCED ":halt_on_error=1"},
    /* halt_on_error: TSan's default continues after a race and loses the failing input. */
    {"TSAN_OPTIONS", "allocator_may_return_null=1:report_signal_unsafe=0:report_thread_leaks=0",
     FORCED ":halt_on_error=1"},
    {"LSAN_OPTIONS", "print_suppressions=0", FORCED},
};

enum { ASAN = 0, UBSAN = 1, LSAN = 4 }; /* in sans */
enum { ENV_MAX = 64 * 1024, QUARANTINE_MAX_MIB = 64 };

static bool is_var(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

/* The suppressions of known crashes; NULL if the user's options name a file.  There can be only one
 * file. */
static const char *suppressions_for(const struct sanitizer_env *o, const struct san *s)
{
	static const char option[] = "suppressions=";

	for (size_t i = 0; o->env && o->env[i]; i++) {
		const char *at = is_var(o->env[i], s->name) ? strstr(o->env[i], option) : NULL;

		for (; at; at = strstr(at + 1, option))
			if (at[-1] != '_') /* "print_suppressions=" */
				return NULL;
	}
	if (s == &sans[LSAN])
		return o->known_leaks;
	return s == &sans[UBSAN] ? o->known_undefined : NULL;
}

/* Adds the forced options.  They follow all others, because the last value of an option counts. */
static void add_last(const struct sanitizer_env *o, const struct san *s, struct buf *b)
{
	const char *suppressions = suppressions_for(o, s);

	buf_printf(b, ":handle_abort=%d:abort_on_error=%d:%s", o->reports_abort, o->ends_by_signal,
		   s->forced);
	if (o->no_leaks)
		buf_puts(b, ":detect_leaks=0");
	if (o->ends_by_signal) /* afl-fuzz insists on this text, MSan ignores it */
		buf_puts(b, ":exit_code=86");
	if (o->ub_goes_on && s == &sans[UBSAN])
		buf_puts(b, ":halt_on_error=0");
	if (o->symbolizer)
		buf_printf(b, ":symbolize=1:external_symbolizer_path=%s", o->symbolizer);
	else
		buf_puts(b, ":symbolize=0");
	if (suppressions)
		buf_printf(b, ":suppressions=%s", suppressions);
}

static int add_options(const struct sanitizer_env *o, const struct san *s, struct strv *io,
		       struct err *e)
{
	_autobuf_ struct buf b = BUF_INIT(ENV_MAX);

	buf_printf(&b, "%s=%s", s->name, s->own);
	/* Freed memory in the quarantine (256 MiB by default) counts as rss. */
	if (s == &sans[ASAN] && o->rss_limit_mib) {
		uint64_t q = o->rss_limit_mib / 8 + 1;

		buf_printf(&b, ":quarantine_size_mb=%u",
			   (unsigned)(q < QUARANTINE_MAX_MIB ? q : QUARANTINE_MAX_MIB));
	}
	for (size_t i = 0; o->env && o->env[i]; i++)
		if (is_var(o->env[i], s->name))
			buf_printf(&b, ":%s", o->env[i] + strlen(s->name) + 1);
	add_last(o, s, &b);
	if (buf_check(&b, e) < 0)
		return err_wrap(e, "%s", s->name);
	strv_push(io, buf_str(&b));
	return 0;
}

static bool is_sanitizer_var(const char *entry)
{
	for (size_t i = 0; i < sizeof(sans) / sizeof(sans[0]); i++)
		if (is_var(entry, sans[i].name))
			return true;
	return false;
}

/* Adds the variable, and replaces an earlier value. */
static int set_var(const char *entry, struct strv *io, struct err *e)
{
	size_t n = strcspn(entry, "=");

	if (n == 0 || entry[n] != '=')
		return err_set(e, EINVAL, "environment '%s': write NAME=value", entry);
	strv_push(io, entry);
	for (size_t i = 0; i + 1 < io->n; i++) {
		if (strncmp(io->v[i], entry, n + 1) != 0)
			continue;
		free(io->v[i]);
		io->v[i] = io->v[--io->n];
		io->v[io->n] = NULL;
		break;
	}
	return 0;
}

int sanitizer_env(const struct sanitizer_env *o, struct strv *io, struct err *e)
{
	static const char *const plain[] = {
	    "PATH=/usr/local/bin:/usr/bin:/bin",
	    "HOME=/tmp",
	    "TMPDIR=/tmp",
	    "LANG=C",
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		strv_push(io, plain[i]);
	for (size_t i = 0; r == 0 && i < sizeof(sans) / sizeof(sans[0]); i++)
		r = add_options(o, &sans[i], io, e);
	for (size_t i = 0; r == 0 && o->env && o->env[i]; i++)
		if (!is_sanitizer_var(o->env[i]))
			r = set_var(o->env[i], io, e);
	return r;
}
