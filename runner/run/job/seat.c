/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/run/job/seat.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/memory.h"
#include "runner/run/triage/kept.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_MAX = 1 << 20 };

/* The state of one cell of the seat: an old cell may still be ending while the next one runs. */
struct held {
	struct seat *seat;
	struct cell *cell;
	const struct cell_ops *ops; /* of the command at work; NULL: none */
	void *arg;
	bool ends; /* a kill failed, and is tried again */
};

struct seat {
	struct held *now; /* NULL: no cell stays or works */
	char *key;	  /* now's command */
	unsigned living;  /* cells */
	void (*closed)(void *arg);
	void *arg;
};

/* The cell's end is reported later.  A kill needs a descriptor.  If it fails, the next call tries
 * it again. */
static int seat_end(struct seat *s, struct err *e)
{
	int r = s->now ? cell_kill(s->now->cell, e) : 0;

	if (r < 0) {
		s->now->ends = true;
		return r;
	}
	s->now = NULL;
	return 0;
}

static void end_soon(struct seat *s)
{
	struct err e;

	if (seat_end(s, &e) < 0)
		LOG(LOG_WARN, "cell", f_str("what", e.msg));
}

static void seat_free(struct seat *s)
{
	free(s->key);
	free(s);
}

struct seat *seat_new(void)
{
	return xcalloc(1, sizeof(struct seat));
}

void seat_clear(struct seat *s)
{
	end_soon(s);
}

void seat_close(struct seat *s, void (*closed)(void *arg), void *arg)
{
	end_soon(s);
	s->closed = closed;
	s->arg = arg;
	if (s->living > 0)
		return;
	seat_free(s);
	closed(arg);
}

/* --- events of the cell --------------------------------------------------- */

static void seat_on_output(void *arg, struct slice bytes)
{
	struct held *h = arg;

	if (h->ops)
		h->ops->output(h->arg, bytes);
}

/* An event between two commands, when nothing should run: ends the cell. */
static void seat_odd(struct held *h)
{
	if (h->seat->now == h)
		end_soon(h->seat);
}

static void seat_on_refused(void *arg, const char *name)
{
	struct held *h = arg;

	if (h->ops)
		h->ops->refused(h->arg, name);
	else
		seat_odd(h);
}

static void seat_on_memory(void *arg, bool halted)
{
	struct held *h = arg;

	if (h->ops)
		h->ops->memory(h->arg, halted);
	else
		seat_odd(h);
}

static void seat_on_exited(void *arg, const struct cell_end *ended, bool left)
{
	struct held *h = arg;

	if (h->ops)
		h->ops->exited(h->arg, ended, left);
}

static void seat_on_ended(void *arg, const struct cell_end *ended)
{
	struct held h = *(struct held *)arg;
	struct seat *s = h.seat;

	free(arg);
	s->living--;
	if (s->now == arg)
		s->now = NULL;
	if (h.ops) { /* this may close the seat */
		h.ops->ended(h.arg, ended);
	} else if (s->closed && s->living == 0) {
		s->closed(s->arg);
		seat_free(s);
	}
}

static const struct cell_ops held_ops = {
    .output = seat_on_output,
    .refused = seat_on_refused,
    .memory = seat_on_memory,
    .exited = seat_on_exited,
    .ended = seat_on_ended,
};

/* --- the same command ----------------------------------------------------- */

static void seat_add_all(struct buf *b, const struct strv *v)
{
	for (size_t i = 0; i < v->n; i++)
		buf_printf(b, "%s\n", v->v[i]);
	buf_puts(b, "\n");
}

static void add_numbers(struct buf *b, const struct setup *s, const struct setup_cell *c, uid_t uid)
{
	const struct target_config *cfg = s->cfg;
	const uint64_t all[] = {uid,	     c->extra_memory,  c->fixed_addresses, c->wall_us,
				cfg->memory, cfg->memory_high, cfg->cpu_milli,	   cfg->cpu_weight,
				cfg->pids,   cfg->scratch,     cfg->disk};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		buf_printf(b, "%llu ", (unsigned long long)all[i]);
}

/* A text of all that determines a cell: the arguments of setup_start(), and the program's file. */
static int seat_make_key(const struct setup *s, const struct setup_cell *c, uid_t uid, char **ret,
			 struct err *e)
{
	_autobuf_ struct buf b = BUF_INIT(KEY_MAX);
	char file[FILE_ID_TEXT];

	seat_add_all(&b, &s->cmd.argv);
	seat_add_all(&b, &s->cmd.env);
	for (size_t i = 0; i < s->n; i++)
		buf_printf(&b, "%s %s %d%d\n", s->mounts[i].source, s->mounts[i].target,
			   s->mounts[i].writable, s->mounts[i].exec);
	add_numbers(&b, s, c, uid);
	buf_printf(&b, "%s %s", c->rootfs ? c->rootfs : "", file_id_now(s->target->binary, file));
	if (buf_check(&b, e) < 0)
		return err_code(e);
	*ret = take_ptr(&b.p);
	return 0;
}

static bool seat_go_on(struct seat *s, const char *key, const struct cell_ops *ops, void *arg,
		       struct cell **ret)
{
	struct err e;

	if (!s->now || s->now->ends || strcmp(s->key, key) != 0 || cell_again(s->now->cell, &e) < 0)
		return false;
	s->now->ops = ops;
	s->now->arg = arg;
	*ret = s->now->cell;
	return true;
}

static int start(struct seat *s, const struct setup *setup, struct setup_cell c, uid_t uid,
		 const struct cell_ops *ops, void *arg, struct cell **ret, struct err *e)
{
	struct held *h = xcalloc(1, sizeof(*h));
	int r;

	*h = (struct held){.seat = s, .ops = ops, .arg = arg};
	c.stays = true;
	r = setup_start(setup, &c, uid, &held_ops, h, &h->cell, e);
	if (r < 0) {
		free(h);
		return r;
	}
	s->living++;
	s->now = h;
	*ret = h->cell;
	return 0;
}

int seat_start(struct seat *s, const struct setup *setup, const struct setup_cell *c, uid_t uid,
	       const struct cell_ops *ops, void *arg, struct cell **ret, bool *ret_again,
	       struct err *e)
{
	_autofree_ char *key = NULL;
	int r = seat_make_key(setup, c, uid, &key, e);

	if (r < 0)
		return r;
	*ret_again = seat_go_on(s, key, ops, arg, ret);
	if (!*ret_again)
		r = seat_end(s, e);
	if (r == 0 && !*ret_again)
		r = start(s, setup, *c, uid, ops, arg, ret, e);
	if (r < 0)
		return r;
	free(s->key);
	s->key = take_ptr(&key);
	return 0;
}

void seat_park(struct seat *s)
{
	struct err e;

	s->now->ops = NULL;
	if (cell_deadline(s->now->cell, 0, &e) < 0)
		end_soon(s);
}
