/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ENGINE_RECORDED_H
#define TESTS_ENGINE_RECORDED_H

/* Recordings of real engines, which stand beside the project where they exist: the lines that they
 * printed, and how they ended.  Include unit.h first. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "runner/engine/adapter.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define RECORDED "../shared/testdata/engines"

/* An engine's recordings. */
struct recorded {
	const char *name; /* of the folder, and in expected.json */
	const struct engine_ops *engine;
	/* How each case ends; those that are not here end as a run that is stopped. */
	const struct recorded_end {
		const char *name;
		enum engine_end end;
	} * ends;
	size_t n_ends;
	/* Takes a line of a case's list of files, and leaves the file's name in *io.  Returns what
	 * the engine has to say of the name; NOT_JUDGED: nothing.  NULL: no file is judged. */
	int (*file)(struct slice *io);
};

enum { NOT_JUDGED = -1 };

static inline char *recorded_text(const struct recorded *r, const char *name, const char *what,
				  size_t *ret_n)
{
	char path[256], *text;
	struct err e;

	(void)snprintf(path, sizeof(path), RECORDED "/transcripts/%s/%s.%s", r->name, name, what);
	if (fs_read(AT_FDCWD, path, 1 << 24, &text, ret_n, &e) < 0)
		fail_msg("%s", e.msg);
	return text;
}

static inline void recorded_feed(const struct recorded *r, const char *name, const char *stream,
				 struct engine_state *io)
{
	size_t n;
	_autofree_ char *text = recorded_text(r, name, stream, &n);
	struct slice in = {text, n}, line;

	while (scan_line(&in, &line))
		r->engine->line(line, io);
	r->engine->line(in, io);
}

static inline enum engine_end recorded_wanted(const struct recorded *r, const char *name)
{
	for (size_t i = 0; i < r->n_ends; i++)
		if (strcmp(r->ends[i].name, name) == 0)
			return r->ends[i].end;
	return ENGINE_FINISHED;
}

/* A replay is the target's program without the engine's, or has the engine's variable for it. */
static inline bool recorded_is_replay(const struct recorded *r, const json_t *one)
{
	const char *program = json_string_value(json_array_get(json_object_get(one, "argv"), 0));
	const char *slash = strrchr(program, '/');

	if (strncmp(r->name, "fuzztest", 8) == 0)
		return json_object_get(json_object_get(one, "env"), "FUZZTEST_REPLAY");
	return strcmp(slash ? slash + 1 : program, r->name) != 0;
}

/* A replay runs below fuzzcell-each, which says what it runs. */
static inline struct engine_state recorded_state(const struct recorded *r, const char *name,
						 bool replay, const json_t *code)
{
	struct engine_state s = {0};

	if (replay)
		r->engine->line(SLICE("Running: /seeds/input"), &s);
	recorded_feed(r, name, "stderr", &s);
	recorded_feed(r, name, "stdout", &s);
	if (replay && json_is_integer(code) && json_integer_value(code) == 0)
		r->engine->line(SLICE("Executed /seeds/input in 1 ms"), &s);
	return s;
}

static inline void recorded_judge(const struct recorded *r, const char *name, const json_t *one)
{
	const json_t *code = json_object_get(one, "exit");
	bool replay = recorded_is_replay(r, one);
	struct engine_state s = recorded_state(r, name, replay, code);
	int status = json_is_integer(code) ? (int)json_integer_value(code) : 128 + SIGKILL;
	int signo = 0;
	enum engine_end end;

	if (status > 128 && status < 128 + 65) {
		signo = status - 128;
		status = 0;
	}
	end = r->engine->classify(&s, status, signo);
	if (end != recorded_wanted(r, name))
		fail_msg("%s: %d, not %d", name, end, recorded_wanted(r, name));
	/* A run that ended by itself or was stopped has statistics. */
	if (end == ENGINE_FINISHED && !replay && !s.replaying && s.execs == 0 &&
	    s.status_lines == 0)
		fail_msg("%s: no statistics", name);
}

/* Judges the files that a case made.  Returns the number of artifacts. */
static inline unsigned recorded_files(const struct recorded *r, const char *name)
{
	unsigned found = 0;
	size_t n;
	_autofree_ char *text = recorded_text(r, name, "files", &n);
	struct slice in = {text, n}, line;

	while (scan_line(&in, &line)) {
		int want = r->file ? r->file(&line) : NOT_JUDGED;

		if (want != NOT_JUDGED && (int)r->engine->artifact(line) != want)
			fail_msg("%s: '%.*s'", name, (int)line.n, line.p);
		found += want != NOT_JUDGED && want != (int)ENGINE_ARTIFACT_NONE;
	}
	return found;
}

/* Judges every case.  Without recordings, the test is skipped. */
static inline void recorded_judge_all(const struct recorded *r, unsigned least)
{
	_autojson_ json_t *all = NULL;
	json_error_t at;
	const char *name;
	unsigned n = 0;
	json_t *one;

	if (access(RECORDED "/expected.json", R_OK) < 0)
		skip();
	all = json_load_file(RECORDED "/expected.json", 0, &at);
	assert_non_null(all);
	json_object_foreach(json_object_get(json_object_get(all, "engines"), r->name), name, one)
	{
		recorded_judge(r, name, one);
		(void)recorded_files(r, name);
		n++;
	}
	assert_true(n >= least);
}

#endif
