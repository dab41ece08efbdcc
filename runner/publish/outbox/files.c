/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the outbox's files, each as a whole. */
#include "base/fs.h"
#include "base/sys.h"
#include "runner/publish/outbox/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { MODE_DIR = 0750, ASIDE_MAX = 1000 };
#define PLACES_NAME "places.json"

/* Held for a few writes only, never during a request to a server. */
int outbox_hold(struct outbox *o, struct err *e)
{
	int r;

	if (o->write_fd < 0)
		return err_set(e, EBADF, "the outbox was opened for reading");
	do
		r = flock(o->write_fd, LOCK_EX);
	while (r < 0 && errno == EINTR);
	return r < 0 ? err_sys(e, "lock 'outbox/lock'") : 0;
}

void outbox_release(struct outbox *o)
{
	(void)flock(o->write_fd, LOCK_UN); /* the end of the process releases it, too */
}

static const char *outbox_files_file_of(const char *id, char out[NAME_MAX + 1])
{
	snprintf(out, NAME_MAX + 1, "%s.json", id);
	return out;
}

bool outbox_exists(const struct outbox *o, const char *id)
{
	char name[NAME_MAX + 1];

	return o->dir >= 0 &&
	       faccessat(o->dir, outbox_files_file_of(id, name), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int outbox_load(struct outbox *o, const char *id, struct outbox_full *ret, struct err *e)
{
	_autofree_ char *text = NULL;
	char name[NAME_MAX + 1];
	size_t n;
	int r =
	    fs_read(o->dir, outbox_files_file_of(id, name), OUTBOX_ENTRY_BYTES_MAX, &text, &n, e);

	if (r == 0)
		r = outbox_entry_parse((struct slice){text, n}, id, ret, e);
	return r < 0 ? err_wrap(e, "outbox entry '%s'", id) : 0;
}

int outbox_write(struct outbox *o, const struct outbox_entry *t, const json_t *event,
		 const json_t *progress, struct err *e)
{
	_autofree_ char *text = NULL;
	char name[NAME_MAX + 1];
	int r = outbox_entry_print(t, event, progress, &text, e);

	if (r == 0 && strlen(text) > OUTBOX_ENTRY_BYTES_MAX)
		r = err_set(e, EFBIG, "more than %d bytes", (int)OUTBOX_ENTRY_BYTES_MAX);
	if (r == 0)
		r = fs_replace(o->dir, outbox_files_file_of(t->id, name), slice_of(text), e);
	return r < 0 ? err_wrap(e, "outbox entry '%s'", t->id) : 0;
}

/* No fsync: if the file reappears, its chain's record says that it was sent. */
int outbox_unlink(struct outbox *o, const char *id, struct err *e)
{
	char name[NAME_MAX + 1];

	if (sys_unlinkat(o->dir, outbox_files_file_of(id, name), 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove 'outbox/%s'", name);
	return 0;
}

bool outbox_damage(int r)
{
	return r == -EBADMSG || r == -EFBIG || r == -EINVAL || r == -ELOOP || r == -EISDIR;
}

static void outbox_files_warn(struct outbox *o, const char *name, const char *where,
			      const char *why)
{
	char text[sizeof(o->warning)];

	if (*o->warning)
		return; /* one line is enough: all files are kept */
	snprintf(text, sizeof(text), "outbox: '%.120s' is damaged (%.100s)%s", name, why, where);
	outbox_line(o->warning, sizeof(o->warning), text);
}

void outbox_set_aside(struct outbox *o, int dir, const char *name, const char *why)
{
	char to[NAME_MAX + 1];
	struct err e;

	if (o->write_fd < 0) {
		outbox_files_warn(o, name, "", why);
		return;
	}
	if (fs_mkdirs(o->dir, "damaged", MODE_DIR, &e) == 0)
		for (unsigned i = 1; i < ASIDE_MAX; i++) {
			snprintf(to, sizeof(to), "damaged/%.220s.%u", name, i);
			if (faccessat(o->dir, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
				continue;
			if (sys_rename_to(dir, name, o->dir, to) < 0)
				break;
			outbox_files_warn(o, name, ": set aside in outbox/damaged", why);
			return;
		}
	outbox_files_warn(o, name, ", and cannot be set aside", why);
}

/* --- places ----------------------------------------------------------------- */

int outbox_places_load(struct outbox *o, struct err *e)
{
	_autojson_ json_t *j = NULL;
	struct err why;
	int r =
	    o->dir < 0 ? -ENOENT : json_load(o->dir, PLACES_NAME, OUTBOX_ENTRY_BYTES_MAX, &j, &why);

	if (r < 0 && r != -ENOENT && !outbox_damage(r))
		return err_set(e, why.code, "outbox: %s", why.msg);
	if (outbox_damage(r) || (r == 0 && !json_is_object(j))) {
		outbox_set_aside(o, o->dir, PLACES_NAME, "no JSON object");
		r = -ENOENT;
	}
	json_decref(o->places);
	o->places = r == 0 ? take_ptr(&j) : json_object();
	return 0;
}

uint64_t outbox_place_get(const struct outbox *o, const char *place, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(json_object_get(o->places, place), key));

	return v > 0 ? (uint64_t)v : 0;
}

/* A place's name is UTF-8, because it comes from the configuration. */
static void change_place(struct outbox *o, const char *place, const struct outbox_number *v,
			 size_t n)
{
	json_t *one = json_object_get(o->places, place);

	if (!json_is_object(one)) {
		one = json_object();
		json_object_set_new(o->places, place, one);
	}
	for (size_t i = 0; i < n; i++)
		if (v[i].value)
			json_object_set_new(one, v[i].key, json_integer((json_int_t)v[i].value));
		else
			(void)json_object_del(one, v[i].key);
}

/* Reads the file again first, to keep other processes' changes. */
int outbox_place_set(struct outbox *o, const char *place, const struct outbox_number *v, size_t n,
		     struct err *e)
{
	_autofree_ char *text = NULL;
	int r = outbox_hold(o, e);

	if (r < 0)
		return r;
	r = outbox_places_load(o, e);
	if (r == 0)
		change_place(o, place, v, n);
	if (r == 0)
		r = json_print(o->places, 1, &text, e);
	if (r == 0)
		r = fs_replace(o->dir, PLACES_NAME, slice_of(text), e);
	outbox_release(o);
	return r < 0 ? err_wrap(e, "outbox") : 0;
}
