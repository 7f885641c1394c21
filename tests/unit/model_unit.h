/* What the tests of src/model share: the model at hand, its operators, its memory. */
#ifndef HONE_TESTS_UNIT_MODEL_UNIT_H
#define HONE_TESTS_UNIT_MODEL_UNIT_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "model/model_config.h"

#define MODELS HONE_SRCDIR "/data/models/"

static hone_model_config c;
static hone_model_list list;
static hone_model_memory memory;
static hone_err err;

static inline void load(const char *path)
{
  hone_err_init(&err);
  ck_assert_msg(hone_model_config_load(path, &c, &err) == HONE_OK, "%s: %s: %s", path, err.path, err.message);
}

static inline void load_model(const char *name)
{
  char path[512];
  snprintf(path, sizeof path, "%s%s.json", MODELS, name);
  load(path);
}

static inline hone_model_request request(hone_phase phase, int64_t batch, int64_t context)
{
  return (hone_model_request){.phase = phase, .batch = batch, .context = context, .shards = 1, .formats = hone_model_formats_of(&c)};
}

static inline void list_of(hone_model_request q)
{
  ck_assert_msg(hone_model_operators(&c, &q, &list, &err) == HONE_OK, "%s", err.message);
  ck_assert_msg(hone_model_memory_count(&c, &q, &memory, &err) == HONE_OK, "%s", err.message);
}

static inline const hone_model_item *item(const char *role)
{
  for (int i = 0; i < list.n; i++)
    if (strcmp(list.item[i].role, role) == 0) return &list.item[i];
  ck_abort_msg("no item '%s'", role);
  return NULL;
}

static inline bool has(const char *role)
{
  for (int i = 0; i < list.n; i++)
    if (strcmp(list.item[i].role, role) == 0) return true;
  return false;
}

static inline int64_t size(const hone_model_item *x, const char *name) /* -1: has none */
{
  int i = hone_spec_find_size(&x->spec, name);
  return i < 0 ? -1 : x->spec.size[i].value;
}

static inline const char *format(const hone_model_item *x, const char *tensor) /* "": not named */
{
  for (int i = 0; i < x->spec.nformats; i++)
    if (strcmp(x->spec.format[i].tensor, tensor) == 0) return hone_format_name(x->spec.format[i].format);
  return "";
}

static inline void check_matmul(const char *role, int64_t count, int64_t m, int64_t n, int64_t k)
{
  const hone_model_item *x = item(role);
  ck_assert_str_eq(x->spec.operator_name, "matmul");
  ck_assert_msg(x->supported && x->count == count && size(x, "m") == m && size(x, "n") == n && size(x, "k") == k,
                "%s: %lld of m=%lld,n=%lld,k=%lld", role, (long long)x->count, (long long)size(x, "m"), (long long)size(x, "n"),
                (long long)size(x, "k"));
}

static inline void check_grouped(const char *role, int64_t count, int64_t experts, int64_t rows, int64_t n, int64_t k)
{
  const hone_model_item *x = item(role);
  ck_assert_str_eq(x->spec.operator_name, "grouped_matmul");
  ck_assert(!x->supported && x->count == count && size(x, "experts") == experts && size(x, "rows") == rows && size(x, "n") == n &&
            size(x, "k") == k);
}

static inline double all_flops(void)
{
  double sum = 0;
  for (int i = 0; i < list.n; i++)
    sum += list.item[i].flops;
  return sum;
}

#endif
