/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_SERVE_PAGE_PAGE_H
#define RUNNER_SERVE_PAGE_PAGE_H

#include "base/json.h"
#include "runner/serve/page/html.h"

#include <stdbool.h>
#include <stdint.h>

/* Building blocks of pages.  A page is made from its model alone, a JSON object (runner/serve/
 * internal.h): it reads no file and no clock.  All functions write to p->h, which keeps the first
 * error. */
struct page {
	struct html h;
	const char *root;    /* the path to the site's root: "" or "../" */
	const char *api;     /* the path of the same as JSON, from the root */
	const char *commits; /* the URL prefix of commits' pages; NULL: none */
	const json_t *shows; /* from the model: version, run and commit */
	size_t full;	     /* tables end at this size of the page */
};
/* The size of a page, and the size at which a table ends that leaves room for other parts. */
enum { PAGE_FULL = 270 << 10, PAGE_ROOM = 230 << 10 };
bool page_is_full(const struct page *p);

struct page_about {
	const char *title; /* the window's title; may be a target's text */
	const char *here;  /* this page's entry in the navigation, or NULL */
	const char *root;
	const json_t *model; /* head and foot show its version, updated and live */
	const char *api;     /* the model's path from the root; NULL: unknown */
	bool plots;	     /* the page has curves */
	bool live;	     /* the page is updated during a run */
};
struct page page_begin(const struct page_about *a, struct buf *out, struct err *e);
/* Closes the elements of page_begin(); returns the page's result. */
MUST_CHECK int page_end(struct page *p);

/* --- fields of a model: a key may be missing or of another type ------------------- */

const char *field_text(const json_t *o, const char *key); /* NULL: no text, or it is empty */
bool field_number(const json_t *o, const char *key, double *ret);
double field_or_0(const json_t *o, const char *key);
bool field_true(const json_t *o, const char *key);
const json_t *field_object(const json_t *o, const char *key); /* NULL: none */
/* For loops: a list of size 0 if there is none. */
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
/* "2026-11-22 20:05 UTC" from "2026-11-22T20:05:04Z"; NULL: a dash.  The script converts it to
 * the reader's time zone, with UTC beside it. */
void page_time(struct page *p, const char *iso);
void page_none(struct page *p); /* a dash, which screen readers read as "none" */
/* The text, as a link if o has an "href". */
void page_link(struct page *p, const json_t *o, const char *text);
void page_to(struct page *p, const char *path, const char *text); /* a link within this site */
/* A commit's first twelve characters, with the whole as its title; a link if the commit's host
 * is known. */
void page_commit(struct page *p, const char *commit);
/* A link to an issue if its URL is valid, with the whole URL or with its number. */
void page_issue(struct page *p, const char *url, bool whole);
/* severity: "ok", "note", "warning", "error", or NULL: neutral. */
void page_badge(struct page *p, const char *severity, const char *text);
void page_verdict(struct page *p, const json_t *health);

/* --- parts --------------------------------------------------------------------------- */

/* The page's heading, and a line below it or NULL. */
void page_title(struct page *p, const char *text, const char *lead);
/* <section> with a heading.  id: for links, and for parts that are updated during a run. */
void page_section(struct page *p, const char *id, const char *title);
void page_section_end(struct page *p);

struct column {
	const char *title;
	bool number; /* right-aligned */
	const char *hint;
};
/* A table in a scrollable region; rows follow. */
void page_table(struct page *p, const char *id, const char *caption, const struct column *c,
		size_t n);
void page_table_end(struct page *p);
/* Cells; a number's cell keeps its value for sorting. */
void page_cell_number(struct page *p, enum unit u, const json_t *o, const char *key);
void page_cell_text(struct page *p, const char *text);
void page_cell_time(struct page *p, const char *iso);

/* Figures with names, in <dl class="tiles">; below: a line below the figure, or NULL. */
void page_tiles(struct page *p, const char *id);
void page_tile(struct page *p, const char *name, const char *value, const char *below);
/* A tile with the value of a model's key. */
void page_tile_of(struct page *p, const char *name, const json_t *o, const char *key, enum unit u,
		  const char *below);
void page_tiles_end(struct page *p);

/* A row of <dl class="facts">: html_close() closes its <dd>. */
void page_fact(struct page *p, const char *name);
void page_fact_text(struct page *p, const char *name, const char *text); /* NULL: no row */

/* The section of a target's source coverage; NULL: nothing. */
void page_coverage(struct page *p, const json_t *coverage);

/* Shows at most max findings; the last argument: with the names of their targets.  Returns the
 * number of all findings. */
size_t page_findings(struct page *p, const json_t *list, size_t max, bool with_target);

/* A small curve of a list of values, scaled from the lowest to the highest; nothing for fewer
 * than two. */
void page_spark(struct page *p, const json_t *values);
/* A share as a bar. */
void page_meter(struct page *p, double share);

/* Tables that several pages share; return the number of rows shown. */
size_t page_targets_table(struct page *p, const json_t *targets);
size_t page_crashes_table(struct page *p, const char *id, const json_t *crashes);
size_t page_runs_table(struct page *p, const char *id, const json_t *runs);
/* "The newest 20 of 313." with a link to all; nothing if all are shown. */
void page_more(struct page *p, size_t shown, double total, const char *path, const char *what);
/* A shell command for copying. */
void page_command(struct page *p, const char *label, const char *command);

/* --- curves (plot.c) -------------------------------------------------------- */

struct plot {
	const char *title;
	const char *columns; /* "cov ft"; "execs/cpu_seconds": growth of the first by growth of
			      * the second.  By "t" the growth may be 0; else it counts from the
			      * point at which both last grew */
	const char *labels;  /* "edges|features" */
	const char
	    *units;   /* "count", "bytes", "share", "number"; one, or one for each of two scales */
	bool time;    /* x is a date and time, not the time since the beginning */
	double limit; /* a line at this value; 0: none */
	double max;   /* the end of the scale; 0: from the data */
};
/* series: the model's {"api", "columns", "sample"}; table: the id of the table with the same
 * data.  Without JavaScript the page shows the sample. */
void page_plot(struct page *p, const struct plot *plot, const json_t *series, const char *table);
/* The sample as a table, for users who cannot see curves, and for pages on a disk. */
void page_points(struct page *p, const char *id, const char *caption, const json_t *series);

#endif
