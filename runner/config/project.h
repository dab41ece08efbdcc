/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CONFIG_PROJECT_H
#define RUNNER_CONFIG_PROJECT_H

#include "base/err.h"
#include "base/scan.h"
#include "base/strv.h"

/* The project.yaml of a project in OSS-Fuzz: which builds it has.  Other keys of the file are for
 * OSS-Fuzz alone and are ignored.  A push can change the file, so it is hostile. */
#define PROJECT_FILE   "project.yaml"
#define PROJECT_SCRIPT "build.sh"
enum { PROJECT_MAX = 64 * 1024 /* bytes */, PROJECT_LIST_MAX = 32 /* elements */ };

struct project {
	/* The sanitizers that fuzzcell builds with; the first is for the main build. */
	struct strv sanitizers;
	struct strv
	    notes; /* "/x/project.yaml:7: fuzzing_engines: afl is ignored: ..."; printable */
};
void project_done(struct project *p);

/* name: of the file, for messages.  Errors are "NAME:LINE: KEY: what is wrong".  *ret is written
 * only on success. */
MUST_CHECK int project_parse(struct slice text, const char *name, struct project *ret,
			     struct err *e);
/* Reads the project.yaml in the directory dir, with the rights of the users who control its path.
 */
MUST_CHECK int project_read(const char *dir, struct project *ret, struct err *e);

#endif
