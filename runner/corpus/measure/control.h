/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_MEASURE_CONTROL_H
#define RUNNER_CORPUS_MEASURE_CONTROL_H

#include "runner/corpus/measure/bits.h"
#include "runner/corpus/measure/shard.h"

#include <sys/types.h>

/* The control file of libFuzzer's inner merge step
 *   target -merge_control_file=CF -merge_inner=2 -max_len=N
 * The engine runs each listed input once, in order, and appends what the input reached:
 *   <inputs>\n0\n<path>\n...  STARTED <id> <size>\nFT <id> <feature>...\nCOV <id> <edge>...\n
 *
 * Measured with clang 14.0.6, 16.0.6 and 19.1.7, which behave alike:
 *
 * Restart: the engine continues behind the last STARTED of the file.  An input with STARTED but
 * without FT is skipped for good.
 *
 * Records: FT lists all features of the input, ascending.  With -merge_inner=1 it lists only those
 * that no earlier input had in this process.  COV lists only edges that are new to the process.  If
 * the target returns -1, nothing changes.
 *
 * Reproducibility: an input has the same features in every process only if the target starts each
 * run afresh.  Measured with 6,890 inputs of jansson's example target: 14 differed between two runs
 * in the same order (stack depth).  In the opposite order 383 differed, and 4 of the 3,348 features
 * of all.
 *
 * Exit status: 0 at the end of the list.  After an input that failed it is 77, 70, 71 or the
 * sanitizer's code, with an artifact.  It is also 0 when the target called _exit(0), and when the
 * disk was full; then the file is cut without a message.  It is 1 at the file size limit.  Leaks
 * end it with the leaks' code and an artifact of the empty input, after all inputs.
 * ASAN_OPTIONS=detect_leaks=0 prevents that, -detect_leaks=0 does not.
 *
 * Inputs longer than -max_len (1 MiB by default) are cut, in STARTED too.  Paths may be relative.
 * An input that cannot be opened ends the engine with 1 before STARTED, at every restart.  An empty
 * file is an input; a directory is a crash of libFuzzer.
 *
 * Damage: a last line without a newline is accepted if it has a number, and the next line is
 * appended to it.  Any other unknown line ends the engine with 1.
 *
 * After a cell, read the file, and rewind it to the input where the cell began.
 *   - next == n: all inputs are done, whatever the exit status.
 *   - started, and the cell ended by a failure: `next` is a bad unit, repair with skip.
 *   - Any other case (we stopped the cell, a status of 0, a cut or damaged record): repair without
 *     skip and start again.  If the cell ends at the same `next` again, repair with skip.
 * A last input that was skipped reads as started; repairing it again is harmless.
 *
 * The target can write into the file while it runs: everything in it is hostile.  Read it when the
 * cell is gone.  Only the file's size (the cell's disk limit) bounds its content.  So features are
 * not kept in memory: an index has the position of each input's features, and control_features()
 * reads them again.  Memory: 32 bytes an input, 2 MiB for edges, 16 MiB for one input's features.
 * Everything blocks: run it in a child process. */

#define CONTROL_FEATURES (UINT32_C(1) << 27) /* all feature numbers are below */
#define CONTROL_EDGES	 (UINT32_C(1) << 24)
enum { CONTROL_FEATURES_MAX = 1 << 22 }; /* of one input */

/* Makes a new control file for the list, readable and writable for the cell's user.  It replaces
 * any file of that name.  dir: the cell's path of the stage, absolute. */
MUST_CHECK int control_write(int dirfd, const char *file, const char *dir,
			     const struct candidates *list, uid_t uid, gid_t gid, struct err *e);

enum control_state {
	CONTROL_WAITS,	/* was not run, or not to the end */
	CONTROL_RAN,	/* its features are known */
	CONTROL_FAILED, /* was started, and then the next input was */
};
struct control_input {
	/* The offset of the numbers in the file; for CONTROL_FAILED, of the record. */
	uint64_t features_at, edges_at;
	uint32_t features; /* count, as listed */
	uint32_t edges;	   /* edges new to the process that ran it */
	enum control_state state;
};
struct control {
	int fd;
	size_t n;
	struct control_input *inputs; /* n, in the order of the list */
	size_t next;		      /* inputs before it have run or failed; n: all are done */
	bool started;		      /* `next` was started, and is the last record */
	struct bits edges;	      /* of all inputs that ran */
	uint64_t good;		      /* offset of the end of the last complete record */
	char why[120];		      /* describes the damage behind `good`; "": none */
};

/* Reads a file that control_write() made for this list and dir and that a cell continued.  Damage
 * is no error: `next`, `good` and `why` describe the intact part.  -EBADMSG: the beginning is not
 * as control_write() wrote it, or it is not a file.  Then nothing in it counts; write it again. */
MUST_CHECK int control_read(int dirfd, const char *file, const char *dir,
			    const struct candidates *list, struct control **ret, struct err *e);
/* The same for an open file; on success *ret owns fd. */
MUST_CHECK int control_read_fd(int fd, const char *dir, const struct candidates *list,
			       struct control **ret, struct err *e);
void control_free(struct control *c); /* NULL is fine */

/* For a file that a single cell continued at input `first`.  In such a file an engine continues
 * behind a failed input only if the target executed itself.  Makes the first such input `next`,
 * started, and forgets the records behind it (but not their edges). */
void control_rewind(struct control *c, size_t first);

/* Cuts the file after the last complete record, so that libFuzzer accepts and continues it.  skip:
 * the cell died because of `next`.  It is recorded as started, so the next cell begins behind it,
 * and it is CONTROL_FAILED from now on.  Without skip the next cell runs it again. */
MUST_CHECK int control_repair(struct control *c, const struct candidates *list, bool skip,
			      struct err *e);

/* The features (or edges) of input i, ascending, each once.  They are in the reader's memory, valid
 * until the next call.  *ret_n is 0 for an input that did not run. */
struct control_reader {
	uint32_t *v;
	size_t cap;
	struct numbers *in;
};
MUST_CHECK int control_features(const struct control *c, size_t i, struct control_reader *reader,
				size_t *ret_n, struct err *e);
MUST_CHECK int control_edges(const struct control *c, size_t i, struct control_reader *reader,
			     size_t *ret_n, struct err *e);
void control_reader_done(struct control_reader *r);

#endif
