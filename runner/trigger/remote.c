/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/trigger/remote.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/strv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { GIT_ERRORS_MAX = 16384 };

/* --- error output -------------------------------------------------------------------- */

/* Lines of generic advice, which do not help here. */
static bool is_noise(struct slice line)
{
	static const char *const noise[] = {"Please make sure you have",
					    "and the repository exists", "hint: ", "Aborting"};

	for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++)
		if (scan_lit(&line, slice_of(noise[i])))
			return true;
	return line.n == 0;
}

/* Errors of ssh and of the remote precede git's own "fatal:" line, which alone says little. */
void remote_words(struct slice said, char ret[CHECKOUT_WHY])
{
	char shown[ESCAPE_ASCII_MAX];
	struct slice line;
	size_t n = 0;

	*ret = '\0';
	while (n < CHECKOUT_WHY - 80 && scan_line(&said, &line)) {
		while (line.n > 0 && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == ' '))
			line.n--;
		scan_blanks(&line);
		if (is_noise(line))
			continue;
		(void)(scan_lit(&line, SLICE("fatal: ")) || scan_lit(&line, SLICE("error: ")));
		n += (size_t)snprintf(ret + n, CHECKOUT_WHY - n, "%s%.160s", n ? "; " : "",
				      escape_ascii(line, shown));
	}
	if (n == 0)
		(void)snprintf(ret, CHECKOUT_WHY, "git reports no reason");
}

static bool contains(struct slice text, const char *word)
{
	return memmem(text.p, text.n, word, strlen(word)) != NULL;
}

/* --- asking --------------------------------------------------------------------------- */

/* Sets GIT_SSH_COMMAND: the user's ssh command, with options that disable prompts. */
static int add_ssh(const struct git *g, struct strv *env, struct err *e)
{
	static const char *const args[] = {"config", "--get", "core.sshCommand", NULL};
	_autofree_ char *set = NULL;
	const char *ssh = g->owner.other ? NULL : getenv("GIT_SSH_COMMAND");
	int r = 0;

	if (!ssh || !*ssh) {
		r = git_ask(g, args, &set, e);
		if (r < 0)
			return r;
		ssh = r == 0 && *set ? set : "ssh";
	}
	strv_pushf(env,
		   "GIT_SSH_COMMAND=%s -oBatchMode=yes -oConnectTimeout=30 "
		   "-oServerAliveInterval=30",
		   ssh);
	return 0;
}

static int make_env(const struct git *g, struct strv *env, struct err *e)
{
	static const char *const passed[] = {
	    "http_proxy", "https_proxy", "HTTPS_PROXY",	  "all_proxy",	  "ALL_PROXY",
	    "no_proxy",	  "NO_PROXY",	 "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"};
	const char *v;
	int r = add_ssh(g, env, e);

	if (r < 0)
		return r;
	strv_push(env, "GIT_ASKPASS="); /* no password window */
	if (!g->owner.other && (v = getenv("SSH_AUTH_SOCK")))
		strv_pushf(env, "SSH_AUTH_SOCK=%s", v);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		if ((v = getenv(passed[i])))
			strv_pushf(env, "%s=%s", passed[i], v);
	return 0;
}

/* Finds the line "<commit>\t<ref>"; warnings may precede it. */
static bool find_head(struct slice said, const char *ref, char ret[COMMIT_MAX])
{
	struct slice line, name;

	while (scan_line(&said, &line)) {
		if (!scan_until(&line, '\t', COMMIT_MAX - 1, &name) ||
		    !scan_lit(&line, SLICE("\t")) || !slice_eq(line, slice_of(ref)))
			continue;
		(void)snprintf(ret, COMMIT_MAX, "%.*s", (int)name.n, name.p);
		if (commit_ok(ret))
			return true;
	}
	*ret = '\0';
	return false;
}

static int no_branch(const struct checkout_opts *o, struct remote_answer *ret)
{
	ret->kind = CHECKOUT_BROKEN;
	(void)snprintf(ret->why, sizeof(ret->why),
		       "remote '%.60s' has no branch '%.100s': check trigger.branch in the "
		       "configuration",
		       o->remote, o->branch);
	return 0;
}

/* A push that exceeds a limit exceeds it in each fetch, so a user must act: CHECKOUT_BROKEN. */
static int did_not_end(int r, struct remote_answer *ret, const struct err *e)
{
	if (r != -ETIMEDOUT && r != -EPROTO && r != -EDQUOT)
		return r;
	ret->kind = r == -EDQUOT ? CHECKOUT_BROKEN : CHECKOUT_NETWORK;
	(void)snprintf(ret->why, sizeof(ret->why), "%.*s", CHECKOUT_WHY - 1, e->msg);
	return 0;
}

enum { LEFT_AGE = 3600 };

/* git keeps unfinished packs of a failed or killed fetch for weeks. */
static void remote_tidy(const struct git *g, int failed)
{
	struct err ignored;

	(void)!git_remove_unfinished(g, failed ? 0 : LEFT_AGE,
				     &ignored); /* the next fetch does it again */
}

int remote_ask(const struct git *g, const struct checkout_opts *o, bool peek,
	       struct remote_answer *ret, struct err *e)
{
	_autostrv_ struct strv env = {0};
	_autobuf_ struct buf said = BUF_INIT(GIT_ERRORS_MAX);
	_autofree_ char *ref = xasprintf("refs/heads/%s", o->branch);
	_autofree_ char *spec =
	    xasprintf("+refs/heads/%s:refs/remotes/%s/%s", o->branch, o->remote, o->branch);
	const char *const fetch[] = {"fetch", "-q",	 "--no-tags", "--no-recurse-submodules",
				     "--",    o->remote, spec,	      NULL};
	const char *const list[] = {"ls-remote", "-q", "--exit-code", "--", o->remote, ref, NULL};
	int r = make_env(g, &env, e);

	*ret = (struct remote_answer){.kind = CHECKOUT_OK};
	if (r == 0)
		r = git_run_timed(g, peek ? list : fetch, (const char *const *)env.v, o->fetch_us,
				  &said, e);
	if (!peek)
		remote_tidy(g, r);
	if (r < 0)
		return did_not_end(r, ret, e);
	if (peek ? r == 2 : r != 0 && contains(buf_slice(&said), "find remote ref"))
		return no_branch(o, ret);
	if (r == 0 && (!peek || find_head(buf_slice(&said), ref, ret->head)))
		return 0;
	ret->kind = CHECKOUT_NETWORK;
	remote_words(buf_slice(&said), ret->why);
	return 0;
}
