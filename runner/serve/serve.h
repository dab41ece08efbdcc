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

/* Shows a state directory as a web site: pages, the JSON behind them (docs/api.md), metrics, and
 * the files that the pages need.  It writes nothing and takes no lock.  The living run is asked
 * over its control socket, if it answers at once.
 *
 * serve_get() maps a path to bytes.  The HTTP server and the export both call it, so a static
 * copy has the same bytes as the server's answers.  All text in the state directory is hostile:
 * its size is limited, and it is escaped where it is printed. */

enum {
	SERVE_PATH_MAX = 2048,	     /* bytes of a path, as received */
	SERVE_BODY_MAX = 8 << 20,    /* of an answer; a page stays below 300 KiB */
	SERVE_REPORT_MAX = 40 << 10, /* of a crash's report: in a page a byte may become six */
};

struct sources;

/* The caller keeps the state directory, which must outlive the site. */
struct serve_site;
MUST_CHECK int serve_open(const struct state *s, struct serve_site **ret, struct err *e);
void serve_close(struct serve_site *site); /* NULL is fine */
/* Limits from the configuration.  The defaults are 1 GiB, seven days, and downloads of crashes
 * that are not security-relevant. */
struct serve_limits {
	uint64_t disk_reserve;	 /* bytes */
	uint64_t silent_s;	 /* a target not fuzzed for this time gets a finding; 0: never */
	uint64_t late_s;	 /* how long an outbox entry may wait; 0: a day */
	bool downloads;		 /* crashes' files can be downloaded, */
	bool security_downloads; /* also of security-relevant crashes */
	/* --config and --state-dir in commands that readers copy; NULL: not needed. */
	const char *say_config, *say_state;
	const struct sources *sources; /* runner/publish/render/source_link.h; NULL: unknown */
	/* As in runner/status/survey/survey.h. */
	bool (*told)(void *arg, const char *place);
	void *arg;
};
void serve_set_limits(struct serve_site *site, const struct serve_limits *l);
/* For tests: sets the clock, in Unix seconds; 0: the real clock. */
void serve_set_now(struct serve_site *site, uint64_t now);

struct serve_answer {
	const char *type; /* of the content, with its charset; static storage */
	/* The bytes: in body, or static (compiled in). */
	struct buf body;
	struct slice fixed;
	/* Or a file to download; -1: none. */
	int fd;
	uint64_t size;	   /* its size in bytes */
	char file[260];	   /* the name to save it as */
	char problem[400]; /* data that cannot be read, which the page reports, too; or "" */
};
void serve_answer_done(struct serve_answer *a);
/* The bytes of an answer without a file. */
struct slice serve_answer_bytes(const struct serve_answer *a);

/* path: from a request; begins with '/', percent-encoded, without a query.
 * -ENOENT: there is no such page, or the path is malformed or leads outside;
 * -EPERM: the limits withhold the file; -EBADMSG: the file is damaged; other errors are
 * internal, and the message says which. */
MUST_CHECK int serve_get(struct serve_site *site, struct slice path, struct serve_answer *ret,
			 struct err *e);

/* Calls fn with each existing path, encoded for serve_get().  A result of fn other than 0 ends
 * the loop. */
typedef int serve_path_fn(void *arg, const char *path, struct err *e);
MUST_CHECK int serve_each_path(struct serve_site *site, serve_path_fn *fn, void *arg,
			       struct err *e);

/* Writes all pages as files below dir.  dir appears complete, or replaces the old dir at once.
 * Only an earlier export or an empty directory is replaced (-EEXIST: something else exists;
 * -EINVAL: dir is in the state directory, or not a name).  ret_files: the number of files.
 * damaged (may be NULL) is called for each page with a problem. */
typedef void serve_damaged_fn(void *arg, const char *path, const char *problem);
MUST_CHECK int serve_export(struct serve_site *site, const char *dir, serve_damaged_fn *damaged,
			    void *arg, uint64_t *ret_files, struct err *e);

/* --- the HTTP server ------------------------------------------------------- */

enum {
	SERVE_CONNECTIONS = 256,      /* at once; above, the oldest is closed */
	SERVE_IDLE_S = 15,	      /* an idle connection is closed after this time */
	SERVE_REQUEST_S = 120,	      /* the longest time of a request with its answer */
	SERVE_REQUEST_MAX = 16 << 10, /* bytes of a request's head and of a connection's memory */
};

/* Permanently drops all rights that serving does not need.  With Landlock (if the kernel has
 * it): no writing, creating or executing files, and no reading outside the state directory.
 * Drops all capabilities except those for reading the state directory and for asking its run.
 * Call it after listening. */
MUST_CHECK int serve_drop(const struct state *s, struct err *e);

struct serve_listen {
	char host[64]; /* a numeric address, or "localhost" */
	uint16_t port; /* 0: any free port */
};
/* Parses "ADDR:PORT", "[V6]:PORT", ":PORT" (loopback) or "PORT".  -EINVAL: the message says what
 * is wrong. */
MUST_CHECK int serve_listen_parse(const char *text, struct serve_listen *ret, struct err *e);
/* True if other machines cannot connect. */
bool serve_listen_is_local(const struct serve_listen *at);
/* Is it a valid name for a Host header? */
bool serve_host_is_name(const char *name);

/* Serves on the loop until serve_http_stop().  The Host header must be an address, "localhost",
 * or one of `hosts` (n names, borrowed); other requests are refused.  So a foreign page cannot
 * read this site through a name that resolves to it (DNS rebinding). */
struct serve_http;
MUST_CHECK int serve_http_start(struct loop *l, struct serve_site *site,
				const struct serve_listen *at, const char *const *hosts, size_t n,
				struct serve_http **ret, struct err *e);
uint16_t serve_http_port(const struct serve_http *h);
void serve_http_stop(struct serve_http *h); /* NULL is fine */

#endif
