/* Reading YAML (and JSON) documents with locations, over libfyaml. A document
 * owns its nodes; nodes are valid until it is freed. Syntax errors, duplicate
 * keys and too deep nesting are reported with file, line and column. */
#ifndef HONE_BASE_YAML_H
#define HONE_BASE_YAML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

typedef struct hone_yaml hone_yaml;
typedef struct fy_node hone_node; /* libfyaml's, opaque here */

hone_status hone_yaml_load(const char *path, hone_yaml **out, hone_err *err);
hone_status hone_yaml_parse(const char *name, const char *text, hone_yaml **out, hone_err *err);
void hone_yaml_free(hone_yaml *y);
hone_node *hone_yaml_root(hone_yaml *y);

bool hone_node_is_mapping(hone_node *n);
bool hone_node_is_sequence(hone_node *n);
bool hone_node_is_scalar(hone_node *n);
int hone_node_count(hone_node *n);                  /* entries of a mapping or sequence, 0 for a scalar */
hone_node *hone_node_item(hone_node *seq, int i);
const char *hone_node_key(hone_node *map, int i);   /* owned by the document */
hone_node *hone_node_value(hone_node *map, int i);
hone_node *hone_node_find(hone_node *map, const char *key); /* NULL when absent */
const char *hone_node_text(hone_node *scalar);      /* owned by the document; NULL when not a scalar */

/* An error at a node: fills file, line, column and field path. */
hone_status hone_node_err(hone_yaml *y, hone_node *n, hone_err *err, hone_status s, const char *code, const char *fmt, ...)
    HONE_PRINTF(6, 7);
/* Refuses keys outside the NULL-terminated list, offering the nearest. */
hone_status hone_node_check_keys(hone_yaml *y, hone_node *map, const char *const *allowed, const char *code, hone_err *err);
/* Typed reads of map[key]; absent is an error ("missing field") unless noted. */
hone_status hone_node_get_text(hone_yaml *y, hone_node *map, const char *key, const char **out, hone_err *err);
hone_status hone_node_get_unit(hone_yaml *y, hone_node *map, const char *key, hone_unit u, int64_t min, int64_t max,
                               int64_t *out, hone_err *err);
hone_status hone_node_get_bool(hone_yaml *y, hone_node *map, const char *key, bool *out, hone_err *err);

#endif
