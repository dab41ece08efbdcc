/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CGROUPS_LIMITS_H
#define CGROUPS_LIMITS_H

#include "base/err.h"
#include "base/scan.h"
#include "cgroups/cgroup.h"
#include "cgroups/layout.h"

/* Limits as the text of control files: no I/O. */

enum cg_value_kind {
	CG_TEXT,   /* as written, up to a newline */
	CG_BYTES,  /* rounded down to pages; a huge number is no limit */
	CG_SWITCH, /* "oom_kill_disable N" is the first line (memory.oom_control) */
};

struct cg_setting {
	enum cg_controller controller;
	const char *file;
	enum cg_value_kind kind;
	/* A machine that lacks this file keeps the promise all the same: no file of
	 * swap limits on a machine without swap. */
	bool may_lack;
	char value[48];
};

enum { CG_SETTINGS_MAX = 12 };

/* -EINVAL: a limit that the kernel would round to something else, or a high mark
 * that is not below the limit. */
MUST_CHECK int cg_limits_check(const struct cgroup_limits *lim, struct err *e);

/* What to write for lim, in this order; returns how many.  on_v1: the
 * controllers that are on a v1 hierarchy.  has_swap: of this machine. */
unsigned cg_limits_settings(const struct cgroup_limits *lim, unsigned on_v1, bool has_swap,
			    struct cg_setting ret[CG_SETTINGS_MAX]);

/* Groups with a high mark: from the mark to the limit. */
unsigned cg_limits_open(const struct cgroup_limits *lim, unsigned on_v1,
			struct cg_setting ret[CG_SETTINGS_MAX]);

/* Is got, read from the file, what was wanted? */
bool cg_limits_same(const struct cg_setting *s, struct slice got, uint64_t page_size);

#endif
