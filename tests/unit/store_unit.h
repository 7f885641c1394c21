/* What the test programs of the store share: records made from numbers, collected
 * visits, and one store open or dead. */
#ifndef HONE_TESTS_UNIT_STORE_UNIT_H
#define HONE_TESTS_UNIT_STORE_UNIT_H

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "lib/store_fixture.h"
#include "store/store.h"
#include "unit/unit.h"

/* A record whose texts live in rotating static buffers: good until 8 more. */
static inline hone_record unit_record(int task, int schedule, int64_t cycles)
{
  static char text[8][4][128];
  static int next;
  char(*t)[128] = text[next++ % 8];
  snprintf(t[0], sizeof t[0], "dims %d\nextent 0 = %d\nstage contract\n", task % 3 + 2, 64 << (task % 5));
  snprintf(t[1], sizeof t[1], "clock_hz 1000000000\ncores %d\n", task / 100 + 1);
  snprintf(t[2], sizeof t[2], "tile.1.m=%d order.1=m,n,k at.W.1=3", schedule);
  snprintf(t[3], sizeof t[3], "matmul m=%d", 64 << (task % 5));
  return (hone_record){.task = {.operator_text = t[0], .machine_text = t[1], .operator_name = "matmul",
                                .machine_name = "teaching", .label = t[3], .spec = "matmul --size m=1"},
                       .evaluator = "simulator", .evaluator_version = 1, .fidelity = 1, .schedule = t[2],
                       .cycles = cycles, .warm_cycles = cycles - 1, .energy_fj = -1, .bottleneck = "dram",
                       .model_cycles = cycles + 5, .kinds = HONE_KIND_SEARCH, .seed = 7, .order = schedule};
}

static inline hone_record unit_failure(int task, int schedule, hone_reason reason, const char *message)
{
  hone_record r = unit_record(task, schedule, 0);
  r.warm_cycles = 0;
  r.reason = reason;
  r.message = message;
  return r;
}

static inline void unit_ok(hone_status st, const hone_err *err)
{
  char text[1024] = "";
  if (st == HONE_OK) return;
  hone_err_print(err, text, sizeof text);
  ck_abort_msg("%s: %s", hone_status_name(st), text);
}

static inline hone_store *unit_open(const char *path, hone_store_mode mode)
{
  hone_store *s = NULL;
  hone_err err = {0};
  unit_ok(hone_store_open(path, mode, &s, &err), &err);
  return s;
}

static inline void unit_append(hone_store *s, hone_record r)
{
  hone_err err = {0};
  unit_ok(hone_store_append(s, &r, &err), &err);
}

static inline void unit_flush(hone_store *s)
{
  hone_err err = {0};
  unit_ok(hone_store_flush(s, &err), &err);
  ck_assert_int_eq(hone_store_pending(s), 0);
}

static inline void unit_close(hone_store *s)
{
  hone_err err = {0};
  unit_ok(hone_store_close(s, &err), &err);
}

static inline void unit_put(hone_store *s, const char *kind, const char *subject, const char *text)
{
  hone_err err = {0};
  unit_ok(hone_store_put(s, &(hone_store_document){.kind = kind, .subject = subject, .text = text}, &err), &err);
}

/* What hone_store_documents visits, as lines "kind|subject|text". */
static inline hone_status unit_print_document(void *arg, const hone_store_document *d, hone_err *err)
{
  (void)err;
  hone_text_add(arg, "%s|%s|%s\n", d->kind, d->subject, d->text);
  return HONE_OK;
}

static inline void unit_documents(hone_store *s, const char *kind, hone_text *out)
{
  hone_err err = {0};
  hone_text_clear(out);
  hone_text_add_bytes(out, "", 0);
  unit_ok(hone_store_documents(s, kind, unit_print_document, out, &err), &err);
}

/* Visits collected, texts copied. */
typedef struct {
  hone_arena *arena;
  hone_record r[4096];
  int n;
} unit_visits;

static inline hone_status unit_collect(void *arg, const hone_record *r, hone_err *err)
{
  unit_visits *v = arg;
  (void)err;
  ck_assert_int_lt(v->n, 4096);
  if (!v->arena) v->arena = hone_arena_new();
  hone_record *c = &v->r[v->n++];
  *c = *r;
  c->schedule = hone_arena_strdup(v->arena, r->schedule);
  c->message = hone_arena_strdup(v->arena, r->message);
  return HONE_OK;
}

/* Texts other than schedule and message live as long as the store. */
static inline void unit_query(hone_store *s, const hone_store_filter *f, unit_visits *v)
{
  hone_err err = {0};
  v->n = 0;
  unit_ok(hone_store_query(s, f, unit_collect, v, &err), &err);
}

static inline hone_status unit_into_text(void *arg, const char *bytes, size_t n, hone_err *err)
{
  (void)err;
  hone_text_add_bytes(arg, bytes, n);
  return HONE_OK;
}

static inline hone_store_info unit_info(hone_store *s)
{
  hone_err err = {0};
  hone_store_info info;
  unit_ok(hone_store_get_info(s, &info, &err), &err);
  return info;
}

#endif
