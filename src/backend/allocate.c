/* Allocation: addresses by bump per memory, tables against the sequencer.
 *
 * A legal schedule's buffers fit (ir checks the same sum), so a failure here is
 * almost always the sequencer: semaphores, address registers, microcode. */
#include "config.h"

#include "backend/backend_int.h"

#include <stdio.h>

hone_reason hone_backend_fail(hone_why *why, hone_reason r, int level, int64_t have, int64_t limit, const char *what)
{
  if (!why) return r;
  *why = (hone_why){.reason = r, .level = level, .tensor = -1, .stage = -1, .dim = -1, .have = have, .limit = limit};
  snprintf(why->text, sizeof why->text, "%s: %lld of %lld", what, (long long)have, (long long)limit);
  return r;
}

/* What one core has of a memory (program.h). */
static int64_t region_bytes(const hone_machine *m, int level)
{
  const hone_memory *x = &m->memory[level];
  return x->per_core ? x->capacity_bytes : x->capacity_bytes / hone_machine_cores(m);
}

static hone_reason place_buffers(hone_program *p, const hone_machine *m, hone_why *why)
{
  int64_t top[HONE_MAX_LEVELS] = {0};
  for (int b = 0; b < p->nbuffers; b++) {
    hone_program_buffer *x = &p->buffer[b];
    int64_t align = hone_max64(m->memory[x->level].align_bytes, 1), bytes;
    if (!hone_checked_mul(x->slot_bytes, x->copies, &bytes) || !hone_checked_add(top[x->level], align - 1, &x->base))
      return hone_backend_fail(why, HONE_REASON_OVERFLOW, x->level, 0, 0, "bytes of a buffer");
    x->base -= x->base % align;
    if (!hone_checked_add(x->base, bytes, &top[x->level])) return hone_backend_fail(why, HONE_REASON_OVERFLOW, x->level, 0, 0, "bytes of a buffer");
  }
  for (int l = 1; l < m->nlevels; l++)
    if (top[l] > region_bytes(m, l)) {
      char what[HONE_MAX_NAME + 16];
      snprintf(what, sizeof what, "bytes of %s", m->memory[l].name);
      return hone_backend_fail(why, HONE_REASON_ALLOCATION, l, top[l], region_bytes(m, l), what);
    }
  return HONE_REASON_NONE;
}

hone_reason hone_backend_allocate(hone_program *p, const hone_machine *m, hone_why *why)
{
  hone_reason r = place_buffers(p, m, why);
  if (r) return r;
  hone_resources use;
  hone_backend_resources(p, &use);
  const hone_sequencer *q = &m->sequencer;
  if (use.semaphores > q->semaphores) return hone_backend_fail(why, HONE_REASON_ALLOCATION, -1, use.semaphores, q->semaphores, "semaphores");
  if (use.buffers > q->address_registers)
    return hone_backend_fail(why, HONE_REASON_ALLOCATION, -1, use.buffers, q->address_registers, "address registers");
  if (use.loop_depth > q->loop_depth) return hone_backend_fail(why, HONE_REASON_ALLOCATION, -1, use.loop_depth, q->loop_depth, "nested loops");
  if (use.microcode_bytes > q->microcode_bytes)
    return hone_backend_fail(why, HONE_REASON_MICROCODE, -1, use.microcode_bytes, q->microcode_bytes, "bytes of microcode");
  return HONE_REASON_NONE;
}

void hone_backend_resources(const hone_program *p, hone_resources *out)
{
  *out = (hone_resources){.microcode_bytes = hone_program_microcode_bytes(p), .semaphores = p->nsemaphores, .buffers = p->nbuffers,
                          .ranges = p->ndims, .streams = p->nstreams};
  for (int b = 0; b < p->nbuffers; b++) {
    const hone_program_buffer *x = &p->buffer[b];
    out->sram_bytes[x->level] = hone_max64(out->sram_bytes[x->level], x->base + x->copies * x->slot_bytes);
  }
  for (int i = 0, open = 0; i < p->ninsns; i++) {
    const hone_insn *x = &p->insn[i];
    open += (x->op == HONE_INSN_LOOP) - (x->op == HONE_INSN_END);
    if (open > out->loop_depth) out->loop_depth = open;
    if (x->op == HONE_INSN_LOOP && x->a >= out->ranges) out->ranges = x->a + 1;
  }
}
