/* SPDX-License-Identifier: Apache-2.0 */
/* Loads every document of a YAML stream, and walks over its nodes. */
#include <stdint.h>
#include <stdlib.h>
#include <yaml.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t walk(yaml_document_t *document)
{
	size_t bytes = 0;
	yaml_node_t *node;

	for (int i = 1; (node = yaml_document_get_node(document, i)); i++)
		if (node->type == YAML_SCALAR_NODE && node->data.scalar.length > 0)
			bytes += node->data.scalar.value[node->data.scalar.length - 1];
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	volatile size_t bytes = 0;
	yaml_parser_t parser;
	int more = 1;

	if (!yaml_parser_initialize(&parser))
		return 0;
	yaml_parser_set_input_string(&parser, data, size);
	while (more) {
		yaml_document_t document;

		if (!yaml_parser_load(&parser, &document))
			break;
		more = yaml_document_get_root_node(&document) != NULL;
		bytes += walk(&document);
		yaml_document_delete(&document);
	}
	yaml_parser_delete(&parser);
	return 0;
}
