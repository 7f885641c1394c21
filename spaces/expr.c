/* Compiler of the space language's expressions: a recursive descent straight to
 * code, one function per precedence level, loosest first:
 *
 *   or | and | not | == != < <= > >= | + - | * / % | unary - | primary
 *
 * Names are resolved while they are read, so that an unknown one is reported at
 * its column. Reading order: next (lexer), primary, binary levels, compile. */
#include "config.h"

#include "spaces/expr.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "base/text.h"
#include "spaces/expr_int.h"

enum { MAX_NESTING = 40, MAX_MACROS = 8, MAX_CODE = 4096 };

typedef enum { T_END, T_NUMBER, T_NAME, T_OPERATOR } token_kind;

typedef struct {
  token_kind kind;
  int at; /* offset in the text */
  int64_t number;
  char text[HONE_EXPR_NAME]; /* NAME: bindings put in; OPERATOR: its characters */
} token;

typedef struct {
  const char *text;
  int pos;
  token now;
  const hone_scope *scope;
  hone_expr *out;
  hone_err *err;
  int nesting, macros;
  int macro_at; /* column to report inside a macro, 0: none */
  int depth;    /* values on the stack here */
} parser;

/* ---- diagnostics ---- */

static int column_of(const parser *p, int at) { return p->macro_at ? p->macro_at : at + 1; }

static hone_status fail(parser *p, int at, const char *fmt, ...) HONE_PRINTF(3, 4);
static hone_status fail(parser *p, int at, const char *fmt, ...)
{
  char message[400];
  va_list args;
  va_start(args, fmt);
  vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  hone_err_set(p->err, HONE_INPUT, "space.expression", "%s", message);
  int column = column_of(p, at);
  hone_err_at(p->err, "", 0, column);
  if (column <= 100) hone_err_hint(p->err, "%.120s\n%*s^", p->out->text, column - 1, "");
  return HONE_INPUT;
}

/* ---- bindings ---- */

static const hone_binding *find_binding(const hone_scope *s, const char *name, size_t n)
{
  for (int i = 0; i < s->nbindings; i++)
    if (strlen(s->binding[i].name) == n && memcmp(s->binding[i].name, name, n) == 0) return &s->binding[i];
  return NULL;
}

/* Puts what stands between braces, e.g. "dim" or "level-1", into out. */
static bool expand_braces(const hone_scope *s, const char *body, size_t n, char *out, size_t room)
{
  size_t word = 0;
  while (word < n && body[word] != '+' && body[word] != '-') word++;
  const hone_binding *b = find_binding(s, body, word);
  if (!b) return false;
  if (word == n) return (size_t)snprintf(out, room, "%s", b->text) < room;
  char digits[8];
  int64_t shift = 0;
  if (!b->numeric || n - word - 1 >= sizeof digits) return false;
  memcpy(digits, body + word + 1, n - word - 1);
  digits[n - word - 1] = 0;
  if (!hone_text_parse_int(digits, &shift) || shift < 0) return false;
  return (size_t)snprintf(out, room, "%lld", (long long)(body[word] == '-' ? b->number - shift : b->number + shift)) < room;
}

/* Copies a dotted name from text with its braces replaced; returns its length in
 * text, 0 when a brace is not bound or the name is too long. */
static size_t scan_name(const hone_scope *s, const char *text, char out[HONE_EXPR_NAME])
{
  size_t n = 0, used = 0;
  while (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '.' || text[n] == '{') {
    if (used + 1 >= HONE_EXPR_NAME) return 0;
    if (text[n] != '{') {
      out[used++] = text[n++];
      continue;
    }
    const char *close = strchr(text + n, '}');
    out[used] = 0;
    if (!close || !expand_braces(s, text + n + 1, (size_t)(close - text) - n - 1, out + used, HONE_EXPR_NAME - used))
      return 0;
    used += strlen(out + used);
    n = (size_t)(close - text) + 1;
  }
  out[used] = 0;
  return n;
}

hone_status hone_scope_expand(const hone_scope *scope, const char *text, char out[HONE_EXPR_NAME], hone_err *err)
{
  size_t n = scan_name(scope, text, out);
  if (n > 0 && text[n] == 0) return HONE_OK;
  return hone_err_set(err, HONE_INPUT, "space.name", "'%.80s' is not a name, or a {word} in it is not in foreach", text);
}

/* ---- lexer ---- */

static bool unit_factor(const char *word, size_t n, int64_t *factor)
{
  static const struct {
    const char *name;
    int64_t factor;
  } row[] = {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++)
    if (strlen(row[i].name) == n && memcmp(row[i].name, word, n) == 0) return *factor = row[i].factor, true;
  return false;
}

static hone_status scan_number(parser *p)
{
  const char *s = p->text + p->pos;
  int64_t v = 0;
  while (isdigit((unsigned char)*s) || (*s == '_' && isdigit((unsigned char)s[1]))) {
    if (*s != '_' && (!hone_checked_mul(v, 10, &v) || !hone_checked_add(v, *s - '0', &v)))
      return fail(p, p->pos, "the number does not fit 64 bits");
    s++;
  }
  const char *after = s;
  while (*after == ' ') after++;
  size_t n = 0;
  while (isalnum((unsigned char)after[n]) || after[n] == '_') n++;
  int64_t factor = 1;
  if (n > 0 && unit_factor(after, n, &factor)) {
    if (!hone_checked_mul(v, factor, &v)) return fail(p, p->pos, "the number does not fit 64 bits");
    s = after + n;
  } else if (n > 0 && after == s) {
    return fail(p, (int)(after - p->text), "'%.*s' is not a unit (B, KiB, MiB, GiB)", (int)n, after);
  }
  p->now.kind = T_NUMBER;
  p->now.number = v;
  p->pos = (int)(s - p->text);
  return HONE_OK;
}

static hone_status scan_operator(parser *p)
{
  static const char *const two[] = {"==", "!=", "<=", ">="};
  const char *s = p->text + p->pos;
  int n = strchr("+-*/%<>(),", *s) != NULL;
  for (size_t i = 0; i < sizeof two / sizeof *two; i++)
    if (strncmp(s, two[i], 2) == 0) n = 2;
  if (*s == '=' && n == 0) return fail(p, p->pos, "'=' compares nothing; write '=='");
  if (*s == '&' || *s == '|' || *s == '!') if (n == 0) return fail(p, p->pos, "write 'and', 'or', 'not'");
  if (n == 0) return fail(p, p->pos, "unexpected character '%c'", isprint((unsigned char)*s) ? *s : '?');
  p->now.kind = T_OPERATOR;
  memcpy(p->now.text, s, (size_t)n);
  p->now.text[n] = 0;
  p->pos += n;
  return HONE_OK;
}

static hone_status next(parser *p)
{
  while (isspace((unsigned char)p->text[p->pos])) p->pos++;
  const char *s = p->text + p->pos;
  p->now = (token){.kind = T_END, .at = p->pos};
  if (*s == 0) return HONE_OK;
  if (isdigit((unsigned char)*s)) return scan_number(p);
  if (isalpha((unsigned char)*s) || *s == '_' || *s == '{') {
    size_t n = scan_name(p->scope, s, p->now.text);
    if (n == 0) return fail(p, p->pos, "a {word} in this name is not bound by foreach, or the name is too long");
    p->now.kind = T_NAME;
    p->pos += (int)n;
    return HONE_OK;
  }
  return scan_operator(p);
}

static bool is_operator(const parser *p, const char *s) { return p->now.kind == T_OPERATOR && strcmp(p->now.text, s) == 0; }
static bool is_word(const parser *p, const char *s) { return p->now.kind == T_NAME && strcmp(p->now.text, s) == 0; }

/* ---- code ---- */

/* `push`: how many values the instruction adds to the stack. */
static hone_status emit(parser *p, expr_op op, int at, int32_t argument, int64_t value, int push)
{
  hone_expr *e = p->out;
  p->depth += push;
  if (p->depth > HONE_EXPR_STACK || e->ncode >= MAX_CODE) return fail(p, at, "the expression is too long");
  if (e->ncode == e->capacity) {
    e->capacity = e->capacity ? 2 * e->capacity : 16;
    e->code = hone_heap_realloc(e->code, (size_t)e->capacity, sizeof *e->code);
  }
  e->code[e->ncode++] =
      (hone_expr_insn){.op = (uint8_t)op, .column = (int16_t)column_of(p, at), .argument = argument, .value = value};
  return HONE_OK;
}

static void add_use(hone_expr *e, int slot)
{
  int i = 0;
  while (i < e->nuses && e->uses[i] < slot) i++;
  if (i < e->nuses && e->uses[i] == slot) return;
  e->uses = hone_heap_realloc(e->uses, (size_t)e->nuses + 1, sizeof *e->uses);
  memmove(e->uses + i + 1, e->uses + i, (size_t)(e->nuses - i) * sizeof *e->uses);
  e->uses[i] = slot;
  e->nuses++;
}

/* ---- grammar ---- */

static hone_status parse_or(parser *p);

static hone_status expect(parser *p, const char *what)
{
  if (!is_operator(p, what)) return fail(p, p->now.at, "expected '%s'", what);
  return next(p);
}

/* A symbol that is an expression itself: compiled in place, reported at its name. */
static hone_status compile_macro(parser *p, const char *text, int at)
{
  if (p->macros >= MAX_MACROS) return fail(p, at, "this name refers to itself");
  parser inner = *p;
  inner.text = text;
  inner.pos = 0;
  inner.macros++;
  inner.macro_at = column_of(p, at);
  hone_status s = next(&inner);
  if (s == HONE_OK) s = parse_or(&inner);
  if (s == HONE_OK && inner.now.kind != T_END) s = fail(&inner, at, "unexpected text in the meaning of this name");
  p->depth = inner.depth;
  return s;
}

static hone_status parse_symbol(parser *p, const char *name, int at)
{
  const hone_binding *b = find_binding(p->scope, name, strlen(name));
  if (b) return emit(p, EXPR_CONSTANT, at, 0, b->number, 1);
  hone_symbol sym = {0};
  char hint[HONE_EXPR_NAME] = "";
  if (!p->scope->resolve || !p->scope->resolve(p->scope->arg, name, &sym, hint))
    return fail(p, at, "unknown name '%s'%s%s%s", name, *hint ? "; did you mean '" : "", hint, *hint ? "'?" : "");
  if (sym.kind == HONE_SYMBOL_TEXT) return compile_macro(p, sym.text, at);
  if (sym.kind == HONE_SYMBOL_CONSTANT) return emit(p, EXPR_CONSTANT, at, 0, sym.constant, 1);
  add_use(p->out, sym.index);
  expr_op op = sym.kind == HONE_SYMBOL_VALUE ? EXPR_VALUE : sym.kind == HONE_SYMBOL_FIELD ? EXPR_FIELD : EXPR_PLACE;
  return emit(p, op, at, sym.index, sym.argument, 1);
}

/* if(condition, then, else): only the chosen side is evaluated. */
static hone_status parse_if(parser *p, int at)
{
  hone_status s = parse_or(p);
  if (s == HONE_OK) s = expect(p, ",");
  int branch = p->out->ncode;
  if (s == HONE_OK) s = emit(p, EXPR_JUMP_FALSE, at, 0, 0, -1);
  if (s == HONE_OK) s = parse_or(p);
  if (s == HONE_OK) s = expect(p, ",");
  int leave = p->out->ncode;
  if (s == HONE_OK) s = emit(p, EXPR_JUMP, at, 0, 0, -1);
  if (s != HONE_OK) return s;
  p->out->code[branch].argument = p->out->ncode;
  s = parse_or(p);
  p->out->code[leave].argument = p->out->ncode;
  return s == HONE_OK ? expect(p, ")") : s;
}

typedef struct {
  const char *name;
  expr_op op;
  bool folds; /* takes two or more, from the left */
} function_row;
static const function_row functions[] = {
    {"min", EXPR_MIN, true}, {"max", EXPR_MAX, true}, {"ceildiv", EXPR_CEILDIV, false}, {"mod", EXPR_MODULO, false}};

static hone_status parse_call(parser *p, const char *name, int at)
{
  hone_status s = next(p); /* the parenthesis */
  if (s != HONE_OK) return s;
  if (strcmp(name, "if") == 0) return parse_if(p, at);
  const function_row *f = NULL;
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (strcmp(functions[i].name, name) == 0) f = &functions[i];
  if (!f) return fail(p, at, "unknown function '%s'; there are min, max, ceildiv, mod, if", name);
  int n = 0;
  for (;;) {
    s = parse_or(p);
    if (s == HONE_OK && ++n > 1) s = emit(p, f->op, at, 0, 0, -1);
    if (s != HONE_OK) return s;
    if (!is_operator(p, ",")) break;
    if (!f->folds && n == 2) return fail(p, p->now.at, "%s takes two arguments", name);
    s = next(p);
    if (s != HONE_OK) return s;
  }
  if (n < 2) return fail(p, p->now.at, "%s takes %s arguments", name, f->folds ? "two or more" : "two");
  return expect(p, ")");
}

static hone_status parse_primary(parser *p)
{
  token t = p->now;
  hone_status s;
  if (t.kind == T_NUMBER) {
    s = emit(p, EXPR_CONSTANT, t.at, 0, t.number, 1);
    return s == HONE_OK ? next(p) : s;
  }
  if (t.kind == T_NAME && !is_word(p, "and") && !is_word(p, "or") && !is_word(p, "not")) {
    s = next(p);
    if (s == HONE_OK) s = is_operator(p, "(") ? parse_call(p, t.text, t.at) : parse_symbol(p, t.text, t.at);
    return s;
  }
  if (!is_operator(p, "("))
    return fail(p, t.at, t.kind == T_END ? "the expression ends too early" : "expected a number, a name or '('");
  s = next(p);
  if (s == HONE_OK) s = parse_or(p);
  return s == HONE_OK ? expect(p, ")") : s;
}

static hone_status parse_unary(parser *p)
{
  int at = p->now.at;
  if (!is_operator(p, "-")) return parse_primary(p);
  if (++p->nesting > MAX_NESTING) return fail(p, at, "too deeply nested");
  hone_status s = next(p);
  if (s == HONE_OK) s = parse_unary(p);
  p->nesting--;
  return s == HONE_OK ? emit(p, EXPR_NEGATE, at, 0, 0, 0) : s;
}

typedef struct {
  const char *text;
  expr_op op;
} operator_row;
static const operator_row products[] = {{"*", EXPR_MULTIPLY}, {"/", EXPR_DIVIDE}, {"%", EXPR_MODULO}, {NULL, 0}};
static const operator_row sums[] = {{"+", EXPR_ADD}, {"-", EXPR_SUBTRACT}, {NULL, 0}};
static const operator_row comparisons[] = {{"==", EXPR_EQ}, {"!=", EXPR_NE}, {"<=", EXPR_LE}, {">=", EXPR_GE},
                                           {"<", EXPR_LT},  {">", EXPR_GT},  {NULL, 0}};

static const operator_row *match(const parser *p, const operator_row *rows)
{
  for (; rows->text; rows++)
    if (is_operator(p, rows->text)) return rows;
  return NULL;
}

/* operand (op operand)*, left to right. */
static hone_status parse_level(parser *p, const operator_row *rows, hone_status (*operand)(parser *))
{
  hone_status s = operand(p);
  for (const operator_row *r; s == HONE_OK && (r = match(p, rows)) != NULL;) {
    int at = p->now.at;
    s = next(p);
    if (s == HONE_OK) s = operand(p);
    if (s == HONE_OK) s = emit(p, r->op, at, 0, 0, -1);
    if (s == HONE_OK && rows == comparisons && match(p, rows))
      s = fail(p, p->now.at, "comparisons do not chain; join them with 'and'");
  }
  return s;
}

static hone_status parse_product(parser *p) { return parse_level(p, products, parse_unary); }
static hone_status parse_sum(parser *p) { return parse_level(p, sums, parse_product); }

static hone_status parse_not(parser *p)
{
  int at = p->now.at;
  if (!is_word(p, "not")) return parse_level(p, comparisons, parse_sum);
  if (++p->nesting > MAX_NESTING) return fail(p, at, "too deeply nested");
  hone_status s = next(p);
  if (s == HONE_OK) s = parse_not(p);
  p->nesting--;
  return s == HONE_OK ? emit(p, EXPR_NOT, at, 0, 0, 0) : s;
}

/* operand (word operand)*; a left side that decides jumps to the end. */
static hone_status parse_logic(parser *p, const char *word, expr_op op, hone_status (*operand)(parser *))
{
  hone_status s = operand(p);
  while (s == HONE_OK && is_word(p, word)) {
    int at = p->now.at, jump = p->out->ncode;
    s = emit(p, op, at, 0, 0, -1);
    if (s == HONE_OK) s = next(p);
    if (s == HONE_OK) s = operand(p);
    if (s == HONE_OK) s = emit(p, EXPR_BOOL, at, 0, 0, 0);
    if (s == HONE_OK) p->out->code[jump].argument = p->out->ncode;
  }
  return s;
}

static hone_status parse_and(parser *p) { return parse_logic(p, "and", EXPR_AND, parse_not); }

static hone_status parse_or(parser *p)
{
  if (++p->nesting > MAX_NESTING) return fail(p, p->now.at, "too deeply nested");
  hone_status s = parse_logic(p, "or", EXPR_OR, parse_and);
  p->nesting--;
  return s;
}

hone_status hone_expr_compile(const char *text, const hone_scope *scope, hone_expr *out, hone_err *err)
{
  size_t length = strlen(text);
  *out = (hone_expr){.text = hone_heap_alloc(length + 1, 1)};
  memcpy(out->text, text, length);
  parser p = {.text = out->text, .scope = scope, .out = out, .err = err};
  hone_status s = length > 10000 ? fail(&p, 0, "the expression is too long") : next(&p);
  if (s == HONE_OK) s = parse_or(&p);
  if (s == HONE_OK && p.now.kind != T_END) s = fail(&p, p.now.at, "expected an operator");
  assert(s != HONE_OK || p.depth == 1);
  if (s != HONE_OK) hone_expr_free(out);
  return s;
}

void hone_expr_free(hone_expr *e)
{
  free(e->code);
  free(e->uses);
  free(e->text);
  *e = (hone_expr){0};
}
