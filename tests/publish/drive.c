/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fs.h"
#include "base/json.h"
#include "runner/publish/github/github.h"
#include "runner/publish/http/token.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* Makes deliveries as the outbox would, each until it is done or refused: drive OPTION...
 * EVENT.json...  An event file is {"id", "created", "event"}.  Progress and results are in the
 * state directory.  Time is the test server's: a wait makes the server advance its clock.  Prints
 * one line of JSON for each attempt.  --die N and --fail N: at the Nth call that can fail. */

enum { ATTEMPTS = 30, WAIT_S = 60 };

struct drive {
	const char *control;
	int state;
	struct http *http;
	uint64_t ahead_ms;
	unsigned at; /* of the fault; 0: none */
	enum fault_how how;
	bool sleeps; /* between writes, instead of advancing the server's clock */
	struct http_limits limits;
	struct github_config config;
};

struct entry {
	const struct drive *dr;
	const char *id;
	json_t *progress;
};

static int die(const char *what, const struct err *e)
{
	fprintf(stderr, "drive: %s: %s\n", what, e->msg);
	return 1;
}

/* --- the clock ------------------------------------------------------------------- */

static bool ask_forward(struct drive *dr, uint64_t ms, struct err *e)
{
	__attribute__((cleanup(http_reply_done))) struct http_reply reply = HTTP_REPLY_INIT;
	_autojson_ json_t *j = NULL;
	char url[256];
	struct http_request q = {.method = "POST", .url = url};

	(void)snprintf(url, sizeof(url), "%s/__advance?ms=%" PRIu64, dr->control, ms);
	if (http_request(dr->http, &q, &reply, e) < 0 ||
	    json_parse(buf_slice(&reply.body), &j, e) < 0)
		return false;
	dr->ahead_ms = (uint64_t)json_integer_value(json_object_get(j, "ahead"));
	return true;
}

/* Tried twice: the injected fault may hit this request, which is not under test. */
static void put_forward(struct drive *dr, uint64_t ms)
{
	struct err e;

	if (!ask_forward(dr, ms, &e) && !ask_forward(dr, ms, &e))
		_exit(die("the clock", &e));
}

static uint64_t now(void *arg)
{
	const struct drive *dr = arg;

	return (clock_real_us() / USEC_PER_MSEC + dr->ahead_ms) / 1000;
}

static void rest(void *arg, uint64_t ms)
{
	put_forward(arg, ms);
}

/* --- an entry -------------------------------------------------------------------- */

static int save(void *arg, struct err *e)
{
	const struct entry *en = arg;
	_autofree_ char *text = NULL;
	char name[200];
	int r = json_print(en->progress, 0, &text, e);

	(void)snprintf(name, sizeof(name), "progress-%s.json", en->id);
	return r ? r : fs_replace(en->dr->state, name, slice_of(text), e);
}

static void print_result(const struct delivery *d)
{
	static const char *const names[] = {"done", "later", "refused"};
	_autofree_ char *text = NULL;
	_autojson_ json_t *j = json_pack(
	    "{s:s, s:s, s:I, s:b, s:b, s:I, s:s, s:s, s:b, s:b, s:s}", "id", d->id, "result",
	    names[d->result], "wait", (json_int_t)d->wait_s, "whole_host", d->whole_host, "unasked",
	    d->unasked, "refused_token", (json_int_t)d->refused_token, "why", d->why, "url", d->url,
	    "ignored", d->ignored, "deleted", d->deleted, "warning", d->warning);
	struct err e;

	if (json_print(j, 0, &text, &e) == 0)
		printf("%s\n", text);
	fflush(stdout);
}

static void forget_progress(const struct drive *dr, json_t **progress, const char *id)
{
	char name[200];
	struct err e;

	(void)snprintf(name, sizeof(name), "progress-%s.json", id);
	json_decref(*progress);
	if (json_load(dr->state, name, 1 << 20, progress, &e) < 0)
		*progress = json_object();
}

/* Attempts an entry as after a restart: state that is not on disk is forgotten.  Returns the time
 * to wait, or 0 when the entry is done or refused. */
static uint64_t attempt(struct drive *dr, struct github *g, const char *id, const json_t *file)
{
	_autojson_ json_t *progress = NULL;
	struct entry en = {.dr = dr, .id = id};
	struct delivery d = {.id = id,
			     .event = json_object_get(file, "event"),
			     .created =
				 (uint64_t)json_integer_value(json_object_get(file, "created")),
			     .state_dirfd = dr->state,
			     .save = save,
			     .arg = &en};

	forget_progress(dr, &progress, id);
	d.progress = en.progress = progress;
	fault_arm(dr->at, dr->how);
	github_deliver(g, &d);
	fault_arm(0, FAULT_FAIL);
	dr->at = 0; /* once */
	print_result(&d);
	if (d.result != DELIVERY_LATER)
		return 0;
	return d.wait_s ? d.wait_s : WAIT_S;
}

/* --- all of them ----------------------------------------------------------------- */

enum { FILES_MAX = 32 };

struct file {
	json_t *json;
	bool ended;
};

static const char *signature_of(const struct file *f)
{
	return json_string_value(json_object_get(json_object_get(f->json, "event"), "signature"));
}

/* A notification of a crash waits for the earlier notifications of this crash. */
static bool waits(const struct file *files, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!files[k].ended &&
		    strcmp(signature_of(&files[k]), signature_of(&files[i])) == 0)
			return true;
	return false;
}

/* Attempts each unfinished entry once, at one time.  Returns the time to wait, or 0. */
static uint64_t go_round(struct drive *dr, struct github *g, struct file *files, size_t n)
{
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++) {
		const char *id = json_string_value(json_object_get(files[i].json, "id"));
		uint64_t wait = 0;

		if (!files[i].ended && !waits(files, i)) {
			wait = attempt(dr, g, id, files[i].json);
			files[i].ended = wait == 0;
		}
		most = wait > most ? wait : most;
	}
	return most;
}

static int deliver_all(struct drive *dr, struct github *g, char **paths, size_t n)
{
	struct file files[FILES_MAX] = {0};
	struct err e;
	uint64_t wait = 1;
	int r = n <= FILES_MAX ? 0 : 2;

	for (size_t i = 0; r == 0 && i < n; i++)
		if (json_load(AT_FDCWD, paths[i], 1 << 24, &files[i].json, &e) < 0)
			r = die(paths[i], &e);
	for (int k = 0; r == 0 && wait > 0 && k < ATTEMPTS; k++) {
		wait = go_round(dr, g, files, n);
		put_forward(dr, 1000 * wait);
	}
	for (size_t i = 0; i < n && i < FILES_MAX; i++)
		json_decref(files[i].json);
	if (r == 0 && wait > 0)
		fprintf(stderr, "drive: not done in %d attempts\n", ATTEMPTS);
	return r == 0 && wait > 0 ? 3 : r;
}

/* --- the program ------------------------------------------------------------------ */

static unsigned long number(const char *text)
{
	struct slice s = slice_of(text);
	uint64_t v = 0;

	(void)scan_u64(&s, 10, UINT32_MAX, &v);
	return v;
}

static bool option(struct drive *dr, int c)
{
	struct github_config *g = &dr->config;

	switch (c) {
	case 'a':
		g->api = optarg;
		break;
	case 'c':
		dr->control = optarg;
		break;
	case 's':
		dr->state = open(optarg, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		break;
	case 't':
		g->token_file = optarg;
		break;
	case 'e':
		g->token_env = optarg;
		break;
	case 'A':
		g->app = number(optarg);
		break;
	case 'I':
		g->installation = number(optarg);
		break;
	case 'k':
		g->app_key_file = optarg;
		break;
	case 'b':
		g->upload = UPLOAD_CONTENTS;
		g->upload_branch = optarg;
		break;
	case 'w':
		dr->sleeps = true;
		break;
	case 'm':
		dr->limits.total_ms = (uint32_t)number(optarg);
		break;
	case 'd':
	case 'f':
		dr->at = (unsigned)number(optarg);
		dr->how = c == 'd' ? FAULT_DIE : FAULT_FAIL;
		break;
	default:
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
	    {"api", 1, NULL, 'a'},	    {"control", 1, NULL, 'c'},	 {"state", 1, NULL, 's'},
	    {"token-file", 1, NULL, 't'},   {"token-env", 1, NULL, 'e'}, {"app", 1, NULL, 'A'},
	    {"installation", 1, NULL, 'I'}, {"key", 1, NULL, 'k'},	 {"branch", 1, NULL, 'b'},
	    {"die", 1, NULL, 'd'},	    {"fail", 1, NULL, 'f'},	 {"total-ms", 1, NULL, 'm'},
	    {"sleep", 0, NULL, 'w'},	    {NULL, 0, NULL, 0}};
	static char dir[] = "repro";
	const struct http_limits limits = {2000, 20000, 10, 1 << 20, 64 << 10};
	struct drive dr = {.state = -1,
			   .limits = {2000, 20000, 10, 16 << 20, 64 << 10},
			   .config = {.upload_dir = dir}};
	struct github_options o = {.limits = &dr.limits, .now = now, .wait = rest, .arg = &dr};
	struct github *g = NULL;
	struct err e;
	int c, r;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (!option(&dr, c))
			return 2;
	alarm(120);
	if (dr.sleeps)
		o.wait = NULL;
	token_protect_process();
	if (http_new(&limits, &dr.http, &e) < 0 || github_new(&dr.config, &o, &g, &e) < 0)
		return die("start", &e);
	put_forward(&dr, 0);
	r = deliver_all(&dr, g, argv + optind, (size_t)(argc - optind));
	github_free(g);
	http_free(dr.http);
	close(dr.state);
	return r;
}
