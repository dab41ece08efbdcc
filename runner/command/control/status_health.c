/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about the targets of an active run. */
#include "base/escape.h"
#include "runner/command/control/status.h"
#include "runner/status/health/health.h"

static void control_status_health_add_finding(const char *name, const struct health_finding *f,
					      bool advise, struct buf *out)
{
	char who[ESCAPE_MAX], why[ESCAPE_MAX];

	buf_printf(out, "%s: %s %s: %s\n", escape(name, who), health_severity_name(f->severity),
		   health_code_name(f->code), escape(f->reason, why));
	if (advise)
		buf_printf(out, "  -> %s\n", f->advice);
}

void status_health(const json_t *target, bool all, struct buf *out)
{
	const struct health_target facts = {.stats = target};
	const char *name = json_get_text(target, "name");
	enum health_severity from = all ? HEALTH_OK : HEALTH_WARNING;
	char who[ESCAPE_MAX];
	struct health h;

	health_judge(&facts, &h);
	for (size_t i = 0; i < h.n; i++)
		if (h.v[i].severity >= from)
			control_status_health_add_finding(name, &h.v[i], all, out);
	if (all && h.n == 0)
		buf_printf(out, "%s: %s\n", escape(name, who),
			   h.known ? "healthy" : "nothing is known: it was not fuzzed yet");
}
