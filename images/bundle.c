/* SPDX-License-Identifier: Apache-2.0 */
#include "images/bundle.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/memory.h"
#include "images/init.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Locked memory counts against the cell's limit, but cannot be reclaimed. */
enum { MEMLOCK_BYTES = 1 << 20 };
/* The kernel's OOM killer chooses processes of a cell before those of the machine. */
enum { OOM_SCORE_ADJ = 1000 };
/* POSIX shared memory; its memory counts as the cell's, like /tmp. */
enum { SHM_BYTES = 16 << 20 };
/* A name in a tmpfs uses about a kilobyte, so the number of names is limited, too. */
enum { BYTES_PER_INODE = 4096, INODES_MIN = 256 };

/* runc's defaults (libcontainer/specconv, "maskedPaths" and "readonlyPaths") below /proc.  Further
 * files describe the machine, and no job needs them. */
static const char *const masked[] = {"/proc/acpi",	  "/proc/asound",	 "/proc/kcore",
				     "/proc/keys",	  "/proc/latency_stats", "/proc/timer_list",
				     "/proc/timer_stats", "/proc/sched_debug",	 "/proc/scsi",
				     "/proc/kallsyms",	  "/proc/config.gz",	 "/proc/pressure"};
static const char *const readonly[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
				       "/proc/sysrq-trigger"};
static const char *const namespaces[] = {"pid", "network", "ipc", "uts", "mount", "user", "cgroup"};

/* Takes ownership of j.  False: j is NULL, because a text in it is not UTF-8. */
static bool bundle_add(json_t *list, json_t *j)
{
	return json_array_append_new(list, j) == 0;
}

static json_t *bundle_strings(const char *const *s, size_t n)
{
	_autojson_ json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		if (!bundle_add(list, json_string(s[i])))
			return NULL;
	return json_incref(list);
}

static json_t *bundle_vector(const char *const *v)
{
	size_t n = 0;

	while (v && v[n])
		n++;
	return bundle_strings(v, n);
}

/* Process 1, with the job's argv as its arguments. */
static json_t *bundle_arguments(const char *const *argv)
{
	json_t *list = bundle_vector(argv);

	if (list)
		json_array_insert_new(list, 0, json_string(INIT_PATH));
	return list;
}

static json_t *bundle_tmpfs(const char *target, const char *exec, const char *rw, uint64_t bytes)
{
	char size[64], inodes[64];
	uint64_t files = bytes / BYTES_PER_INODE;

	/* for tmpfs, size 0 means no limit */
	(void)snprintf(size, sizeof(size), "size=%llu", (unsigned long long)(bytes ? bytes : 1));
	(void)snprintf(inodes, sizeof(inodes), "nr_inodes=%llu",
		       (unsigned long long)(files > INODES_MIN ? files : INODES_MIN));
	return json_pack("{s:s, s:s, s:s, s:[s,s,s,s,s,s]}", "destination", target, "type", "tmpfs",
			 "source", "tmpfs", "options", "nosuid", exec, rw, "mode=755", size,
			 inodes);
}

static bool bundle_is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Recursive, because the kernel refuses a bind mount that would uncover files below a mount.  "ro"
 * applies only to the top mount; "rro" (Linux 5.12) also protects file systems mounted below it.
 * crun 1.8.1 refuses "rro" for a file. */
static json_t *bundle_bind(const struct bundle *b, const struct cell_mount *m)
{
	_autojson_ json_t *options =
	    json_pack("[s,s,s,s,s]", "rbind", "nosuid", "nodev", m->writable ? "rw" : "ro",
		      m->exec ? "exec" : "noexec");

	if (!m->writable && b->recursive && bundle_is_dir(m->source))
		json_array_append_new(options, json_string("rro"));
	return json_pack("{s:s, s:s, s:s, s:O}", "destination", m->target, "type", "bind", "source",
			 m->source, "options", options);
}

/* Read-only, so that a job cannot lower its OOM score there (only CAP_SYS_RESOURCE sets a minimum).
 * No engine writes to files in /proc. */
static json_t *bundle_proc(void)
{
	return json_pack("{s:s, s:s, s:s, s:[s,s,s,s]}", "destination", "/proc", "type", "proc",
			 "source", "proc", "options", "nosuid", "nodev", "noexec", "ro");
}

/* In mount order: later mounts may be inside or over earlier ones. */
static json_t *bundle_mounts(const struct bundle *b)
{
	_autojson_ json_t *list = json_array();

	json_array_append_new(list, bundle_proc());
	json_array_append_new(list, bundle_tmpfs("/dev", "noexec", "ro", 65536));
	json_array_append_new(list, bundle_tmpfs("/dev/shm", "noexec", "nodev", SHM_BYTES));
	json_array_append_new(list,
			      bundle_tmpfs("/tmp", b->profile == CELL_ENGINE ? "noexec" : "exec",
					   "nodev", b->spec->tmp_bytes));
	for (size_t i = 0; i < b->plan->n; i++) {
		const struct root_part *p = &b->plan->part[i];
		struct cell_mount m = {p->source, p->path, false, true};

		if (p->source && !bundle_add(list, bundle_bind(b, &m)))
			return NULL;
	}
	for (size_t i = 0; i < b->spec->n_mounts; i++)
		if (!bundle_add(list, bundle_bind(b, &b->spec->mounts[i])))
			return NULL;
	return json_incref(list);
}

static void add_limit(json_t *list, const char *type, rlim_t value)
{
	json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "type", type, "soft",
					      (json_int_t)value, "hard", (json_int_t)value));
}

static rlim_t bundle_min(rlim_t a, rlim_t b)
{
	return a < b ? a : b;
}

static json_t *bundle_rlimits(const struct bundle *b)
{
	json_t *list = json_array();

	add_limit(list, "RLIMIT_CORE", 0);
	add_limit(list, "RLIMIT_MEMLOCK", bundle_min(MEMLOCK_BYTES, b->memlock_hard));
	if (b->spec->file_bytes)
		add_limit(list, "RLIMIT_FSIZE", b->spec->file_bytes);
	if (b->spec->cpu_s)
		add_limit(list, "RLIMIT_CPU", b->spec->cpu_s);
	if (b->spec->files_max)
		add_limit(list, "RLIMIT_NOFILE", bundle_min(b->spec->files_max, b->files_hard));
	return list;
}

static json_t *bundle_process(const struct bundle *b)
{
	return json_pack("{s:b, s:{s:i,s:i}, s:o, s:o, s:s, s:{s:[],s:[],s:[],s:[],s:[]}, s:b, "
			 "s:i, s:o}",
			 "terminal", 0, "user", "uid", 0, "gid", 0, "args",
			 bundle_arguments(b->spec->argv), "env", bundle_vector(b->spec->env), "cwd",
			 b->spec->cwd, "capabilities", "bounding", "effective", "inheritable",
			 "permitted", "ambient", "noNewPrivileges", 1, "oomScoreAdj", OOM_SCORE_ADJ,
			 "rlimits", bundle_rlimits(b));
}

static json_t *bundle_mapping(uint32_t outside)
{
	return json_pack("[{s:i, s:I, s:i}]", "containerID", 0, "hostID", (json_int_t)outside,
			 "size", 1);
}

static json_t *namespace_list(const struct bundle *b)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
		if (b->profile != CELL_BUILD_NETWORK || strcmp(namespaces[i], "network") != 0)
			json_array_append_new(list, json_pack("{s:s}", "type", namespaces[i]));
	return list;
}

static json_t *linux_part(const struct bundle *b)
{
	return json_pack(
	    "{s:o, s:o, s:o, s:o, s:o}", "uidMappings", bundle_mapping(b->spec->uid), "gidMappings",
	    bundle_mapping(b->spec->gid), "namespaces", namespace_list(b), "maskedPaths",
	    bundle_strings(masked, sizeof(masked) / sizeof(masked[0])), "readonlyPaths",
	    bundle_strings(readonly, sizeof(readonly) / sizeof(readonly[0])));
}

/* Without linux.seccomp, which crun would compile for every cell.  Instead, crun's own annotations
 * pass a compiled program ("run.oci.seccomp_bpf_data") and the socket for its listener
 * ("run.oci.seccomp.receiver"); source: crun 1.8.1, libcrun/container.c.  crun then loads the
 * program with SPEC_ALLOW (no mitigation that costs speed) and NEW_LISTENER. */
int bundle_json(const struct bundle *b, char **ret, struct err *e)
{
	json_error_t at;
	_autojson_ json_t *root = json_pack_ex(
	    &at, 0, "{s:s, s:o, s:{s:s, s:b}, s:s, s:o, s:o, s:{s:s, s:s}}", "ociVersion", "1.0.2",
	    "process", bundle_process(b), "root", "path", "rootfs", "readonly", 1, "hostname",
	    "cell", "mounts", bundle_mounts(b), "linux", linux_part(b), "annotations",
	    "run.oci.seccomp_bpf_data", b->filter, "run.oci.seccomp.receiver", b->listener);

	if (!root)
		return err_set(e, EINVAL,
			       "the cell's description: an argument, variable or path is not "
			       "UTF-8");
	return json_print(root, 0, ret, e);
}

char *bundle_base64(const uint8_t *p, size_t n)
{
	char *out = xmalloc((n + 2) / 3 * 4 + 1);

	EVP_EncodeBlock((unsigned char *)out, p, (int)n);
	return out;
}
