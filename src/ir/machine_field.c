/* The fields of a machine text, as tables: reading, refusing and the canonical
 * print all come from them. Single values are machine_value.c's. */
#include "config.h"

#include "ir/machine_int.h"

#include <inttypes.h>
#include <string.h>

#define LARGEST_ENERGY INT64_C(1000000000) /* 1 uJ for one byte or one multiply-add */

static const char *const accept_words[] = {"input", "output", "accumulate", NULL}; /* HONE_ACCEPT_* */
static const char *const dataflow_words[] = {"ws", "os", NULL};                     /* hone_dataflow */
static const char *const buffering_words[] = {"copies", "single-overlapped", NULL}; /* hone_buffering */
static const char *const sums_words[] = {"accumulator", "tensor", NULL};            /* hone_sums */
static const char *const format_words[] = {                                         /* hone_format */
#define HONE_FORMAT(id, name, bits, kind, exponent, mantissa, acc) name,
#include "ir/format.def"
#undef HONE_FORMAT
    NULL};

#define AT(member) .offset = offsetof(OWNER, member)

#define OWNER hone_machine
const hone_field_table hone_fields_root = {{
    {.key = "name", .type = HONE_FIELD_OTHER},
    {.key = "kind", .type = HONE_FIELD_OTHER},
    {.key = "clock", .type = HONE_FIELD_OTHER},
    {.key = "memories", .type = HONE_FIELD_OTHER},
    {.key = "moves", .type = HONE_FIELD_OTHER, .optional = true},
    {.key = "axes", .type = HONE_FIELD_OTHER},
    {.key = "engines", .type = HONE_FIELD_OTHER},
    {.key = "dma", .type = HONE_FIELD_OTHER, .optional = true},
    {.key = "sequencer", .type = HONE_FIELD_OTHER, .optional = true},
    {.key = "buffering", .type = HONE_FIELD_WORD, AT(buffering), .words = buffering_words, .optional = true, .quiet = true},
    {.key = "partial_sums", .type = HONE_FIELD_WORD, AT(partial_sums), .words = sums_words, .optional = true, .quiet = true},
}};
#undef OWNER

#define OWNER hone_memory
const hone_field_table hone_fields_memory = {{
    {.key = "capacity", .type = HONE_FIELD_BYTES, AT(capacity_bytes), .min = 1, .max = HONE_LARGEST_BYTES},
    {.key = "scope", .type = HONE_FIELD_OTHER},
    {.key = "accepts", .type = HONE_FIELD_WORDS, AT(accepts), .words = accept_words, .optional = true},
    {.key = "align", .type = HONE_FIELD_BYTES, AT(align_bytes), .min = 1, .max = 1 << 20},
    {.key = "banks", .type = HONE_FIELD_COUNT, AT(banks), .min = 1, .max = 1 << 16},
    {.key = "ports", .type = HONE_FIELD_COUNT, AT(ports), .min = 1, .max = 1 << 10, .idle = HONE_IDLE_YES},
    {.key = "bank_width", .type = HONE_FIELD_BYTES, AT(bank_bytes), .min = 1, .max = 1 << 20, .optional = true, .idle = HONE_IDLE_YES},
    {.key = "bandwidth", .type = HONE_FIELD_BANDWIDTH, AT(bandwidth), .optional = true, .unlimited = true, .idle = HONE_IDLE_ON_CHIP},
    {.key = "read_bandwidth", .type = HONE_FIELD_OTHER, .optional = true}, /* into bandwidth */
    {.key = "write_bandwidth", .type = HONE_FIELD_BANDWIDTH, AT(write_bandwidth), .optional = true, .unlimited = true, .quiet = true, .idle = HONE_IDLE_YES},
    {.key = "latency", .type = HONE_FIELD_CYCLES, AT(latency_cycles), .max = HONE_LARGEST_CYCLES, .idle = HONE_IDLE_ON_CHIP},
    {.key = "read_energy", .type = HONE_FIELD_ENERGY_PER_BYTE, AT(read_fj_per_byte), .min = 1, .max = LARGEST_ENERGY,
     .optional = true, .absent = -1},
    {.key = "write_energy", .type = HONE_FIELD_ENERGY_PER_BYTE, AT(write_fj_per_byte), .min = 1, .max = LARGEST_ENERGY,
     .optional = true, .absent = -1},
    {.key = "cache", .type = HONE_FIELD_BOOL, AT(cache), .optional = true, .idle = HONE_IDLE_YES},
}};
#undef OWNER

#define OWNER hone_dram
const hone_field_table hone_fields_dram = {{
    {.key = "preset", .type = HONE_FIELD_OTHER, .optional = true},
    {.key = "channels", .type = HONE_FIELD_COUNT, AT(channels), .min = 1, .max = 1 << 12, .optional = true},
    {.key = "channel_rate", .type = HONE_FIELD_OTHER, .optional = true},
}};
#undef OWNER

#define OWNER hone_fanout
const hone_field_table hone_fields_axis = {{
    {.key = "size", .type = HONE_FIELD_COUNT, AT(size), .min = 1, .max = 1 << 12},
    {.key = "multicast", .type = HONE_FIELD_BOOL, AT(multicast), .idle = HONE_IDLE_YES},
    {.key = "reduce", .type = HONE_FIELD_BOOL, AT(reduce), .idle = HONE_IDLE_YES},
    {.key = "below", .type = HONE_FIELD_OTHER, .optional = true},
    {.key = "link", .type = HONE_FIELD_OTHER, .optional = true},
}};

const hone_field_table hone_fields_link = {{
    {.key = "bandwidth", .type = HONE_FIELD_BANDWIDTH, AT(link_bandwidth), .idle = HONE_IDLE_YES},
    {.key = "latency", .type = HONE_FIELD_CYCLES, AT(link_latency_cycles), .max = HONE_LARGEST_CYCLES, .idle = HONE_IDLE_YES},
}};
#undef OWNER

#define OWNER hone_matrix
const hone_field_table hone_fields_matrix = {{
    {.key = "kind", .type = HONE_FIELD_OTHER},
    {.key = "clock", .type = HONE_FIELD_OTHER, .optional = true},
    {.key = "rows", .type = HONE_FIELD_COUNT, AT(rows), .min = 1, .max = 1 << 12},
    {.key = "columns", .type = HONE_FIELD_COUNT, AT(columns), .min = 1, .max = 1 << 12},
    {.key = "dataflows", .type = HONE_FIELD_WORDS, AT(dataflows), .words = dataflow_words},
    {.key = "load", .type = HONE_FIELD_CYCLES, AT(load_cycles), .max = HONE_LARGEST_CYCLES},
    {.key = "load_hidden", .type = HONE_FIELD_BOOL, AT(load_hidden)},
    {.key = "min_pass", .type = HONE_FIELD_CYCLES, AT(min_pass_cycles), .min = 1, .max = HONE_LARGEST_CYCLES},
    {.key = "max_stream_rows", .type = HONE_FIELD_LONG, AT(max_stream_rows), .min = 1, .max = HONE_LARGEST_CYCLES},
    {.key = "latency", .type = HONE_FIELD_CYCLES, AT(latency_cycles), .max = HONE_LARGEST_CYCLES},
    {.key = "operands_in", .type = HONE_FIELD_MEMORY, AT(operands_in)},
    {.key = "stationary_in", .type = HONE_FIELD_MEMORY, AT(stationary_in), .optional = true, .absent = -1},
    {.key = "accumulates_in", .type = HONE_FIELD_MEMORY, AT(accumulates_in)},
    {.key = "rates", .type = HONE_FIELD_OTHER},
}};
#undef OWNER

#define OWNER hone_array_rate
const hone_field_table hone_fields_array_rate = {{
    {.key = "rows", .type = HONE_FIELD_PERIOD, AT(cycles_per_row_num)},
    {.key = "energy", .type = HONE_FIELD_ENERGY, AT(energy_fj_per_mac), .min = 1, .max = LARGEST_ENERGY,
     .optional = true, .absent = -1},
}};

const hone_field_table hone_fields_pe_rate = {{
    {.key = "macs", .type = HONE_FIELD_PERIOD, AT(cycles_per_row_num)},
    {.key = "energy", .type = HONE_FIELD_ENERGY, AT(energy_fj_per_mac), .min = 1, .max = LARGEST_ENERGY,
     .optional = true, .absent = -1},
}};
#undef OWNER

#define OWNER hone_pe
const hone_field_table hone_fields_pe = {{
    {.key = "kind", .type = HONE_FIELD_OTHER},
    {.key = "clock", .type = HONE_FIELD_OTHER, .optional = true},
    {.key = "operands_in", .type = HONE_FIELD_MEMORY, AT(operands_in)},
    {.key = "accumulates_in", .type = HONE_FIELD_MEMORY, AT(accumulates_in)},
    {.key = "rates", .type = HONE_FIELD_OTHER},
}};
#undef OWNER
_Static_assert(offsetof(hone_array_rate, cycles_per_row_den) - offsetof(hone_array_rate, cycles_per_row_num) ==
                   offsetof(hone_rate, den),
               "PERIOD writes the pair as a hone_rate");

#define OWNER hone_vector
const hone_field_table hone_fields_vector = {{
    {.key = "kind", .type = HONE_FIELD_OTHER},
    {.key = "clock", .type = HONE_FIELD_OTHER, .optional = true},
    {.key = "rates", .type = HONE_FIELD_OTHER},
    {.key = "startup", .type = HONE_FIELD_CYCLES, AT(startup_cycles), .max = HONE_LARGEST_CYCLES},
    {.key = "reads", .type = HONE_FIELD_MEMORIES, AT(reads_from)},
    {.key = "writes", .type = HONE_FIELD_MEMORIES, AT(writes_to)},
    {.key = "formats", .type = HONE_FIELD_WORDS, AT(formats), .words = format_words, .optional = true, .quiet = true},
}};

const hone_field_table hone_fields_vector_rate = {{
    {.key = "simple", .type = HONE_FIELD_RATE, AT(rate[HONE_COST_SIMPLE]), .optional = true},
    {.key = "table", .type = HONE_FIELD_RATE, AT(rate[HONE_COST_TABLE]), .optional = true},
}};
#undef OWNER

#define OWNER hone_dma
const hone_field_table hone_fields_dma = {{
    {.key = "engines", .type = HONE_FIELD_COUNT, AT(engines), .min = 1, .max = 256},
    {.key = "load_queues", .type = HONE_FIELD_COUNT, AT(load_queues), .min = 1, .max = 64},
    {.key = "store_queues", .type = HONE_FIELD_COUNT, AT(store_queues), .min = 1, .max = 64},
    {.key = "engine_rate", .type = HONE_FIELD_BANDWIDTH, AT(engine_rate)},
    {.key = "rate", .type = HONE_FIELD_BANDWIDTH, AT(rate)},
    {.key = "in_flight", .type = HONE_FIELD_COUNT, AT(in_flight), .min = 1, .max = 1 << 12},
    {.key = "setup", .type = HONE_FIELD_CYCLES, AT(setup_cycles), .max = HONE_LARGEST_CYCLES},
    {.key = "burst", .type = HONE_FIELD_BYTES, AT(burst_bytes), .min = 1, .max = 1 << 20},
    {.key = "max_rank", .type = HONE_FIELD_COUNT, AT(max_rank), .min = 1, .max = 16, .idle = HONE_IDLE_YES},
}};
#undef OWNER

#define OWNER hone_sequencer
const hone_field_table hone_fields_sequencer = {{
    {.key = "loop_depth", .type = HONE_FIELD_COUNT, AT(loop_depth), .min = 1, .max = 64},
    {.key = "semaphores", .type = HONE_FIELD_COUNT, AT(semaphores), .min = 1, .max = 1 << 16},
    {.key = "address_registers", .type = HONE_FIELD_COUNT, AT(address_registers), .min = 1, .max = 1 << 16},
    {.key = "issue_slots", .type = HONE_FIELD_COUNT, AT(issue_slots), .min = 1, .max = 64, .idle = HONE_IDLE_YES},
    {.key = "microcode", .type = HONE_FIELD_BYTES, AT(microcode_bytes), .min = 1, .max = HONE_LARGEST_BYTES},
    {.key = "issue", .type = HONE_FIELD_CYCLES, AT(issue_cycles), .min = 1, .max = HONE_LARGEST_CYCLES},
}};
#undef OWNER

static void set_absent(const hone_field *f, void *out)
{
  switch (f->type) {
  case HONE_FIELD_BANDWIDTH:
  case HONE_FIELD_RATE:
    *(hone_rate *)out = (hone_rate){0, 1};
    break;
  case HONE_FIELD_BYTES:
  case HONE_FIELD_ENERGY:
  case HONE_FIELD_ENERGY_PER_BYTE:
    *(int64_t *)out = f->absent;
    break;
  case HONE_FIELD_BOOL:
    *(bool *)out = false;
    break;
  case HONE_FIELD_MEMORY:
  case HONE_FIELD_COUNT:
  case HONE_FIELD_WORD:
    *(int *)out = (int)f->absent;
    break;
  default:
    break;
  }
}

static bool is_absent(const hone_field *f, const void *value) /* of a quiet field */
{
  if (f->type == HONE_FIELD_BANDWIDTH) return ((const hone_rate *)value)->num == 0;
  if (f->type == HONE_FIELD_WORDS) return *(const unsigned *)value == 0;
  return *(const int *)value == f->absent; /* WORD */
}

static const hone_field *find_field(const hone_field_table *t, const char *key)
{
  for (const hone_field *f = t->field; f->key; f++)
    if (strcmp(f->key, key) == 0) return f;
  return NULL;
}

static const char *key_at(void *arg, int i) { return ((const char *const *)arg)[i]; }

static hone_status check_keys(const hone_tree *block, const hone_field_table *t, const hone_field_table *second, hone_err *err)
{
  for (int i = 0; i < block->n; i++) {
    const char *key = block->child[i]->key, *names[2 * HONE_MAX_FIELDS + 2] = {"source", "assumed"};
    if (find_field(t, key) || (second && find_field(second, key))) continue;
    int n = 2;
    for (const hone_field *f = t->field; f->key; f++)
      names[n++] = f->key;
    for (const hone_field *f = second ? second->field : NULL; f && f->key; f++)
      names[n++] = f->key;
    hone_tree_err(block->child[i], err, HONE_INPUT, "machine.unknown-field", "unknown field '%s'", key);
    const char *near = hone_text_nearest(key, n, key_at, names);
    if (near) hone_err_hint(err, "did you mean '%s'?", near);
    return HONE_INPUT;
  }
  return HONE_OK;
}

hone_status hone_fields_read(const hone_machine *m, int64_t clock_hz, const hone_tree *block, const hone_field_table *t,
                             const hone_field_table *second, void *out, hone_err *err)
{
  if (!block->block)
    return hone_tree_err(block, err, HONE_INPUT, "machine.type", "'%s' must be a mapping of fields", block->key);
  hone_status s = check_keys(block, t, second, err);
  for (const hone_field *f = t->field; s == HONE_OK && f->key; f++) {
    const hone_tree *v = hone_tree_find(block, f->key);
    void *member = (char *)out + f->offset;
    if (!v && !f->optional)
      s = hone_tree_missing(block, f->key, err);
    else if (f->type == HONE_FIELD_OTHER)
      continue;
    else if (v)
      s = hone_field_read(m, clock_hz, f, v, member, err);
    else
      set_absent(f, member);
  }
  return s;
}

void hone_fields_print(const hone_field_table *t, const void *from, hone_text *out)
{
  for (const hone_field *f = t->field; f->key; f++) {
    const void *member = (const char *)from + f->offset;
    if (f->type == HONE_FIELD_OTHER || (f->quiet && is_absent(f, member))) continue;
    hone_text_add(out, " %s=", f->key);
    switch (f->type) {
    case HONE_FIELD_COUNT:
    case HONE_FIELD_WORD:
    case HONE_FIELD_MEMORY:
      hone_text_add(out, "%d", *(const int *)member);
      break;
    case HONE_FIELD_WORDS:
    case HONE_FIELD_MEMORIES:
      hone_text_add(out, "%u", *(const unsigned *)member);
      break;
    case HONE_FIELD_BOOL:
      hone_text_add(out, "%d", *(const bool *)member);
      break;
    case HONE_FIELD_BANDWIDTH:
    case HONE_FIELD_RATE:
    case HONE_FIELD_PERIOD:
      hone_text_add(out, "%" PRId64 "/%" PRId64, ((const hone_rate *)member)->num, ((const hone_rate *)member)->den);
      break;
    default:
      hone_text_add(out, "%" PRId64, *(const int64_t *)member);
      break;
    }
  }
}
