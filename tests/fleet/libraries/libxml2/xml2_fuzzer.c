/* SPDX-License-Identifier: Apache-2.0 */
/* Reads XML with the parser options that the first two bytes choose, without files and
 * network, and writes what was read. */
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_error(void *user, const char *format, ...)
{
	(void)user;
	(void)format;
}

static xmlParserInputPtr on_external(const char *url, const char *id, xmlParserCtxtPtr parser)
{
	(void)url;
	(void)id;
	(void)parser;
	return NULL;
}

static int options_of(const uint8_t *data)
{
	static const int options[] = {
	    XML_PARSE_RECOVER,	XML_PARSE_NOENT,    XML_PARSE_DTDLOAD,	XML_PARSE_DTDATTR,
	    XML_PARSE_DTDVALID, XML_PARSE_PEDANTIC, XML_PARSE_NOBLANKS, XML_PARSE_SAX1,
	    XML_PARSE_NSCLEAN,	XML_PARSE_NOCDATA,  XML_PARSE_COMPACT,	XML_PARSE_OLD10,
	};
	int chosen = XML_PARSE_NONET;

	for (unsigned i = 0; i < 12; i++)
		if (data[i / 8] >> i % 8 & 1)
			chosen |= options[i];
	return chosen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	xmlChar *text = NULL;
	xmlDocPtr document;
	int length;

	if (size < 2 || size > 1 << 16)
		return 0;
	xmlSetGenericErrorFunc(NULL, on_error);
	xmlSetExternalEntityLoader(on_external);
	document = xmlReadMemory((const char *)data + 2, (int)size - 2, "input.xml", NULL,
				 options_of(data));
	if (document) {
		xmlDocDumpMemory(document, &text, &length);
		xmlFree(text);
		xmlFreeDoc(document);
	}
	xmlResetLastError();
	return 0;
}
