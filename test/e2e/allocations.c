/* Preloaded: the N-th allocation fails, and those after it up to $FAIL_COUNT: FAIL_AT=N.
 * At the end their number goes to the file $COUNT_FILE. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);

static long calls, first = -1, last;

__attribute__((constructor)) static void begin(void) {
  const char *at = getenv("FAIL_AT"), *count = getenv("FAIL_COUNT");
  first = at ? atol(at) : -1;
  last = first + (count ? atol(count) : 1);
}
__attribute__((destructor)) static void end(void) {
  const char *path = getenv("COUNT_FILE");
  first = -1;
  FILE *file = path ? fopen(path, "w") : 0;
  if (file) {
    fprintf(file, "%ld\n", calls);
    fclose(file);
  }
}
static int fails(void) {
  long call = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
  return first >= 0 && call >= first && call < last && (errno = ENOMEM);
}

void *malloc(size_t bytes) { return fails() ? 0 : __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return fails() ? 0 : __libc_calloc(count, bytes); }
void *realloc(void *old, size_t bytes) { return fails() ? 0 : __libc_realloc(old, bytes); }
void *memalign(size_t align, size_t bytes) { return fails() ? 0 : __libc_memalign(align, bytes); }
void *aligned_alloc(size_t align, size_t bytes) { return memalign(align, bytes); }
int posix_memalign(void **memory, size_t align, size_t bytes) {
  return (*memory = memalign(align, bytes)) ? 0 : ENOMEM;
}
