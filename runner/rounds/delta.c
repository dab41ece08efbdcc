/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/rounds/delta.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/memory.h"
#include "base/sys.h"
#include "runner/corpus/measure/shard.h"
#include "runner/corpus/workdir.h"
#include "runner/rounds/plan.h"
#include "runner/state/slices.h"
#include "runner/targets/discover.h"
#include "runner/targets/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EMPTY "da39a3ee5e6b4b0d3255bfef95601890afd80709" /* SHA-1 of nothing */

/* --- paths ------------------------------------------------------------------------ */

/* Takes the part before the next slash; false: there is no slash. */
static bool take_part(struct slice *io, struct slice *ret)
{
	const char *slash = io->n ? memchr(io->p, '/', io->n) : NULL;

	if (!slash)
		return false;
	*ret = (struct slice){io->p, (size_t)(slash - io->p)};
	io->n -= ret->n + 1;
	io->p = slash + 1;
	return true;
}

static bool is_one_of(struct slice name, const char *const *v)
{
	for (; *v; v++)
		if (slice_eq(name, slice_of(*v)))
			return true;
	return false;
}

bool delta_inputs_ok(const char *path)
{
	static const char *const rooms[] = {"corpus", "quarantine", "retry", "regressions", NULL};
	struct slice rest = slice_of(path), room;

	return take_part(&rest, &room) && is_one_of(room, rooms) && names_target_ok(rest);
}

/* <name>/<file> or <name>/by/<target>/<file> */
static bool is_crash_file(struct slice rest)
{
	static const char *const files[] = {"input",	 "minimized",	"report.txt",
					    "meta.json", "record.json", NULL};
	struct slice name, by, target;

	if (!take_part(&rest, &name) || !fs_name_ok(name) || name.p[0] == '.')
		return false;
	if (take_part(&rest, &by) &&
	    (!slice_eq(by, SLICE("by")) || !take_part(&rest, &target) || !names_target_ok(target)))
		return false;
	return is_one_of(rest, files);
}

/* <target>/<kind>-<sha1>, <target>/.report-<kind>-<sha1> */
static bool is_waiting_failure(struct slice rest, const char *sha1)
{
	static const char report[] = ".report-";
	struct slice target, name;
	bool is_report;
	size_t kind;

	if (!take_part(&rest, &target) || !names_target_ok(target))
		return false;
	name = rest;
	is_report = name.n > sizeof(report) && memcmp(name.p, report, sizeof(report) - 1) == 0;
	if (is_report)
		name = (struct slice){name.p + sizeof(report) - 1, name.n - sizeof(report) + 1};
	if (name.n < DIGEST_SHA1_HEX + 1 || name.n > DIGEST_SHA1_HEX + 32)
		return false;
	kind = name.n - DIGEST_SHA1_HEX;
	for (size_t i = 0; i < kind; i++)
		if ((name.p[i] < 'a' || name.p[i] > 'z') && name.p[i] != '-')
			return false;
	if (name.p[kind] != '-' || !candidates_name_ok(name.p + kind + 1))
		return false;
	return is_report || (kind == 4 && memcmp(name.p, "lost", 4) == 0) ||
	       strcmp(name.p + kind + 1, sha1) == 0;
}

bool delta_file_ok(const char *path, const char *sha1)
{
	struct slice rest = slice_of(path), room;

	if (strcmp(path, "known_crashes.json") == 0)
		return true;
	if (rest.n > DELTA_PATH_MAX || !take_part(&rest, &room))
		return false;
	return slice_eq(room, SLICE("crashes"))	 ? is_crash_file(rest)
	       : slice_eq(room, SLICE("triage")) ? is_waiting_failure(rest, sha1)
						 : false;
}

bool delta_triaged_ok(const char *path)
{
	size_t n = strlen(path), sha1 = DIGEST_SHA1_HEX - 1;

	return strncmp(path, "triage/", 7) == 0 && n > sha1 && delta_file_ok(path, path + n - sha1);
}

bool delta_history_ok(const char *name)
{
	static const char ending[] = ".jsonl";
	struct slice rest = slice_of(name), room;

	if (strcmp(name, "run_history.jsonl") == 0 || strcmp(name, "corpus_history.jsonl") == 0)
		return true;
	if (!take_part(&rest, &room) || !slice_eq(room, SLICE("targets")) ||
	    rest.n < sizeof(ending) ||
	    memcmp(rest.p + rest.n - sizeof(ending) + 1, ending, sizeof(ending) - 1) != 0)
		return false;
	rest.n -= sizeof(ending) - 1;
	return names_target_ok(rest);
}

/* --- the head ---------------------------------------------------------------------- */

static int compute_id(json_t *head, char id[DIGEST_SHA1_HEX], struct err *e)
{
	_autojson_ json_t *rest = json_copy(head);
	_autofree_ char *text = NULL;
	int r;

	(void)json_object_del(rest, "id");
	r = json_print(rest, 0, &text, e);
	if (r == 0)
		digest_sha1_hex(slice_of(text), id);
	return r;
}

int delta_identify(json_t *head, struct err *e)
{
	char id[DIGEST_SHA1_HEX];
	int r = compute_id(head, id, e);

	return r < 0 ? r : json_object_set_new(head, "id", json_string(id));
}

static bool is_hex(const char *text, size_t n)
{
	return strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}

static bool number_ok(const json_t *head, const char *key, uint64_t least, uint64_t most)
{
	const json_t *v = json_object_get(head, key);

	return json_is_integer(v) && json_integer_value(v) >= (json_int_t)least &&
	       (uint64_t)json_integer_value(v) <= most;
}

static bool facts_ok(const json_t *head)
{
	return is_hex(json_get_text(head, "source"), DELTA_SOURCE - 1) &&
	       is_hex(json_get_text(head, "plan"), ROUND_PLAN_ID - 1) &&
	       number_ok(head, "seq", 1, UINT32_MAX) && number_ok(head, "round", 1, ROUND_MAX) &&
	       number_ok(head, "shards", 1, SHARDS_MAX_COUNT) &&
	       number_ok(head, "shard", 1, json_get_u64(head, "shards")) &&
	       number_ok(head, "until", 1, UINT32_MAX) && number_ok(head, "due", 1, UINT32_MAX) &&
	       json_is_boolean(json_object_get(head, "last")) &&
	       names_target_ok(slice_of(json_get_text(head, "node")));
}

static int check_inputs(json_t *all, size_t *io_n, struct err *e)
{
	const char *path;
	json_t *list;

	if (!json_is_object(all))
		return err_set(e, EBADMSG, "its head has no inputs");
	json_object_foreach(all, path, list)
	{
		if (!delta_inputs_ok(path) || !json_is_array(list))
			return err_set(e, EBADMSG, "it has inputs in '%.100s'", path);
		*io_n += json_array_size(list);
		for (size_t i = 0; i < json_array_size(list); i++) {
			const char *sha1 = json_string_value(json_array_get(list, i));

			if (!sha1 || !candidates_name_ok(sha1))
				return err_set(e, EBADMSG, "an input in '%.100s' has no SHA-1",
					       path);
		}
	}
	return 0;
}

static int check_files(json_t *all, size_t *io_n, struct err *e)
{
	const char *path;
	json_t *v;

	if (!json_is_object(all))
		return err_set(e, EBADMSG, "its head has no files");
	json_object_foreach(all, path, v)
	{
		const char *sha1 = json_string_value(v);

		if (!sha1 || !candidates_name_ok(sha1) || !delta_file_ok(path, sha1))
			return err_set(e, EBADMSG, "it has a file '%.100s'", path);
		++*io_n;
	}
	return 0;
}

/* triaged: NULL is none. */
static int check_triaged(const json_t *triaged, struct err *e)
{
	if (triaged && !json_is_array(triaged))
		return err_set(e, EBADMSG, "its list of triaged failures is damaged");
	for (size_t i = 0; i < json_array_size(triaged); i++) {
		const char *path = json_string_value(json_array_get(triaged, i));

		if (i >= DELTA_INPUTS_MAX || !path || !delta_triaged_ok(path))
			return err_set(e, EBADMSG, "its list of triaged failures is damaged");
	}
	return 0;
}

static int check_slices(json_t *all, struct err *e)
{
	const char *target;
	json_t *v;

	json_object_foreach(all, target, v)
	{
		if (!names_target_ok(slice_of(target)) || !slices_ok(v))
			return err_set(e, EBADMSG, "the progress of '%.100s' is damaged", target);
	}
	return 0;
}

static int check_histories(json_t *all, struct err *e)
{
	const char *name;
	json_t *lines;

	json_object_foreach(all, name, lines)
	{
		if (!delta_history_ok(name) || !json_is_array(lines) ||
		    json_array_size(lines) > DELTA_LINES_MAX)
			return err_set(e, EBADMSG, "the history '%.100s' is damaged", name);
		for (size_t i = 0; i < json_array_size(lines); i++)
			if (!json_is_object(json_array_get(lines, i)))
				return err_set(e, EBADMSG, "the history '%.100s' is damaged", name);
	}
	return 0;
}

static int check_head(json_t *head, struct err *e)
{
	char id[DIGEST_SHA1_HEX];
	size_t n = 0;
	int r;

	if (json_integer_value(json_object_get(head, "v")) != DELTA_VERSION)
		return err_set(e, EBADMSG, "it is no delta of version %d", DELTA_VERSION);
	r = compute_id(head, id, e);
	if (r < 0)
		return r;
	if (strcmp(id, json_get_text(head, "id")) != 0)
		return err_set(e, EBADMSG, "its head is damaged: it has another SHA-1");
	if (!facts_ok(head))
		return err_set(e, EBADMSG, "its head lacks what a delta says of itself");
	r = check_inputs(json_object_get(head, "inputs"), &n, e);
	if (r == 0)
		r = check_files(json_object_get(head, "files"), &n, e);
	if (r == 0 && n > DELTA_INPUTS_MAX)
		r = err_set(e, EBADMSG, "it has more than %d inputs and files", DELTA_INPUTS_MAX);
	if (r == 0)
		r = check_triaged(json_object_get(head, "triaged"), e);
	if (r == 0)
		r = check_slices(json_object_get(head, "slices"), e);
	return r == 0 ? check_histories(json_object_get(head, "histories"), e) : r;
}

int delta_each(const json_t *head, delta_each_fn *fn, void *arg, struct err *e)
{
	json_t *inputs = json_object_get(head, "inputs"), *files = json_object_get(head, "files");
	const char *path;
	json_t *v;

	json_object_foreach(inputs, path, v)
	{
		for (size_t i = 0; i < json_array_size(v); i++) {
			int r = fn(arg, path, json_string_value(json_array_get(v, i)), true, e);

			if (r < 0)
				return r;
		}
	}
	json_object_foreach(files, path, v)
	{
		int r = fn(arg, path, json_string_value(v), false, e);

		if (r < 0)
			return r;
	}
	return 0;
}

/* --- unpacking ---------------------------------------------------------------------- */

struct places {
	int head, objects;
	bool has_head;
};

static int place_entry(void *arg, const char *name, int *ret_dirfd, struct err *e)
{
	static const char objects[] = DELTA_OBJECTS;
	struct places *p = arg;

	*ret_dirfd = -1;
	if (strcmp(name, DELTA_HEAD) == 0) {
		if (p->has_head)
			return err_set(e, EBADMSG, "it has two heads");
		p->has_head = true;
		*ret_dirfd = p->head;
	} else if (strncmp(name, objects, sizeof(objects) - 1) == 0) {
		*ret_dirfd = p->objects;
	}
	return 0;
}

/* The only file in the directory of the head, which has the name of its content. */
static int read_head(int dirfd, json_t **ret, struct err *e)
{
	CLEANUP(closedir_p) DIR *d = sys_opendirat(dirfd, ".");
	const struct dirent *ent = d ? sys_readdir(d) : NULL;

	if (!d)
		return err_sys(e, "open the head of a delta");
	if (!ent)
		return err_set(e, EBADMSG, "it has no " DELTA_HEAD);
	return json_load(dirfd, ent->d_name, DELTA_HEAD_MAX, ret, e);
}

static int has_object(void *arg, const char *path, const char *sha1, bool is_input, struct err *e)
{
	const struct delta *d = arg;

	(void)is_input;
	if (faccessat(d->objects, sha1, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return err_set(e, EBADMSG, "it was cut, or is damaged: '%.100s' of '%.100s' is missing",
		       sha1, path);
}

/* entries: how many from the first one on. */
static int unpack(const char *archive, struct places *places, uint64_t entries, struct err *e)
{
	const struct seeds_limits most = {
	    .entries = entries,
	    .files = DELTA_INPUTS_MAX + 1000,
	    .file = WORKDIR_INPUT_MAX,
	    .bytes = UINT64_C(16) << 30,
	    .read = UINT64_C(16) << 30,
	};
	const struct seeds_to to = {.dirfd = -1,
				    .place = place_entry,
				    .arg = places,
				    .not_placed = "not of a delta",
				    .most = &most};
	struct seeds_result got;

	return discover_unpack(archive, &to, &got, e);
}

int delta_read_head(const char *archive, int dirfd, json_t **ret, struct err *e)
{
	struct places places = {.head = -1, .objects = -1};
	_autoclose_ int head = -1;
	json_t *got = NULL;
	int r = fs_make_dir(dirfd, "head", 0750, &head, e);

	places.head = head;
	if (r == 0)
		r = unpack(archive, &places, 1, e);
	if (r == 0)
		r = read_head(head, &got, e);
	if (r == 0)
		r = check_head(got, e);
	if (r < 0)
		json_decref(got);
	else
		*ret = got;
	return r;
}

int delta_open(const char *archive, int dirfd, struct delta *ret, struct err *e)
{
	struct delta d = {.dir = dirfd, .objects = -1};
	_autoclose_ int head = -1;
	int r = fs_make_dir(dirfd, "head", 0750, &head, e);

	if (r == 0)
		r = fs_make_dir(dirfd, "objects", 0750, &d.objects, e);
	if (r == 0)
		r = unpack(archive, &(struct places){.head = head, .objects = d.objects},
			   DELTA_INPUTS_MAX + 1000, e);
	if (r == 0) /* no archive entry is empty */
		r = fs_replace(d.objects, EMPTY, SLICE(""), e);
	if (r == 0)
		r = read_head(head, &d.head, e);
	if (r == 0)
		r = check_head(d.head, e);
	if (r == 0)
		r = delta_each(d.head, has_object, &d, e);
	if (r < 0) {
		delta_close(&d);
		return r;
	}
	*ret = d;
	return 0;
}

void delta_close(struct delta *d)
{
	json_decref(d->head);
	if (d->objects >= 0)
		close(d->objects);
	*d = (struct delta){.dir = -1, .objects = -1};
}
