/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of an OSS-Fuzz build. */
#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/targets/build/internal.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* The values are those of OSS-Fuzz's image base-builder, without three:
 * - -stdlib=libc++: the library may be missing here;
 * - -Wno-error=vla-cxx-extension: clang 14 does not know it, and says so for each file;
 * - unsigned-integer-overflow: it is not an error, and only an engine's coverage needs it. */
#define FLAGS_OF_ALL                                                                   \
	"-O1 -fno-omit-frame-pointer -gline-tables-only"                               \
	" -Wno-error=incompatible-function-pointer-types -Wno-error=int-conversion"    \
	" -Wno-error=deprecated-declarations -Wno-error=implicit-function-declaration" \
	" -Wno-error=implicit-int -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION"
#define INSTRUMENTED " -fsanitize=fuzzer-no-link"
#define UNDEFINED                                                                                 \
	"array-bounds,bool,builtin,enum,function,integer-divide-by-zero,null,object-size,return," \
	"returns-nonnull-attribute,shift,signed-integer-overflow,unreachable,vla-bound,vptr"

#define ADDRESS " -fsanitize=address -fsanitize-address-use-after-scope"

static const struct {
	const char *variant, *flags;
} of_variants[] = {
    {"address", ADDRESS INSTRUMENTED},
    {"undefined", " -fsanitize=" UNDEFINED " -fno-sanitize-recover=" UNDEFINED INSTRUMENTED},
    {"memory", " -fsanitize=memory -fsanitize-memory-track-origins" INSTRUMENTED},
    {"thread", " -fsanitize=thread" INSTRUMENTED},
    {"coverage", " -fprofile-instr-generate -fcoverage-mapping -pthread -Wl,--no-as-needed"
		 " -Wl,-ldl -Wl,-lm -Wno-unused-command-line-argument"},
};

/* Engines with compilers of their own, which instrument.  OSS-Fuzz builds with AddressSanitizer for
 * them. */
static const struct {
	const char *variant, *cc, *cxx;
} of_engines[] = {
    {"afl", "afl-clang-fast", "afl-clang-fast++"},
    {"honggfuzz", "hfuzz-clang", "hfuzz-clang++"},
};

enum { ENGINES = sizeof(of_engines) / sizeof(of_engines[0]) };

/* OSS-Fuzz has no flags for other names either: the build command knows them. */
static const char *flags_of(const char *variant)
{
	for (size_t i = 0; i < sizeof(of_variants) / sizeof(of_variants[0]); i++)
		if (strcmp(of_variants[i].variant, variant) == 0)
			return of_variants[i].flags;
	return INSTRUMENTED;
}

const char *build_architecture(const char *machine)
{
	return fnmatch("i[3-6]86", machine, 0) == 0 ? "i386" : machine;
}

/* OSS-Fuzz's scripts find the project in $SRC/PROJECT, and start there. */
static char *above(const char *dir)
{
	const char *slash = strrchr(dir, '/');

	return slash && slash > dir ? xstrndup(dir, (size_t)(slash - dir)) : xstrdup("/");
}

static void add_compiler(struct strv *io, const char *name, const char *preset)
{
	const char *ours = getenv(name);

	strv_pushf(io, "%s=%s", name, ours && *ours ? ours : preset);
}

void build_environment(const struct config_source *s, struct strv *ret)
{
	_autofree_ char *src = NULL;
	struct utsname machine;
	size_t engine = 0;
	bool own;

	if (s->variants.n == 0)
		return;
	src = above(s->build_dir);
	while (engine < ENGINES && strcmp(of_engines[engine].variant, s->variant) != 0)
		engine++;
	own = engine < ENGINES;
	if (own) {
		strv_pushf(ret, "CC=%s", of_engines[engine].cc);
		strv_pushf(ret, "CXX=%s", of_engines[engine].cxx);
	} else {
		add_compiler(ret, "CC", "clang");
		add_compiler(ret, "CXX", "clang++");
	}
	strv_pushf(ret, "CFLAGS=" FLAGS_OF_ALL "%s", own ? ADDRESS : flags_of(s->variant));
	strv_pushf(ret, "CXXFLAGS=" FLAGS_OF_ALL "%s", own ? ADDRESS : flags_of(s->variant));
	strv_push(ret, "LIB_FUZZING_ENGINE=-fsanitize=fuzzer");
	strv_pushf(ret, "SANITIZER=%s", own ? "address" : s->variant);
	strv_pushf(ret, "FUZZING_ENGINE=%s", own ? s->variant : "libfuzzer");
	strv_pushf(ret, "ARCHITECTURE=%s",
		   uname(&machine) == 0 ? build_architecture(machine.machine) : "x86_64");
	strv_pushf(ret, "SRC=%s", src);
	strv_pushf(ret, "OUT=%s/%s", s->builds_dir, s->variant);
	strv_pushf(ret, "WORK=%s/.work/%s", s->builds_dir, s->variant);
}
