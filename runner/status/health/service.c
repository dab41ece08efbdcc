/* SPDX-License-Identifier: Apache-2.0 */
/* Problems of the service. */
#include "base/units.h"
#include "runner/status/health/internal.h"

#define USEC 1000000

static const char *health_service_age(uint64_t now, uint64_t since, char out[UNITS_MAX])
{
	return units_time((now > since ? now - since : 0) * USEC, out);
}

static void judge_outbox(const struct health_service *s, struct health *h)
{
	char old[UNITS_MAX], place[HEALTH_TEXT_MAX], why[HEALTH_TEXT_MAX];
	bool late = s->outbox.waiting > 0 && s->outbox.oldest > 0 &&
		    s->now > s->outbox.oldest + (s->outbox.late_s ? s->outbox.late_s : AT_OUTBOX_S);

	if (!late && s->outbox.refused == 0)
		return;
	health_add(h, HEALTH_OUTBOX_STUCK, HEALTH_WARNING,
		   "%llu reports wait, %llu of them were refused; the oldest for %s%s%s%s%s",
		   (unsigned long long)s->outbox.waiting, (unsigned long long)s->outbox.refused,
		   health_service_age(s->now, s->outbox.oldest, old), s->outbox.place ? ": " : "",
		   health_text(s->outbox.place, place), s->outbox.why && *s->outbox.why ? ": " : "",
		   health_text(s->outbox.why, why));
}

static void judge_disk(const struct health_service *s, struct health *h)
{
	char free_text[UNITS_MAX], reserve[UNITS_MAX];
	bool under = s->disk.free < s->disk.reserve;

	if (s->disk.known && s->disk.free / AT_DISK_NEAR < s->disk.reserve)
		health_add(h, HEALTH_DISK_LOW, under ? HEALTH_ERROR : HEALTH_WARNING,
			   "%s are free, the reserve is %s%s", units_size(s->disk.free, free_text),
			   units_size(s->disk.reserve, reserve),
			   under ? ": nothing is fuzzed" : "");
}

static void judge_run(const struct health_service *s, struct health *h)
{
	char run[HEALTH_TEXT_MAX];

	if (s->lost_run)
		health_add(h, HEALTH_RUN_LOST, HEALTH_WARNING,
			   "the last run (%s) did not come to its end%s",
			   health_text(s->lost_run, run),
			   s->lost_left ? "; what it left is not saved yet" : "");
}

static void judge_trigger(const struct health_service *s, struct health *h)
{
	char old[UNITS_MAX], why[HEALTH_TEXT_MAX];
	bool fetch = s->trigger.fetch_failures >= AT_FETCHES_FAILED &&
		     s->now > s->trigger.fetch_since + AT_FETCH_FAILED_S;

	health_text(s->trigger.why, why);
	if (fetch)
		health_add(h, HEALTH_TRIGGER_FAILING, HEALTH_ERROR,
			   "fetching failed %llu times, for %s%s%s",
			   (unsigned long long)s->trigger.fetch_failures,
			   health_service_age(s->now, s->trigger.fetch_since, old),
			   *why ? ": " : "", why);
	else if (s->trigger.run_failures > 0)
		health_add(h, HEALTH_TRIGGER_FAILING, HEALTH_ERROR,
			   "the last %llu runs of its commit failed%s%s",
			   (unsigned long long)s->trigger.run_failures, *why ? ": " : "", why);
}

static void judge_files(const struct health_service *s, struct health *h)
{
	char name[HEALTH_TEXT_MAX];

	if (s->unreadable.is != HEALTH_OK)
		health_add(h, HEALTH_DAMAGED, s->unreadable.is, "%s",
			   health_text(s->unreadable.why, name));
	else if (s->damaged_n > 0)
		health_add(h, HEALTH_DAMAGED, HEALTH_NOTE,
			   "%llu damaged files of the state were set aside: %s%s",
			   (unsigned long long)s->damaged_n, health_text(s->damaged, name),
			   s->damaged_n > 1 ? ", ..." : "");
	if (s->unknown_n > 0)
		health_add(h, HEALTH_NAME_UNKNOWN, HEALTH_WARNING,
			   "%llu names in the configuration match no target: targets.\"%s\"%s",
			   (unsigned long long)s->unknown_n, health_text(s->unknown, name),
			   s->unknown_n > 1 ? ", ..." : "");
}

void health_judge_service(const struct health_service *s, struct health *ret)
{
	*ret = (struct health){.known = true};
	judge_outbox(s, ret);
	judge_disk(s, ret);
	judge_run(s, ret);
	judge_trigger(s, ret);
	judge_files(s, ret);
	health_sort(ret);
}
