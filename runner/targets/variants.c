/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/variants.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "runner/targets/elf.h"
#include "runner/targets/sanitizer.h"
#include "runner/targets/source.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The memory: ASan's shadow is an eighth, MSan's shadow and origins are as large as the program's
 * memory each, TSan's shadow is four times as large. */
static const struct variants_known known[] = {
    {"address", "asan", ROLE_CHECK, 1000},   {"undefined", NULL, ROLE_CHECK, 1000},
    {"memory", "msan", ROLE_CHECK, 3000},    {"thread", "tsan", ROLE_CHECK, 4000},
    {"coverage", NULL, ROLE_COVERAGE, 1000}, {"afl", NULL, ROLE_FUZZ, 1500},
    {"honggfuzz", NULL, ROLE_FUZZ, 1500},
};

const struct variants_known *variants_known_at(size_t i)
{
	return i < sizeof(known) / sizeof(known[0]) ? &known[i] : NULL;
}

const struct variants_known *variants_known(const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, name) == 0)
			return &known[i];
	return NULL;
}

const char *target_role_name(enum target_role r)
{
	static const char *const names[] = {[ROLE_MAIN] = "main",
					    [ROLE_CHECK] = "check",
					    [ROLE_FUZZ] = "fuzz",
					    [ROLE_COVERAGE] = "coverage"};

	return names[r];
}

bool variants_is_dir(const char *path)
{
	struct stat st;

	return fstatat(AT_FDCWD, path, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

char *variants_main_dir(const char *path)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		_autofree_ char *below = xasprintf("%s/%s", path, known[i].name);

		if (known[i].role == ROLE_CHECK && variants_is_dir(below))
			return take_ptr(&below);
	}
	return NULL;
}

/* --- joining ---------------------------------------------------------------------- */

static struct target *variants_main_of(struct target_list *l, const struct target *build)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].name && !l->v[i].of && strcmp(l->v[i].name, build->of) == 0)
			return &l->v[i];
	return NULL;
}

static void note_alone(struct target_list *l, const struct target *build)
{
	list_note(l, (struct place){.dir = build->binary}, true,
		  "only the variant '%s' has a target '%s': it is not fuzzed without a main build",
		  build->variant, build->of);
}

static int variants_by_name(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Takes *build. */
static void variants_give(struct target *to, struct target *build)
{
	to->variants = xreallocarray(to->variants, to->n_variants + 1, sizeof(*to->variants));
	to->variants[to->n_variants++] = *build;
	*build = (struct target){0};
	qsort(to->variants, to->n_variants, sizeof(*to->variants), variants_by_name);
}

void variants_join(struct target_list *io)
{
	size_t n = 0;

	for (size_t i = 0; i < io->n; i++) {
		struct target *build = &io->v[i],
			      *to = build->of ? variants_main_of(io, build) : NULL;

		if (to)
			variants_give(to, build);
		else if (build->of)
			note_alone(io, build);
	}
	for (size_t i = 0; i < io->n; i++) {
		if (!io->v[i].name || io->v[i].of)
			target_done(&io->v[i]);
		else
			io->v[n++] = io->v[i];
	}
	io->n = n;
}

const struct target *variants_of(const struct target *t, const char *variant)
{
	for (size_t i = 0; i < t->n_variants; i++)
		if (strcmp(t->variants[i].variant, variant) == 0)
			return &t->variants[i];
	return t->variant && strcmp(t->variant, variant) == 0 ? t : NULL;
}

const struct target *variants_find(const struct target_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct target *t = &l->v[i];

		if (strcmp(t->name, name) == 0)
			return t;
		for (size_t k = 0; k < t->n_variants; k++)
			if (strcmp(t->variants[k].name, name) == 0)
				return &t->variants[k];
	}
	return NULL;
}

/* --- what a program is ------------------------------------------------------------- */

static bool variants_has_section(const struct elf_file *f, const char *name)
{
	for (uint64_t i = 0; i < f->n; i++) {
		struct elf_header h = elf_section(f, i);

		if (elf_is_named(f, &h, name))
			return true;
	}
	return false;
}

/* Whether the program certainly has no mapping from its counters to source lines. */
static bool lacks_mapping(const struct target *build)
{
	_autoclose_ int fd =
	    rights_open(&build->rights, AT_FDCWD, build->binary, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct elf_file f;
	bool has;

	if (fd < 0 || elf_open(fd, &f) != ELF_READ)
		return false;
	has = f.n == 0 || variants_has_section(&f, "__llvm_covmap");
	elf_done(&f);
	return !has;
}

const char *variants_wrong(const struct target *build, char out[VARIANTS_WHY_MAX])
{
	const struct variants_known *k = build->variant ? variants_known(build->variant) : NULL;
	const char *missing;

	*out = '\0';
	if (!k || build->unbuilt)
		return out;
	missing = k->kind ? sanitizer_missing(build, k->kind) : NULL;
	if (missing)
		snprintf(out, VARIANTS_WHY_MAX, "it has no %s", missing);
	else if (k->role == ROLE_COVERAGE && lacks_mapping(build))
		snprintf(out, VARIANTS_WHY_MAX, "it has no coverage mapping");
	return out;
}
