/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads a reproducer that is too large for an issue's text to a branch, with the contents API.
 * Its name is derived from its content, so the upload is idempotent.  A failed upload does not
 * keep the issue from being filed; only temporary failures are waited for. */
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/publish/github/internal.h"

#include <inttypes.h>
#include <stdio.h>

/* --- the branch ----------------------------------------------------------------- */

/* The branch for reproducers.  A missing branch is created without a parent commit, so that it
 * does not contain the project.  A kill may leave unreferenced objects, which git collects. */

enum { SHA_MAX = 65 };

static bool branch_take_sha(const struct answer *a, char out[SHA_MAX])
{
	const char *sha = json_string_value(json_object_get(a->body, "sha"));

	if (a->kind != ANSWER_OK || !sha || strlen(sha) >= SHA_MAX || !text_id_ok(sha))
		return false;
	memcpy(out, sha, strlen(sha) + 1);
	return true;
}

/* Sends a request that creates an object, and reads the object's name.  Takes ownership of body. */
static bool branch_make_object(struct work *w, const char *what, json_t *body, struct answer *a)
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

static bool branch_make_commit(struct work *w, char commit[SHA_MAX], struct answer *a)
{
	static const char readme[] = "Inputs that crash this project's fuzz targets, put here by "
				     "fuzzcell. Issues link to them.\n";
	char tree[SHA_MAX];

	return branch_make_object(w, "trees",
				  json_pack("{s:[{s:s, s:s, s:s, s:s}]}", "tree", "path",
					    "README.md", "mode", "100644", "type", "blob",
					    "content", readme),
				  a) &&
	       branch_take_sha(a, tree) &&
	       branch_make_object(w, "commits",
				  json_pack("{s:s, s:s, s:[]}", "message",
					    "fuzzcell: a place for reproducers", "tree", tree,
					    "parents"),
				  a) &&
	       branch_take_sha(a, commit);
}

static bool branch_make(struct work *w, struct answer *a)
{
	char commit[SHA_MAX], ref[256];

	if (!branch_make_commit(w, commit, a))
		return false;
	(void)snprintf(ref, sizeof(ref), "refs/heads/%s", w->g->config->upload_branch);
	/* 422: the branch was created meanwhile. */
	return branch_make_object(w, "refs", json_pack("{s:s, s:s}", "ref", ref, "sha", commit),
				  a) ||
	       a->kind == ANSWER_INVALID;
}

static bool branch_ensure(struct work *w, struct answer *a)
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
	return branch_make(w, a);
}

/* --- the reproducer and its text in the issue ----------------------------------- */

enum { BYTES_MAX = 10 << 20, PUT_MAX = 2 * BYTES_MAX, TEXT_MAX = 512, TRIES_MAX = 8 };

struct file {
	const char *path; /* in the state directory */
	char *data;
	size_t n;
	char blob[DIGEST_SHA1_HEX]; /* git's name of this content */
	char at[HTTP_URL_MAX];	    /* "/repos/.../contents/...", without a query */
	char html[HTTP_URL_MAX];
};

static void upload_file_done(struct file *f)
{
	free(f->data);
}

static bool upload_keep_text(struct work *w, const char *text)
{
	struct err e;

	if (json_object_set_new(w->d->progress, "reproducer", json_string(text)) == 0)
		return true; /* written to disk with the next progress */
	(void)err_set(&e, EINVAL, "note where the reproducer is");
	return work_error(w, &e);
}

static bool upload_not_attached(struct work *w, const char *path, const char *why)
{
	char text[TEXT_MAX], clean[200];

	text_clean(why, clean, sizeof(clean));
	for (char *p = clean; *p; p++) /* a server's text: remove links, mentions and code */
		if (strchr("`<>[]@#*_&|\\~!", *p))
			*p = ' ';
	(void)snprintf(text, sizeof(text),
		       UPLOAD_NOT " (%s); its path in the state directory is `%s`.", clean, path);
	return upload_keep_text(w, text);
}

/* --- the file ------------------------------------------------------------------- */

/* The path is our own, but is checked all the same: it must stay below the state directory. */
static bool upload_path_ok(const char *p)
{
	for (const char *c = p; *c; c++)
		if (*c < ' ' || *c > '~' || *c == '`')
			return false;
	return *p && *p != '/' && strlen(p) < 256 && !strstr(p, "..");
}

static int upload_blob_name(struct file *f, struct err *e)
{
	_autobuf_ struct buf all = BUF_INIT(BYTES_MAX + 64);

	buf_printf(&all, "blob %zu", f->n);
	buf_put(&all, (struct slice){"", 1});
	buf_put(&all, (struct slice){f->data, f->n});
	digest_sha1_hex(buf_slice(&all), f->blob);
	return buf_check(&all, e);
}

/* DIR/SIGNATURE/BLOB */
static int upload_place(const struct work *w, struct file *f, struct err *e)
{
	_autobuf_ struct buf all = BUF_INIT(sizeof(f->at) - 1);
	const char *dir = w->g->config->upload_dir;
	const char *signature = strchr(w->key, ' ') + 1;
	int r;

	buf_printf(&all, "/repos/%s/contents/", w->repo);
	if (dir && *dir) {
		http_path(dir, &all);
		buf_puts(&all, dir[strlen(dir) - 1] != '/' ? "/" : "");
	}
	http_path(signature, &all);
	buf_printf(&all, "/%.16s", f->blob);
	r = buf_check(&all, e);
	if (r == 0)
		memcpy(f->at, buf_str(&all), all.n + 1);
	return r;
}

static int upload_read(const struct work *w, struct file *f, struct err *e)
{
	int r = fs_read(w->d->state_dirfd, f->path, BYTES_MAX, &f->data, &f->n, e);

	r = r ? r : upload_blob_name(f, e);
	return r ? r : upload_place(w, f, e);
}

/* --- on the branch -------------------------------------------------------------- */

static void upload_keep_html(const struct work *w, struct file *f, const json_t *from)
{
	const char *html = json_string_value(json_object_get(from, "html_url"));

	/* Not download_url, which contains a token. */
	if (html && strlen(html) < sizeof(f->html) && !strpbrk(html, " <>()[]\"'`\\\r\n\t"))
		text_clean(html, f->html, sizeof(f->html));
	token_hide(w->g->token, f->html);
}

/* Looks up the file on the branch.  *ret_sha: its content's name; "": no file. */
static bool upload_find(struct work *w, struct file *f, char ret_sha[DIGEST_SHA1_HEX],
			struct answer *a)
{
	_autobuf_ struct buf url = BUF_INIT(HTTP_URL_MAX);
	const char *sha;
	struct err e;

	ret_sha[0] = '\0';
	buf_printf(&url, "%s?ref=", f->at);
	http_path(w->g->config->upload_branch, &url);
	if (buf_check(&url, &e) < 0) {
		answer_failed(-EINVAL, e.msg, a);
		return false;
	}
	github_call(w->g, "GET", buf_str(&url), NULL, a);
	if (a->kind == ANSWER_MISSING)
		return true;
	if (a->kind != ANSWER_OK)
		return false;
	sha = json_string_value(json_object_get(a->body, "sha"));
	if (sha && strlen(sha) < DIGEST_SHA1_HEX)
		memcpy(ret_sha, sha, strlen(sha) + 1);
	if (strcmp(ret_sha, f->blob) == 0)
		upload_keep_html(w, f, a->body);
	return true;
}

static int upload_make_put(const struct work *w, const struct file *f, const char *sha,
			   json_t **ret, struct err *e)
{
	_autobuf_ struct buf content = BUF_INIT(PUT_MAX);
	int r;

	text_base64((struct slice){f->data, f->n}, &content);
	r = buf_check(&content, e);
	if (r < 0)
		return r;
	*ret = json_pack("{s:s+, s:s, s:s, s:s*}", "message", "fuzzcell: reproducer of ",
			 strchr(w->key, ' ') + 1, "content", buf_str(&content), "branch",
			 w->g->config->upload_branch, "sha", *sha ? sha : NULL);
	return 0;
}

static bool upload_put(struct work *w, struct file *f, struct answer *a)
{
	_autojson_ json_t *body = NULL;
	char sha[DIGEST_SHA1_HEX];
	struct err e;

	if (!upload_find(w, f, sha, a))
		return false;
	if (strcmp(sha, f->blob) == 0)
		return true;
	if (upload_make_put(w, f, sha, &body, &e) < 0) {
		answer_failed(-EINVAL, e.msg, a);
		return false;
	}
	github_call(w->g, "PUT", f->at, body, a);
	if (a->kind == ANSWER_OK)
		upload_keep_html(w, f, json_object_get(a->body, "content"));
	return a->kind == ANSWER_OK;
}

/* Limits the attempts, so that a server that fails for days does not delay the issue. */
static bool upload_waits(struct work *w, const struct answer *a)
{
	uint64_t tries = work_get(w, "uploading") + 1;

	if (a->kind != ANSWER_LATER && a->kind != ANSWER_TOKEN)
		return false;
	if (a->whole_host || a->unasked)
		return true;
	return tries <= TRIES_MAX && work_set(w, "uploading", tries);
}

static bool upload_file(struct work *w, struct file *f)
{
	_autoanswer_ struct answer a = ANSWER_INIT;
	char text[HTTP_URL_MAX + 64];

	if (!branch_ensure(w, &a) || !upload_put(w, f, &a)) {
		if (upload_waits(w, &a))
			return work_ok(w, &a, "upload the reproducer");
		return upload_not_attached(w, f->path, a.why);
	}
	if (f->html[0])
		(void)snprintf(text, sizeof(text), "[%zu bytes](%s)", f->n, f->html);
	else
		(void)snprintf(text, sizeof(text), "%zu bytes, in branch `%s`", f->n,
			       w->g->config->upload_branch);
	return upload_keep_text(w, text);
}

bool upload_reproducer(struct work *w)
{
	const json_t *what = json_object_get(w->d->event, "upload");
	const char *path = json_string_value(json_object_get(what, "path"));
	__attribute__((cleanup(upload_file_done))) struct file f = {.path = path};
	const struct github_config *c = w->g->config;
	struct err e;

	if (json_object_get(w->d->progress, "reproducer"))
		return true;
	if (!path || !upload_path_ok(path))
		return upload_keep_text(w, UPLOAD_NOT ".");
	if (c->upload != UPLOAD_CONTENTS || !c->upload_branch)
		return upload_not_attached(w, path, "as configured");
	if (upload_read(w, &f, &e) < 0)
		return upload_not_attached(w, path, e.msg);
	return upload_file(w, &f);
}
