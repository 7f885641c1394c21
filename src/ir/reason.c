/* Texts of the reasons. */
#include "config.h"

#include "ir/schedule.h"

static const struct {
  const char *code, *text;
} rows[] = {
#define HONE_REASON(id, code, text) {code, text},
#include "ir/reason.def"
#undef HONE_REASON
};
_Static_assert(sizeof rows / sizeof *rows == HONE_REASON_COUNT, "one row per reason");

const char *hone_reason_code(hone_reason r)
{
  return (unsigned)r < HONE_REASON_COUNT ? rows[r].code : "unknown";
}

const char *hone_reason_text(hone_reason r)
{
  return (unsigned)r < HONE_REASON_COUNT ? rows[r].text : "unknown reason";
}
