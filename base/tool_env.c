/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"
#include "base/tool.h"

#include <stdlib.h>

void tool_env_done(struct tool_env *env)
{
	for (size_t i = 0; i < env->n; i++)
		free(env->v[i]);
}

static void env_add(struct tool_env *env, const char *name, const char *value)
{
	if (value)
		env->v[env->n++] = xasprintf("%s=%s", name, value);
}

void tool_env_fill(struct tool_env *env, const struct owner *o)
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

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		env_add(env, all[i], getenv(all[i]));
	if (o && o->other) {
		env_add(env, "HOME", o->home);
		env_add(env, "USER", o->name);
		env_add(env, "LOGNAME", o->name);
		return;
	}
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		env_add(env, ours[i], getenv(ours[i]));
}
