/* The seal: the first 512 bytes of a segment (HDF5 calls them the user block),
 * plain text with schema, counts and a digest of every byte of the file. It is
 * checked before HDF5 sees the file, so a damaged one never reaches HDF5, whose
 * readers may hang or crash on it.
 *
 * The digest covers the whole file with its own sixteen digits read as '0'. */
#include "config.h"

#include "store/store_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "Hone store segment\nschema "

static void print_seal(const hone_seal *s, char out[HONE_SEAL_BYTES + 1])
{
  memset(out, ' ', HONE_SEAL_BYTES);
  const int n = snprintf(out, HONE_SEAL_BYTES, MAGIC "%d\nrecords %" PRId64 "\nbytes %" PRId64 "\nxxh64 %016" PRIx64 "\n",
                         s->schema, s->records, s->bytes, s->digest);
  out[n] = ' ';
  out[HONE_SEAL_BYTES - 1] = '\n';
  out[HONE_SEAL_BYTES] = '\0';
}

void hone_seal_apply(unsigned char *image, size_t n, int64_t records, hone_seal *out)
{
  char text[HONE_SEAL_BYTES + 1];
  hone_digest d;
  *out = (hone_seal){.schema = HONE_STORE_SCHEMA, .records = records, .bytes = (int64_t)n};
  print_seal(out, text);
  hone_digest_init(&d);
  hone_digest_add(&d, text, HONE_SEAL_BYTES);
  hone_digest_add(&d, image + HONE_SEAL_BYTES, n - HONE_SEAL_BYTES);
  out->digest = hone_digest_end(&d);
  print_seal(out, text);
  memcpy(image, text, HONE_SEAL_BYTES);
}

/* What stands in the block, whether or not it is well-formed beyond that. */
static bool parse_seal(const char *block, hone_seal *s)
{
  return sscanf(block, MAGIC "%d records %" SCNd64 " bytes %" SCNd64 " xxh64 %16" SCNx64, &s->schema, &s->records,
                &s->bytes, &s->digest) == 4;
}

static ssize_t read_full(int fd, void *buf, size_t n, off_t at)
{
  size_t done = 0;
  while (done < n) {
    const ssize_t r = pread(fd, (char *)buf + done, n - done, at + (off_t)done);
    if (r < 0 && errno == EINTR) continue;
    if (r < 0) return -1;
    if (r == 0) break;
    done += (size_t)r;
  }
  return (ssize_t)done;
}

static hone_status cannot_read(hone_err *err)
{
  return hone_err_set(err, HONE_IO, "store.unreadable", "cannot read: %s", strerror(errno));
}

static hone_status digest_file(int fd, const hone_seal *s, uint64_t *out, hone_err *err)
{
  enum { CHUNK = 1 << 20 };
  unsigned char *buf = hone_heap_alloc(CHUNK, 1);
  char text[HONE_SEAL_BYTES + 1];
  hone_seal blank = *s;
  hone_digest d;
  hone_status st = HONE_OK;
  blank.digest = 0;
  print_seal(&blank, text);
  hone_digest_init(&d);
  hone_digest_add(&d, text, HONE_SEAL_BYTES);
  for (off_t at = HONE_SEAL_BYTES; at < s->bytes;) {
    const ssize_t n = read_full(fd, buf, CHUNK, at);
    if (n <= 0) {
      st = n < 0 ? cannot_read(err) : hone_err_set(err, HONE_STORE, "store.truncated", "the file shrank while it was read");
      break;
    }
    hone_digest_add(&d, buf, (size_t)n);
    at += n;
  }
  free(buf);
  *out = hone_digest_end(&d);
  return st;
}

hone_status hone_seal_check(int fd, hone_seal *out, hone_err *err)
{
  char block[HONE_SEAL_BYTES + 1] = {0}, canonical[HONE_SEAL_BYTES + 1];
  struct stat st;
  uint64_t digest;
  if (fstat(fd, &st) != 0) return cannot_read(err);
  if (!S_ISREG(st.st_mode)) return hone_err_set(err, HONE_STORE, "store.foreign", "not a regular file");
  const ssize_t n = read_full(fd, block, HONE_SEAL_BYTES, 0);
  if (n < 0) return cannot_read(err);
  if (strncmp(block, MAGIC, strlen(MAGIC)) != 0)
    return hone_err_set(err, HONE_STORE, "store.foreign", "not a segment of a Hone store: its first line is another");
  if (n < HONE_SEAL_BYTES)
    return hone_err_set(err, HONE_STORE, "store.truncated", "%lld bytes, not even a whole seal", (long long)st.st_size);
  if (!parse_seal(block, out) || out->schema < 1)
    return hone_err_set(err, HONE_STORE, "store.digest", "the seal is damaged");
  if (out->schema > HONE_STORE_SCHEMA)
    return hone_err_set(err, HONE_UNSUPPORTED, "store.newer-schema", "schema %d is newer than this Hone, which reads up to %d",
                        out->schema, HONE_STORE_SCHEMA);
  if (out->bytes != (int64_t)st.st_size)
    return hone_err_set(err, HONE_STORE, (int64_t)st.st_size < out->bytes ? "store.truncated" : "store.digest",
                        "%lld bytes where the seal says %lld", (long long)st.st_size, (long long)out->bytes);
  print_seal(out, canonical);
  const bool same = memcmp(block, canonical, HONE_SEAL_BYTES) == 0;
  const hone_status read = digest_file(fd, out, &digest, err);
  if (read != HONE_OK) return read;
  if (!same || digest != out->digest)
    return hone_err_set(err, HONE_STORE, "store.digest", "the contents do not match the digest");
  return HONE_OK;
}
