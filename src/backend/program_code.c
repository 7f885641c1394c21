/* Program <-> bytes.
 *
 *   magic "HNMC" | version u16 | 0 u16 | checksum u64 | payload
 *
 * All little-endian. Numbers in the payload are bytes where the field is one and
 * zigzag LEB128 elsewhere, in their shortest form only, so equal programs have
 * equal bytes. One traversal (code_program) serves both directions: a coder
 * either writes or reads each field, which makes decode the inverse of encode by
 * construction. Decode ends with hone_program_check, so whatever it returns is
 * structurally sound. */
#include "config.h"

#include "backend/backend_int.h"
#include "base/arena.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 16 };
static const uint8_t magic[4] = {'H', 'N', 'M', 'C'};

/* Writing: out may be NULL, then only `at` counts. Reading: in[at .. end). */
typedef struct {
  bool reading, bad;
  uint8_t *out;
  size_t capacity, at, end;
  const uint8_t *in;
  size_t *offset; /* reading: where instruction i begins */
} coder;

static void code_u8(coder *c, uint8_t *v)
{
  if (c->reading) {
    if (c->at < c->end)
      *v = c->in[c->at++];
    else
      *v = 0, c->bad = true;
    return;
  }
  if (c->out) {
    if (c->at == c->capacity) {
      c->capacity = c->capacity ? 2 * c->capacity : 1024;
      c->out = hone_heap_realloc(c->out, c->capacity, 1);
    }
    c->out[c->at] = *v;
  }
  c->at++;
}

static void read_number(coder *c, int64_t *v)
{
  uint64_t z = 0;
  uint8_t byte = 0x80;
  int shift = 0;
  for (; byte & 0x80; shift += 7) {
    code_u8(c, &byte);
    if (c->bad || shift > 63 || (shift == 63 && byte > 1) || (shift > 0 && byte == 0)) {
      c->bad = true;
      *v = 0;
      return;
    }
    z |= (uint64_t)(byte & 0x7f) << shift;
  }
  *v = (int64_t)(z >> 1) ^ -(int64_t)(z & 1);
}

static void code_number(coder *c, int64_t *v)
{
  if (c->reading) {
    read_number(c, v);
    return;
  }
  uint64_t z = ((uint64_t)*v << 1) ^ (uint64_t)(*v >> 63);
  do {
    uint8_t byte = (uint8_t)((z & 0x7f) | (z > 0x7f ? 0x80 : 0));
    code_u8(c, &byte);
    z >>= 7;
  } while (z);
}

/* A number that must lie in [min, max] when read. */
static void code_int(coder *c, int *v, int min, int max)
{
  int64_t x = *v;
  code_number(c, &x);
  if (x < min || x > max) {
    c->bad = true;
    x = min;
  }
  *v = (int)x;
}

static void code_mask(coder *c, uint32_t *v)
{
  int64_t x = *v;
  code_number(c, &x);
  if (x < 0 || x > UINT32_MAX) {
    c->bad = true;
    x = 0;
  }
  *v = (uint32_t)x;
}

static void code_operand(coder *c, hone_operand *o)
{
  code_u8(c, &o->buffer);
  if (o->buffer == HONE_NO_BUFFER) code_u8(c, &o->arg);
  code_u8(c, &o->format);
  code_u8(c, &o->rank);
  if (o->rank > HONE_MAX_RANK) {
    c->bad = true;
    o->rank = 0;
  }
  for (int a = 0; a < o->rank; a++) {
    code_u8(c, &o->inner[a]);
    if (o->buffer == HONE_NO_BUFFER) {
      code_number(c, &o->origin[a]);
      if (c->reading) o->outer[a] = HONE_NO_RANGE;
      continue;
    }
    code_u8(c, &o->outer[a]);
    int stride = o->stride[a];
    code_int(c, &stride, 0, INT32_MAX);
    o->stride[a] = stride;
  }
}

static void code_move(coder *c, hone_insn_body *b)
{
  code_u8(c, &b->tensor);
  code_u8(c, &b->level);
  uint8_t flags = (uint8_t)((b->drain ? 1 : 0) | (b->partial ? 2 : 0));
  code_u8(c, &flags);
  if (flags > 3) c->bad = true;
  b->drain = flags & 1;
  b->partial = flags & 2;
  if (c->reading) b->nreads = 1;
}

/* Eight bytes of an IEEE double, as they are. */
static void code_double(coder *c, double *v)
{
  uint64_t bits;
  memcpy(&bits, v, sizeof bits);
  for (int i = 0; i < 8; i++) {
    uint8_t byte = (uint8_t)(bits >> (8 * i));
    code_u8(c, &byte);
    bits = (bits & ~(UINT64_C(0xff) << (8 * i))) | (uint64_t)byte << (8 * i);
  }
  memcpy(v, &bits, sizeof bits);
}

/* Scale and offset only where they do something. */
static void code_apply(coder *c, hone_apply *a)
{
  uint8_t function = (uint8_t)a->function, scaled = !hone_apply_plain(a);
  code_u8(c, &function);
  code_u8(c, &scaled);
  if (function >= HONE_FUNCTION_COUNT || scaled > 1) {
    c->bad = true;
    function = 0;
  }
  if (c->reading) *a = (hone_apply){(hone_function)function, 1, 0};
  if (scaled != 1) return;
  code_double(c, &a->scale);
  code_double(c, &a->offset);
  if (hone_apply_plain(a)) c->bad = true; /* has the shorter form */
}

static void code_step(coder *c, hone_insn_op op, hone_insn_body *b)
{
  code_u8(c, &b->stage);
  code_u8(c, &b->nreads);
  code_u8(c, &b->niter);
  if (b->nreads > HONE_MAX_READS || b->niter > HONE_MAX_ITER) {
    c->bad = true;
    b->nreads = b->niter = 0;
  }
  for (int i = 0; i < b->niter; i++) code_u8(c, &b->iter[i]);
  if (op != HONE_INSN_MATMUL) code_apply(c, &b->apply);
  if (op == HONE_INSN_MAP) return;
  if (op == HONE_INSN_REDUCE) {
    code_u8(c, &b->reduction);
    code_mask(c, &b->zero_mask);
    return;
  }
  code_u8(c, &b->row);
  code_u8(c, &b->column);
  code_u8(c, &b->dataflow);
  code_u8(c, &b->rate);
  code_mask(c, &b->zero_mask);
}

static void code_body(coder *c, hone_insn_op op, hone_insn_body *b)
{
  if (hone_insn_is_step(op))
    code_step(c, op, b);
  else
    code_move(c, b);
  for (int r = 0; r < b->nreads; r++) code_operand(c, &b->read[r]);
  code_operand(c, &b->write);
}

/* Op in the low half of the first byte, predicate kinds in the second byte only
 * when there is one (bit 7 of the first). */
static void code_insn(coder *c, hone_program *p, hone_insn *x, int *nbodies)
{
  bool when = x->when.visit || x->when.edge;
  uint8_t head = (uint8_t)((unsigned)x->op | (when ? 0x80U : 0U)), kinds = (uint8_t)(x->when.visit | x->when.edge << 4);
  code_u8(c, &head);
  if ((head & 0x7f) >= HONE_INSN_COUNT) {
    c->bad = true;
    head = HONE_INSN_HALT;
  }
  x->op = (hone_insn_op)(head & 0x7f);
  if (head & 0x80) {
    code_u8(c, &kinds);
    x->when.visit = kinds & 15;
    x->when.edge = kinds >> 4;
    if (kinds == 0) c->bad = true; /* has the shorter form */
    if (x->when.visit) code_mask(c, &x->when.visit_mask);
    if (x->when.edge) code_mask(c, &x->when.edge_mask);
  }
  unsigned f = hone_insn_rows[x->op].fields;
  if (f & HONE_HAS_A) code_u8(c, &x->a);
  if (f & HONE_HAS_B)
    code_u8(c, &x->b);
  else
    x->b = HONE_NO_BUFFER;
  if (f & HONE_HAS_N) code_number(c, &x->n);
  if (c->reading) x->body = -1;
  if (!(f & HONE_HAS_BODY)) return;
  if (*nbodies >= p->nbodies) {
    c->bad = true;
    return;
  }
  x->body = (*nbodies)++;
  code_body(c, x->op, &p->body[x->body]);
}

static void code_insns(coder *c, hone_program *p)
{
  int nbodies = 0;
  for (int i = 0; i < p->ninsns && !c->bad; i++) {
    if (c->offset) c->offset[i] = c->at;
    code_insn(c, p, &p->insn[i], &nbodies);
  }
}

static void code_tables(coder *c, hone_program *p)
{
  for (int b = 0; b < p->nbuffers; b++) {
    hone_program_buffer *x = &p->buffer[b];
    code_u8(c, &x->level);
    code_u8(c, &x->copies);
    code_u8(c, &x->tensor);
    code_number(c, &x->base);
    code_number(c, &x->slot_bytes);
  }
  for (int s = 0; s < p->nsemaphores; s++) {
    code_number(c, &p->semaphore[s].initial);
    code_u8(c, &p->semaphore[s].buffer);
    code_u8(c, &p->semaphore[s].role);
  }
  int next = 0;
  for (int s = 0; s < p->nstreams; s++) {
    hone_stream *x = &p->stream[s];
    uint8_t kind = (uint8_t)x->kind;
    code_u8(c, &kind);
    if (kind > HONE_STREAM_ENGINE) {
      c->bad = true;
      kind = 0;
    }
    x->kind = (hone_stream_kind)kind;
    code_u8(c, &x->unit);
    code_int(c, &x->count, 0, INT32_MAX);
    x->first = next;
    if (x->count > p->ninsns - next) {
      c->bad = true;
      return;
    }
    next += x->count;
  }
}

/* Counts first; reading allocates once they are known to be within the bytes
 * left (each item takes at least one). */
static void code_program(coder *c, hone_program *p)
{
  int most = c->reading ? (int)hone_min64((int64_t)(c->end - c->at), INT32_MAX) : INT32_MAX;
  code_int(c, &p->ndims, 1, HONE_MAX_DIMS);
  code_int(c, &p->nargs, 1, HONE_MAX_TENSORS);
  code_int(c, &p->nstreams, 0, HONE_MAX_STREAMS);
  code_int(c, &p->nbuffers, 0, HONE_NO_BUFFER - 1);
  code_int(c, &p->nsemaphores, 0, 256);
  code_int(c, &p->ninsns, 0, most);
  code_int(c, &p->nbodies, 0, most);
  if (c->bad) return;
  if (c->reading) {
    p->stream = hone_heap_alloc((size_t)p->nstreams + 1, sizeof *p->stream);
    p->insn = hone_heap_alloc((size_t)p->ninsns + 1, sizeof *p->insn);
    p->body = hone_heap_alloc((size_t)p->nbodies + 1, sizeof *p->body);
    p->buffer = hone_heap_alloc((size_t)p->nbuffers + 1, sizeof *p->buffer);
    p->semaphore = hone_heap_alloc((size_t)p->nsemaphores + 1, sizeof *p->semaphore);
    c->offset = hone_heap_alloc((size_t)p->ninsns + 1, sizeof *c->offset);
  }
  code_tables(c, p);
  if (!c->bad) code_insns(c, p);
}

static void put_le(uint8_t *at, uint64_t v, int bytes)
{
  for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get_le(const uint8_t *at, int bytes)
{
  uint64_t v = 0;
  for (int i = 0; i < bytes; i++) v |= (uint64_t)at[i] << (8 * i);
  return v;
}

hone_status hone_program_encode(const hone_program *p, uint8_t **bytes, size_t *n, hone_err *err)
{
  hone_status st = hone_program_check(p, NULL, err);
  if (st) return st;
  coder c = {.out = hone_heap_alloc(1024, 1), .capacity = 1024, .at = HEADER};
  code_program(&c, (hone_program *)p); /* writing changes no field */
  memcpy(c.out, magic, sizeof magic);
  put_le(c.out + 4, HONE_PROGRAM_VERSION, 2);
  put_le(c.out + 6, 0, 2);
  put_le(c.out + 8, hone_hash_bytes(c.out + HEADER, c.at - HEADER).lo, 8);
  *bytes = c.out;
  *n = c.at;
  return HONE_OK;
}

static hone_status check_header(const uint8_t *bytes, size_t n, hone_err *err)
{
  if (n < HEADER || memcmp(bytes, magic, sizeof magic) != 0)
    return hone_err_set(err, HONE_INPUT, "program.magic", "not a Hone program (byte 0)");
  if (get_le(bytes + 4, 2) != HONE_PROGRAM_VERSION || get_le(bytes + 6, 2) != 0)
    return hone_err_set(err, HONE_INPUT, "program.version", "program version %d, this build reads %d (byte 4)",
                        (int)get_le(bytes + 4, 2), HONE_PROGRAM_VERSION);
  if (get_le(bytes + 8, 8) != hone_hash_bytes(bytes + HEADER, n - HEADER).lo)
    return hone_err_set(err, HONE_INPUT, "program.checksum", "the program's checksum does not match its bytes (byte 8)");
  return HONE_OK;
}

hone_status hone_program_decode(const uint8_t *bytes, size_t n, hone_program **out, hone_err *err)
{
  hone_status st = check_header(bytes, n, err);
  if (st) return st;
  coder c = {.reading = true, .in = bytes, .at = HEADER, .end = n};
  hone_program *p = hone_heap_alloc(1, sizeof *p);
  code_program(&c, p);
  int where;
  hone_err inner;
  if (c.bad || c.at != n)
    st = hone_err_set(err, HONE_INPUT, "program.malformed", "malformed program at byte %zu", c.at);
  else if (hone_program_check(p, &where, &inner))
    st = hone_err_set(err, HONE_INPUT, "program.invalid", "%s (byte %zu)", inner.message, where < 0 ? (size_t)HEADER : c.offset[where]);
  free(c.offset);
  if (st) {
    hone_program_free(p);
    return st;
  }
  *out = p;
  return HONE_OK;
}

int64_t hone_program_microcode_bytes(const hone_program *p)
{
  coder c = {0};
  code_insns(&c, (hone_program *)p); /* counting changes no field */
  return (int64_t)c.at;
}
