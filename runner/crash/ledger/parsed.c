/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/ledger/parsed.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "runner/crash/ledger/internal.h"
#include "runner/crash/report/json.h"
#include "runner/crash/vault.h"

#include <errno.h>
#include <string.h>

static const char reports_key[] = "reports", sha1_key[] = "text_sha1";

/* Bytes of a text that are searched for the crash. */
enum { TEXT_MAX = 16 << 20 };

json_t *parsed_json(const struct crash_report *r, struct slice text)
{
	char sha1[DIGEST_SHA1_HEX];
	json_t *j = crash_report_json(r);

	digest_sha1_hex(text, sha1);
	(void)json_object_set_new(j, sha1_key, json_string(sha1));
	return j;
}

static void parsed_make(struct slice text, const char *target, struct crash_report *ret)
{
	struct crash_options o = {.target = target};

	if (text.n > TEXT_MAX)
		text.n = TEXT_MAX;
	crash_parse(text, &o, ret);
}

/* Whether there is no readable record, so no results.  Another failure may pass. */
static bool parsed_is_lost(int r)
{
	return r == -ENOENT || r == -EFBIG || r == -EINVAL || r == -ELOOP || r == -ENOTDIR ||
	       r == -EISDIR;
}

int parsed_load(int state_dirfd, const char *signature, json_t **ret, struct err *e)
{
	_autofree_ char *text = NULL;
	_autojson_ json_t *file = NULL;
	json_t *reports;
	size_t n = 0;
	int r = vault_read(state_dirfd, slice_of(signature), "", VAULT_RECORD, &text, &n, e);

	*ret = NULL;
	if (r < 0 && !parsed_is_lost(r))
		return r;
	if (r == 0 && ledger_count_values((struct slice){text, n}) <= LEDGER_VALUES_MAX)
		(void)!json_parse((struct slice){text, n}, &file, e);
	reports = json_object_get(json_object_get(file, signature), reports_key);
	*ret = json_is_object(reports) ? json_incref(reports) : json_object();
	return 0;
}

void parsed_drop(json_t *record)
{
	json_object_del(record, reports_key);
}

int parsed_of_record(const struct record *n, int state_dirfd, json_t **ret, struct err *e)
{
	_autojson_ json_t *old = NULL;
	int r = parsed_load(state_dirfd, n->c.signature, &old, e);

	if (r < 0)
		return r;
	*ret = json_object();
	for (size_t i = 0; i < n->c.n_by; i++) {
		const char *target = n->c.by[i]->fuzzer;
		json_t *j = json_object_get(n->reports, target);

		j = j ? j : json_object_get(old, target);
		if (json_is_object(j))
			(void)json_object_set(*ret, target, j);
	}
	return 0;
}

void parsed_put(json_t *record, json_t *reports)
{
	if (json_object_size(reports) > 0)
		(void)json_object_set(record, reports_key, reports);
}

void parsed_note(struct record *n, const char *target, json_t *report)
{
	if (!n->reports)
		n->reports = json_object();
	(void)json_object_set(n->reports, target, report);
	n->changed = true;
}

void parsed_read(int state_dirfd, const char *signature, const char *target, struct slice text,
		 struct crash_report *ret)
{
	_autojson_ json_t *reports = NULL;
	const json_t *report;
	char sha1[DIGEST_SHA1_HEX];
	struct err none;

	(void)!parsed_load(state_dirfd, signature, &reports, &none);
	report = json_object_get(reports, target);
	digest_sha1_hex(text, sha1);
	if (report && strcmp(json_get_text(report, sha1_key), sha1) == 0 &&
	    crash_report_from_json(report, ret, &none) == 0)
		return;
	parsed_make(text, target, ret);
}
