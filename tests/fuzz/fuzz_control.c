/* SPDX-License-Identifier: Apache-2.0 */
/* The content that a target writes after a control file's head.  The input's first byte is the
 * number of inputs in the head.  The valid part stays within bounds, and libFuzzer accepts the
 * repaired file; its rules are repeated here. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "runner/corpus/measure/control.h"

#include <fcntl.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STAGE "/s"
enum { INPUTS_MAX = 8, FILE_MAX = 1 << 20 };

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* --- the file --------------------------------------------------------------------- */

static int file_of(const struct candidates *list, const uint8_t *data, size_t size)
{
	_autobuf_ struct buf b = BUF_INIT(FILE_MAX);
	static int fd = -1;

	if (fd < 0)
		fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	check(fd >= 0);
	buf_printf(&b, "%zu\n0\n", list->n);
	for (size_t i = 0; i < list->n; i++)
		buf_printf(&b, STAGE "/%s\n", list->v[i].name);
	check(!b.full && ftruncate(fd, 0) == 0);
	check(pwrite(fd, b.p, b.n, 0) == (ssize_t)b.n);
	check(pwrite(fd, data, size, (off_t)b.n) == (ssize_t)size);
	return dup(fd);
}

static struct candidates list_of(size_t n)
{
	struct candidates c = {0};
	char name[STORE_NAME];
	struct err e;

	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%040zx", i);
		check(candidates_add(&c, name, i, &e) == 0);
	}
	return c;
}

/* --- libFuzzer's rules ----------------------------------------------------------------- */

/* The line must start with "WORD number", or libFuzzer does not start. */
static uint64_t id_of(struct slice line, const char *word)
{
	uint64_t id = 0;

	check(scan_lit(&line, slice_of(word)) && scan_u64(&line, 10, UINT32_MAX, &id));
	return id;
}

/* The input with which libFuzzer continues. */
static size_t takes(int fd, size_t inputs)
{
	static char text[FILE_MAX];
	ssize_t n = pread(fd, text, sizeof(text), 0);
	struct slice rest = {text, n > 0 ? (size_t)n : 0}, line;
	size_t expected = 0, last = SIZE_MAX;

	check(n > 0 && text[n - 1] == '\n'); /* or the next line is appended to this one */
	for (size_t i = 0; i < inputs + 2; i++)
		check(scan_line(&rest, &line));
	while (scan_line(&rest, &line)) {
		if (line.n > 0 && line.p[0] == 'S') {
			check(id_of(line, "STARTED ") == expected && expected < inputs);
			last = expected++;
		} else if (line.n > 0 && line.p[0] == 'F') {
			check(id_of(line, "FT ") == last);
		} else {
			check(id_of(line, "COV ") == last);
		}
	}
	return expected;
}

/* --- our result ------------------------------------------------------------------------ */

static void check_numbers(const uint32_t *v, size_t n, uint32_t below)
{
	for (size_t i = 0; i < n; i++)
		check(v[i] < below && (i == 0 || v[i - 1] < v[i]));
}

static void check_input(const struct control *c, size_t i, struct control_reader *reader)
{
	const struct control_input *in = &c->inputs[i];
	struct err e;
	size_t n;

	check((in->state == CONTROL_WAITS) == (i >= c->next));
	check(control_features(c, i, reader, &n, &e) == 0 && n <= in->features);
	check(in->state == CONTROL_RAN || n == 0);
	check_numbers(reader->v, n, CONTROL_FEATURES);
	check(control_edges(c, i, reader, &n, &e) == 0 && n <= in->edges);
	check(in->state == CONTROL_RAN || n == 0);
	check_numbers(reader->v, n, CONTROL_EDGES);
	for (size_t k = 0; k < n; k++)
		check(bits_has(&c->edges, reader->v[k]));
}

static void check_control(const struct control *c, off_t size)
{
	CLEANUP(control_reader_done) struct control_reader reader = {0};

	check(c->next <= c->n && c->good <= (uint64_t)size);
	check(!c->started || (c->next < c->n && !*c->why));
	check(!c->started || c->good < (uint64_t)size);
	check(c->started || (*c->why != '\0') == (c->good != (uint64_t)size));
	for (size_t i = 0; i < c->n; i++)
		check_input(c, i, &reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_autocandidates_ struct candidates list = {0};
	struct control *c;
	struct err e;
	size_t next;
	int fd;

	if (size < 1 || size > FILE_MAX / 2)
		return 0;
	list = list_of(data[0] % INPUTS_MAX + 1);
	fd = file_of(&list, data + 1, size - 1);
	check(control_read_fd(fd, STAGE, &list, &c, &e) == 0);
	check_control(c, lseek(fd, 0, SEEK_END));
	control_rewind(c, data[0] / INPUTS_MAX);
	check_control(c, lseek(fd, 0, SEEK_END));
	next = c->next;

	check(control_repair(c, &list, false, &e) == 0);
	check(c->next == next && !c->started);
	check_control(c, lseek(fd, 0, SEEK_END));
	check(takes(fd, list.n) == next);
	check((control_repair(c, &list, true, &e) == 0) == (next < list.n));
	check_control(c, lseek(fd, 0, SEEK_END));
	check(takes(fd, list.n) == c->next);
	control_free(c);
	return 0;
}
