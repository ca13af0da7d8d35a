/* Preloaded: a fault at the N-th call that changes files, FAULT=MODE:N, counted over the
 * process and those it forks. One that is to fail puts its name into the file $FAULT_NAME.
 *
 *   kill        SIGKILL after it            fail    ENOSPC of a write, EIO of others
 *   interrupt   EINTR of a write or fsync   short   a write of one byte
 *   pipe        SIGPIPE for the first process after it
 *
 * FAULT_NO_TMPFILE=1: no file without a name. At the end the number of calls goes to
 * the file $FAULT_COUNT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static long *calls;
static pid_t first;

__attribute__((constructor)) static void begin(void) {
  first = getpid();
  calls = mmap(0, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static int is(const char *mode) {
  const char *fault = getenv("FAULT");
  size_t length = strlen(mode);
  return fault && strncmp(fault, mode, length) == 0 && fault[length] == ':' &&
         *calls == atol(fault + length + 1);
}

static int fails(const char *name) {
  if (!is("fail"))
    return 0;
  const char *path = getenv("FAULT_NAME");
  FILE *file = path ? fopen(path, "w") : 0;
  if (file) {
    fprintf(file, "%s\n", name);
    fclose(file);
  }
  return 1;
}

static void after(void) {
  if (is("kill"))
    kill(getpid(), SIGKILL);
  if (is("pipe")) {
    kill(first, SIGPIPE);
    usleep(100000);
  }
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("FAULT_COUNT");
  FILE *file = path ? fopen(path, "w") : 0;
  if (file) {
    fprintf(file, "%ld\n", *calls);
    fclose(file);
  }
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define WRAP(name, parameters, arguments)                                                          \
  int name parameters {                                                                            \
    ++*calls;                                                                                      \
    if (fails(#name))                                                                              \
      return errno = EIO, -1;                                                                      \
    int result = NEXT(name) arguments, code = errno;                                               \
    after();                                                                                       \
    return errno = code, result;                                                                   \
  }

WRAP(link, (const char *from, const char *to), (from, to))
WRAP(linkat, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
WRAP(rename, (const char *from, const char *to), (from, to))
WRAP(unlink, (const char *path), (path))
WRAP(unlinkat, (int folder, const char *path, int flags), (folder, path, flags))

int fsync(int fd) {
  ++*calls;
  if (is("interrupt"))
    return errno = EINTR, -1;
  if (fails("fsync"))
    return errno = EIO, -1;
  int result = NEXT(fsync)(fd);
  after();
  return result;
}

/* Of files that were opened to be written. */
int close(int fd) {
  struct stat info;
  if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_WRONLY || fstat(fd, &info) != 0 ||
      !S_ISREG(info.st_mode))
    return NEXT(close)(fd);
  ++*calls;
  int result = NEXT(close)(fd), code = errno;
  if (is("interrupt"))
    return errno = EINTR, -1;
  if (fails("close"))
    return errno = EIO, -1;
  after();
  return errno = code, result;
}

ssize_t write(int fd, const void *bytes, size_t size) {
  if (fd <= 2)
    return NEXT(write)(fd, bytes, size);
  ++*calls;
  if (is("interrupt"))
    return errno = EINTR, -1;
  if (fails("write"))
    return errno = ENOSPC, -1;
  ssize_t result = NEXT(write)(fd, bytes, is("short") && size > 1 ? 1 : size);
  after();
  return result;
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if ((flags & O_TMPFILE) == O_TMPFILE && getenv("FAULT_NO_TMPFILE"))
    return errno = EOPNOTSUPP, -1;
  return NEXT(open)(path, flags, mode);
}
