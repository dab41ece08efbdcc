/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/host.h"

#include "base/cleanup.h"
#include "base/fs.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int hear_signals(struct bench_host *h, signal_fn *on_signal, void *arg, struct err *e)
{
	static const int signos[BENCH_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
	int r = loop_new(&h->loop, e);

	for (size_t i = 0; r == 0 && i < BENCH_SIGNALS; i++)
		r = loop_add_signal(h->loop, signos[i], on_signal, arg, &h->signals[i], e);
	return r;
}

static int lock_dir(struct bench_host *h, struct err *e)
{
	_autoclose_ int fd = -1;
	int r = fs_mkdirs(AT_FDCWD, h->dir, 0711, e);

	if (r == 0)
		r = fs_open_dir(AT_FDCWD, h->dir, &fd, e);
	if (r < 0)
		return r;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return err_sys(e, "lock '%s'", h->dir);
	h->dir_fd = take_fd(&fd);
	if (fchmod(h->dir_fd, 0711) <
	    0) /* independent of our umask: the jobs' users must enter it */
		return err_sys(e, "set the mode of '%s'", h->dir);
	return 0;
}

int bench_host_make(struct bench_host *h, const char *dir, const char *instance,
		    signal_fn *on_signal, void *arg, struct err *e)
{
	struct cgroup_tree_opts tree = {.instance = instance, .keeper = true};
	struct cell_host_opts host = {0};
	char runtime[100];
	int r;

	*h = (struct bench_host){.dir = dir, .dir_fd = -1};
	(void)snprintf(runtime, sizeof(runtime), "%s/host", dir);
	r = hear_signals(h, on_signal, arg, e);
	if (r == 0)
		r = lock_dir(h, e);
	if (r == 0)
		r = cgroup_tree_open(&tree, &h->tree, e);
	host.loop = h->loop;
	host.tree = h->tree;
	host.runtime_dir = runtime;
	return r < 0 ? r : cell_host_new(&host, &h->cells, e);
}

int bench_host_clear(struct bench_host *h, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < BENCH_SIGNALS; i++)
		source_remove(h->signals[i]);
	cell_host_free(h->cells);
	cgroup_tree_close(h->tree);
	loop_free(h->loop);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		; /* zombies of crun: we are a subreaper */
	if (h->dir_fd >= 0) {
		r = fs_remove_tree(AT_FDCWD, h->dir, e);
		close(take_fd(&h->dir_fd));
	}
	return r;
}
