/* Spaces for tests: a matmul on one of the repository's machines with the
 * template and a text of the test's own, or an opaque space over integers. */
#ifndef HONE_TESTS_UNIT_SPACE_FIXTURE_H
#define HONE_TESTS_UNIT_SPACE_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "spaces/space.h"

typedef struct {
  hone_operator op;
  hone_machine m;
  hone_params params;
  hone_space *s;
  hone_err err;
} space_fixture;

static inline void fixture_load(space_fixture *f, const char *machine, int64_t m, int64_t n, int64_t k, hone_format format)
{
  hone_size sizes[] = {{"m", m}, {"n", n}, {"k", k}};
  hone_format_choice formats[] = {{NULL, format}};
  char path[512];
  *f = (space_fixture){0};
  hone_err_init(&f->err);
  snprintf(path, sizeof path, "%s/data/machines/%s.yaml", HONE_SRCDIR, machine);
  ck_assert_msg(hone_machine_load(path, &f->m, &f->err) == HONE_OK, "%s", f->err.message);
  ck_assert_msg(hone_operator_load(HONE_SRCDIR "/spaces/matmul.yaml", sizes, 3, formats, 1, NULL, 0, &f->op, &f->err) == HONE_OK,
                "%s", f->err.message);
  ck_assert_msg(hone_params_new(&f->op, &f->m, &f->params, &f->err) == HONE_OK, "%s", f->err.message);
}

/* `text` NULL: the template only. */
static inline hone_status fixture_open(space_fixture *f, const char *text)
{
  hone_space_source sources[] = {{HONE_SRCDIR "/spaces/template.yaml", NULL}, {HONE_SRCDIR "/spaces/matmul.yaml", NULL}, {"user.yaml", text}};
  return hone_space_new(&f->op, &f->m, &f->params, sources, text ? 3 : 2, &f->s, &f->err);
}

static inline void fixture_close(space_fixture *f)
{
  hone_space_free(f->s);
  hone_params_free(&f->params);
  f->s = NULL;
}

/* `n` integer parameters a, b, c, ... each in [min, max]. */
static inline hone_status fixture_opaque(space_fixture *f, int n, int64_t min, int64_t max, const char *text)
{
  hone_space_source source = {"opaque.yaml", text};
  *f = (space_fixture){0};
  hone_err_init(&f->err);
  f->params.n = n;
  f->params.param = hone_heap_alloc((size_t)n, sizeof *f->params.param);
  for (int i = 0; i < n; i++) {
    hone_param *p = &f->params.param[i];
    *p = (hone_param){.axis = -1, .level = -1, .dim = -1, .tensor = -1, .stage = -1, .domain = HONE_DOMAIN_RANGE, .min = min, .max = max};
    snprintf(p->name, sizeof p->name, "%c", 'a' + i);
  }
  return hone_space_new(NULL, NULL, &f->params, &source, text != NULL, &f->s, &f->err);
}

#endif
