/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about the targets of an active run. */
#include "base/cleanup.h"
#include "base/escape.h"
#include "runner/command/control/status.h"
#include "runner/status/health/health.h"

static int control_status_health_add_finding(const char *name, const struct health_finding *f,
					     bool advise, struct buf *out, struct err *e)
{
	char who[ESCAPE_MAX], why[ESCAPE_MAX];
	int r = buf_addf(out, e, "%s: %s %s: %s\n", escape(name, who),
			 health_severity_name(f->severity), health_code_name(f->code),
			 escape(f->reason, why));

	return r == 0 && advise ? buf_addf(out, e, "  -> %s\n", f->advice) : r;
}

int status_health(const json_t *target, bool all, struct buf *out, struct err *e)
{
	const struct health_target facts = {.stats = target};
	const char *name = json_string_value(json_object_get(target, "name"));
	enum health_severity from = all ? HEALTH_OK : HEALTH_WARNING;
	char who[ESCAPE_MAX];
	struct health h;
	int r = 0;

	health_judge(&facts, &h);
	for (size_t i = 0; r == 0 && i < h.n; i++)
		if (h.v[i].severity >= from)
			r = control_status_health_add_finding(name ? name : "", &h.v[i], all, out,
							      e);
	if (all && h.n == 0)
		r = buf_addf(out, e, "%s: %s\n", escape(name ? name : "", who),
			     h.known ? "healthy" : "nothing is known: it was not fuzzed yet");
	return r;
}
