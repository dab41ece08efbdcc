/* SPDX-License-Identifier: Apache-2.0 */
/* Reads CommonMark; the first byte chooses what is written of it. */
#include <cmark.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int options = CMARK_OPT_DEFAULT;
	cmark_node *document;
	char *text;

	if (size < 1 || size > 1 << 16)
		return 0;
	if (data[0] & 4)
		options |= CMARK_OPT_SMART | CMARK_OPT_SOURCEPOS;
	if (data[0] & 8)
		options |= CMARK_OPT_UNSAFE | CMARK_OPT_HARDBREAKS;
	document = cmark_parse_document((const char *)data + 1, size - 1, options);
	if (!document)
		return 0;
	if (data[0] & 1)
		text = cmark_render_commonmark(document, options, data[0] & 2 ? 40 : 0);
	else if (data[0] & 2)
		text = cmark_render_xml(document, options);
	else
		text = cmark_render_html(document, options);
	free(text);
	cmark_node_free(document);
	return 0;
}
