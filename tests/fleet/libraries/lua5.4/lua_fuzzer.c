/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles a Lua chunk from its text and writes the byte code; nothing is run. */
#include <lauxlib.h>
#include <lua.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_dump(lua_State *lua, const void *piece, size_t size, void *total)
{
	(void)lua;
	(void)piece;
	*(size_t *)total += size;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	lua_State *lua;
	size_t total = 0;

	if (size > 1 << 16)
		return 0;
	lua = luaL_newstate();
	if (!lua)
		return 0;
	if (luaL_loadbufferx(lua, (const char *)data, size, "input", "t") == LUA_OK)
		(void)lua_dump(lua, on_dump, &total, 0);
	lua_close(lua);
	return 0;
}
