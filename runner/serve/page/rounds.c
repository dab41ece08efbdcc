/* SPDX-License-Identifier: Apache-2.0 */
/* The page of the rounds, each with its shards and their machines. */
#include "runner/serve/page/page.h"

#include "runner/serve/internal.h"

#include <stdio.h>
#include <string.h>

static void state_cell(struct page *p, const char *state)
{
	bool lost = state && strcmp(state, "lost") == 0;

	html_begin(&p->h, "td", "state");
	if (lost)
		page_badge(p, "warning", state);
	else
		html_text(&p->h, state ? state : "");
	html_close(&p->h);
}

static void row(struct page *p, const json_t *s)
{
	html_open(&p->h, "tr");
	page_cell_number(p, UNIT_EXACT, s, "shard");
	state_cell(p, field_text(s, "state"));
	page_cell_text(p, field_text(s, "node"));
	page_cell_time(p, field_text(s, "newest_delta"));
	page_cell_number(p, UNIT_EXACT, s, "deltas");
	page_cell_number(p, UNIT_SECONDS, s, "cpu_seconds");
	page_cell_number(p, UNIT_EXACT, s, "inputs");
	page_cell_number(p, UNIT_EXACT, s, "edges");
	page_cell_number(p, UNIT_EXACT, s, "crashes");
	html_close(&p->h);
}

static void shards(struct page *p, const char *id, const char *caption, const json_t *list)
{
	static const struct column columns[] = {
	    {"Shard", true, NULL},
	    {"State", false, NULL},
	    {"Machine", false, "of its newest delta"},
	    {"Newest delta", false, NULL},
	    {"Deltas", true, "that were collected"},
	    {"CPU time", true, NULL},
	    {"Inputs", true, "in its deltas"},
	    {"Edges", true, "that it gained, by itself"},
	    {"Crashes", true, "in its deltas, also known ones"},
	};

	page_table(p, id, caption, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < json_array_size(list) && !page_is_full(p); i++)
		row(p, json_array_get(list, i));
	page_table_end(p);
}

/* A number may stand twice: a plan was made again. */
static void one_round(struct page *p, const json_t *r, size_t place)
{
	const json_t *list = field_list(r, "list");
	char title[64], id[32], value[2 * UNIT_TEXT], text[2][UNIT_TEXT];

	snprintf(title, sizeof(title), "Round %s",
		 unit_text(UNIT_EXACT, field_or_0(r, "round"), text[0]));
	snprintf(id, sizeof(id), "round-%zu", place);
	page_section(p, id, title);
	snprintf(id, sizeof(id), "sum-%zu", place);
	page_tiles(p, id);
	snprintf(value, sizeof(value), "%s/%s",
		 unit_text(UNIT_EXACT, field_or_0(r, "ended"), text[0]),
		 unit_text(UNIT_EXACT, field_or_0(r, "shards"), text[1]));
	page_tile(p, "Shards", value, "have ended");
	page_tile_of(p, "Machines", r, "nodes", UNIT_EXACT, NULL);
	page_tile_of(p, "CPU time", r, "cpu_seconds", UNIT_SECONDS, NULL);
	page_tile_of(p, "Edges", r, "edges", UNIT_EXACT, "gained, each shard by itself");
	page_tile_of(p, "Inputs", r, "inputs", UNIT_EXACT, "in the deltas");
	page_tile_of(p, "Crashes", r, "crashes", UNIT_EXACT, "in the deltas");
	page_tiles_end(p);
	snprintf(id, sizeof(id), "shards-%zu", place);
	snprintf(title, sizeof(title), "Shards of round %s",
		 unit_text(UNIT_EXACT, field_or_0(r, "round"), text[0]));
	if (json_array_size(list) > 0)
		shards(p, id, title, list);
	page_section_end(p);
}

int page_rounds(const json_t *model, struct buf *out, struct err *e)
{
	struct page_about about = {
	    .title = "Rounds", .root = "", .model = model, .api = "api/v1/rounds.json"};
	struct page p = page_begin(&about, out, e);
	const json_t *list = field_list(model, "rounds");

	page_title(&p, "Rounds", "Of shards on several machines, the newest first.");
	for (size_t i = 0; i < json_array_size(list) && !page_is_full(&p); i++)
		one_round(&p, json_array_get(list, i), i + 1);
	if (json_array_size(list) == 0)
		html_element(&p.h, "p", "soft", "No delta was collected yet.");
	return page_end(&p);
}
