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

/* Shows a state directory as a web site: pages, the JSON behind the pages (docs/api.md), metrics,
 * and the files that the pages need.  The site writes nothing and takes no lock.  Facts about a
 * living run come from the run's control socket, if the run answers at once.
 *
 * serve_get() maps a path to bytes.  The HTTP server and the export both call serve_get().  So a
 * static copy has the same bytes as the server's answers.
 *
 * All text in the state directory is hostile: its size is limited, and it is escaped where it is
 * printed. */

enum {
	SERVE_PATH_MAX = 2048,	  /* bytes of a path, as received */
	SERVE_BODY_MAX = 8 << 20, /* bytes of an answer without a file; a page has under 300 KiB */
	/* Bytes of a crash's report that an answer shows.  Escaping may make six bytes of one. */
	SERVE_REPORT_MAX = 40 << 10,
};

struct sources;

struct serve_site;
/* Opens the site of the state directory s.  The caller keeps s open as long as the site. */
struct serve_site *serve_open(const struct state *s);
void serve_close(struct serve_site *site); /* NULL is fine */

/* Limits from the configuration.  A default is the value before serve_set_limits(). */
struct serve_limits {
	/* The free disk space that a run must leave, in bytes (run.disk_reserve); 0: the disk is
	 * not checked.  Default: 1 GiB. */
	uint64_t disk_reserve;
	/* A target that was not fuzzed for this time gets a finding; 0: no target does.  Default:
	 * seven days. */
	uint64_t silent_s;
	/* An outbox entry that waits for this time is a finding; 0: a day.  Default: 0. */
	uint64_t late_s;
	/* The files of crashes that are not security-relevant can be downloaded.  Default: true. */
	bool downloads;
	/* The files of security-relevant crashes can be downloaded.  Default: false. */
	bool security_downloads;
	const char *config_path; /* --config for commands that readers copy; NULL: not needed */
	const char *state_path;	 /* --state-dir for commands that readers copy; NULL: not needed */
	const struct sources *sources; /* runner/publish/render/source_link.h; NULL: unknown */
	/* Is this destination of notifications configured?  Outbox entries for other destinations
	 * do not count.  NULL: every destination is configured. */
	bool (*is_destination)(void *arg, const char *place);
	void *arg; /* for is_destination */
};
void serve_set_limits(struct serve_site *site, const struct serve_limits *l);
/* For tests: sets the clock, in Unix seconds; 0: the real clock. */
void serve_set_now(struct serve_site *site, uint64_t now);

/* An answer is either bytes (in body or in fixed), or a file to download (fd). */
struct serve_answer {
	const char *type;   /* of the content, with its charset; static storage */
	struct buf body;    /* the bytes, when neither `fixed` nor `fd` is used */
	struct slice fixed; /* bytes that are compiled in; .p NULL: not used */
	int fd;		    /* the file to download; -1: not used */
	uint64_t size;	    /* of the file, in bytes */
	bool foreign;	/* a page that is not ours: it gets no rights, not even to our scripts */
	char file[260]; /* the name under which a browser saves the file */
	/* Which data could not be read; a page also reports this.  "": all data could be read. */
	char problem[400];
};
/* Frees the bytes and closes the file. */
void serve_answer_done(struct serve_answer *a);
/* The bytes of an answer without a file. */
struct slice serve_answer_bytes(const struct serve_answer *a);

/* Makes the answer to a request.  path: from the request; begins with '/', percent-encoded, without
 * a query.
 *
 * -ENOENT: there is no page at path, or path is malformed or leads out of the site.
 * -EPERM: serve_limits do not allow the download of this file.
 * -EBADMSG: the file is damaged.
 * Other errors are internal; the message says what failed. */
MUST_CHECK int serve_get(struct serve_site *site, struct slice path, struct serve_answer *ret,
			 struct err *e);

/* Calls fn with each existing path, percent-encoded as for serve_get().  fn returns 0 or a negative
 * error.  An error of fn ends the calls, and is returned. */
typedef int serve_path_fn(void *arg, const char *path, struct err *e);
MUST_CHECK int serve_each_path(struct serve_site *site, serve_path_fn *fn, void *arg,
			       struct err *e);

/* Writes the whole site as files below dir.  The files are written to a temporary directory, which
 * then becomes dir in one step.  So dir is never incomplete.
 *
 * An earlier export or an empty directory at dir is replaced.
 * -EEXIST: something else exists at dir.
 * -EINVAL: dir is in the state directory, or its last part is not a name.
 *
 * ret_files: the number of files.
 * damaged (may be NULL) is called for each path with a damaged file (-EBADMSG) or a problem
 * (serve_answer.problem). */
typedef void serve_damaged_fn(void *arg, const char *path, const char *problem);
MUST_CHECK int serve_export(struct serve_site *site, const char *dir, serve_damaged_fn *damaged,
			    void *arg, uint64_t *ret_files, struct err *e);

/* --- the HTTP server ------------------------------------------------------- */

enum {
	/* Connections at once.  When seven eighths are in use, each new connection closes the
	 * oldest one. */
	SERVE_CONNECTIONS = 256,
	SERVE_IDLE_S = 15,     /* an idle connection is closed after this time */
	SERVE_REQUEST_S = 120, /* a connection that completes no request in this time is closed */
	/* Bytes of memory of a connection, which also limit the head of a request. */
	SERVE_REQUEST_MAX = 16 << 10,
};

/* Permanently drops all rights that serving does not need.  Call it after serve_http_start().
 *
 * Landlock, if the kernel has it, forbids to write, create, remove or execute files, and to read
 * files outside the state directory.
 *
 * Of our capabilities, only those stay that are needed to read the state directory and to connect
 * to the run's control socket. */
MUST_CHECK int serve_drop(const struct state *s, struct err *e);

struct serve_listen {
	char host[64]; /* a numeric IPv4 or IPv6 address */
	uint16_t port; /* 0: any free port */
};
/* Parses "ADDR:PORT", "[V6]:PORT", ":PORT" or "PORT".  ADDR is numeric or "localhost".  Without
 * ADDR, the address is 127.0.0.1.  -EINVAL: the message says what is wrong. */
MUST_CHECK int serve_listen_parse(const char *text, struct serve_listen *ret, struct err *e);
/* Is the address a loopback address?  Then other machines cannot connect. */
bool serve_listen_is_local(const struct serve_listen *at);
/* Is the text a valid name for a Host header? */
bool serve_host_is_name(const char *name);

struct serve_http;
/* Serves the site on the loop until serve_http_stop().  A request is refused unless its Host header
 * has a numeric address, "localhost", or one of `hosts` (n names, borrowed).  So a page of another
 * site cannot read this site through a name that resolves to our address (DNS rebinding). */
MUST_CHECK int serve_http_start(struct loop *l, struct serve_site *site,
				const struct serve_listen *at, const char *const *hosts, size_t n,
				struct serve_http **ret, struct err *e);
/* The port on which the server listens. */
uint16_t serve_http_port(const struct serve_http *h);
void serve_http_stop(struct serve_http *h); /* NULL is fine */

#endif
