/* Text state of a strategy: its log, replayed by load. One line per entry:
 *
 *   hone-strategy 1 NAME seed=N parameters=N space=HASH
 *   seed REASON VALUE v0 v1 ...      a point known beforehand
 *   ask N                            then its results, in order:
 *   result KEY REASON VALUE
 *
 * VALUE is the 64 bits of the double in hex, so that it comes back exactly. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "search/strategy_int.h"

/* ---- writing ---- */

static void print_result(const hone_result *r, hone_text *out)
{
  uint64_t bits;
  memcpy(&bits, &r->value, sizeof bits);
  hone_text_add(out, " %s %016" PRIx64, hone_reason_code(r->reason), bits);
}

static void print_head(const hone_strategy_type *t, const hone_strategy_setup *setup, hone_text *out)
{
  char hash[HONE_HASH_TEXT];
  hone_hash_print(hone_space_hash(setup->space), hash);
  hone_text_add(out, "hone-strategy 1 %s seed=%" PRIu64 " parameters=%d space=%s\n", t->name, setup->seed,
                hone_space_parameters(setup->space), hash);
}

void hone_strategy_save(const hone_strategy *s, hone_text *out)
{
  int width = hone_space_parameters(s->setup.space);
  print_head(s->type, &s->setup, out);
  for (int64_t i = 0; i < s->nlog; i++) {
    const strategy_entry *e = &s->log[i];
    char key[HONE_HASH_TEXT];
    switch (e->kind) {
    case STRATEGY_ASK: hone_text_add(out, "ask %" PRId64 "\n", e->n); continue;
    case STRATEGY_RESULT:
      hone_hash_print(e->key, key);
      hone_text_add(out, "result %s", key);
      print_result(&e->result, out);
      break;
    case STRATEGY_SEED:
      hone_text_add(out, "seed");
      print_result(&e->result, out);
      for (int v = 0; v < width; v++) hone_text_add(out, " %" PRId64, s->seeds[e->n * width + v]);
      break;
    }
    hone_text_add(out, "\n");
  }
}

/* ---- replaying ---- */

typedef struct {
  const char *at;  /* next line */
  int line;
  hone_strategy *s;
  int64_t *points; /* of the ask being replayed */
  hone_result *results;
  int asked, told;
  hone_err *err;
} replay;

static hone_status refuse(const replay *r, const char *what)
{
  return hone_err_set(r->err, HONE_INPUT, "strategy.replay", "strategy state, line %d: %s", r->line, what);
}

/* The next blank-separated word of the line; false at its end. */
static bool next_word(const char **p, char *out, size_t room)
{
  while (**p == ' ') ++*p;
  size_t n = strcspn(*p, " \n");
  if (n == 0 || n >= room) return false;
  memcpy(out, *p, n);
  out[n] = 0;
  *p += n;
  return true;
}

static bool read_result(const char **p, hone_result *out)
{
  char word[64], *end;
  if (!next_word(p, word, sizeof word)) return false;
  int reason = 0;
  while (reason < HONE_REASON_COUNT && strcmp(hone_reason_code((hone_reason)reason), word) != 0) reason++;
  if (reason == HONE_REASON_COUNT || !next_word(p, word, sizeof word) || strlen(word) != 16) return false;
  uint64_t bits = strtoull(word, &end, 16);
  if (*end) return false;
  out->reason = (hone_reason)reason;
  memcpy(&out->value, &bits, sizeof bits);
  return true;
}

static hone_status replay_seed(replay *r, const char *p)
{
  int64_t values[HONE_SPACE_PARAMETERS];
  hone_result result;
  char word[32];
  if (r->told < r->asked) return refuse(r, "results are missing");
  if (!read_result(&p, &result)) return refuse(r, "malformed result");
  for (int i = 0; i < hone_space_parameters(r->s->setup.space); i++)
    if (!next_word(&p, word, sizeof word) || !hone_text_parse_int(word, &values[i])) return refuse(r, "malformed point");
  hone_strategy_seed(r->s, values, &result);
  return HONE_OK;
}

static hone_status replay_ask(replay *r, const char *p)
{
  char word[32];
  int64_t n;
  hone_ask status;
  if (r->told < r->asked) return refuse(r, "results are missing");
  if (!next_word(&p, word, sizeof word) || !hone_text_parse_int(word, &n) || n < 1 || n > 1 << 20) return refuse(r, "malformed ask");
  size_t room = (size_t)n * (size_t)hone_space_parameters(r->s->setup.space) + 1;
  r->points = hone_heap_realloc(r->points, room, sizeof *r->points);
  r->results = hone_heap_realloc(r->results, (size_t)n, sizeof *r->results);
  r->asked = hone_strategy_ask(r->s, (int)n, r->points, &status);
  r->told = 0;
  if (r->asked == 0) hone_strategy_tell(r->s, 0, NULL);
  return HONE_OK;
}

static hone_status replay_result(replay *r, const char *p)
{
  char word[64];
  hone_hash key;
  const hone_space *space = r->s->setup.space;
  if (r->told >= r->asked) return refuse(r, "a result without a proposal");
  if (!next_word(&p, word, sizeof word) || !hone_hash_parse(word, &key)) return refuse(r, "malformed key");
  if (hone_hash_cmp(key, hone_space_key(space, r->points + (int64_t)r->told * hone_space_parameters(space))) != 0)
    return refuse(r, "another point is proposed here: the space, the options or the version changed");
  if (!read_result(&p, &r->results[r->told])) return refuse(r, "malformed result");
  if (++r->told == r->asked) hone_strategy_tell(r->s, r->asked, r->results);
  return HONE_OK;
}

static hone_status replay_line(replay *r)
{
  static const struct {
    const char *word;
    hone_status (*read)(replay *, const char *);
  } lines[] = {{"seed", replay_seed}, {"ask", replay_ask}, {"result", replay_result}};
  char word[32];
  const char *p = r->at;
  if (!next_word(&p, word, sizeof word)) return refuse(r, "an empty line");
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    if (strcmp(lines[i].word, word) == 0) return lines[i].read(r, p);
  return refuse(r, "unknown entry");
}

hone_status hone_strategy_load(const hone_strategy_type *t, const hone_strategy_setup *setup, const char *text,
                               hone_strategy **out, hone_err *err)
{
  replay r = {.at = text, .line = 1, .err = err};
  hone_text head = {0};
  hone_status st = hone_strategy_new(t, setup, &r.s, err);
  if (st != HONE_OK) return st;
  print_head(t, setup, &head);
  if (strncmp(text, head.data, head.length) != 0) st = refuse(&r, "made by another strategy, seed or space");
  r.at = text + (st == HONE_OK ? head.length : 0);
  while (st == HONE_OK && *r.at) {
    r.line++;
    st = replay_line(&r);
    const char *end = strchr(r.at, '\n');
    r.at = end ? end + 1 : "";
  }
  if (st == HONE_OK && r.told < r.asked) st = refuse(&r, "results are missing");
  hone_text_fini(&head);
  free(r.points);
  free(r.results);
  if (st == HONE_OK)
    *out = r.s;
  else
    hone_strategy_free(r.s);
  return st;
}
