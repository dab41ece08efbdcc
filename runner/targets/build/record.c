/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/targets/build/record.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"

#include <errno.h>

static bool build_record_is_of(const json_t *entry, const struct config_source *s)
{
	const char *type = json_string_value(json_object_get(entry, "type"));
	const char *path = json_string_value(json_object_get(entry, "path"));

	return type && path && strcmp(type, s->type) == 0 && strcmp(path, s->path) == 0;
}

static int build_record_read(int dirfd, json_t **ret, struct err *e)
{
	_autojson_ json_t *root = NULL;
	int r = json_load(dirfd, BUILD_RECORD, BUILD_RECORD_MAX, &root, e);

	*ret = NULL;
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (!json_is_array(json_object_get(root, "sources")))
		return err_set(e, EBADMSG, "'%s' has no list of sources", BUILD_RECORD);
	*ret = take_ptr(&root);
	return 0;
}

static json_t *build_record_entry_of(const struct config_source *s, const struct build_result *r)
{
	_autojson_ json_t *failed = json_object();

	for (size_t i = 0; i < r->failed.labels.n && i < r->failed.whys.n; i++)
		if (json_object_set_new(failed, r->failed.labels.v[i],
					json_string(r->failed.whys.v[i])) < 0)
			return NULL;
	return json_pack("{s:s, s:s, s:I, s:O}", "type", s->type, "path", s->path, "fresh_us",
			 (json_int_t)r->failed.fresh_us, "failed", failed);
}

static int build_record_put(int dirfd, const json_t *root, struct err *e)
{
	_autofree_ char *text = NULL;
	int r = json_print(root, 2, &text, e);

	return r < 0 ? r : fs_replace(dirfd, BUILD_RECORD, slice_of(text), e);
}

int build_record_save(int state_dirfd, const struct config_source *s, const struct build_result *r,
		      struct err *e)
{
	_autojson_ json_t *root = NULL;
	json_t *list, *entry;
	struct err damaged;
	int rc = build_record_read(state_dirfd, &root, &damaged);

	if (rc < 0 && rc != -EBADMSG && rc != -EINVAL) {
		*e = damaged;
		return rc;
	}
	if (!root) /* no file, or a damaged file: entries of other sources are lost */
		root = json_pack("{s:[]}", "sources");
	list = json_object_get(root, "sources");
	for (size_t i = json_array_size(list); i-- > 0;)
		if (build_record_is_of(json_array_get(list, i), s))
			(void)json_array_remove(list, i);
	while (json_array_size(list) >= BUILD_RECORD_SOURCES)
		(void)json_array_remove(list, 0);
	if (!r->ok) {
		entry = build_record_entry_of(s, r);
		if (json_array_append_new(list, entry) < 0)
			return err_set(e, EILSEQ, "'%s': a source is not UTF-8", BUILD_RECORD);
	}
	return build_record_put(state_dirfd, root, e);
}

static void read_failed(json_t *failed, struct discover_built *ret)
{
	const char *label;
	json_t *why;

	json_object_foreach(failed, label, why)
	{
		strv_push(&ret->labels, label);
		strv_push(&ret->whys, json_is_string(why) ? json_string_value(why) : "?");
	}
}

static int build_record_read_entry(const json_t *entry, struct discover_built *ret, struct err *e)
{
	const json_t *fresh = json_object_get(entry, "fresh_us");
	json_t *failed = json_object_get(entry, "failed");

	if (!json_is_integer(fresh) || json_integer_value(fresh) < 0 || !json_is_object(failed))
		return err_set(e, EBADMSG, "'%s' has an invalid source", BUILD_RECORD);
	ret->fresh_us = (uint64_t)json_integer_value(fresh);
	read_failed(failed, ret);
	return 0;
}

int build_record_load(int state_dirfd, const struct config_source *s, size_t n,
		      struct discover_built *ret, struct err *e)
{
	_autojson_ json_t *root = NULL;
	const json_t *list;
	int r = build_record_read(state_dirfd, &root, e);

	list = r == 0 ? json_object_get(root, "sources") : NULL;
	for (size_t i = 0; r == 0 && i < n; i++)
		for (size_t k = 0; r == 0 && k < json_array_size(list); k++)
			if (build_record_is_of(json_array_get(list, k), &s[i]) &&
			    ret[i].labels.n == 0)
				r = build_record_read_entry(json_array_get(list, k), &ret[i], e);
	return r;
}
