/* Preloaded: a build that comes between two files of a load. When a file whose name ends in
 * $REPLACE_AT is opened for the first time, before that, what the folder $REPLACE_FROM has is
 * renamed into the folder of that file, as a commit does; or, with $REPLACE_TO alone, that
 * file itself is renamed to it. $REPLACE_TIMES: at so many openings, from folders
 * $REPLACE_FROM.1, .2, ... */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int turn;

static void renameAll(const char *from, const char *file) {
  const char *slash = strrchr(file, '/');
  DIR *folder = opendir(from);
  for (struct dirent *item; folder && (item = readdir(folder));) {
    char old[1024], new[1024];
    if (item->d_name[0] == '.')
      continue;
    snprintf(old, sizeof old, "%s/%s", from, item->d_name);
    snprintf(new, sizeof new, "%.*s%s", slash ? (int)(slash + 1 - file) : 0, file, item->d_name);
    if (rename(old, new) != 0)
      perror(new);
  }
  if (folder)
    closedir(folder);
}

static void before(const char *file) {
  const char *at = getenv("REPLACE_AT"), *from = getenv("REPLACE_FROM"), *to = getenv("REPLACE_TO"),
             *times = getenv("REPLACE_TIMES");
  size_t length = strlen(file);
  if (!at || length < strlen(at) || strcmp(file + length - strlen(at), at) != 0 ||
      turn >= (times ? atoi(times) : 1))
    return;
  char folder[1024];
  snprintf(folder, sizeof folder, times ? "%s.%d" : "%s", from ? from : "", ++turn);
  if (from)
    renameAll(folder, file);
  else if (rename(file, to) != 0)
    perror(to);
}

static int opened(const char *name, const char *file, int flags, mode_t mode) {
  before(file);
  int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
  return real(file, flags, mode);
}

#define OPEN(name)                                                                                 \
  int name(const char *file, int flags, ...) {                                                     \
    va_list list;                                                                                  \
    va_start(list, flags);                                                                         \
    mode_t mode = va_arg(list, mode_t);                                                            \
    va_end(list);                                                                                  \
    return opened(#name, file, flags, mode);                                                       \
  }
OPEN(open)
OPEN(open64)
