/* A program outside Hone, compiled by `make installcheck` with pkg-config. */
#include <hone.h>
#include <stdio.h>

int main(void) { return puts(hone_version()) < 0; }
