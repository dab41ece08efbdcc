/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/publish/render/source_link.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/scan.h"
#include "base/sys.h"
#include "runner/publish/http/http.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char source_form_of_github[] = "https://github.com/%s/blob/{commit}/{path}#L{line}";

/* --- the configuration ---------------------------------------------------------- */

static void source_find_link(const struct config *c, struct sources *s)
{
	const struct github_config *g = config_github(c);
	const char *link = config_source_link(c);

	if (link)
		s->link = xstrdup(link);
	else if (g->repository && strcmp(g->api, "https://api.github.com") == 0)
		s->link = xasprintf(source_form_of_github, g->repository);
}

static void source_find_dir(const struct config *c, struct sources *s)
{
	const char *dir = config_source_dir(c);

	dir = dir ? dir : config_trigger(c)->repository;
	s->dirfd = dir ? sys_openat(AT_FDCWD, dir, O_PATH | O_DIRECTORY | O_CLOEXEC, 0) : -1;
	if (s->dirfd < 0)
		return;
	s->dir = xstrdup(dir);
	for (size_t n = strlen(s->dir); n > 1 && s->dir[n - 1] == '/'; n--)
		s->dir[n - 1] = '\0';
}

void sources_open(const struct config *c, struct sources *ret)
{
	*ret = (struct sources){.dirfd = -1};
	source_find_link(c, ret);
	source_find_dir(c, ret);
}

void sources_close(struct sources *s)
{
	free(s->dir);
	free(s->link);
	if (s->dirfd >= 0)
		close(s->dirfd);
	*s = (struct sources){.dirfd = -1};
}

/* --- paths ---------------------------------------------------------------------- */

/* The length of a path of n bytes without its last component. */
static size_t source_parent(const char *path, size_t n)
{
	while (n > 0 && path[--n] != '/')
		;
	return n;
}

/* Normalises a path as text: removes "." and empty components, and resolves "..".  A leading
 * ".." is dropped, because it leaves an unknown directory.  The caller checks whether the file
 * exists.  False: the result is empty or too long. */
static bool source_normalise(const char *file, char out[SOURCE_PATH_MAX])
{
	struct slice rest = slice_of(file), part;
	size_t n = 0;

	while (rest.n > 0) {
		size_t len = 0;

		while (len < rest.n && rest.p[len] != '/')
			len++;
		part = (struct slice){rest.p, len};
		len += len < rest.n;
		rest = (struct slice){rest.p + len, rest.n - len};
		if (part.n == 0 || slice_eq(part, SLICE(".")))
			continue;
		if (slice_eq(part, SLICE(".."))) {
			n = source_parent(out, n);
			continue;
		}
		if (n + part.n + 2 > SOURCE_PATH_MAX)
			return false;
		if (n > 0)
			out[n++] = '/';
		memcpy(out + n, part.p, part.n);
		n += part.n;
	}
	out[n] = '\0';
	return n > 0;
}

static bool source_is_file(int dirfd, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
	_autoclose_ int fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

bool source_path(const struct sources *s, const char *file, char ret[SOURCE_PATH_MAX])
{
	size_t n;
	const char *at;

	if (!s->dir || s->dirfd < 0 || !source_normalise(file, ret))
		return false;
	n = strlen(s->dir);
	if (strncmp(file, s->dir, n) == 0 && file[n] == '/' && source_normalise(file + n, ret))
		return source_is_file(s->dirfd, ret);
	if (strncmp(file, "/usr/", 5) == 0 && strncmp(file, "/usr/src/", 9) != 0)
		return false;
	for (at = ret; !source_is_file(s->dirfd, at); at++) {
		at = strchr(at, '/');
		if (!at)
			return false;
	}
	memmove(ret, at, strlen(at) + 1);
	return true;
}

/* --- links ---------------------------------------------------------------------- */

int source_link(const char *template, const char *commit, const char *path, uint64_t line,
		struct buf *out, struct err *e)
{
	struct slice rest = slice_of(template);

	if (!*commit || strspn(commit, "0123456789abcdef") != strlen(commit))
		return err_set(e, EINVAL, "no link without a commit");
	while (rest.n > 0) {
		if (scan_lit(&rest, SLICE("{commit}"))) {
			buf_puts(out, commit);
		} else if (scan_lit(&rest, SLICE("{path}"))) {
			http_path(path, out);
		} else if (scan_lit(&rest, SLICE("{line}"))) {
			buf_printf(out, "%llu", (unsigned long long)line);
		} else {
			buf_put(out, (struct slice){rest.p, 1});
			rest = (struct slice){rest.p + 1, rest.n - 1};
		}
	}
	return buf_check(out, e);
}

void source_commits(const char *template, struct buf *out)
{
	static const struct {
		const char *lines, *commits;
	} hosts[] = {
	    {"/blob/", "/commit/"},	  /* GitHub; GitLab, behind "/-" */
	    {"/src/commit/", "/commit/"}, /* Gitea, Forgejo */
	    {"/src/", "/commits/"},	  /* Bitbucket */
	};
	const char *at = strstr(template, "{commit}");
	size_t n = at ? (size_t)(at - template) : 0;

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		size_t tail = strlen(hosts[i].lines);

		if (n <= tail || memcmp(template + n - tail, hosts[i].lines, tail) != 0)
			continue;
		buf_put(out, (struct slice){template, n - tail});
		buf_puts(out, hosts[i].commits);
		return;
	}
}
