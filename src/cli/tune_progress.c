/* Progress of hone tune on stderr. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "cli/tune_int.h"

static double gap_pct(const hone_tune_progress *p)
{
  return p->best_cycles > 0 && p->bound_cycles > 0 ? 100.0 * ((double)p->best_cycles / (double)p->bound_cycles - 1.0) : -1;
}

static void show_json(const hone_tune_progress *p, const tune_progress *state)
{
  double gap = gap_pct(p);
  json_t *o = json_pack("{s:s, s:s, s:i, s:i, s:I, s:f, s:f, s:o, s:o, s:o}", "task", p->label, "step",
                        p->simulating ? "simulate" : "search", "index", state->index, "of", state->of, "evaluated",
                        (json_int_t)p->evaluated, "elapsed_s", p->elapsed_s, "evaluations_per_s", p->rate_per_s, "best_model_cycles",
                        cli_json_cycles(p->best_cycles), "model_gap_pct", gap < 0 ? json_null() : json_real(gap), "eta_s",
                        p->eta_s < 0 ? json_null() : json_real(p->eta_s));
  char *s = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6));
  fprintf(stderr, "%s\n", s);
  free(s);
  json_decref(o);
}

static void show_line(const hone_tune_progress *p, const tune_progress *state, hone_text *out)
{
  double gap = gap_pct(p);
  if (state->of > 1) hone_text_add(out, "[%d/%d] ", state->index + 1, state->of);
  hone_text_add(out, "%s: ", p->label);
  if (p->simulating) hone_text_add(out, "simulating the best");
  else hone_text_add(out, "%.0f/s", p->rate_per_s);
  if (p->best_cycles >= 0) {
    hone_text_add(out, ", best ");
    cli_text_count(out, p->best_cycles);
  }
  if (gap >= 0) hone_text_add(out, ", gap %.1f %%", gap);
  if (p->eta_s >= 0 && !p->simulating) hone_text_add(out, ", ETA %.0f s", p->eta_s);
}

void tune_progress_show(void *arg, const hone_tune_progress *p)
{
  tune_progress *state = arg;
  bool first = p->evaluated == 0 || p->simulating;
  if (state->mode == TUNE_SILENT || (!first && p->elapsed_s - state->shown_s < 0.25)) return;
  state->shown_s = p->elapsed_s;
  if (state->mode == TUNE_JSON_LINES) {
    show_json(p, state);
    return;
  }
  hone_text line = { 0 };
  show_line(p, state, &line);
  fprintf(stderr, "\r%-*s", state->width, line.data);
  fflush(stderr);
  state->width = (int)line.length;
  hone_text_fini(&line);
}

void tune_progress_clear(tune_progress *p)
{
  if (p->mode == TUNE_LINE && p->width > 0) fprintf(stderr, "\r%-*s\r", p->width, "");
  p->width = 0;
}
