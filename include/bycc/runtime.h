/* libbycc_runtime: load and run what bycc wrote. Plain C, no LLVM.
 *
 * A model is immutable and may be shared by threads; a context is one run's
 * state: use each from one thread at a time, make one per concurrent run.
 * Functions return 0 or a bycc_status; bycc_last_error() then holds the text
 * for the calling thread. Pointers handed out live as long as their owner.
 */
#ifndef BYCC_RUNTIME_H
#define BYCC_RUNTIME_H

#include "bycc/abi.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bycc_model bycc_model;
typedef struct bycc_context bycc_context;

typedef struct bycc_load_options {
  uint32_t size;      /* sizeof(bycc_load_options) */
  int32_t threads;    /* 0: the recorded default, else the CPUs allowed:
                            affinity and whole CPUs of the quota */
  int32_t verify;     /* 1: hash all weights again. 0: those of a file of up to 32 MiB,
                          * once for each time that it was written */
  const char *params; /* path of the params file; null: beside the model */
  const char *set_id; /* STEM_SET_ID of STEM.h: the model must be of the build that the
                          * header is of; null: of any */
  /* Options of vendors' run halves, "V.NAME=VALUE" each, as bycc-run --vendor-option takes
   * them. Those of vendors that the model does not need are not looked at. */
  const char *const *vendor_options;
  size_t num_vendor_options;
} bycc_load_options;

/* Loads STEM.json with STEM.o and STEM.params beside it. `options` may be null. */
int32_t bycc_model_load(const char *graph_json, const bycc_load_options *options,
                        bycc_model **model);
/* What the three files hold, for a model that is in memory. */
typedef struct bycc_model_bytes {
  uint32_t size;    /* sizeof(bycc_model_bytes) */
  const char *name; /* for messages; null: "model" */
  const void *graph_json;
  uint64_t graph_json_bytes;
  const void *object;
  uint64_t object_bytes;
  const void *params; /* null: the model has none. At a multiple of 64 */
  uint64_t params_bytes;
  /* The params are used where they lie. This is called, once, when nothing reads them any
   * more, also where loading fails; null: they outlive the model and its contexts. */
  void (*release)(void *user);
  void *user;
} bycc_model_bytes;
/* The same from memory. Graph JSON and object are not needed afterwards; weights are hashed
 * only when `verify` says so. */
int32_t bycc_model_load_bytes(const bycc_model_bytes *bytes, const bycc_load_options *options,
                              bycc_model **model);
/* The same for a module that is linked into the program (STEM.h declares it). */
int32_t bycc_model_load_linked(const bycc_module *module, const bycc_load_options *options,
                               bycc_model **model);
/* The params file is mapped. When it gets shorter while a run reads it, the system sends
 * SIGBUS, which ends a program; between runs that is noticed and BYCC_LOAD. A program that
 * calls this, once, lets the library handle SIGBUS in its mappings: such a run gives
 * BYCC_LOAD, too. Other SIGBUS goes to the handler that was there. */
void bycc_guard_files(void);
/* Contexts keep their model alive: order of destruction does not matter. */
void bycc_model_destroy(bycc_model *model);

const bycc_module *bycc_model_module(const bycc_model *model);
/* Index of a named input or output, -1 when there is none. */
int32_t bycc_model_input_index(const bycc_model *model, const char *name);
int32_t bycc_model_output_index(const bycc_model *model, const char *name);

int32_t bycc_context_create(bycc_model *model, bycc_context **context);
void bycc_context_destroy(bycc_context *context);

/* Binds memory without a copy; it must stay valid during run. `shape` (rank
 * extents) is needed when the type has unknown dims, else may be null and is
 * checked when given. `bytes` is the size of the buffer and must be at least
 * the tensor's. Any alignment of the element size works. */
int32_t bycc_bind_input(bycc_context *context, uint32_t index, const void *data, size_t bytes,
                        const int64_t *shape);
/* Outputs that are not bound are kept by the context, at any size: leave those
 * unbound whose extents are known after the run only, and ask bycc_get_output. */
int32_t bycc_bind_output(bycc_context *context, uint32_t index, void *data, size_t bytes);

int32_t bycc_run(bycc_context *context);

/* After a run: data and extents of an output; valid until the next run. */
int32_t bycc_get_output(bycc_context *context, uint32_t index, const void **data,
                        const int64_t **shape, size_t *bytes);

/* Profiling: while on, every run adds to the counters. */
typedef struct bycc_profile_entry {
  const char *name;
  const char *detail; /* implementation, "" for host kernels */
  const char *source;
  int32_t region; /* index of the region this is a step of, -1 */
  uint64_t calls;
  uint64_t total_ns;
  uint64_t last_begin_ns; /* since the profile was switched on */
  double flops;
} bycc_profile_entry;
int32_t bycc_profile_enable(bycc_context *context, int32_t on);
int32_t bycc_profile_entries(bycc_context *context, const bycc_profile_entry **entries,
                             size_t *count);

/* While a function is set, every run calls it after each node (bycc_module::nodes) with what
 * the node read and made: its tensors of floating types; null data: in a vendor's own memory.
 * It lasts until the function returns. Null: none is called. Code that an older bycc made
 * does not call it. */
typedef void (*bycc_values_fn)(void *user, uint32_t node, const bycc_operand *inputs,
                               uint32_t num_inputs, const bycc_operand *outputs,
                               uint32_t num_outputs);
int32_t bycc_watch_values(bycc_context *context, bycc_values_fn watch, void *user);

int32_t bycc_set_threads(bycc_context *context, int32_t threads);
/* Threads that runs of the context use; 0 when it is no context. */
int32_t bycc_get_threads(const bycc_context *context);
const char *bycc_last_error(void);
const char *bycc_status_name(int32_t status); /* "OK", "LOAD", ... */
const char *bycc_runtime_version(void);

/* Messages of the library (level 0 error, 1 warning, 2 info); default: none. */
typedef void (*bycc_log_fn)(void *user, int32_t level, const char *text);
void bycc_set_log(bycc_log_fn log, void *user);

#ifdef __cplusplus
}
#endif
#endif
