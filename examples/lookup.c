/* Looks shapes up in the library that scripts/demo emits, as a runtime would:
 *     cc -std=c99 -I demo-library examples/lookup.c -o lookup && ./lookup */
#include <stdio.h>
#include "demo_library.h"

int main(void)
{
  const int64_t tokens[] = {2048, 2040, 100000};
  for (int i = 0; i < 3; i++) {
    char why[240];
    demo_library_answer a = demo_library_matmul_bf16_on_trainium2_core(1, tokens[i], 14336, 4096);
    demo_library_reason(&a, why, sizeof why);
    printf("%s: %s", demo_library_kind_word(a.kind), why);
    if (a.loss_pct >= 0) printf("; loses at most %.2f %%", a.loss_pct);
    puts("");
  }
}
