/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/state/series.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#define INTERVAL_MIN_US (1 * USEC_PER_SEC)
#define INTERVAL_MAX_US (300 * USEC_PER_SEC)
/* A call once a second is not exact to the microsecond. */
#define EARLY_US (100 * USEC_PER_MSEC)
/* The reader accepts twice as much. */
#define WRITE_MAX (UINT64_C(16) << 20)
enum { INTERVAL_OF_TIME = 240, LINE_MAX_BYTES = 4096 };

static uint64_t interval_of(uint64_t t_us)
{
	uint64_t us = t_us / INTERVAL_OF_TIME;

	if (us < INTERVAL_MIN_US)
		return INTERVAL_MIN_US;
	return us < INTERVAL_MAX_US ? us : INTERVAL_MAX_US;
}

void series_stalled(struct series *s, uint64_t wall_us, const uint64_t stalled_us[3])
{
	s->wall_us += wall_us;
	for (size_t i = 0; i < 3; i++)
		s->stalled_us[i] += stalled_us[i];
}

static json_t *head_json(const struct series_of *of)
{
	time_t t = (time_t)(of->started_real_us / USEC_PER_SEC);
	char started[32] = "";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		(void)strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_pack("{s:i, s:s, s:s, s:s, s:[s,s,s,s,s,s,s,s,s,s,s]}", "v", 1, "target",
			 of->target, "run", of->run, "started", started, "columns", "t", "execs",
			 "cov", "ft", "corpus_units", "corpus_bytes", "rss_bytes", "cpu_seconds",
			 "pressure_cpu", "pressure_memory", "pressure_io");
}

static int series_add_head(const struct series_of *of, struct buf *to, struct err *e)
{
	_autojson_ json_t *head = head_json(of);
	_autofree_ char *text = NULL;
	int r = json_print(head, 0, &text, e);

	if (r == 0)
		buf_printf(to, "%s\n", text);
	return r;
}

static double series_share(const struct series *s, size_t i)
{
	if (s->wall_us == 0)
		return 0;
	return s->stalled_us[i] < s->wall_us ? (double)s->stalled_us[i] / (double)s->wall_us : 1;
}

static void series_add_point(const struct series *s, const struct series_point *p, struct buf *to)
{
	buf_printf(to, "[%.1f,%llu,%llu,%llu,%llu,%llu,%llu,%.2f",
		   (double)p->t_us / (double)USEC_PER_SEC, (unsigned long long)p->execs,
		   (unsigned long long)p->cov, (unsigned long long)p->ft,
		   (unsigned long long)p->corpus_units, (unsigned long long)p->corpus_bytes,
		   (unsigned long long)p->rss, (double)p->cpu_us / (double)USEC_PER_SEC);

	for (size_t i = 0; i < 3; i++) {
		if (series_share(s, i) > 0)
			buf_printf(to, ",%.3f", series_share(s, i));
		else
			buf_puts(to, ",0");
	}
	buf_puts(to, "]\n");
}

static int series_put(const struct series *s, int logs, const struct series_of *of,
		      struct buf *text, struct err *e)
{
	_autofree_ char *name = xasprintf("%s.series", of->target);
	_autoclose_ int fd = -1;
	/* Truncates what a failed write left of the first line. */
	int how = s->written ? 0 : O_CREAT | O_TRUNC;
	int r = fs_open_file(logs, name, O_WRONLY | O_APPEND | how, 0640, &fd, e);

	if (r < 0)
		return r;
	return sys_write_all(fd, text->p, text->n) < 0 ? err_sys(e, "write '%s'", name) : 0;
}

static void write_point(struct series *s, int logs, const struct series_of *of,
			const struct series_point *p)
{
	_autobuf_ struct buf text = BUF_INIT(LINE_MAX_BYTES);
	struct err e;
	int r = 0;

	if (s->written > WRITE_MAX)
		return;
	if (!s->written)
		r = series_add_head(of, &text, &e);
	else if (s->cut)
		buf_puts(&text, "\n");
	series_add_point(s, p, &text);
	if (r == 0)
		r = buf_check(&text, &e);
	if (r == 0)
		r = series_put(s, logs, of, &text, &e);
	s->cut = r < 0;
	s->at_us = p->t_us; /* also after a failure: a full disk is not tried again each second */
	s->has_kept = false;
	s->wall_us = 0;
	for (size_t i = 0; i < 3; i++)
		s->stalled_us[i] = 0;
	if (r == 0)
		s->written += text.n;
}

void series_take(struct series *s, int logs, const struct series_of *of,
		 const struct series_point *p, bool end)
{
	uint64_t distance = interval_of(p->t_us) / (end ? 4 : 1);

	if (s->at_us == 0 || p->t_us + EARLY_US >= s->at_us + distance) {
		write_point(s, logs, of, p);
	} else if (end) {
		s->kept = *p;
		s->has_kept = true;
	}
}

void series_flush(struct series *s, int logs, const struct series_of *of)
{
	if (s->has_kept)
		write_point(s, logs, of, &s->kept);
}
