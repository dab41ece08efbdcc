/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/ledger/internal.h"

#include <time.h>

/* Exactly n decimal digits, with a value in min..max. */
static bool ledger_date_number(struct slice *in, size_t n, int min, int max, int *ret)
{
	struct slice digits = {in->p, n};
	uint64_t v;

	if (in->n < n || !scan_u64(&digits, 10, (uint64_t)max, &v) || digits.n != 0 || (int)v < min)
		return false;
	in->p += n;
	in->n -= n;
	*ret = (int)v;
	return true;
}

static bool ledger_date_one_of(struct slice *in, const char *any)
{
	if (in->n == 0 || !*in->p || !strchr(any, *in->p))
		return false;
	in->p++;
	in->n--;
	return true;
}

static bool scan_day(struct slice *in, struct tm *tm)
{
	if (!ledger_date_number(in, 4, 1970, 9999, &tm->tm_year))
		return false;
	ledger_date_one_of(in, "-");
	if (!ledger_date_number(in, 2, 1, 12, &tm->tm_mon))
		return false;
	ledger_date_one_of(in, "-");
	tm->tm_year -= 1900;
	tm->tm_mon--;
	return ledger_date_number(in, 2, 1, 31, &tm->tm_mday);
}

static bool scan_time(struct slice *in, struct tm *tm)
{
	uint64_t fraction;

	if (!ledger_date_number(in, 2, 0, 23, &tm->tm_hour))
		return false;
	ledger_date_one_of(in, ":");
	if (!ledger_date_number(in, 2, 0, 59, &tm->tm_min))
		return false;
	ledger_date_one_of(in, ":");
	if (in->n == 0 || *in->p < '0' || *in->p > '9')
		return true; /* seconds are optional */
	if (!ledger_date_number(in, 2, 0, 60, &tm->tm_sec))
		return false;
	return !ledger_date_one_of(in, ".") || scan_u64(in, 10, UINT64_MAX, &fraction);
}

static bool scan_zone(struct slice *in, int *ret_s)
{
	int hours, minutes = 0, sign;

	*ret_s = 0;
	if (in->n == 0 || ledger_date_one_of(in, "Zz"))
		return true;
	sign = *in->p == '-' ? -1 : 1;
	if (!ledger_date_one_of(in, "+-") || !ledger_date_number(in, 2, 0, 23, &hours))
		return false;
	ledger_date_one_of(in, ":");
	if (in->n > 0 && !ledger_date_number(in, 2, 0, 59, &minutes))
		return false;
	*ret_s = sign * (hours * 3600 + minutes * 60);
	return true;
}

bool ledger_date(struct slice text, uint64_t *ret)
{
	struct tm tm = {0};
	int zone = 0;
	time_t t;

	if (!scan_day(&text, &tm))
		return false;
	if (text.n > 0 && !(ledger_date_one_of(&text, "Tt -_") && scan_time(&text, &tm)))
		return false;
	scan_blanks(&text);
	if (!scan_zone(&text, &zone) || text.n > 0)
		return false;
	t = timegm(&tm) - zone;
	if (t < 0)
		return false;
	*ret = (uint64_t)t;
	return true;
}
