/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/trigger/record.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAME	"trigger.json"
#define DAMAGED NAME ".damaged"

enum { VERSION = 1, FILE_MAX = 65536 };

static const char *const record_outcomes[] = {"none", "running", "done", "stopped", "failed"};

const char *outcome_name(enum outcome o)
{
	return record_outcomes[o];
}

/* --- writing -------------------------------------------------------------------- */

static void record_renew(struct trigger_record *r, const struct moment *now)
{
	since_renew(&r->start, now);
	since_renew(&r->head_seen, now);
	since_renew(&r->fetch_failing, now);
	since_renew(&r->busy, now);
}

bool record_clock_set(const struct trigger_record *r, const struct moment *now)
{
	const struct moment *at = &r->start.at;
	int64_t real = (int64_t)(now->real_us - at->real_us);
	int64_t boot = (int64_t)(now->boot_us - at->boot_us);

	return r->start.known && llabs(real - boot) > (int64_t)USEC_PER_SEC;
}

static json_t *record_since_json(const struct since *s)
{
	if (!s->known)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:s}", "age_us", (json_int_t)(s->age_us & INT64_MAX),
			 "real_us", (json_int_t)s->at.real_us, "boot_us", (json_int_t)s->at.boot_us,
			 "boot", s->at.boot);
}

int record_save(int dirfd, const struct moment *now, struct trigger_record *r, struct err *e)
{
	_autofree_ char *text = NULL;
	_autojson_ json_t *j = NULL;
	int rc;

	record_renew(r, now);
	j = json_pack(
	    "{s:i, s:o?, s:s, s:s, s:s, s:I, s:I, s:s, s:I, s:s, s:o?, s:I, s:o?, s:s, s:o?}",
	    "version", VERSION, "start", record_since_json(&r->start), "commit", r->commit,
	    "outcome", outcome_name(r->outcome), "why", r->why, "pid", (json_int_t)r->pid,
	    "pid_start", (json_int_t)r->pid_start, "failed", r->failed, "failures",
	    (json_int_t)r->failures, "head", r->head, "head_seen", record_since_json(&r->head_seen),
	    "fetch_failures", (json_int_t)r->fetch_failures, "fetch_failing",
	    record_since_json(&r->fetch_failing), "fetch_error", r->fetch_error, "busy",
	    record_since_json(&r->busy));
	rc = json_print(j, 2, &text, e); /* NULL, from text that is not UTF-8, is an error */
	if (rc == 0)
		rc = fs_replace(dirfd, NAME, slice_of(text), e);
	return rc < 0 ? err_wrap(e, "save the trigger's record") : 0;
}

/* --- reading: a user may have edited the file, a disk may have damaged it ------- */

static bool record_get_number(const json_t *obj, const char *key, uint64_t max, uint64_t *ret)
{
	const json_t *j = json_object_get(obj, key);
	json_int_t v = json_integer_value(j);

	if (!json_is_integer(j) || v < 0 || (uint64_t)v > max)
		return false;
	*ret = (uint64_t)v;
	return true;
}

/* Copies a text, printable.  Cuts a long text instead of refusing the record. */
static bool record_get_text(const json_t *obj, const char *key, size_t size, char *ret)
{
	const char *s = json_string_value(json_object_get(obj, key));

	if (!s)
		return false;
	(void)snprintf(ret, size, "%s", s);
	for (char *p = ret; *p; p++)
		if (*p < 0x20 || *p == 0x7f)
			*p = '?';
	return true;
}

static bool record_get_commit(const json_t *obj, const char *key, char ret[COMMIT_MAX])
{
	return record_get_text(obj, key, COMMIT_MAX, ret) && (!*ret || commit_ok(ret));
}

static bool record_get_since(const json_t *obj, const char *key, struct since *ret)
{
	const json_t *j = json_object_get(obj, key);

	*ret = (struct since){0};
	if (json_is_null(j))
		return true;
	ret->known = true;
	return record_get_number(j, "age_us", INT64_MAX, &ret->age_us) &&
	       record_get_number(j, "real_us", INT64_MAX, &ret->at.real_us) &&
	       record_get_number(j, "boot_us", INT64_MAX, &ret->at.boot_us) &&
	       record_get_text(j, "boot", sizeof(ret->at.boot), ret->at.boot);
}

static bool record_get_outcome(const json_t *obj, enum outcome *ret)
{
	const char *s = json_string_value(json_object_get(obj, "outcome"));

	for (unsigned i = 0; s && i < OUTCOME_COUNT; i++)
		if (strcmp(s, record_outcomes[i]) == 0) {
			*ret = (enum outcome)i;
			return true;
		}
	return false;
}

static bool record_read_numbers(const json_t *j, struct trigger_record *r)
{
	uint64_t version, pid, failures, fetches;

	if (!record_get_number(j, "version", VERSION, &version) || version != VERSION ||
	    !record_get_number(j, "pid", INT32_MAX, &pid) ||
	    !record_get_number(j, "pid_start", INT64_MAX, &r->pid_start) ||
	    !record_get_number(j, "failures", UINT32_MAX, &failures) ||
	    !record_get_number(j, "fetch_failures", UINT32_MAX, &fetches))
		return false;
	r->pid = (pid_t)pid;
	r->failures = (unsigned)failures;
	r->fetch_failures = (unsigned)fetches;
	return true;
}

static bool record_read(const json_t *j, struct trigger_record *r)
{
	return record_read_numbers(j, r) && record_get_outcome(j, &r->outcome) &&
	       record_get_commit(j, "commit", r->commit) &&
	       record_get_commit(j, "failed", r->failed) && record_get_commit(j, "head", r->head) &&
	       record_get_text(j, "why", sizeof(r->why), r->why) &&
	       record_get_text(j, "fetch_error", sizeof(r->fetch_error), r->fetch_error) &&
	       record_get_since(j, "start", &r->start) &&
	       record_get_since(j, "head_seen", &r->head_seen) &&
	       record_get_since(j, "fetch_failing", &r->fetch_failing) &&
	       record_get_since(j, "busy", &r->busy);
}

/* Reads last_run_timestamp, the start of the state's last run: a line with seconds since 1970.  A
 * time in the future comes from a wrong clock and counts as now, to be safe. */
static bool record_last_run(int dirfd, const struct moment *now, struct since *ret)
{
	_autofree_ char *text = NULL;
	struct slice s;
	uint64_t when;
	struct err e;
	size_t n;

	if (fs_read(dirfd, "last_run_timestamp", 64, &text, &n, &e) < 0)
		return false;
	s = (struct slice){text, n};
	if (!scan_u64(&s, 10, INT64_MAX / USEC_PER_SEC, &when))
		return false;
	when *= USEC_PER_SEC;
	*ret = since_now(now);
	ret->age_us = now->real_us > when ? now->real_us - when : 0;
	return true;
}

static int record_set_aside(int dirfd, bool read_only, const char *why, const struct moment *now,
			    struct trigger_record *ret, char warning[RECORD_WHY], struct err *e)
{
	*ret = (struct trigger_record){0};
	if (!read_only && sys_renameat(dirfd, NAME, DAMAGED) < 0)
		return err_sys(e, "set the damaged " NAME " aside");
	if (!record_last_run(dirfd, now, &ret->start))
		ret->start = since_now(now);
	(void)snprintf(warning, RECORD_WHY,
		       NAME " cannot be read (%.150s): it is set aside as " DAMAGED
			    "; a new push may wait for a whole interval",
		       why);
	return 0;
}

int record_load(int dirfd, bool read_only, const struct moment *now, struct trigger_record *ret,
		char warning[RECORD_WHY], struct err *e)
{
	_autojson_ json_t *j = NULL;
	struct err why;
	int r = json_load(dirfd, NAME, FILE_MAX, &j, &why);

	*warning = '\0';
	*ret = (struct trigger_record){0};
	if (r == -ENOENT) {
		(void)record_last_run(dirfd, now, &ret->start);
		return 0;
	}
	/* These errors do not mean that the file is damaged. */
	if (r == -ENOMEM || r == -EIO || r == -EACCES || r == -EMFILE || r == -ENFILE) {
		*e = why;
		return r;
	}
	if (r < 0)
		return record_set_aside(dirfd, read_only, why.msg, now, ret, warning, e);
	if (!record_read(j, ret))
		return record_set_aside(dirfd, read_only, "a value is missing or invalid", now, ret,
					warning, e);
	if (since_went_back(&ret->start, now))
		(void)snprintf(warning, RECORD_WHY,
			       "the clock is behind its value before the last boot: a push "
			       "may wait for an interval since then");
	record_renew(ret, now);
	return 0;
}

void record_done(int dirfd, char ret[COMMIT_MAX])
{
	_autofree_ char *text = NULL;
	struct err e;
	size_t n;

	*ret = '\0';
	if (fs_read(dirfd, "last_run_commit", 256, &text, &n, &e) < 0)
		return;
	text[strcspn(text, "\r\n")] = '\0';
	if (commit_ok(text))
		(void)snprintf(ret, COMMIT_MAX, "%s", text);
}
