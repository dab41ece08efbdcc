/* SPDX-License-Identifier: Apache-2.0 */
#include "base/owner.h"

#include "base/sys.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int owner_of(const char *dir, struct owner *ret, struct err *e)
{
	struct owner o = {0};
	const struct passwd *pw;
	struct stat st;

	if (fstatat(AT_FDCWD, dir, &st, 0) < 0)
		return err_sys(e, "open '%s'", dir);
	o.uid = st.st_uid;
	o.gid = o.group = st.st_gid;
	o.other = geteuid() == 0 && st.st_uid != 0;
	pw = o.other ? getpwuid(st.st_uid) : NULL;
	if (o.other && st.st_gid == 0) /* "chown them DIR" leaves root's, which reads our state */
		o.gid = o.group = pw ? pw->pw_gid : OWNER_NOGROUP;
	if (pw) {
		o.gid = pw->pw_gid;
		o.name = sys_strdup(pw->pw_name);
		o.home = sys_strdup(pw->pw_dir);
		if (!o.name || !o.home) {
			err_sys(e, "allocate a name");
			owner_done(&o);
			return -e->code;
		}
	}
	*ret = o;
	return 0;
}

void owner_done(struct owner *o)
{
	free(o->name);
	free(o->home);
	*o = (struct owner){0};
}

int owner_become(const struct owner *o)
{
	if (!o->other)
		return 0;
	if (setgroups(1, &o->group) < 0 || setgid(o->gid) < 0)
		return -1;
	return setuid(o->uid);
}
