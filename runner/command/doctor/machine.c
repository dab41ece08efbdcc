/* SPDX-License-Identifier: Apache-2.0 */
/* Reports problems of this machine and their remedies: those that a run prints at its start, and
 * those that a run would not notice. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/sys.h"
#include "runner/command/doctor/doctor.h"
#include "runner/run/triage/triage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { ADVICE_MAX = 8192, PROC_MAX = 4096 };

static bool in_container(void)
{
	return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
}

/* Reads the first line of a file; "" if the file cannot be read. */
static void doctor_machine_read_line(const char *path, char *out, size_t n)
{
	_autofree_ char *text = NULL;
	struct slice in, line;
	struct err e;
	size_t len;

	out[0] = '\0';
	if (fs_read(AT_FDCWD, path, PROC_MAX, &text, &len, &e) < 0)
		return;
	in = (struct slice){text, len};
	if (scan_line(&in, &line))
		snprintf(out, n, "%.*s", (int)line.n, line.p);
}

static bool doctor_machine_read_number(const char *path, uint64_t *ret)
{
	char line[64];
	struct slice in;

	doctor_machine_read_line(path, line, sizeof(line));
	in = slice_of(line);
	return scan_u64(&in, 10, UINT64_MAX, ret);
}

/* --- what a run needs -------------------------------------------------------------- */

static int doctor_machine_check_promises(const struct session *s, const struct machine *m,
					 json_t *all, struct err *e)
{
	const struct cgroup_promises *p = cgroup_tree_promises(m->tree);
	bool fine = config_best_effort(s->common.config);
	_autobuf_ struct buf text = BUF_INIT(ADVICE_MAX);
	char reason[400];

	if (!*p->missing)
		return 0;
	machine_missing(m, &text);
	snprintf(reason, sizeof(reason), "this machine cannot keep: %s", p->missing);
	doctor_add(all, "promises", fine ? HEALTH_WARNING : HEALTH_ERROR, reason, buf_str(&text));
	return buf_check(&text, e);
}

static void doctor_machine_check_memory(const struct session *s, const struct machine *m,
					json_t *all)
{
	for (size_t i = 0; i < s->plan.n; i++) {
		struct err why;

		if (machine_memory(m, &s->plan.v[i], &why) < 0)
			doctor_add(all, "memory", HEALTH_ERROR, why.msg,
				   "lower that limit, or use a machine with more memory");
	}
}

static void check_files(const struct session *s, json_t *all)
{
	unsigned wanted = config_run(s->common.config)->workers, places;
	char reason[200];
	uint64_t limit;

	places = machine_places(&limit);
	wanted = wanted ? wanted : machine_cpus();
	if (places >= wanted)
		return;
	snprintf(reason, sizeof(reason),
		 "the limit of open files (%llu) allows %u cells at once, run.workers is %u",
		 (unsigned long long)limit, places, wanted);
	doctor_add(all, "open-files", places ? HEALTH_WARNING : HEALTH_ERROR, reason,
		   "raise it (ulimit -Hn, or LimitNOFILE= of the service), or lower run.workers");
}

/* Uses an instance name of its own, so that an active run keeps its groups. */
static int open_machine(const struct session *s, struct machine *m, struct err *e)
{
	char instance[40];

	snprintf(instance, sizeof(instance), "doctor-%u", (unsigned)getpid());
	return machine_try(s->common.config, instance, false, m, e);
}

static int check_cells(const struct session *s, json_t *all, struct buf *is, struct err *e)
{
	struct machine m = {0};
	struct err why;
	int r = 0;

	if (open_machine(s, &m, &why) < 0) {
		doctor_add(all, "cells", HEALTH_ERROR, why.msg,
			   in_container()
			       ? "in a container: docs/operations.md and compose.yaml show "
				 "its privileges"
			       : "docs/rootless.md lists the requirements of a machine");
	} else {
		machine_kept(&m, is);
		r = doctor_machine_check_promises(s, &m, all, e);
		doctor_machine_check_memory(s, &m, all);
		check_files(s, all);
	}
	machine_close(&m);
	return r;
}

/* --- what a run would not notice ------------------------------------------------------ */

static void check_psi(json_t *all)
{
	if (access("/proc/pressure/cpu", R_OK) == 0)
		return;
	doctor_add(all, "pressure", HEALTH_WARNING,
		   "the kernel does not report pressure (/proc/pressure): fuzzcell cannot know how "
		   "many cells this machine can run, and which cells wait for a CPU",
		   "boot with psi=1");
}

static void check_core_pattern(json_t *all)
{
	char line[200], reason[400];

	doctor_machine_read_line("/proc/sys/kernel/core_pattern", line, sizeof(line));
	if (line[0] != '|')
		return;
	snprintf(reason, sizeof(reason),
		 "each crash that no sanitizer handles starts a program outside of the cell: %s",
		 line);
	doctor_add(all, "core-pattern", HEALTH_NOTE, reason, "sysctl -w kernel.core_pattern=core");
}

static void check_namespaces(json_t *all)
{
	uint64_t most;

	if (!doctor_machine_read_number("/proc/sys/user/max_user_namespaces", &most) || most > 0)
		return;
	doctor_add(all, "user-namespaces", HEALTH_ERROR,
		   "user.max_user_namespaces is 0: a cell's user is in a namespace of its own",
		   "sysctl -w user.max_user_namespaces=65536");
}

/* Above this value, the fixed shadow addresses of sanitizers before LLVM 18 are sometimes taken.
 * The value is OSS-Fuzz's. */
enum { RND_BITS = 28 };

static void check_randomisation(json_t *all)
{
	char reason[200];
	uint64_t bits;

	if (!doctor_machine_read_number("/proc/sys/vm/mmap_rnd_bits", &bits) || bits <= RND_BITS)
		return;
	snprintf(reason, sizeof(reason),
		 "vm.mmap_rnd_bits is %llu: with sanitizers of clang before 18 some starts fail by "
		 "chance",
		 (unsigned long long)bits);
	doctor_add(all, "mmap-rnd-bits", HEALTH_NOTE, reason,
		   "sysctl -w vm.mmap_rnd_bits=28, or a newer clang");
}

static void check_clock(const struct session *s, json_t *all)
{
	char line[64];
	struct slice in;
	uint64_t last;

	_autofree_ char *text = NULL;
	struct err ignored;
	size_t n;

	if (!s->state ||
	    fs_read(s->state->dirfd, "last_run_timestamp", sizeof(line), &text, &n, &ignored) < 0)
		return;
	in = (struct slice){text, n};
	if (!scan_u64(&in, 10, UINT64_MAX, &last) || last <= clock_real_us() / USEC_PER_SEC)
		return;
	doctor_add(all, "clock", HEALTH_WARNING,
		   "the clock is behind the start of the last run: ages and dates are wrong",
		   "set the clock (timedatectl set-ntp true)");
}

static void check_symbolizer(const struct session *s, json_t *all)
{
	_autofree_ char *found = symbolizer_find(config_rootfs(s->common.config));

	if (found || config_symbolizer(s->common.config))
		return;
	doctor_add(all, "symbolizer", HEALTH_WARNING,
		   "no llvm-symbolizer here: crashes have addresses, not names, and different "
		   "crashes are harder to distinguish",
		   "install llvm, or set \"symbolizer\"");
}

static void add_kernel(struct buf *is)
{
	struct utsname u;

	if (uname(&u) < 0)
		return;
	buf_printf(is, "%sLinux %.60s, %s, %s", is->n ? "; " : "", u.release,
		   geteuid() == 0 ? "root" : "without root",
		   in_container() ? "in a container" : "no container");
}

int doctor_machine(const struct session *s, json_t *findings, struct buf *ret_is, struct err *e)
{
	int r = check_cells(s, findings, ret_is, e);

	if (r < 0)
		return r;
	add_kernel(ret_is);
	check_psi(findings);
	check_namespaces(findings);
	check_symbolizer(s, findings);
	check_core_pattern(findings);
	check_randomisation(findings);
	check_clock(s, findings);
	return buf_check(ret_is, e);
}
