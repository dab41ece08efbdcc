/* SPDX-License-Identifier: Apache-2.0 */
/* Queued notifications: list, retry, drop. */
#include "runner/publish/outbox/outbox.h"
#include "base/memory.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/units.h"
#include "runner/command/common/answer.h"
#include "runner/command/common/notify.h"
#include "runner/command/crash/crash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SEND_US (120 * USEC_PER_SEC) /* time limit of `retry` */
enum { RESULT_MAX = 16 << 20 };

struct outbox_args {
	struct session session;
	bool json, all;
	bool send;	  /* an entry is due now */
	const char *name; /* as typed, or NULL */
	json_t *answer;	  /* an object */
};

static uint64_t outbox_now_s(void)
{
	return clock_real_us() / USEC_PER_SEC;
}

/* --- list --------------------------------------------------------------------- */

static const char *outbox_age(uint64_t since, uint64_t now, char out[UNITS_MAX])
{
	return units_time((now > since ? now - since : 0) * USEC_PER_SEC, out);
}

static const char *next_try(const struct outbox *o, const struct outbox_entry *t, uint64_t now,
			    bool known, char out[64])
{
	uint64_t at = outbox_due_at(o, t);
	char in[UNITS_MAX];

	if (!known)
		snprintf(out, 64, "never");
	else if (!t->head)
		snprintf(out, 64, "after another");
	else if (outbox_due(o, t, now))
		snprintf(out, 64, "now");
	else
		snprintf(out, 64, "%sin %s", t->refused ? "refused; " : "",
			 units_time((at > now ? at - now : 0) * USEC_PER_SEC, in));
	return out;
}

static int outbox_print_table(const struct outbox_args *a, const struct outbox *o)
{
	uint64_t now = outbox_now_s();

	if (outbox_count(o) == 0) {
		printf("nothing waits\n");
		return EXIT_DONE;
	}
	printf("%-16s  %-10s  %-16s  %-8s  %5s  %-18s  %s\n", "to", "what", "about", "age", "tries",
	       "next try", "why");
	for (size_t i = 0; i < outbox_count(o); i++) {
		const struct outbox_entry *t = outbox_at(o, i);
		char about[CRASH_LINE], old[UNITS_MAX], next[64];
		bool known = notify_has_place(a->session.common.config, t->place);

		printf("%-16s  %-10s  %-16s  %-8s  %5llu  %-18s  %s\n", t->place, t->event,
		       crash_line(t->subject, about), outbox_age(t->created, now, old),
		       (unsigned long long)t->tries, next_try(o, t, now, known, next),
		       known ? t->why : "no longer configured");
	}
	return EXIT_DONE;
}

static json_t *entry_json(const struct outbox_args *a, const struct outbox *o,
			  const struct outbox_entry *t)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:s}", "id",
			 t->id, "to", t->place, "event", t->event, "about", t->subject, "queued",
			 (json_int_t)t->created, "tries", (json_int_t)t->tries, "last_try",
			 (json_int_t)t->last_try, "next_try", (json_int_t)outbox_due_at(o, t),
			 "refused", t->refused, "after_another", !t->head, "configured",
			 notify_has_place(a->session.common.config, t->place), "why", t->why);
}

static int outbox_print_json(const struct outbox_args *a, const struct outbox *o)
{
	_autojson_ json_t *all = json_array();

	for (size_t i = 0; i < outbox_count(o); i++)
		(void)json_array_append_new(all, entry_json(a, o, outbox_at(o, i)));
	return answer_print(all);
}

static int outbox_list(struct outbox_args *a, struct outbox *o)
{
	return a->json ? outbox_print_json(a, o) : outbox_print_table(a, o);
}

/* --- which -------------------------------------------------------------------- */

/* Returns the subject with this name, or the only one with this prefix. NULL: there are several
 * (*ret_several) or none. */
static const char *find_subject(const struct outbox *o, const char *name, bool *ret_several)
{
	const char *found = NULL;

	*ret_several = false;
	for (size_t i = 0; i < outbox_count(o); i++) {
		const char *s = outbox_at(o, i)->subject;

		if (strcmp(s, name) == 0) {
			*ret_several = false;
			return s;
		}
		if (strncmp(s, name, strlen(name)) != 0)
			continue;
		*ret_several |= found && strcmp(found, s) != 0;
		found = s;
	}
	return *ret_several ? NULL : found;
}

/* Looks up name. *ret_subject NULL: name is an entry's id. */
static int outbox_pick(const struct outbox *o, const char *name, const char **ret_subject)
{
	bool several;

	*ret_subject = NULL;
	for (size_t i = 0; i < outbox_count(o); i++)
		if (strcmp(outbox_at(o, i)->id, name) == 0)
			return EXIT_DONE;
	*ret_subject = find_subject(o, name, &several);
	if (*ret_subject)
		return EXIT_DONE;
	return fail(EXIT_USAGE, "%s '%s' (fuzzcell outbox list)",
		    several ? "several entries begin with" : "no entry is called", name);
}

static bool is_meant(const struct outbox_args *a, const struct outbox_entry *t, const char *subject)
{
	if (!a->name)
		return true;
	return subject ? strcmp(t->subject, subject) == 0 : strcmp(t->id, a->name) == 0;
}

/* Calls fn for each selected entry. fn may remove the entry from the list. */
static int outbox_each(struct outbox_args *a, struct outbox *o,
		       int (*fn)(struct outbox *o, size_t i, struct err *e), size_t *ret_n)
{
	const char *found = NULL;
	_autofree_ char *subject = NULL;
	struct err e;
	size_t i = 0;
	int r = a->name ? outbox_pick(o, a->name, &found) : EXIT_DONE;

	*ret_n = 0;
	if (r != EXIT_DONE)
		return r;
	if (found)
		subject = xstrdup(found);
	while (i < outbox_count(o)) {
		const struct outbox_entry *t = outbox_at(o, i);
		int done;

		if (!is_meant(a, t, subject)) {
			i++;
			continue;
		}
		done = fn(o, i, &e);
		if (done < 0 && done != -ENOENT) /* -ENOENT: the entry was sent meanwhile */
			return fail(EXIT_INTERNAL, "%s", e.msg);
		*ret_n += done == 0;
		if (outbox_at(o, i) == t)
			i++;
	}
	return EXIT_DONE;
}

/* Sets a number in the answer. */
static void outbox_note(struct outbox_args *a, const char *key, size_t n)
{
	(void)json_object_set_new(a->answer, key, json_integer((json_int_t)n));
}

/* --- drop --------------------------------------------------------------------- */

static int drop_one(struct outbox *o, size_t i, struct err *e)
{
	const struct outbox_entry *t = outbox_at(o, i);
	char about[CRASH_LINE], text[CRASH_LINE + 200];
	int r;

	snprintf(text, sizeof(text), "dropped: %s, %s of %s", t->place, t->event,
		 crash_line(t->subject, about));
	r = outbox_drop(o, i, outbox_now_s(), e);
	if (r == 0)
		printf("%s\n", text);
	return r;
}

static int drop(struct outbox_args *a, struct outbox *o)
{
	size_t n;
	int r;

	if (!a->name && !a->all)
		return fail(EXIT_USAGE, "outbox drop: name an entry or a crash, or give --all");
	r = outbox_each(a, o, drop_one, &n);
	if (r == EXIT_DONE) {
		printf("%zu dropped; they will not be sent\n", n);
		outbox_note(a, "dropped", n);
	}
	return r;
}

/* --- retry -------------------------------------------------------------------- */

static void print_sent(struct outbox_args *a, const struct notify_result *got)
{
	char text[NOTIFY_TEXT], shown[ESCAPE_MAX];

	if (*got->warning)
		fprintf(stderr, "warning: %s\n", escape(got->warning, shown));
	if (*notify_alarm_text(&got->alarm, outbox_now_s(), text))
		fprintf(stderr, "warning: %s\n", escape(text, shown));
	printf("%zu sent, %zu refused; %zu wait\n", got->done, got->refused, got->left);
	if (*got->failed && got->done)
		fprintf(stderr, "warning: not sent: %s\n", escape(got->failed, shown));
	outbox_note(a, "sent", got->done);
	outbox_note(a, "refused", got->refused);
	outbox_note(a, "wait", got->left);
	(void)json_object_set_new(a->answer, "failed",
				  *got->failed ? answer_text(got->failed) : json_null());
}

static int send_now(struct outbox_args *a)
{
	struct notify t = common_notify(&a->session.common, a->session.state);
	_autobuf_ struct buf result = BUF_INIT(RESULT_MAX);
	char shown[ESCAPE_MAX];
	struct notify_result got;
	struct err e;

	t.send_us = SEND_US;
	/* The next run stores the received issue data in the ledger. */
	if (notify_round(&t, &result, &e) < 0 ||
	    notify_read(buf_slice(&result), NULL, &got, &e) < 0)
		return fail(EXIT_INTERNAL, "%s", e.msg);
	print_sent(a, &got);
	if (*got.failed && !got.done)
		return fail(EXIT_MACHINE, "nothing could be sent: %s", escape(got.failed, shown));
	return EXIT_DONE;
}

static int retry(struct outbox_args *a, struct outbox *o)
{
	size_t n;
	int r = outbox_each(a, o, outbox_retry, &n);

	if (r == EXIT_DONE) {
		printf("%zu due now\n", n);
		outbox_note(a, "due", n);
	}
	a->send = r == EXIT_DONE && n > 0;
	return r;
}

/* Runs with the list closed, because a round opens its own. */
static int after_retry(struct outbox_args *a)
{
	struct outbox *o = NULL;
	struct err e;
	int r;

	if (!a->send)
		return EXIT_DONE;
	if (!notify_is_wanted(a->session.common.config))
		return fail(EXIT_USAGE, "outbox retry: the configuration has neither \"github\" "
					"nor \"webhooks\": there is no destination");
	r = outbox_open(a->session.state->dirfd, &o, &e);
	if (r == 0)
		r = outbox_lock(o, &e);
	outbox_close(o);
	if (r == -EBUSY) {
		printf("a run or a trigger is sending: its next round sends them\n");
		return EXIT_DONE;
	}
	return r < 0 ? fail(EXIT_INTERNAL, "%s", e.msg) : send_now(a);
}

/* --- the command ---------------------------------------------------------------- */

#define AT(member) OPTION_AT(struct outbox_args, member)
static const struct option_spec list_specs[] = {STATE_OPTIONS(struct outbox_args, session.common),
						{"json", NULL, "print JSON", AT(json)}};
static const struct option_spec other_specs[] = {STATE_OPTIONS(struct outbox_args, session.common),
						 {"all", NULL, "all entries", AT(all)},
						 {"json", NULL, "print JSON", AT(json)}};

struct verb {
	const char *name, *usage;
	const struct option_spec *specs;
	size_t n_specs;
	bool only_reads;
	int (*run)(struct outbox_args *a, struct outbox *o);
};

static const struct verb verbs[] = {
    {"list", "outbox list [OPTION]...", list_specs, sizeof(list_specs) / sizeof(list_specs[0]),
     true, outbox_list},
    {"retry", "outbox retry [OPTION]... [ENTRY|CRASH]", other_specs,
     sizeof(other_specs) / sizeof(other_specs[0]), false, retry},
    {"drop", "outbox drop [OPTION]... ENTRY|CRASH|--all", other_specs,
     sizeof(other_specs) / sizeof(other_specs[0]), false, drop},
};

static int on_outbox(const struct verb *v, struct outbox_args *a)
{
	struct outbox *o = NULL;
	char shown[ESCAPE_MAX];
	struct err e;
	int r = session_load(&a->session);

	if (r == EXIT_DONE)
		r = session_read(&a->session);
	if (r != EXIT_DONE)
		return r;
	if ((v->only_reads ? outbox_read(a->session.state->dirfd, &o, &e)
			   : outbox_open(a->session.state->dirfd, &o, &e)) < 0)
		return fail(EXIT_MACHINE, "%s", e.msg);
	r = v->run(a, o);
	if (*outbox_warning(o))
		fprintf(stderr, "warning: %s\n", escape(outbox_warning(o), shown));
	outbox_close(o);
	return r == EXIT_DONE ? after_retry(a) : r;
}

static int run_verb(const struct verb *v, int argc, char **argv)
{
	struct outbox_args a = {0};
	int at = options_parse(argc, argv, v->usage, v->specs, v->n_specs, NULL, &a);
	int begun, r;

	if (at < 0)
		return -1 - at;
	if (at < argc && !v->only_reads)
		a.name = argv[at++];
	if (at < argc || (a.name && a.all))
		return fail(EXIT_USAGE, "usage: fuzzcell %s", v->usage);
	begun = answer_begin(a.json && !v->only_reads);
	a.answer = json_object();
	r = on_outbox(v, &a);
	session_close(&a.session);
	r = answer_end(begun, json_object_size(a.answer) ? json_incref(a.answer) : NULL, r);
	json_decref(a.answer);
	return r;
}

static int outbox_help(void)
{
	printf("usage: fuzzcell outbox SUBCOMMAND [OPTION]...\n\n"
	       "  list   show the queued notifications, and why they wait\n"
	       "  retry  send them now\n"
	       "  drop   remove them without sending\n\n"
	       "fuzzcell outbox SUBCOMMAND --help has the options; docs/publishing.md more\n");
	return EXIT_DONE;
}

int command_outbox(int argc, char **argv)
{
	static const struct command names[] = {
	    {.name = "list"}, {.name = "retry"}, {.name = "drop"}};
	char hint[64];

	if (argc < 2)
		return fail(EXIT_USAGE, "outbox: no subcommand (try: fuzzcell outbox --help)");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return outbox_help();
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return run_verb(&verbs[i], argc - 1, argv + 1);
	return fail(EXIT_USAGE, "outbox: unknown subcommand '%s'%s (try: fuzzcell outbox --help)",
		    argv[1], command_hint(argv[1], names, sizeof(names) / sizeof(names[0]), hint));
}
