/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOG_INTERNAL_H
#define BASE_LOG_INTERNAL_H

#include "base/log.h"

struct log_line {
	char b[4096]; /* PIPE_BUF: a write of this size is atomic */
	size_t n;
	bool full;
};

/* Adds text that fits as a whole; otherwise adds nothing and sets full. */
__attribute__((format(printf, 2, 3))) void log_put(struct log_line *l, const char *fmt, ...);
const char *log_level_name(enum log_level lv);

/* "event=job target=png note=\"two words\"", without a newline. */
void log_logfmt(struct log_line *l, const char *event, const struct log_field *f, size_t n);
/* Negative: the journal did not get the event. */
int log_journal(enum log_level lv, const char *event, const struct log_field *f, size_t n);

#endif
