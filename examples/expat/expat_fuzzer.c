/* SPDX-License-Identifier: Apache-2.0 */
/* Parses XML in two pieces.  The first byte chooses the encoding, namespaces,
 * and where the input is cut. */
#include <expat.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void XMLCALL on_start(void *user, const XML_Char *name, const XML_Char **attributes)
{
	size_t *bytes = user;

	*bytes += strlen(name);
	for (; *attributes; attributes++)
		*bytes += strlen(*attributes);
}

static void XMLCALL on_end(void *user, const XML_Char *name)
{
	*(size_t *)user += strlen(name);
}

static void XMLCALL on_text(void *user, const XML_Char *text, int length)
{
	*(size_t *)user += length > 0 ? (size_t)(unsigned char)text[length - 1] : 0;
}

static void XMLCALL on_comment(void *user, const XML_Char *text)
{
	*(size_t *)user += strlen(text);
}

static void XMLCALL on_instruction(void *user, const XML_Char *target, const XML_Char *text)
{
	*(size_t *)user += strlen(target) + strlen(text);
}

/* An external entity is empty. */
static int XMLCALL on_external(XML_Parser parser, const XML_Char *context, const XML_Char *base,
			       const XML_Char *system, const XML_Char *public)
{
	XML_Parser inner = XML_ExternalEntityParserCreate(parser, context, NULL);
	enum XML_Status status;

	(void)base;
	(void)system;
	(void)public;
	if (!inner)
		return XML_STATUS_ERROR;
	status = XML_Parse(inner, "", 0, XML_TRUE);
	XML_ParserFree(inner);
	return (int)status;
}

static XML_Parser parser_new(uint8_t how, size_t *bytes)
{
	static const char *const encodings[] = {NULL, "UTF-8", "UTF-16", "ISO-8859-1"};
	const char *encoding = encodings[how & 3];
	XML_Parser p = how & 4 ? XML_ParserCreateNS(encoding, '|') : XML_ParserCreate(encoding);

	if (!p)
		return NULL;
	(void)XML_SetHashSalt(p, 1); /* the same input takes the same path every time */
	XML_SetUserData(p, bytes);
	XML_SetElementHandler(p, on_start, on_end);
	XML_SetCharacterDataHandler(p, on_text);
	XML_SetCommentHandler(p, on_comment);
	XML_SetProcessingInstructionHandler(p, on_instruction);
	XML_SetExternalEntityRefHandler(p, on_external);
	(void)XML_SetParamEntityParsing(p, XML_PARAM_ENTITY_PARSING_ALWAYS);
	return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	size_t bytes = 0, cut;
	XML_Parser p;

	if (size < 1 || size > 1 << 20)
		return 0;
	p = parser_new(data[0], &bytes);
	if (!p)
		return 0;
	cut = data[0] & 8 ? (size - 1) / 2 : 0;
	if (XML_Parse(p, text, (int)cut, XML_FALSE) == XML_STATUS_OK)
		(void)XML_Parse(p, text + cut, (int)(size - 1 - cut), XML_TRUE);
	(void)XML_GetErrorCode(p);
	(void)XML_GetCurrentLineNumber(p);
	XML_ParserFree(p);
	return 0;
}
