/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "runner/publish/github/internal.h"

#include <stdio.h>

/* The branch for reproducers.  A missing branch is created without a parent commit, so that it
 * does not contain the project.  A kill may leave unreferenced objects, which git collects. */

enum { SHA_MAX = 65 };

static bool take_sha(const struct answer *a, char out[SHA_MAX])
{
	const char *sha = json_string_value(json_object_get(a->body, "sha"));

	if (a->kind != ANSWER_OK || !sha || strlen(sha) >= SHA_MAX || !text_id_ok(sha))
		return false;
	memcpy(out, sha, strlen(sha) + 1);
	return true;
}

/* Sends a request that creates an object, and reads the object's name.  Takes ownership of body. */
static bool github_branch_make(struct work *w, const char *what, json_t *body, struct answer *a)
{
	char path[REPO_MAX + 32];

	(void)snprintf(path, sizeof(path), "/repos/%s/git/%s", w->repo, what);
	if (body)
		github_call(w->g, "POST", path, body, a);
	else
		answer_failed(-EINVAL, "the branch's name is too long", a);
	json_decref(body);
	if (a->status == 409) /* the repository has no commits: a retry does not help */
		a->kind = ANSWER_REFUSED;
	return a->kind == ANSWER_OK;
}

static bool make_commit(struct work *w, char commit[SHA_MAX], struct answer *a)
{
	static const char readme[] = "Inputs that crash this project's fuzz targets, put here by "
				     "fuzzcell. Issues link to them.\n";
	char tree[SHA_MAX];

	return github_branch_make(w, "trees",
				  json_pack("{s:[{s:s, s:s, s:s, s:s}]}", "tree", "path",
					    "README.md", "mode", "100644", "type", "blob",
					    "content", readme),
				  a) &&
	       take_sha(a, tree) &&
	       github_branch_make(w, "commits",
				  json_pack("{s:s, s:s, s:[]}", "message",
					    "fuzzcell: a place for reproducers", "tree", tree,
					    "parents"),
				  a) &&
	       take_sha(a, commit);
}

static bool make_branch(struct work *w, struct answer *a)
{
	char commit[SHA_MAX], ref[256];

	if (!make_commit(w, commit, a))
		return false;
	(void)snprintf(ref, sizeof(ref), "refs/heads/%s", w->g->config->upload_branch);
	/* 422: the branch was created meanwhile. */
	return github_branch_make(w, "refs", json_pack("{s:s, s:s}", "ref", ref, "sha", commit),
				  a) ||
	       a->kind == ANSWER_INVALID;
}

bool upload_branch(struct work *w, struct answer *a)
{
	_autobuf_ struct buf path = BUF_INIT(HTTP_URL_MAX);
	struct err e;

	buf_printf(&path, "/repos/%s/git/ref/heads/", w->repo);
	http_path(w->g->config->upload_branch, &path);
	if (buf_check(&path, &e) < 0) {
		answer_failed(-EINVAL, e.msg, a);
		return false;
	}
	github_call(w->g, "GET", buf_str(&path), NULL, a);
	if (a->kind != ANSWER_MISSING)
		return a->kind == ANSWER_OK;
	return make_branch(w, a);
}
