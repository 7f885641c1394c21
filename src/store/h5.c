/* HDF5 with our errors. Debian's library is thread-safe, others are not, so a
 * mutex of our own makes both the same. */
#include "config.h"

#include "store/store_int.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* The error handler has two generations; an application may have set either
 * (the same care as H5E_BEGIN_TRY takes). */
void hone_h5_enter(hone_h5_guard *g)
{
  pthread_mutex_lock(&one_at_a_time);
  *g = (hone_h5_guard){.v2 = 1};
  H5Eauto_is_v2(H5E_DEFAULT, &g->v2);
  if (g->v2) {
    H5E_auto2_t f = NULL;
    H5Eget_auto2(H5E_DEFAULT, &f, &g->data);
    memcpy(&g->function, &f, sizeof f);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  } else {
    H5E_auto1_t f = NULL;
    H5Eget_auto1(&f, &g->data);
    memcpy(&g->function, &f, sizeof f);
    H5Eset_auto1(NULL, NULL);
  }
}

void hone_h5_leave(const hone_h5_guard *g)
{
  H5Eclear2(H5E_DEFAULT);
  if (g->v2) {
    H5E_auto2_t f;
    memcpy(&f, &g->function, sizeof f);
    H5Eset_auto2(H5E_DEFAULT, f, g->data);
  } else {
    H5E_auto1_t f;
    memcpy(&f, &g->function, sizeof f);
    H5Eset_auto1(f, g->data);
  }
  pthread_mutex_unlock(&one_at_a_time);
}

static herr_t innermost(unsigned n, const H5E_error2_t *e, void *arg)
{
  if (n == 0) snprintf(arg, 128, "%s", e->desc ? e->desc : "");
  return 0;
}

hone_status hone_h5_fail(hone_err *err, const char *what, const char *name)
{
  char text[128] = "no further message";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, text);
  H5Eclear2(H5E_DEFAULT);
  return hone_err_set(err, HONE_STORE, "store.content", "HDF5 cannot %s '%s': %s", what, name, text);
}

hid_t hone_h5_string_type(size_t bytes)
{
  const hid_t t = H5Tcopy(H5T_C_S1); /* NUL-terminated: h5dump prints the padding of other kinds */
  H5Tset_size(t, bytes);
  H5Tset_cset(t, H5T_CSET_UTF8);
  return t;
}

/* Shuffle and deflate only: the one pair every reader, the browser's included,
 * decodes. Chunks are small, since the best few rows of a task are what is read
 * most; small tables stay plain. */
static hid_t creation_plist(hsize_t n, size_t element, bool filtered)
{
  enum { CHUNK_BYTES = 128 * 1024, SMALL_BYTES = 2048 };
  const hid_t p = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(p, 0);
  if (!filtered || n * element < SMALL_BYTES) return p;
  hsize_t rows = element < CHUNK_BYTES ? CHUNK_BYTES / element : 1;
  if (rows > n) rows = n;
  H5Pset_chunk(p, 1, &rows);
  H5Pset_shuffle(p);
  H5Pset_deflate(p, 1);
  return p;
}

/* How to transfer n elements: with a buffer for converting them of no more than they
 * need. HDF5's own is 1 MiB, cleared twice on every call however little is read,
 * which was four fifths of a query over many small segments. */
static hid_t transfer_plist(hsize_t n, size_t in_memory, size_t on_disk)
{
  enum { MOST_BYTES = 1024 * 1024 };
  const size_t element = in_memory > on_disk ? in_memory : on_disk;
  const hid_t p = H5Pcreate(H5P_DATASET_XFER);
  size_t bytes = n < MOST_BYTES / element ? (size_t)n * element : MOST_BYTES;
  if (bytes < element) bytes = element;
  H5Pset_buffer(p, bytes, NULL, NULL);
  return p;
}

hone_status hone_h5_write(hid_t file, const char *name, hid_t memory_type, hid_t file_type, hsize_t n, const void *data,
                          bool filtered, hone_err *err)
{
  const hid_t plist = creation_plist(n, H5Tget_size(file_type), filtered);
  const hid_t transfer = transfer_plist(n, H5Tget_size(memory_type), H5Tget_size(file_type));
  const hid_t space = H5Screate_simple(1, &n, NULL);
  const hid_t set = H5Dcreate2(file, name, file_type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  hone_status st = HONE_OK;
  if (set < 0 || (n && H5Dwrite(set, memory_type, H5S_ALL, H5S_ALL, transfer, data) < 0))
    st = hone_h5_fail(err, "write", name);
  if (set >= 0) H5Dclose(set);
  H5Sclose(space);
  H5Pclose(transfer);
  H5Pclose(plist);
  return st;
}

static hone_status write_attribute(hid_t file, const char *name, hid_t memory, hid_t disk, const void *value, hone_err *err)
{
  const hid_t space = H5Screate(H5S_SCALAR);
  const hid_t a = H5Acreate2(file, name, disk, space, H5P_DEFAULT, H5P_DEFAULT);
  hone_status st = HONE_OK;
  if (a < 0 || H5Awrite(a, memory, value) < 0) st = hone_h5_fail(err, "write attribute", name);
  if (a >= 0) H5Aclose(a);
  H5Sclose(space);
  return st;
}

hone_status hone_h5_attribute_text(hid_t file, const char *name, const char *text, hone_err *err)
{
  const hid_t type = hone_h5_string_type(strlen(text) + 1);
  const hone_status st = write_attribute(file, name, type, type, text, err);
  H5Tclose(type);
  return st;
}

hone_status hone_h5_attribute_int(hid_t file, const char *name, int64_t value, hone_err *err)
{
  return write_attribute(file, name, H5T_NATIVE_INT64, H5T_STD_I64LE, &value, err);
}

hone_status hone_h5_extent(hid_t file, const char *name, hsize_t *n, size_t *element, hone_err *err)
{
  const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
  if (set < 0) return hone_h5_fail(err, "open", name);
  const hid_t space = H5Dget_space(set), type = H5Dget_type(set);
  const bool good = space >= 0 && type >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                    H5Sget_simple_extent_dims(space, n, NULL) == 1;
  if (good) *element = H5Tget_size(type);
  if (space >= 0) H5Sclose(space);
  if (type >= 0) H5Tclose(type);
  H5Dclose(set);
  return good ? HONE_OK : hone_h5_fail(err, "read the shape of", name);
}

hone_status hone_h5_read(hid_t file, const char *name, hid_t memory_type, hsize_t first, hsize_t n, void *out, hone_err *err)
{
  if (n == 0) return HONE_OK;
  const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
  if (set < 0) return hone_h5_fail(err, "open", name);
  const hid_t space = H5Dget_space(set), memory = H5Screate_simple(1, &n, NULL), type = H5Dget_type(set);
  const hid_t transfer = transfer_plist(n, H5Tget_size(memory_type), H5Tget_size(type));
  const bool good = space >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &n, NULL) >= 0 &&
                    H5Dread(set, memory_type, memory, space, transfer, out) >= 0;
  const hone_status st = good ? HONE_OK : hone_h5_fail(err, "read", name);
  H5Pclose(transfer);
  if (type >= 0) H5Tclose(type);
  if (space >= 0) H5Sclose(space);
  H5Sclose(memory);
  H5Dclose(set);
  return st;
}

#define MEMORY_I64 H5T_NATIVE_INT64
#define MEMORY_U64 H5T_NATIVE_UINT64
#define MEMORY_I32 H5T_NATIVE_INT32
#define MEMORY_U32 H5T_NATIVE_UINT32
#define FILE_I64 H5T_STD_I64LE
#define FILE_U64 H5T_STD_U64LE
#define FILE_I32 H5T_STD_I32LE
#define FILE_U32 H5T_STD_U32LE

hid_t hone_record_type(bool file)
{
  const hid_t t = H5Tcreate(H5T_COMPOUND, sizeof(hone_record_row));
#define HONE_RECORD_COLUMN(type, name) \
  H5Tinsert(t, #name, offsetof(hone_record_row, name), file ? FILE_##type : MEMORY_##type);
#include "store/column.def"
#undef HONE_RECORD_COLUMN
  if (file) H5Tpack(t);
  return t;
}

hid_t hone_task_type(bool file, int schema)
{
  const hid_t t = H5Tcreate(H5T_COMPOUND, sizeof(hone_task_row));
#define HONE_TASK_COLUMN(since, type, name) \
  if (since <= schema) H5Tinsert(t, #name, offsetof(hone_task_row, name), file ? FILE_##type : MEMORY_##type);
#include "store/column.def"
#undef HONE_TASK_COLUMN
  if (file) H5Tpack(t);
  return t;
}

hid_t hone_document_type(bool file)
{
  const hid_t t = H5Tcreate(H5T_COMPOUND, sizeof(hone_document_row));
#define HONE_DOCUMENT_COLUMN(type, name) \
  H5Tinsert(t, #name, offsetof(hone_document_row, name), file ? FILE_##type : MEMORY_##type);
#include "store/column.def"
#undef HONE_DOCUMENT_COLUMN
  if (file) H5Tpack(t);
  return t;
}
