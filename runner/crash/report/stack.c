/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/crash/report/stack.h"

#include "runner/crash/report/text.h"

void stack_restart(struct stack *s, bool want)
{
	s->at = want ? STACK_WAIT : STACK_OFF;
	s->last = 0;
	s->n = s->total = s->used = 0;
}

static void stack_put(struct stack *s, struct slice part)
{
	memcpy(s->text + s->used, part.p, part.n);
	s->used += part.n;
}

static void stack_keep(struct stack *s, struct slice line, uint64_t number)
{
	struct slice head = line, tail = {line.p + line.n, 0};

	s->at = STACK_IN;
	s->last = number;
	s->total++;
	if (line.n > STACK_LINE_MAX) {
		tail.n = STACK_LINE_MAX - STACK_LINE_HEAD;
		tail.p = line.p + line.n - tail.n;
		head.n = STACK_LINE_HEAD;
	}
	if (s->n == STACK_FRAMES_MAX || head.n + tail.n > STACK_TEXT_MAX - s->used)
		return;
	stack_put(s, head);
	stack_put(s, tail);
	s->ends[s->n++] = (uint32_t)s->used;
}

void stack_line(struct stack *s, struct slice line, bool is_frame, uint64_t number)
{
	if (s->at == STACK_OFF || s->at == STACK_DONE)
		return;
	if (is_frame) {
		if (s->at == STACK_GAP && number <= s->last)
			s->at = STACK_DONE;
		else
			stack_keep(s, line, number);
	} else if (s->at != STACK_WAIT) {
		s->at = text_trim(line).n == 0 ? STACK_DONE : STACK_GAP;
	}
}

void stack_frame(const struct stack *s, size_t i, struct frame *ret)
{
	size_t begin = i ? s->ends[i - 1] : 0;

	/* The whole line was a frame when it was kept; a line that was cut may not parse any
	 * more. */
	*ret = (struct frame){0};
	frame_parse((struct slice){s->text + begin, s->ends[i] - begin}, ret);
}
