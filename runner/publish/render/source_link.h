/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_RENDER_SOURCE_LINK_H
#define RUNNER_PUBLISH_RENDER_SOURCE_LINK_H

#include "base/buf.h"
#include "runner/config/config.h"

#include <stdbool.h>
#include <stdint.h>

/* From a file and a line as a report names them to the repository: the file's path in it, and
 * the page on which the repository's host shows that line at a commit.
 *
 * A report's paths are of the machine or the container that built the target, and a target can
 * print what it likes.  A path counts when the work tree has a regular file of that name. */

struct sources {
	char *dir;  /* the work tree, absolute and without a last slash; NULL: not known */
	int dirfd;  /* of it; -1: not known */
	char *link; /* what source_link() takes; NULL: not known */
};

/* What the configuration says: source_dir, else trigger.repository; source_link, else GitHub's
 * form for github.repository.  A work tree that cannot be opened is not known.  Own it with
 * sources_close(). */
MUST_CHECK int sources_open(const struct config *c, struct sources *ret, struct err *e);
void sources_close(struct sources *s);

enum { SOURCE_PATH_MAX = 512 };

/* The path below the work tree of `file`, which a report names: what follows the tree's own path,
 * else the longest ending that is a file there.  Of "/build/demo/src/a.c" it can be "src/a.c".
 * No symbolic link is followed.  Files of the system ("/usr/...", but not "/usr/src/...") have
 * none.  False: there is none. */
bool source_path(const struct sources *s, const char *file, char ret[SOURCE_PATH_MAX]);

/* A template has "{commit}", "{path}" and "{line}" in it.  Appends the URL; what of path is not
 * plain is percent-encoded (RFC 3986, section 2.1).  -EINVAL: the commit is no commit's name. */
MUST_CHECK int source_link(const char *template, const char *commit, const char *path,
			   uint64_t line, struct buf *out, struct err *e);

/* The address that becomes that of a commit's page when the commit is added to it; for the
 * templates of GitHub, GitLab, Gitea, Forgejo and Bitbucket.  Of others nothing is appended. */
MUST_CHECK int source_commits(const char *template, struct buf *out, struct err *e);

#endif
