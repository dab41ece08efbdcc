/* SPDX-License-Identifier: Apache-2.0 */
/* Names of branches, by the rules of git-check-ref-format(1). */
#include "runner/corpus/intree/intree.h"

#include <errno.h>
#include <string.h>

static bool has_odd_byte(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < 0x20 || *name == 0x7f || strchr(" ~^:?*[\\", *name))
			return true;
	return false;
}

static bool intree_name_ends(const char *s, size_t n, const char *with)
{
	size_t k = strlen(with);

	return n >= k && memcmp(s + n - k, with, k) == 0;
}

/* Checks the parts between slashes. */
static const char *part_is_wrong(const char *name)
{
	for (;;) {
		size_t n = strcspn(name, "/");

		if (n == 0)
			return "a part of it is empty";
		if (name[0] == '.')
			return "a part of it begins with '.'";
		if (intree_name_ends(name, n, ".lock"))
			return "a part of it ends in '.lock'";
		if (name[n] == '\0')
			return NULL;
		name += n + 1;
	}
}

static const char *is_wrong(const char *name)
{
	size_t n = strlen(name);

	if (n == 0)
		return "it is empty";
	if (n > INTREE_NAME_MAX)
		return "it is too long";
	if (name[0] == '-')
		return "it begins with '-'";
	if (strcmp(name, "HEAD") == 0 || strcmp(name, "@") == 0)
		return "git reserves this name";
	/* The branch would be refs/heads/refs/heads/x, which is surely a mistake. */
	if (strncmp(name, "refs/", 5) == 0)
		return "give it without 'refs/heads/'";
	if (strstr(name, ".."))
		return "'..' is in it";
	if (strstr(name, "@{"))
		return "'@{' is in it";
	if (name[n - 1] == '.')
		return "it ends in '.'";
	if (has_odd_byte(name))
		return "a blank, a control character or one of ~^:?*[\\ is in it";
	return part_is_wrong(name);
}

int intree_branch_name(const char *name, struct err *e)
{
	const char *why = is_wrong(name);

	return why ? err_set(e, EINVAL, "'%.200s' is not a valid branch name: %s", name, why) : 0;
}
