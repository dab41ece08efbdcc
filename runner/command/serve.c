/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/serve/serve.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "runner/command/command.h"
#include "runner/command/common/session.h"
#include "runner/publish/notify.h"
#include "runner/publish/render/source_link.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { HOSTS_MAX = 16 };

struct serve {
	struct session session;
	const char *listen, *export, *downloads;
	const char *hosts[HOSTS_MAX];
	size_t n_hosts;
	struct common_paths paths;
	struct sources sources;
	struct serve_site *site;
	struct loop *loop;
};

#define AT(member) OPTION_AT(struct serve, member)
static const struct option_spec specs[] = {
    STATE_OPTIONS(struct serve, session.common),
    {"listen", "[ADDR:]PORT", "where to listen (default: 127.0.0.1:8089; port 0: any free port)",
     AT(listen)},
    {"host", "NAME", "also answer requests for this host name (may be repeated)", OPTION_TAKE},
    {"export", "DIR", "write the pages as files, and exit", AT(export)},
    {"downloads", "WHICH", "offer files of crashes: public (default), all, or none", AT(downloads)},
};

static bool serve_take(void *arg, const char *name, const char *value)
{
	struct serve *a = arg;
	char shown[ESCAPE_MAX];

	(void)name; /* --host */
	if (!serve_host_is_name(value))
		return fail(EXIT_USAGE, "--host '%s' is not a host name", escape(value, shown)) ==
		       EXIT_DONE;
	if (a->n_hosts == HOSTS_MAX)
		return fail(EXIT_USAGE, "--host may be given %d times", HOSTS_MAX) == EXIT_DONE;
	a->hosts[a->n_hosts++] = value;
	return true;
}

/* Warns once for a page and its JSON. */
static void on_damaged(void *arg, const char *path, const char *problem)
{
	(void)arg;
	if (strncmp(path, "/api/", 5) != 0)
		warn("%s: %s", path, problem);
}

/* Distinguishes usage errors from internal errors. */
static int serve_status_of(int r)
{
	bool usage = r == -EEXIST || r == -EINVAL || r == -EADDRINUSE || r == -EADDRNOTAVAIL;

	return usage ? EXIT_USAGE : EXIT_INTERNAL;
}

static int serve_export_all(struct serve *a)
{
	uint64_t files;
	struct err e;
	int r = serve_export(a->site, a->export, on_damaged, NULL, &files, &e);

	if (r < 0)
		return fail(serve_status_of(r), "%s", e.msg);
	printf("%llu files in %s\n", (unsigned long long)files, a->export);
	return EXIT_DONE;
}

static void serve_on_signal(void *arg, int signo)
{
	(void)signo;
	loop_stop(arg);
}

static int watch_signals(struct loop *l, struct source *signals[2], struct err *e)
{
	int r = loop_add_signal(l, SIGTERM, serve_on_signal, l, &signals[0], e);

	return r < 0 ? r : loop_add_signal(l, SIGINT, serve_on_signal, l, &signals[1], e);
}

static int serve_until_stopped(struct serve *a, const struct serve_listen *at, struct err *e)
{
	struct source *signals[2] = {0};
	struct serve_http *http = NULL;
	int r = watch_signals(a->loop, signals, e);

	if (r == 0)
		r = serve_http_start(a->loop, a->site, at, a->hosts, a->n_hosts, &http, e);
	if (r == 0)
		r = serve_drop(a->session.state, e);
	if (r == 0) {
		printf("http://%s%s%s:%u/ shows %s\n", strchr(at->host, ':') ? "[" : "", at->host,
		       strchr(at->host, ':') ? "]" : "", serve_http_port(http),
		       a->session.state->path);
		if (!serve_listen_is_local(at))
			(void)fail(EXIT_DONE,
				   "warning: every client that can connect can read everything");
		(void)fflush(stdout); /* a program that waits for the port reads a pipe */
		r = loop_run(a->loop, e);
	}
	serve_http_stop(http);
	source_remove(signals[0]);
	source_remove(signals[1]);
	return r;
}

static int serve_all(struct serve *a)
{
	struct serve_listen at;
	struct err e;
	int r;

	if (serve_listen_parse(a->listen ? a->listen : "127.0.0.1:8089", &at, &e) < 0)
		return fail(EXIT_USAGE, "--listen %s", e.msg);
	r = loop_new(&a->loop, &e);
	if (r == 0)
		r = serve_until_stopped(a, &at, &e);
	return r < 0 ? fail(serve_status_of(r), "%s", e.msg) : EXIT_DONE;
}

static bool serve_is_destination(void *arg, const char *place)
{
	return notify_has_place(arg, place);
}

/* A download hides a security-relevant crash when an issue would hide it. */
static struct serve_limits limits_of(struct config *c)
{
	enum downloads_mode downloads = config_serve(c)->downloads;
	bool is_full = config_github(c)->security == SECURITY_FULL;

	return (struct serve_limits){
	    .is_destination = serve_is_destination,
	    .arg = c,
	    .disk_reserve = config_run(c)->disk_reserve,
	    .silent_s = config_outbox(c)->silent_us / USEC_PER_SEC,
	    .late_s = config_outbox(c)->alarm_us / USEC_PER_SEC,
	    .downloads = downloads != DOWNLOADS_NONE,
	    .security_downloads =
		downloads == DOWNLOADS_ALL || (downloads == DOWNLOADS_PUBLIC && is_full),
	};
}

static int serve(struct serve *a)
{
	struct serve_limits limits;
	int r = session_load(&a->session);

	if (r == EXIT_DONE)
		r = session_set(&a->session, "serve.downloads", a->downloads, "--downloads");
	if (r == EXIT_DONE)
		r = session_read(&a->session);
	if (r != EXIT_DONE)
		return r;
	limits = limits_of(a->session.common.config);
	common_paths_find(&a->session.common, a->session.state->path, &a->paths);
	limits.sources = &a->sources;
	limits.config_path = a->paths.config;
	limits.state_path = a->paths.state;
	sources_open(a->session.common.config, &a->sources);
	a->site = serve_open(a->session.state);
	serve_set_limits(a->site, &limits);
	return a->export ? serve_export_all(a) : serve_all(a);
}

int command_serve(int argc, char **argv)
{
	struct serve a = {.sources = {.dirfd = -1}};
	int at = options_parse(argc, argv, "serve [OPTION]...", specs,
			       sizeof(specs) / sizeof(specs[0]), serve_take, &a);
	int r;

	if (at < 0)
		return -1 - at;
	if (at < argc)
		return fail(EXIT_USAGE, "serve: unexpected argument '%s'", argv[at]);
	r = serve(&a);
	loop_free(a.loop);
	serve_close(a.site);
	common_paths_done(&a.paths);
	sources_close(&a.sources);
	session_close(&a.session);
	return r;
}
