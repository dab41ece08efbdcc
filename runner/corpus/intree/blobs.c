/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a commit's files, read by git cat-file(1).  Git's object names are not the SHA-1
 * of the content alone. */
#include "base/cleanup.h"
#include "base/digest.h"
#include "runner/corpus/intree/internal.h"
#include "runner/corpus/workdir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { HEAD_MAX = 100, OID = 40 };

struct reader {
	struct intree_tree *t;
	const struct intree_corpus *c;
	size_t at; /* the current input, in the order of the requests to git */
	char head[HEAD_MAX];
	size_t n; /* of head */
	bool is_body;
	uint64_t size, left; /* left: includes the newline behind the content */
	struct buf body;     /* stays empty if the content is too large for an input */
};

static int bad_answer(struct err *e)
{
	return err_set(e, EBADMSG, "git cat-file: unexpected output");
}

/* "<oid> blob <size>" */
static int begin_body(struct reader *rd, struct err *e)
{
	struct slice head = {rd->head, rd->n}, oid;

	if (rd->at >= rd->t->n_inputs || !scan_until(&head, ' ', OID, &oid) || oid.n != OID ||
	    memcmp(oid.p, rd->t->by_oid[rd->at]->oid, OID) != 0 ||
	    !scan_lit(&head, SLICE(" blob ")) || !scan_u64(&head, 10, INT64_MAX, &rd->size) ||
	    head.n > 0)
		return bad_answer(e);
	rd->is_body = true;
	rd->left = rd->size + 1;
	rd->n = 0;
	buf_clear(&rd->body);
	return 0;
}

static void end_body(struct reader *rd)
{
	struct intree_entry *x = rd->t->by_oid[rd->at++];
	char hex[DIGEST_SHA1_HEX];

	rd->is_body = false;
	if (rd->size > WORKDIR_INPUT_MAX)
		return;
	digest_sha1_hex((struct slice){buf_str(&rd->body), rd->size}, hex);
	x->unneeded = intree_corpus_unneeded(rd->c, hex, rd->size);
}

static void intree_blobs_take_body(struct reader *rd, struct slice *block)
{
	struct slice part = {block->p, block->n < rd->left ? block->n : (size_t)rd->left};

	if (rd->size <= WORKDIR_INPUT_MAX) /* the body has room for it */
		buf_put(&rd->body, part);
	block->p += part.n;
	block->n -= part.n;
	rd->left -= part.n;
	if (rd->left == 0)
		end_body(rd);
}

static int take_head(struct reader *rd, struct slice *block, struct err *e)
{
	char c = *block->p++;

	block->n--;
	if (c == '\n')
		return begin_body(rd, e);
	if (rd->n == sizeof(rd->head))
		return bad_answer(e);
	rd->head[rd->n++] = c;
	return 0;
}

static int intree_blobs_on_block(void *arg, struct slice block, struct err *e)
{
	struct reader *rd = arg;
	int r = 0;

	while (r == 0 && block.n > 0) {
		if (rd->is_body)
			intree_blobs_take_body(rd, &block);
		else
			r = take_head(rd, &block, e);
	}
	return r;
}

int intree_tree_unneeded(struct intree_tree *t, const struct git *g, const struct intree_corpus *c,
			 struct err *e)
{
	static const char *const args[] = {"cat-file", "--batch", NULL};
	struct reader rd = {.t = t, .c = c, .body = BUF_INIT(WORKDIR_INPUT_MAX + 1)};
	_autobuf_ struct buf asked = BUF_INIT((size_t)64 << 20);
	int r;

	for (size_t i = 0; i < t->n_inputs; i++)
		buf_printf(&asked, "%.*s\n", OID, t->by_oid[i]->oid);
	r = buf_check(&asked, e);
	if (r == 0 && t->n_inputs > 0)
		r = git_stream(g, args, buf_slice(&asked), intree_blobs_on_block, &rd, e);
	if (r == 1 || (r == 0 && (rd.at != t->n_inputs || rd.is_body || rd.n > 0)))
		r = bad_answer(e);
	buf_done(&rd.body);
	return r;
}
