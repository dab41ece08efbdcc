/* SPDX-License-Identifier: Apache-2.0 */
/* The files that pages need, compiled in. */
#include "runner/serve/internal.h"

/* Paths are relative to the top of the tree, where make runs.  The Makefile lists these files as
 * dependencies. */
/* NOLINTBEGIN(bugprone-macro-parentheses): texts are joined */
#define ASSET_FILE(symbol, file)                             \
	__asm__(".pushsection .rodata\n"                     \
		".balign 16\n"                               \
		"asset_" #symbol "_begin:\n"                 \
		".incbin \"runner/serve/assets/" file "\"\n" \
		"asset_" #symbol "_end:\n"                   \
		".byte 0\n"                                  \
		".popsection\n");                            \
	extern const char asset_##symbol##_begin[], asset_##symbol##_end[]
/* NOLINTEND(bugprone-macro-parentheses) */

ASSET_FILE(css, "fuzzcell.css");
ASSET_FILE(js, "fuzzcell.js");
ASSET_FILE(icon, "icon.svg");
ASSET_FILE(uplot_js, "vendor/uplot/uPlot.iife.min.js");
ASSET_FILE(uplot_css, "vendor/uplot/uPlot.min.css");
ASSET_FILE(uplot_license, "vendor/uplot/LICENSE");

#define CSS   "text/css; charset=utf-8"
#define JS    "text/javascript; charset=utf-8"
#define PLAIN "text/plain; charset=utf-8"

#define ASSET(symbol, file, mime)                                                 \
	{                                                                         \
		{.path = "assets/" file, .type = (mime)}, asset_##symbol##_begin, \
		    asset_##symbol##_end                                          \
	}

static const struct {
	struct serve_asset asset; /* without its bytes, because the linker knows their number */
	const char *begin, *end;
} assets[] = {
    ASSET(css, "fuzzcell.css", CSS),
    ASSET(js, "fuzzcell.js", JS),
    ASSET(icon, "icon.svg", "image/svg+xml"),
    ASSET(uplot_js, "vendor/uplot/uPlot.iife.min.js", JS),
    ASSET(uplot_css, "vendor/uplot/uPlot.min.css", CSS),
    /* The library's licence must accompany each copy. */
    ASSET(uplot_license, "vendor/uplot/LICENSE.txt", PLAIN),
};

enum { ASSETS = sizeof(assets) / sizeof(assets[0]) };

const struct serve_asset *serve_asset_at(size_t i)
{
	static struct serve_asset whole[ASSETS];

	if (i >= ASSETS)
		return NULL;
	whole[i] = assets[i].asset;
	whole[i].bytes = (struct slice){assets[i].begin, (size_t)(assets[i].end - assets[i].begin)};
	return &whole[i];
}
