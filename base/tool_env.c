/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"
#include "base/tool.h"

#include <stdlib.h>

void tool_env_done(struct tool_env *env)
{
	for (size_t i = 0; i < env->n; i++)
		free(env->v[i]);
}

static int env_add(struct tool_env *env, const char *name, const char *value, struct err *e)
{
	if (!value)
		return 0;
	env->v[env->n] = xasprintf("%s=%s", name, value);
	if (!env->v[env->n])
		return err_sys(e, "allocate an environment");
	env->n++;
	return 0;
}

int tool_env_fill(struct tool_env *env, const struct owner *o, struct err *e)
{
	static const char *const all[] = {"PATH",
					  "LANG",
					  "LC_ALL",
					  "TERM",
					  "TZ",
					  "CC",
					  "CXX",
					  "CPP",
					  "AR",
					  "LD",
					  "CFLAGS",
					  "CXXFLAGS",
					  "CPPFLAGS",
					  "LDFLAGS",
					  "MAKEFLAGS",
					  "JAVA_HOME",
					  "USE_BAZEL_VERSION",
					  "BAZELISK_HOME",
					  "http_proxy",
					  "https_proxy",
					  "no_proxy",
					  "SSL_CERT_FILE"};
	static const char *const ours[] = {
	    "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "CCACHE_DIR"};
	_Static_assert(sizeof(all) / sizeof(all[0]) + sizeof(ours) / sizeof(ours[0]) < TOOL_ENV_MAX,
		       "raise TOOL_ENV_MAX");
	bool other = o && o->other;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(all) / sizeof(all[0]); i++)
		r = env_add(env, all[i], getenv(all[i]), e);
	for (size_t i = 0; r == 0 && !other && i < sizeof(ours) / sizeof(ours[0]); i++)
		r = env_add(env, ours[i], getenv(ours[i]), e);
	if (r == 0 && other)
		r = env_add(env, "HOME", o->home, e);
	if (r == 0 && other)
		r = env_add(env, "USER", o->name, e);
	if (r == 0 && other)
		r = env_add(env, "LOGNAME", o->name, e);
	return r;
}
