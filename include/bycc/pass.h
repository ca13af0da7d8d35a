/* Passes in plugins: a versioned C ABI. A plugin for --plugin has
 * `bycc_pass_entry`, beside or instead of the compile half of a vendor (vendor.h).
 *
 * A pass gets the program as text and sends it back changed; bycc parses and types
 * what it sends. Calls carry annotation.origin=N (in JSON "origin"): where it is kept,
 * the call stays the node that it was for orders, reports and names. Constants that are
 * not small stand by number, {"given": N}, unless BYCC_PASS_DATA asks for their bytes.
 * A pass runs in a process of its own, once for each compilation: one that crashes or
 * does not end in 60 s fails the compilation and says so.
 *
 * Promise: fields are only added, at the end, and `size` tells which are there.
 */
#ifndef BYCC_PASS_H
#define BYCC_PASS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BYCC_PASS_ABI_VERSION 1u

enum bycc_pass_form {
  BYCC_PASS_RELAY = 0, /* Relay text, as bycc-opt prints it */
  BYCC_PASS_JSON = 1,  /* share/schema/program.schema.json */
  BYCC_PASS_DATA = 2   /* a bit beside them: constants come with their bytes */
};

/* Where a pass puts what it has to say; the texts are copied. */
typedef struct bycc_pass_output {
  size_t size; /* of this struct */
  void *self;
  /* The changed program; not called: it stays as it is. */
  void (*program)(void *self, const char *text, size_t bytes);
  /* A line for -v, or the reason of a failure. */
  void (*message)(void *self, const char *text);
} bycc_pass_output;

typedef struct bycc_pass {
  uint32_t abi_version;    /* BYCC_PASS_ABI_VERSION */
  size_t size;             /* sizeof(bycc_pass) */
  const char *name;        /* "fold-my-scales": small letters, digits, - */
  const char *description; /* one line */
  /* The default lists have it beside the first place of this pass, from -O`level` up; both
   * null: no list has it but those that name it. */
  const char *before, *after;
  int32_t level;
  uint32_t form; /* bycc_pass_form */
  void *self;
  /* `program` ends with a NUL that `bytes` does not count. 0, or anything else for a failure. */
  int32_t (*run)(void *self, const char *program, size_t bytes, const bycc_pass_output *output);
} bycc_pass;

/* `bycc_pass_entry(i)` for i = 0, 1, ... gives the passes, then null. */
typedef const bycc_pass *(*bycc_pass_fn)(uint32_t index);

#ifdef __cplusplus
}
#endif

#endif
