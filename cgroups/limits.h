/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CGROUPS_LIMITS_H
#define CGROUPS_LIMITS_H

#include "base/err.h"
#include "base/scan.h"
#include "cgroups/cgroup.h"
#include "cgroups/layout.h"

/* Converts limits to the text of control files.  No I/O. */

enum cg_value_kind {
	CG_TEXT,   /* as written, up to a newline */
	CG_BYTES,  /* rounded down to pages; a huge number means no limit */
	CG_SWITCH, /* "oom_kill_disable N" is the first line (memory.oom_control) */
};

struct cg_setting {
	enum cg_controller controller;
	const char *file;
	enum cg_value_kind kind;
	/* The limit holds even if this file is missing: a machine without swap has no file for swap
	 * limits. */
	bool may_lack;
	char value[48];
};

enum { CG_SETTINGS_MAX = 12 };

/* -EINVAL: the kernel would change a limit, or the high mark is not below the limit. */
MUST_CHECK int cg_limits_check(const struct cgroup_limits *lim, struct err *e);

/* The settings to write for lim, in this order; returns their number.  on_v1: the controllers on a
 * v1 hierarchy.  has_swap: whether this machine has swap. */
unsigned cg_limits_settings(const struct cgroup_limits *lim, unsigned on_v1, bool has_swap,
			    struct cg_setting ret[CG_SETTINGS_MAX]);

/* The settings that raise a group's memory limit from the high mark to memory_max. */
unsigned cg_limits_open(const struct cgroup_limits *lim, unsigned on_v1,
			struct cg_setting ret[CG_SETTINGS_MAX]);

/* Whether got, which was read from the file, equals the setting. */
bool cg_limits_same(const struct cg_setting *s, struct slice got, uint64_t page_size);

#endif
