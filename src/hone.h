/* Hone: search-driven autotuner for inference accelerators. The one public
 * header of libhone. The library keeps no global state, prints nothing and never
 * exits (out of memory aside: it aborts). Every function may be called from any
 * thread. */
#ifndef HONE_H
#define HONE_H

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_API __attribute__((visibility("default")))

/* The library's version, such as "0.1.0"; static text. */
HONE_API const char *hone_version(void);

#ifdef __cplusplus
}
#endif

#endif
