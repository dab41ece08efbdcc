/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/trigger/quiet.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { FILE_MAX = 4 << 20 };

/* --- reading -------------------------------------------------------------------- */

/* "0.52", as thousandths. */
static bool quiet_scan_milli(struct slice *in, uint32_t *ret)
{
	uint64_t whole, part, unit = 1000;
	struct slice at = *in, digits;

	if (!scan_u64(&at, 10, 4000000, &whole) || !scan_lit(&at, SLICE(".")))
		return false;
	digits = at;
	if (!scan_u64(&at, 10, UINT32_MAX, &part))
		return false;
	for (size_t i = 0; i < (size_t)(at.p - digits.p); i++) {
		unit /= 10;
		if (unit == 0) /* drop digits below thousandths */
			part /= 10;
	}
	*ret = (uint32_t)(whole * 1000 + part * (unit ? unit : 1));
	*in = at;
	return true;
}

/* "cpu  user nice system idle iowait irq softirq steal guest guest_nice", in ticks.  User time
 * includes guest time. */
static bool quiet_parse_cpu(struct slice line, struct quiet_sample *s)
{
	enum { IDLE = 3, IOWAIT = 4, STEAL = 7, FIELDS = 8 };
	uint64_t v[FIELDS], all = 0;

	if (!scan_lit(&line, SLICE("cpu ")))
		return false;
	for (unsigned i = 0; i < FIELDS; i++) {
		scan_blanks(&line);
		if (!scan_u64(&line, 10, UINT64_MAX / 16, &v[i]))
			return false;
		all += v[i];
	}
	s->all_ticks = all;
	s->steal_ticks = v[STEAL];
	s->busy_ticks = all - v[IDLE] - v[IOWAIT] - v[STEAL];
	return true;
}

bool quiet_parse_stat(struct slice text, struct quiet_sample *s)
{
	struct quiet_sample new = *s;
	struct slice line;

	if (!scan_line(&text, &line) || !quiet_parse_cpu(line, &new))
		return false;
	new.cpus = 0;
	while (scan_line(&text, &line) && scan_lit(&line, SLICE("cpu")))
		new.cpus++;
	if (new.cpus == 0)
		return false;
	*s = new;
	return true;
}

bool quiet_parse_load(struct slice text, struct quiet_sample *s)
{
	return quiet_scan_milli(&text, &s->load);
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=0", in percent. */
bool quiet_parse_pressure(struct slice text, struct quiet_sample *s)
{
	struct slice skip;
	uint32_t percent;

	if (!scan_lit(&text, SLICE("some avg10=")) || !scan_until(&text, ' ', 16, &skip) ||
	    !scan_lit(&text, SLICE(" avg60=")) || !quiet_scan_milli(&text, &percent))
		return false;
	s->pressure = percent / 100;
	s->has_pressure = true;
	return true;
}

static int quiet_read_one(int proc, const char *name,
			  bool (*parse)(struct slice, struct quiet_sample *),
			  struct quiet_sample *s, struct err *e)
{
	_autofree_ char *text = NULL;
	size_t n;
	int r = fs_read(proc, name, FILE_MAX, &text, &n, e);

	if (r == 0 && !parse((struct slice){text, n}, s))
		r = err_set(e, EPROTO, "'%s' is not as expected", name);
	return r;
}

int quiet_read(const char *proc, struct quiet_sample *ret, struct err *e)
{
	struct quiet_sample s = {0};
	_autoclose_ int fd = -1;
	int r = fs_open_dir(AT_FDCWD, proc, &fd, e);

	if (r == 0)
		r = quiet_read_one(fd, "stat", quiet_parse_stat, &s, e);
	if (r == 0)
		r = quiet_read_one(fd, "loadavg", quiet_parse_load, &s, e);
	if (r < 0)
		return r;
	/* Kernels without pressure information have no such file, or reading it fails. */
	if (quiet_read_one(fd, "pressure/cpu", quiet_parse_pressure, &s, e) < 0)
		s.has_pressure = false;
	*ret = s;
	return 0;
}

/* --- measuring ------------------------------------------------------------------ */

static uint64_t quiet_less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint32_t quiet_share(uint64_t part, uint64_t all)
{
	return all ? (uint32_t)(part > all ? 1000 : part * 1000 / all) : 0;
}

struct quiet_reading quiet_between(const struct quiet_sample *before,
				   const struct quiet_sample *after)
{
	unsigned cpus = after->cpus ? after->cpus : 1;
	uint64_t all = quiet_less(after->all_ticks, before->all_ticks);
	uint64_t busy = quiet_less(after->busy_ticks, before->busy_ticks);
	uint64_t wall_us = quiet_less(after->at_us, before->at_us);
	uint32_t used = quiet_share(busy, all);
	uint32_t own = quiet_share(quiet_less(after->own_us, before->own_us), wall_us * cpus);

	return (struct quiet_reading){
	    .load = after->load / cpus,
	    .steal = quiet_share(quiet_less(after->steal_ticks, before->steal_ticks), all),
	    .others = used > own ? used - own : 0,
	    .has_pressure = after->has_pressure,
	    .pressure = after->pressure,
	};
}

/* --- deciding ------------------------------------------------------------------- */

static bool quiet_is_over(const char *what, uint32_t value, uint32_t limit, struct quiet_answer *a)
{
	if (limit == 0 || value <= limit)
		return false;
	(void)snprintf(a->why, sizeof(a->why),
		       "other work needs the machine: %s %u.%03u, limit %u.%03u", what,
		       value / 1000, value % 1000, limit / 1000, limit % 1000);
	return true;
}

static uint32_t quiet_beside_ours(uint32_t load)
{
	return (uint32_t)((uint64_t)load * 1000 / ((uint64_t)load + 1000));
}

static bool quiet_busy(const struct trigger_config *c, const struct quiet_reading *r, bool ours,
		       struct quiet_answer *a)
{
	if (quiet_is_over("stolen CPU time", r->steal, c->quiet.steal, a))
		return true;
	if (ours)
		return quiet_is_over("CPU use of others", r->others,
				     quiet_beside_ours(c->quiet.load), a);
	return quiet_is_over("load per CPU", r->load, c->quiet.load, a) ||
	       (r->has_pressure &&
		quiet_is_over("CPU pressure", r->pressure, c->quiet.cpu_pressure, a));
}

void quiet_decide(const struct trigger_config *c, const struct quiet_reading *r, bool ours,
		  uint64_t waited_us, struct quiet_answer *ret)
{
	char time[UNITS_MAX];
	size_t n;

	*ret = (struct quiet_answer){.what = QUIET_ALL};
	if (c->quiet.mode == QUIET_OFF || !quiet_busy(c, r, ours, ret))
		return;
	if (c->quiet.mode == QUIET_FEWER) {
		ret->what = QUIET_SOME;
		ret->workers = c->quiet.workers ? c->quiet.workers : 1;
	} else if (c->quiet.patience_us == 0 || waited_us < c->quiet.patience_us) {
		ret->what = QUIET_NOT_NOW;
	} else { /* patience is over, but the machine is still oversubscribed: few workers */
		ret->what = QUIET_SOME;
		ret->workers = c->quiet.workers ? c->quiet.workers : 1;
		n = strlen(ret->why);
		(void)snprintf(ret->why + n, sizeof(ret->why) - n,
			       ", but the start already waited %s", units_time(waited_us, time));
	}
}
