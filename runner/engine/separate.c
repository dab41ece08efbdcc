/* SPDX-License-Identifier: Apache-2.0 */
/* What engines share that are programs of their own, beside the target's. */
#include "runner/engine/adapter.h"

#include <stdlib.h>

/* The fuzzer may be beside the program, as in OSS-Fuzz's builds. */
static void separate_add_path(const char *binary, struct strv *io)
{
	static const char path[] = "PATH=";
	const char *slash = strrchr(binary, '/');

	for (size_t i = 0; slash && i < io->n; i++) {
		char *was = io->v[i];

		if (strncmp(was, path, sizeof(path) - 1) != 0)
			continue;
		strv_pushf(io, "PATH=%.*s:%s", (int)(slash - binary), binary,
			   was + sizeof(path) - 1);
		io->v[i] = io->v[--io->n];
		io->v[io->n] = NULL;
		free(was);
		return;
	}
}

int separate_command(const char *binary, const struct sanitizer_env *env, struct engine_cmd *c,
		     struct engine_cmd *ret, struct err *e)
{
	int r = sanitizer_env(env, &c->env, e);

	if (r < 0) {
		engine_cmd_done(c);
		return err_wrap(e, "command of '%s'", binary);
	}
	separate_add_path(binary, &c->env);
	*ret = *c;
	return 0;
}

int separate_replay(const struct engine_replay *job, struct engine_cmd *ret, struct err *e)
{
	struct sanitizer_env env = {.env = job->env,
				    .rss_limit_mib = job->rss_limit_mib,
				    .symbolizer = job->symbolizer,
				    .ub_goes_on = job->ub_goes_on,
				    .reports_abort = true,
				    .no_leaks = true};
	struct engine_cmd c = {0};

	strv_push(&c.argv, job->binary);
	engine_add_inputs(job, &c);
	return separate_command(job->binary, &env, &c, ret, e);
}

static enum engine_end separate_replayed(const struct engine_state *s, int code, int signo)
{
	bool reported = s->fault != ENGINE_FAULT_NONE && s->fault != ENGINE_FAULT_ENGINE;

	if (signo && !engine_is_deadly(signo))
		return ENGINE_KILLED;
	if (code == 0 && !signo)
		return s->done ? ENGINE_FINISHED : ENGINE_UNKNOWN;
	if (reported)
		return ENGINE_FAULTED;
	return signo ? ENGINE_KILLED : ENGINE_UNKNOWN;
}

enum engine_end separate_classify(const struct engine_state *s, int code, int signo)
{
	if (s->replaying)
		return separate_replayed(s, code, signo);
	if (signo)
		return ENGINE_KILLED;
	if (s->not_instrumented)
		return ENGINE_NOT_INSTRUMENTED;
	if (code == 0 && s->done)
		return ENGINE_FINISHED;
	return s->running ? ENGINE_UNKNOWN : ENGINE_STARTUP_FAILED;
}

bool separate_line(struct slice line, struct engine_state *io)
{
	if (scan_lit(&line, SLICE("Running: "))) {
		io->replaying = true;
		io->done = false;
		io->inputs++;
		(void)slice_print(line, sizeof(io->input), io->input);
		return true;
	}
	if (io->replaying && scan_lit(&line, SLICE("Executed "))) {
		io->done = true;
		return true;
	}
	return false;
}

bool separate_line_unproven(struct slice line, struct engine_state *io)
{
	bool done = io->done;

	if (!separate_line(line, io))
		return false;
	if (scan_lit(&line, SLICE("Executed ")))
		io->done = done;
	return true;
}
