/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PUBLISH_RENDER_SOURCE_LINK_H
#define RUNNER_PUBLISH_RENDER_SOURCE_LINK_H

#include "base/buf.h"
#include "runner/config/config.h"

#include <stdbool.h>
#include <stdint.h>

/* Maps a file and a line of a report to the repository: the file's path there, and the URL of
 * the page with that line at a commit.
 *
 * A report's paths are those of the machine or container that built the target, and the target
 * can print any text.  A path counts if the work tree has a regular file of that name. */

struct sources {
	char *dir;  /* the work tree, absolute, without a trailing slash; NULL: unknown */
	int dirfd;  /* of dir; -1: unknown */
	char *link; /* the template for source_link(); NULL: unknown */
};

/* Reads the configuration: source_dir, else trigger.repository; source_link, else GitHub's form
 * for github.repository.  A work tree that cannot be opened is unknown.  Call sources_close() on
 * *ret. */
void sources_open(const struct config *c, struct sources *ret);
void sources_close(struct sources *s);

enum { SOURCE_PATH_MAX = 512 };

/* The path below the work tree of `file`, a path from a report.  It is the part after the tree's
 * own path, else the longest suffix that is a file in the tree: "/build/demo/src/a.c" can become
 * "src/a.c".  Symbolic links are not followed.  System files ("/usr/...", but not
 * "/usr/src/...") have no path.  False: there is none. */
bool source_path(const struct sources *s, const char *file, char ret[SOURCE_PATH_MAX]);

/* Appends the URL of a template with "{commit}", "{path}" and "{line}".  Special characters in
 * the path are percent-encoded (RFC 3986, section 2.1).  -EINVAL: the commit is not a commit's
 * name. */
MUST_CHECK int source_link(const char *template, const char *commit, const char *path,
			   uint64_t line, struct buf *out, struct err *e);

/* Appends the URL prefix that gives a commit's page when the commit is added.  Supports the
 * templates of GitHub, GitLab, Gitea, Forgejo and Bitbucket; for others it appends nothing. */
void source_commits(const char *template, struct buf *out);

#endif
