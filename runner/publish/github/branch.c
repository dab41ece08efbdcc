/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "runner/publish/github/internal.h"

#include <stdio.h>

/* The branch for reproducers: made when it is missing, with a history of its own, so
 * that it drags nothing of the project along.  Steps that were done before a kill
 * leave objects behind that nothing names; git forgets them. */

enum { SHA_MAX = 65 };

static bool take_sha(const struct answer *a, char out[SHA_MAX])
{
	const char *sha = json_string_value(json_object_get(a->body, "sha"));

	if (a->kind != ANSWER_OK || !sha || strlen(sha) >= SHA_MAX || !text_id_ok(sha))
		return false;
	memcpy(out, sha, strlen(sha) + 1);
	return true;
}

/* A request that makes something, and the name of what it made; body is let go. */
static bool make(struct work *w, const char *what, json_t *body, struct answer *a)
{
	char path[REPO_MAX + 32];

	(void)snprintf(path, sizeof(path), "/repos/%s/git/%s", w->repo, what);
	if (body)
		github_call(w->g, "POST", path, body, a);
	else
		answer_failed(-ENOMEM, "no memory for a request", a);
	json_decref(body);
	if (a->status == 409) /* the repository has no commit at all: that lasts */
		a->kind = ANSWER_REFUSED;
	return a->kind == ANSWER_OK;
}

static bool make_commit(struct work *w, char commit[SHA_MAX], struct answer *a)
{
	static const char readme[] = "Inputs that crash this project's fuzz targets, put here by "
				     "fuzzcell. Issues link to them.\n";
	char tree[SHA_MAX];

	return make(w, "trees",
		    json_pack("{s:[{s:s, s:s, s:s, s:s}]}", "tree", "path", "README.md", "mode",
			      "100644", "type", "blob", "content", readme),
		    a) &&
	       take_sha(a, tree) &&
	       make(w, "commits",
		    json_pack("{s:s, s:s, s:[]}", "message", "fuzzcell: a place for reproducers",
			      "tree", tree, "parents"),
		    a) &&
	       take_sha(a, commit);
}

static bool make_branch(struct work *w, struct answer *a)
{
	char commit[SHA_MAX], ref[256];

	if (!make_commit(w, commit, a))
		return false;
	(void)snprintf(ref, sizeof(ref), "refs/heads/%s", w->g->config->upload_branch);
	/* 422: somebody made it meanwhile. */
	return make(w, "refs", json_pack("{s:s, s:s}", "ref", ref, "sha", commit), a) ||
	       a->kind == ANSWER_INVALID;
}

bool upload_branch(struct work *w, struct answer *a)
{
	_autobuf_ struct buf path = BUF_INIT(HTTP_URL_MAX);
	struct err e;
	int r = buf_addf(&path, &e, "/repos/%s/git/ref/heads/", w->repo);

	r = r ? r : http_path(w->g->config->upload_branch, &path, &e);
	if (r < 0) {
		answer_failed(-EINVAL, e.msg, a);
		return false;
	}
	github_call(w->g, "GET", buf_str(&path), NULL, a);
	if (a->kind != ANSWER_MISSING)
		return a->kind == ANSWER_OK;
	return make_branch(w, a);
}
