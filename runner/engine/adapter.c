/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/engine/adapter.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

size_t slice_print(struct slice s, size_t cap, char *to)
{
	size_t n = s.n < cap ? s.n : cap - 1;

	for (size_t i = 0; i < n; i++) {
		to[i] = s.p[i];
		if (s.p[i] < ' ' || s.p[i] > '~')
			to[i] = '?';
	}
	to[n] = '\0';
	return n;
}

static void cut_at(struct slice *io, struct slice needle)
{
	const char *hit = io->n ? memmem(io->p, io->n, needle.p, needle.n) : NULL;

	if (hit)
		io->n = (size_t)(hit - io->p);
}

/* Cuts the text before the first address: "heap-buffer-overflow on address 0x602.. at pc 0x.." is
 * the same failure at every address. */
static struct slice without_addresses(struct slice text)
{
	cut_at(&text, SLICE(" (pid="));
	cut_at(&text, SLICE(" (pc "));
	cut_at(&text, SLICE(" 0x"));
	if (!slice_cut_end(&text, SLICE(" on address")) &&
	    !slice_cut_end(&text, SLICE(" on unknown address")) &&
	    !slice_cut_end(&text, SLICE(" on")))
		slice_cut_end(&text, SLICE(":"));
	return text;
}

static const struct slice undefined = {"UndefinedBehaviorSanitizer: ", 28};

/* Whether a new report replaces the current fault.  A program may continue after undefined
 * behaviour, so another tool's report is more serious. */
static bool gives_way(const struct engine_state *io, enum engine_fault f, struct slice tool)
{
	if (io->fault == ENGINE_FAULT_ENGINE)
		return f != ENGINE_FAULT_ENGINE;
	return f != ENGINE_FAULT_ENGINE && !slice_eq(tool, undefined) &&
	       strncmp(io->fault_text, undefined.p, undefined.n) == 0;
}

void engine_set_fault(struct engine_state *io, enum engine_fault f, struct slice tool,
		      struct slice text)
{
	bool final = f == ENGINE_FAULT_TIMEOUT || f == ENGINE_FAULT_OOM;
	const size_t room = sizeof(io->fault_text);
	size_t n;

	if (io->fault == f && io->fault_text[0] && !gives_way(io, f, tool))
		return;
	if (!final && io->fault != ENGINE_FAULT_NONE && !gives_way(io, f, tool))
		return;
	io->fault = f;
	n = slice_print(tool, room, io->fault_text);
	(void)slice_print(without_addresses(text), room - n, io->fault_text + n);
}

void engine_refuse(struct engine_state *io, uint64_t edges, const char *fmt, ...)
{
	va_list ap;

	io->refused++;
	io->refused_edges = edges;
	va_start(ap, fmt);
	vsnprintf(io->refused_text, sizeof(io->refused_text), fmt, ap);
	va_end(ap);
}

bool engine_too_many_edges(uint64_t edges, const char *what, struct engine_state *io)
{
	if (io->edges_most == 0 || edges <= io->edges_most)
		return false;
	engine_refuse(io, edges, "%llu edges %s, its program has %llu", (unsigned long long)edges,
		      what, (unsigned long long)io->edges_most);
	return true;
}

bool engine_too_many_execs(uint64_t execs, struct engine_state *io)
{
	if (io->execs_most == 0 || execs <= io->execs_most)
		return false;
	engine_refuse(io, 0, "%llu executions, its CPU time allows %llu", (unsigned long long)execs,
		      (unsigned long long)io->execs_most);
	return true;
}

bool engine_is_deadly(int signo)
{
	return signo == SIGSEGV || signo == SIGBUS || signo == SIGILL || signo == SIGFPE ||
	       signo == SIGABRT || signo == SIGTRAP || signo == SIGSYS;
}

void engine_add_step(struct engine_cmd *c, const char *what, const char *from, const char *to)
{
	strv_push(&c->nest, what);
	strv_push(&c->nest, from);
	strv_push(&c->nest, to);
}

void engine_add_inputs(const struct engine_replay *job, struct engine_cmd *c)
{
	for (; job->inputs && job->inputs[c->n_inputs]; c->n_inputs++)
		strv_push(&c->argv, job->inputs[c->n_inputs]);
}
