/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_PAGE_PAGE_H
#define RUNNER_SERVE_PAGE_PAGE_H

#include "base/json.h"
#include "runner/serve/page/html.h"

#include <stdbool.h>
#include <stdint.h>

/* What pages are made of.  All functions write to p->h, whose first error stays. */
struct page {
	struct html h;
	const char *root;    /* the way to the site's root: "" or "../" */
	const char *api;     /* the same as JSON, from there */
	const char *commits; /* the address of a commit's page without the commit; NULL: none */
	const json_t *shows; /* of the model: which version, run and commit */
	size_t full;	     /* at so many bytes tables end, however long the texts in them are */
};
/* Of a page, and where a table ends that leaves room for what comes behind it. */
enum { PAGE_FULL = 270 << 10, PAGE_ROOM = 230 << 10 };
bool page_is_full(const struct page *p);

struct page_about {
	const char *title; /* of the window; may be a target's text */
	const char *here;  /* the entry of the navigation that this page is, or NULL */
	const char *root;
	const json_t *model; /* version, updated and live are told in head and foot */
	const char *api;     /* where the model is, from the root; NULL: nowhere that is known */
	bool plots;	     /* it has curves */
	bool live;	     /* it keeps up with a run */
};
struct page page_begin(const struct page_about *a, struct buf *out, struct err *e);
/* Closes what page_begin() opened; the page's result. */
MUST_CHECK int page_end(struct page *p);

/* --- of a model: a key may be missing or of another type -------------------------- */

const char *field_text(const json_t *o, const char *key); /* NULL: no text, or an empty one */
bool field_number(const json_t *o, const char *key, double *ret);
double field_or_0(const json_t *o, const char *key);
bool field_true(const json_t *o, const char *key);
const json_t *field_object(const json_t *o, const char *key); /* NULL: none */
/* For loops: size 0 when there is none. */
const json_t *field_list(const json_t *o, const char *key);

/* --- text --------------------------------------------------------------------------- */

enum unit {
	UNIT_EXACT,   /* 1234567 */
	UNIT_COUNT,   /* 1.2M */
	UNIT_BYTES,   /* 1.2MiB */
	UNIT_SECONDS, /* 3m20s */
	UNIT_SHARE,   /* 0.123: 12.3% */
	UNIT_NUMBER,  /* 0.93 */
};
enum { UNIT_TEXT = 48 };
/* Returns out. */
const char *unit_text(enum unit u, double v, char out[UNIT_TEXT]);

void page_number(struct page *p, enum unit u, const json_t *o, const char *key);
/* "2026-11-22 20:05 UTC" from "2026-11-22T20:05:04Z"; NULL: a dash.  The script shows it in the
 * reader's zone, with UTC beside it. */
void page_time(struct page *p, const char *iso);
void page_none(struct page *p); /* a dash, which is read as "none" */
/* o's text, as a link when it has an "href". */
void page_link(struct page *p, const json_t *o, const char *text);
void page_to(struct page *p, const char *path, const char *text); /* a link to a path of ours */
/* A commit's first twelve letters, the rest as its title; a link to it, where its host is known. */
void page_commit(struct page *p, const char *commit);
/* A link to an issue, when its address can be one; with its whole address, or its number. */
void page_issue(struct page *p, const char *url, bool whole);
/* severity: "ok", "note", "warning", "error", or NULL: nothing special. */
void page_badge(struct page *p, const char *severity, const char *text);
void page_verdict(struct page *p, const json_t *health);

/* --- parts --------------------------------------------------------------------------- */

/* <section> with a heading; id for links and for the parts that are kept up to date. */
void page_section(struct page *p, const char *id, const char *title);
void page_section_end(struct page *p);

struct column {
	const char *title;
	bool number; /* to the right */
	const char *hint;
};
/* A table that scrolls in a region of its own; rows follow. */
void page_table(struct page *p, const char *id, const char *caption, const struct column *c,
		size_t n);
void page_table_end(struct page *p);
/* Cells.  A number's value is kept for sorting. */
void page_cell_number(struct page *p, enum unit u, const json_t *o, const char *key);
void page_cell_text(struct page *p, const char *text);
void page_cell_time(struct page *p, const char *iso);

/* A figure with its name, in <dl class="tiles">; below: a line below it, or NULL. */
void page_tiles(struct page *p, const char *id);
void page_tile(struct page *p, const char *name, const char *value, const char *below);
/* The value of a model's key. */
void page_tile_of(struct page *p, const char *name, const json_t *o, const char *key, enum unit u,
		  const char *below);
void page_tiles_end(struct page *p);

/* A row of <dl class="facts">: html_close() closes its <dd>. */
void page_fact(struct page *p, const char *name);
void page_fact_text(struct page *p, const char *name, const char *text); /* NULL: no row */

/* At most max findings, with their target's name where whose is true; how many there were. */
size_t page_findings(struct page *p, const json_t *list, size_t max, bool whose);

/* Rows of values, lowest to highest, as a small curve; nothing for fewer than two. */
void page_spark(struct page *p, const json_t *values);
/* A share of a whole as a bar. */
void page_meter(struct page *p, double share);

/* The tables of several pages; how many rows there was room for. */
size_t page_targets_table(struct page *p, const json_t *targets);
size_t page_crashes_table(struct page *p, const char *id, const json_t *crashes);
size_t page_runs_table(struct page *p, const char *id, const json_t *runs);
/* "The newest 20 of 313." with a link to all; nothing when all are shown. */
void page_more(struct page *p, size_t shown, double total, const char *path, const char *what);
/* A command for a shell, to copy. */
void page_command(struct page *p, const char *label, const char *command);

/* --- curves (plot.c) -------------------------------------------------------- */

struct plot {
	const char *title;
	const char *columns; /* "cov ft"; "execs/cpu_seconds": growth of one by that of the other;
			      * by "t" it may be 0, else it is since both last grew */
	const char *labels;  /* "edges|features" */
	const char
	    *units;   /* "count", "bytes", "share", "number"; one, or one for each of two scales */
	bool time;    /* x is a moment, not the time since the beginning */
	double limit; /* a line at it; 0: none */
	double max;   /* the scale's end; 0: by the data */
};
/* series: the model's {"api", "columns", "sample"}; table: the id of the table that has the
 * same.  Without JavaScript the sample is drawn. */
void page_plot(struct page *p, const struct plot *plot, const json_t *series, const char *table);
/* The sample as a table, for whoever cannot see curves, and for pages on a disk. */
void page_points(struct page *p, const char *id, const char *caption, const json_t *series);

#endif
