/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CORPUS_MEASURE_CONTROL_H
#define RUNNER_CORPUS_MEASURE_CONTROL_H

#include "runner/corpus/measure/bits.h"
#include "runner/corpus/measure/shard.h"

#include <sys/types.h>

/* The control file of libFuzzer's inner merge step
 *   target -merge_control_file=CF -merge_inner=2 -max_len=N
 * which runs each listed input once, in order, and appends what it reached:
 *   <inputs>\n0\n<path>\n...  STARTED <id> <size>\nFT <id> <feature>...\nCOV <id> <edge>...\n
 *
 * Measured with clang 14.0.6, 16.0.6 and 19.1.7, which all do the same:
 * - Started again with its file it goes on behind the last STARTED: an input that
 *   was started and has no FT is passed over for good.
 * - FT lists all features of the input, ascending (-merge_inner=1: only those that
 *   no input before had in this process); COV always only edges new to the process.
 *   -1 returned by the target changes nothing.
 * - The same input has the same features in every process only if the target starts
 *   each run afresh.  Of 6,890 inputs of jansson's example target 14 differed between
 *   two runs in the same order (stack depth), 383 in the opposite order, and 4 of
 *   the 3,348 features of all.
 * - It ends with 0 when it came to the end of the list; 77, 70, 71 or the sanitizer's code
 *   at an input that failed, with an artifact.  But 0 also when the target called
 *   _exit(0), and when the disk was full (the file is cut then, and nothing is
 *   said); 1 at the file size limit; and with leaks it ends with the leaks'
 *   code and an artifact of the empty input, all inputs done (ASAN_OPTIONS=
 *   detect_leaks=0 prevents that, -detect_leaks=0 does not).
 * - Longer inputs than -max_len (1 MiB when not given) are cut, in STARTED too.
 * - Paths may be relative.  One that cannot be opened ends it with 1 before STARTED, at every
 *   restart again; an empty file is an input; a directory is a crash of libFuzzer.
 * - A line that the file ends in is taken as whole when a number was written, and the
 *   next one is glued to it; any other line that it does not know ends it with 1.
 *
 * When a cell has ended, read the file, and rewind it to where the cell began.
 * next == n: all is done, whatever it ended with.  started, and it ended by a failure:
 * `next` is a bad unit, repair with skip.  In any other case (we stopped it, a status
 * of 0, a cut or damaged record): repair without skip and start again; if it then ends
 * at the same `next`, with skip.  A last input that was skipped reads as started again:
 * repairing it again is fine.
 *
 * The target can write into the file while it runs: everything in it is hostile.
 * Read it when the cell is gone.  What was written is bounded by the file's size
 * (the cell's disk limit) only, so features are not kept in memory: an index says
 * where each input's are, and control_features() reads them again.
 * Memory: 32 bytes an input, 2 MiB for edges, 16 MiB for one input's features.
 * Everything blocks: run it in a child process. */

#define CONTROL_FEATURES (UINT32_C(1) << 27) /* feature numbers are below */
#define CONTROL_EDGES	 (UINT32_C(1) << 24)
enum { CONTROL_FEATURES_MAX = 1 << 22 }; /* of one input */

/* A new control file for the list, readable and writable for the cell's user; what
 * was there under its name goes.  dir: where the cell sees the stage, absolute. */
MUST_CHECK int control_write(int dirfd, const char *file, const char *dir,
			     const struct candidates *list, uid_t uid, gid_t gid, struct err *e);

enum control_state {
	CONTROL_WAITS,	/* has not been run, or not to the end */
	CONTROL_RAN,	/* its features are known */
	CONTROL_FAILED, /* was started, and then another one was */
};
struct control_input {
	/* Where the numbers begin in the file; of CONTROL_FAILED, where its record does. */
	uint64_t features_at, edges_at;
	uint32_t features; /* count, as listed */
	uint32_t edges;	   /* those new to the process that ran it */
	enum control_state state;
};
struct control {
	int fd;
	size_t n;
	struct control_input *inputs; /* n, as the list that it was written for */
	size_t next;		      /* inputs before it have run or failed; n: all is done */
	bool started;		      /* `next` was started and is the file's last word */
	struct bits edges;	      /* of all that ran */
	uint64_t good;		      /* bytes up to the end of the last whole record */
	char why[120];		      /* what is wrong behind `good`; "" when nothing is */
};

/* Reads a file that control_write() made for this list and dir and that a cell went
 * on writing.  Damage is no error: `next`, `good` and `why` tell how much is sound.
 * -EBADMSG: it does not begin as we wrote it (or is no file): nothing in it counts,
 * write it again. */
MUST_CHECK int control_read(int dirfd, const char *file, const char *dir,
			    const struct candidates *list, struct control **ret, struct err *e);
/* The same for a file that is open, which it owns on success. */
MUST_CHECK int control_read_fd(int fd, const char *dir, const struct candidates *list,
			       struct control **ret, struct err *e);
void control_free(struct control *c); /* NULL is fine */

/* For a file that a single cell continued at input `first`.  There an engine goes on behind a
 * failed input only if the target executed itself.  Makes the first such input `next`, started,
 * and forgets what is behind it (but not its edges). */
void control_rewind(struct control *c, size_t first);

/* Makes the file one that libFuzzer takes, and goes on with, by cutting it after
 * the last whole record.  skip: `next` is the reason that the cell died: it is
 * written down as started, so that the next cell begins behind it, and is
 * CONTROL_FAILED from now on; without skip the next cell runs it again. */
MUST_CHECK int control_repair(struct control *c, const struct candidates *list, bool skip,
			      struct err *e);

/* The features (or edges) of input i, ascending, each once, in memory of the
 * reader's that holds until the next call.  *ret_n is 0 for one that did not run. */
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
