/* SPDX-License-Identifier: Apache-2.0 */
#include "images/seccomp.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/memfd.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>

DEFINE_CLEANUP(scmp_filter_ctx, seccomp_release)

/* Without CLONE_NEWTIME, which shares a bit with clone's exit signal: only clone3 accepts it. */
#define SECCOMP_NEW_NAMESPACES                                                         \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

/* These values are newer than the headers of the oldest supported system. */
enum {
	MADV_COLLAPSE_ = 25,
	MADV_GUARD_INSTALL_ = 102,
	MADV_GUARD_REMOVE_ = 103,
	PR_SET_MEMORY_MERGE_ = 67,
	PR_GET_MEMORY_MERGE_ = 68,
};

struct rule {
	const char *call;
	uint32_t action;
	unsigned conditions; /* length of when: all of these conditions must hold */
	struct scmp_arg_cmp when[2];
};

#define ARG_EQ(arg_, value_)                                          \
	{                                                             \
		.arg = (arg_), .op = SCMP_CMP_EQ, .datum_a = (value_) \
	}
#define ARG_NOT(arg_, value_)                                         \
	{                                                             \
		.arg = (arg_), .op = SCMP_CMP_NE, .datum_a = (value_) \
	}
#define ARG_MASK(arg_, mask_, value_)                                                            \
	{                                                                                        \
		.arg = (arg_), .op = SCMP_CMP_MASKED_EQ, .datum_a = (mask_), .datum_b = (value_) \
	}

#define ALLOW(call_, why)	   {.call = #call_, .action = SCMP_ACT_ALLOW},
#define ANSWER(call_, errno_, why) {.call = #call_, .action = SCMP_ACT_ERRNO(errno_)},
#define WHEN_EQ(call_, arg_, value_, why) \
	{.call = #call_, .action = SCMP_ACT_ALLOW, .conditions = 1, .when = {ARG_EQ(arg_, value_)}},
#define WHEN_BOTH(call_, arg_, value_, arg2_, value2_, why) \
	{.call = #call_,                                    \
	 .action = SCMP_ACT_ALLOW,                          \
	 .conditions = 2,                                   \
	 .when = {ARG_EQ(arg_, value_), ARG_EQ(arg2_, value2_)}},
#define WHEN_MASK(call_, arg_, mask_, value_, why) \
	{.call = #call_,                           \
	 .action = SCMP_ACT_ALLOW,                 \
	 .conditions = 1,                          \
	 .when = {ARG_MASK(arg_, mask_, value_)}},
#define ANSWER_EQ(call_, arg_, value_, errno_, why) \
	{.call = #call_,                            \
	 .action = SCMP_ACT_ERRNO(errno_),          \
	 .conditions = 1,                           \
	 .when = {ARG_EQ(arg_, value_)}},
#define ANSWER_NOT(call_, arg_, value_, errno_, why) \
	{.call = #call_,                             \
	 .action = SCMP_ACT_ERRNO(errno_),           \
	 .conditions = 1,                            \
	 .when = {ARG_NOT(arg_, value_)}},
#define ANSWER_MASK(call_, arg_, mask_, value_, errno_, why) \
	{.call = #call_,                                     \
	 .action = SCMP_ACT_ERRNO(errno_),                   \
	 .conditions = 1,                                    \
	 .when = {ARG_MASK(arg_, mask_, value_)}},

#define DROP(call_, why)
#define NETWORK(call_, arg_, value_, why)

static const struct rule rules[] = {
#include "images/syscalls.inc"
};

static const struct rule build_rules[] = {
#include "images/syscalls_build.inc"
};

static const struct rule separate_rules[] = {
#include "images/syscalls_separate.inc"
};

#undef NETWORK
#define NETWORK(call_, arg_, value_, why) WHEN_EQ_(call_, arg_, value_)
#define WHEN_EQ_(call_, arg_, value_) \
	{.call = #call_, .action = SCMP_ACT_ALLOW, .conditions = 1, .when = {ARG_EQ(arg_, value_)}},
#undef ALLOW
#undef WHEN_EQ
#define ALLOW(call_, why)
#define WHEN_EQ(call_, arg_, value_, why)

static const struct rule network_rules[] = {
#include "images/syscalls_build.inc"
};

#undef NETWORK
#undef DROP
#define NETWORK(call_, arg_, value_, why)
#define DROP(call_, why) #call_,

static const char *const dropped_in_builds[] = {
#include "images/syscalls_build.inc"
};

static bool is_build(enum cell_profile p)
{
	return p == CELL_BUILD || p == CELL_BUILD_NETWORK;
}

/* Whether a rule for engines also applies to the profile. */
static bool seccomp_is_for(const struct rule *rule, enum cell_profile profile)
{
	for (size_t i = 0; i < sizeof(dropped_in_builds) / sizeof(dropped_in_builds[0]); i++)
		if (is_build(profile) && strcmp(rule->call, dropped_in_builds[i]) == 0)
			return false;
	return true;
}

static int add_rule(scmp_filter_ctx ctx, const struct rule *rule, struct err *e)
{
	int nr = seccomp_syscall_resolve_name(rule->call);
	int r;

	if (nr < 0) /* a call of another architecture, or newer than this libseccomp */
		return 0;
	r = seccomp_rule_add_array(ctx, rule->action, nr, rule->conditions, rule->when);
	return r < 0 ? err_set(e, -r, "seccomp rule for '%s'", rule->call) : 0;
}

/* Calls of a foreign table (int 0x80, x32) are also reported and refused.  No program in a cell
 * needs them.  The alternative, to kill the thread, would leave a hanging process. */
static int set_attributes(scmp_filter_ctx ctx, struct err *e)
{
	int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_NOTIFY);

	if (r == 0) /* 2: a binary tree of the call numbers */
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	return r < 0 ? err_set(e, -r, "seccomp attributes") : 0;
}

static int seccomp_export(scmp_filter_ctx ctx, uint8_t **ret, size_t *ret_n, struct err *e)
{
	_autoclose_ int fd = memfd_create("seccomp", MFD_CLOEXEC);
	_autofree_ uint8_t *program = NULL;
	struct stat st;
	int r;

	if (fd < 0)
		return err_sys(e, "memory for the seccomp filter");
	r = seccomp_export_bpf(ctx, fd);
	if (r < 0)
		return err_set(e, -r, "compile the seccomp filter");
	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat the seccomp filter");
	program = xmalloc((size_t)st.st_size);
	if (sys_pread(fd, program, (size_t)st.st_size, 0) != st.st_size)
		return err_set(e, EIO, "read the seccomp filter");
	*ret = take_ptr(&program);
	*ret_n = (size_t)st.st_size;
	return 0;
}

static int add_rules(scmp_filter_ctx ctx, const struct rule *v, size_t n, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_rule(ctx, &v[i], e);
	return r;
}

int seccomp_compile(enum cell_profile profile, uint8_t **ret, size_t *ret_n, struct err *e)
{
	CLEANUP(seccomp_release_p) scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_NOTIFY);
	int r;

	if (!ctx)
		out_of_memory();
	r = set_attributes(ctx, e);
	for (size_t i = 0; r == 0 && i < sizeof(rules) / sizeof(rules[0]); i++)
		if (seccomp_is_for(&rules[i], profile))
			r = add_rule(ctx, &rules[i], e);
	if (r == 0 && profile == CELL_ENGINE_SEPARATE)
		r = add_rules(ctx, separate_rules,
			      sizeof(separate_rules) / sizeof(separate_rules[0]), e);
	if (r == 0 && is_build(profile))
		r = add_rules(ctx, build_rules, sizeof(build_rules) / sizeof(build_rules[0]), e);
	if (r == 0 && profile == CELL_BUILD_NETWORK)
		r = add_rules(ctx, network_rules, sizeof(network_rules) / sizeof(network_rules[0]),
			      e);
	return r < 0 ? r : seccomp_export(ctx, ret, ret_n, e);
}

static bool seccomp_name_of(uint32_t arch, int nr, char out[SECCOMP_NAME_MAX])
{
	_autofree_ char *name = seccomp_syscall_resolve_num_arch(arch, nr);

	if (name)
		(void)snprintf(out, SECCOMP_NAME_MAX, "%s%s", name,
			       arch == seccomp_arch_native() ? "" : " (foreign)");
	else
		(void)snprintf(out, SECCOMP_NAME_MAX, "number %d", nr);
	return name;
}

void seccomp_name(int nr, char out[SECCOMP_NAME_MAX])
{
	(void)seccomp_name_of(seccomp_arch_native(), nr, out);
}

/* Receiving blocks without a waiting notification, even on a non-blocking descriptor. */
static int anything_waits(int listener, struct err *e)
{
	struct pollfd p = {.fd = listener, .events = POLLIN};
	int r = poll(&p, 1, 0); /* allow: does not wait */

	if (r < 0)
		return err_sys(e, "ask the seccomp listener");
	if (!(p.revents & POLLIN))
		return err_set(e, EAGAIN, "no seccomp notification waits");
	return 0;
}

/* A later kernel may have larger structures, and writes its own size. */
union notification {
	struct seccomp_notif n;
	char room[512];
};

union answer {
	struct seccomp_notif_resp a;
	char room[512];
};

int seccomp_take(int listener, struct seccomp_call *ret, struct err *e)
{
	union notification req = {0};
	bool known;
	int r = anything_waits(listener, e);

	if (r < 0)
		return r;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &req) < 0)
		return err_sys(e, "receive a seccomp notification");
	known = seccomp_name_of(req.n.data.arch, req.n.data.nr, ret->name);
	ret->id = req.n.id;
	ret->error = known ? EPERM : ENOSYS;
	return 0;
}

int seccomp_refuse(int listener, const struct seccomp_call *call, struct err *e)
{
	union answer resp = {.a = {.id = call->id, .error = -call->error}};

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0)
		return err_sys(e, "answer a seccomp notification");
	return 0;
}
