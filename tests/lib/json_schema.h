/* Validation of JSON against the part of JSON Schema 2020-12 that data/schema
 * uses: $ref to #/$defs/.., type, enum, const, required, properties,
 * patternProperties, additionalProperties, propertyNames, items, anyOf, oneOf,
 * allOf, pattern (POSIX extended), minimum, maximum, and least and most lengths.
 * Any other keyword is a mistake in the schema, not something to pass over. */
#ifndef HONE_TESTS_JSON_SCHEMA_H
#define HONE_TESTS_JSON_SCHEMA_H

#include <jansson.h>
#include <stddef.h>

/* 0: valid. Else the number of violations (at least); the first ones are appended
 * to `say`, a NUL-terminated text of at most n bytes, one a line; NULL: not told. */
int json_schema_check(json_t *schema, json_t *document, char *say, size_t n);

#endif
