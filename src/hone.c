/* The outward functions of libhone; see hone.h. */
#include "config.h"

#include "hone.h"

const char *hone_version(void) { return PACKAGE_VERSION; }
