/* Files that are whole or not there: what a reader opens is the old content or the
 * new, never a part of it, whatever dies in between. */
#ifndef HONE_BASE_FILE_H
#define HONE_BASE_FILE_H

#include <stddef.h>

#include "base/status.h"

/* Writes a temporary beside `path`, syncs it, renames it over `path`, syncs the
 * directory. On error (IO, "file.write" or "file.disk-full") the old file, if any,
 * is as it was and no temporary is left. A replaced file keeps its mode, a symbolic
 * link its place (one to nothing is an error); what is no regular file (a pipe, /dev/stdout) is written to as it
 * is. */
hone_status hone_file_write_atomic(const char *path, const void *bytes, size_t n, hone_err *err);

/* Makes a directory, with those above it, unless it is there. */
hone_status hone_file_make_directory(const char *path, hone_err *err);

#endif
