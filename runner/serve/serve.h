/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_SERVE_H
#define RUNNER_SERVE_SERVE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/scan.h"
#include "runner/state/state.h"

#include <stdbool.h>
#include <stdint.h>

/* What a state directory has to show, as a web site: pages, the JSON behind them
 * (docs/api.md), metrics, and the files that the pages need.  Nothing is written and no lock is
 * taken; what a living run says comes over its control socket, when it answers at once.
 *
 * One function, serve_get(), maps a path to bytes; the HTTP server and the export both call it, so
 * that a static copy has the bytes that the server gives.  All text in the state directory is
 * hostile: it is bounded, and escaped where it is printed. */

enum {
	SERVE_PATH_MAX = 2048,	     /* bytes of a path, as it came */
	SERVE_BODY_MAX = 8 << 20,    /* of an answer; a page stays below 300 KiB */
	SERVE_REPORT_MAX = 40 << 10, /* of a crash's report: a byte may become six in a page */
};

struct sources;

/* The state directory stays the caller's and must outlive the site. */
struct serve_site;
MUST_CHECK int serve_open(const struct state *s, struct serve_site **ret, struct err *e);
void serve_close(struct serve_site *site); /* NULL is fine */
/* What the configuration says; of one that says nothing, 1 GiB, seven days, and the
 * files of crashes that are not security-relevant. */
struct serve_limits {
	uint64_t disk_reserve;	 /* bytes */
	uint64_t silent_s;	 /* so long without fuzzing is too long; 0: never */
	uint64_t late_s;	 /* so long something may wait in the outbox; 0: a day */
	bool downloads;		 /* a crash's files are offered, */
	bool security_downloads; /* also of security-relevant crashes */
	/* --config and --state-dir of commands that a reader copies; NULL: none is needed. */
	const char *say_config, *say_state;
	const struct sources *sources; /* runner/publish/render/source_link.h; NULL: not known */
	/* As in runner/status/survey/survey.h. */
	bool (*told)(void *arg, const char *place);
	void *arg;
};
void serve_set_limits(struct serve_site *site, const struct serve_limits *l);
/* Clocks of the tests: Unix seconds; 0 is the real one. */
void serve_set_now(struct serve_site *site, uint64_t now);

struct serve_answer {
	const char *type; /* of the content, with its charset; static */
	/* The bytes: either body's, or borrowed for good (compiled in). */
	struct buf body;
	struct slice fixed;
	/* Or a file's, which is to be kept and not shown; -1: it is none. */
	int fd;
	uint64_t size;	   /* its bytes */
	char file[260];	   /* the name that it is kept under: letters, digits, '.', '_', '-' */
	char problem[400]; /* what of its data cannot be read, which the page says, too; or "" */
};
void serve_answer_done(struct serve_answer *a);
/* Of an answer without a file. */
struct slice serve_answer_bytes(const struct serve_answer *a);

/* path: as it stands in a request, begins with '/', percent-encoded, without a query.
 * -ENOENT: there is no such page (also: it is not well-formed, or asks for something outside);
 * -EPERM: a file that the limits withhold; -EBADMSG: a file that is damaged;
 * what else it returns is our own trouble, and the text says which. */
MUST_CHECK int serve_get(struct serve_site *site, struct slice path, struct serve_answer *ret,
			 struct err *e);

/* Calls fn with each path that there is now, encoded as serve_get() takes it.  Non-zero of fn
 * ends it. */
typedef int serve_path_fn(void *arg, const char *path, struct err *e);
MUST_CHECK int serve_each_path(struct serve_site *site, serve_path_fn *fn, void *arg,
			       struct err *e);

/* Everything as files below dir, which appears whole or, when it was there, is exchanged whole
 * for the new one: only what a serve_export() made is, or an empty one (-EEXIST: something else is
 * there; -EINVAL: it is in the state directory, or no name).
 * ret_files: how many.  damaged (NULL: nobody asks) hears of each page that has a problem. */
typedef void serve_damaged_fn(void *arg, const char *path, const char *problem);
MUST_CHECK int serve_export(struct serve_site *site, const char *dir, serve_damaged_fn *damaged,
			    void *arg, uint64_t *ret_files, struct err *e);

/* --- the HTTP server ------------------------------------------------------- */

enum {
	SERVE_CONNECTIONS = 256,      /* at once; of more the oldest goes */
	SERVE_IDLE_S = 15,	      /* a connection on which nothing happens goes */
	SERVE_REQUEST_S = 120,	      /* a request, its answer included, takes no longer */
	SERVE_REQUEST_MAX = 16 << 10, /* bytes of a request's head, and a connection's memory */
};

/* Gives up, for good, what serving does not need: writing, making and executing files anywhere and
 * reading any outside the state directory (where the kernel has Landlock), and capabilities but
 * those to read it and to ask its run.  After listening. */
MUST_CHECK int serve_drop(const struct state *s, struct err *e);

struct serve_listen {
	char host[64]; /* a numeric address, or "localhost" */
	uint16_t port; /* 0: any that is free */
};
/* "ADDR:PORT", "[V6]:PORT", ":PORT" (loopback) or "PORT".  -EINVAL says what is wrong. */
MUST_CHECK int serve_listen_parse(const char *text, struct serve_listen *ret, struct err *e);
/* Nobody on another machine can connect. */
bool serve_listen_is_local(const struct serve_listen *at);
/* Could it stand in a Host header? */
bool serve_host_is_name(const char *name);

/* Serves on the loop until serve_http_stop().  Requests whose Host is neither an address,
 * "localhost", nor one of hosts (n names, borrowed) are refused: a page of somebody else's whose
 * name was made to lead here shall not read this one. */
struct serve_http;
MUST_CHECK int serve_http_start(struct loop *l, struct serve_site *site,
				const struct serve_listen *at, const char *const *hosts, size_t n,
				struct serve_http **ret, struct err *e);
uint16_t serve_http_port(const struct serve_http *h);
void serve_http_stop(struct serve_http *h); /* NULL is fine */

#endif
