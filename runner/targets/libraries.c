/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/libraries.h"

#include "base/sys.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { DYNAMIC_MAX = 1 << 20 };

static bool has_run_path(const struct elf_file *m)
{
	struct elf_header s;
	char *table;
	bool has = false;

	if (m->is_32 || !elf_find(m, SHT_DYNAMIC, NULL, &s))
		return m->is_32;
	table = elf_load(m, &s, DYNAMIC_MAX);
	for (uint64_t i = 0; table && i < s.size / sizeof(Elf64_Dyn); i++) {
		Elf64_Dyn d;

		memcpy(&d, table + i * sizeof(d), sizeof(d));
		has = has || d.d_tag == DT_RPATH || d.d_tag == DT_RUNPATH;
	}
	free(table);
	return has;
}

static bool has_libraries(const char *dir)
{
	const struct dirent *d;
	bool has = false;
	DIR *all = sys_opendirat(AT_FDCWD, dir);

	while (all && !has && (d = sys_readdir(all)))
		has = strstr(d->d_name, ".so") != NULL;
	if (all)
		closedir(all);
	return has;
}

bool libraries_own(const struct elf_file *m, const struct target *t)
{
	return has_run_path(m) || (t->dir && has_libraries(t->dir));
}
