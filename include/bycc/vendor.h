/* The vendor boundary: a versioned C ABI that built-in vendors and plugins use
 * alike. A vendor has two halves that never link each other: the compile half
 * (loaded by bycc) answers for nodes and turns a region into bytes; the run
 * half (loaded by the runtime) turns these bytes into something that runs.
 *
 * A region is flat and read-only: values (tensors) and nodes in topological
 * order. Tuples are flattened: a node has any number of input and output
 * values. All pointers stay the caller's and live for the call only.
 */
#ifndef BYCC_VENDOR_H
#define BYCC_VENDOR_H

#include "bycc/abi.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BYCC_VENDOR_ABI_VERSION 1u

enum bycc_attr_kind {
  BYCC_ATTR_NONE = 0,
  BYCC_ATTR_BOOL = 1, /* i */
  BYCC_ATTR_INT = 2,  /* i */
  BYCC_ATTR_FLOAT = 3, /* f */
  BYCC_ATTR_STRING = 4, /* s */
  BYCC_ATTR_LIST = 5 /* items, count */
};

typedef struct bycc_attr {
  const char *name; /* null inside lists */
  int32_t kind;
  int64_t i;
  double f;
  const char *s;
  const struct bycc_attr *items;
  uint32_t count;
} bycc_attr;

typedef struct bycc_value {
  int32_t dtype; /* bycc_dtype */
  int32_t rank;
  const int64_t *dims; /* -1: unknown until run time */
  const char *layout;  /* "" = row-major */
  int32_t device;      /* 0 = host */
  /* Constants: the bytes now, and where the run half finds them. */
  const void *data;       /* null: not a constant */
  uint64_t bytes;
  uint64_t weights_offset; /* from the weights that load() gets; valid at compile(), not at
                              supports(), nor for vendors with BYCC_VENDOR_OWN_WEIGHTS */
  const char *name;
} bycc_value;

struct bycc_region;

/* A name that a pattern gave to a part of a composite, so that a vendor need not
 * match again. `is_node`, a bycc_role_kind, says what `index` counts:
 *   BYCC_ROLE_INPUT  `$x`: the node's inputs
 *   BYCC_ROLE_NODE   `$x:op(..)`, `@x`: nodes of its body, with their attributes
 *   BYCC_ROLE_VALUE  `$x:#`, `$x:(p[i])`: values of its body: a constant inside (with
 *                    its bytes), a field of a result
 */
enum bycc_role_kind { BYCC_ROLE_INPUT = 0, BYCC_ROLE_NODE = 1, BYCC_ROLE_VALUE = 2 };
typedef struct bycc_role {
  const char *name;
  int32_t is_node; /* bycc_role_kind */
  uint32_t index;
} bycc_role;

typedef struct bycc_node {
  const char *op; /* "nn.conv2d", or the composite's name "dnnl.conv2d_bias" */
  uint32_t num_attrs;
  const bycc_attr *attrs; /* all attributes, defaults filled in, sorted by name */
  uint32_t num_inputs;
  const uint32_t *inputs; /* value indices */
  uint32_t num_outputs;
  const uint32_t *outputs;
  /* Composites: the body, its inputs in the order of this node's inputs. */
  const struct bycc_region *body; /* null for plain operators */
  uint32_t num_roles;
  const bycc_role *roles;
  const char *source; /* the model's name for it, for messages */
  /* At compile(): the implementation chosen from those that supports() offered;
   * null when it offered none. */
  const char *implementation;
} bycc_node;

/* An extent that is known at run time only, where it is known what it will be: an
 * expression over symbols. Operands come before their users in the table. A region whose
 * inputs do not give a symbol gets one more where the program can tell it: a tensor of
 * any dtype without elements, which no node reads. */
enum bycc_extent_op {
  BYCC_EXTENT_CONST = 0,  /* lhs */
  BYCC_EXTENT_SYMBOL = 1, /* symbol number lhs */
  BYCC_EXTENT_ADD = 2,    /* from here on lhs and rhs are entries of the table */
  BYCC_EXTENT_SUB = 3,
  BYCC_EXTENT_MUL = 4,
  BYCC_EXTENT_FLOORDIV = 5,
  BYCC_EXTENT_CEILDIV = 6,
  BYCC_EXTENT_MOD = 7,
  BYCC_EXTENT_MIN = 8,
  BYCC_EXTENT_MAX = 9
};
typedef struct bycc_extent {
  int32_t op;
  int64_t lhs, rhs;
} bycc_extent;
/* What gives a symbol its value in a run: an extent of an input of the region. */
typedef struct bycc_symbol {
  const char *name;
  int32_t input; /* index into the region's inputs; -1: no input has this extent */
  int32_t axis;
} bycc_symbol;

typedef struct bycc_region {
  const char *symbol;
  uint32_t num_values;
  const bycc_value *values;
  uint32_t num_nodes;
  const bycc_node *nodes;
  uint32_t num_inputs;
  const uint32_t *inputs; /* value indices */
  uint32_t num_outputs;
  const uint32_t *outputs;
  /* At compile(): what tune() once answered for this region; null when nothing. */
  const void *tuning;
  uint64_t tuning_bytes;
  /* Run-time extents. Bodies of composites share the tables of their region. */
  uint32_t num_symbols;
  const bycc_symbol *symbols;
  uint32_t num_extents;
  const bycc_extent *extents;
  /* Per value: null when all of its dims are known, else one entry of the table per
   * axis, -1 where dims says it or nothing is known. Null for no value at all. */
  const int32_t *const *value_extents;
  /* Per symbol: what it will likely be, in elements, at least 1 (--likely, else 1 for a
   * batch and 64 for others). Plan for it; a run may bring any other value, and results
   * must not depend on it. Bodies of composites share it. */
  const int64_t *likely;
} bycc_region;

/* What --nan says. */
enum bycc_nan {
  BYCC_NAN_KEEP = 0, /* NaN in a region's inputs and constants reaches its results as the
                      * operators define */
  BYCC_NAN_FAST = 1  /* it may get lost */
};

/* What the code is for; never the build machine unless the user said so. */
typedef struct bycc_target {
  const char *triple;
  const char *cpu;
  const char *features; /* "avx512f,fma,...", sorted */
  int32_t threads;      /* recorded default, 0 = not recorded */
  int32_t nan;          /* bycc_nan */
} bycc_target;

/* Where a vendor puts its answer; texts and bytes are copied at once. Which of
 * the functions count is said at each entry point; the others do nothing. */
typedef struct bycc_answer {
  void *impl;
  void (*reason)(struct bycc_answer *answer, const char *text); /* why not */
  void (*blame)(struct bycc_answer *answer, uint32_t node);     /* which node */
  void (*blob)(struct bycc_answer *answer, const void *bytes, size_t size);
  /* One way to run the node, and what it costs per call in microseconds (< 0: not
   * known). May be called several times; the cheapest is chosen, the first of
   * equals. It counts before the `cost` of the vendor's file, and without one: then a
   * launch and transfers take no time, and nodes without an offer that of host code. */
  void (*offer)(struct bycc_answer *answer, const char *implementation, double microseconds);
  void (*take)(struct bycc_answer *answer, uint32_t node);
  void (*refuse)(struct bycc_answer *answer, uint32_t node, const char *why);
  /* At compile(), once per region, for vendors with BYCC_VENDOR_OWN_WEIGHTS: `bytes`
   * bytes of zeroed memory, 64-byte aligned, to fill before compile() returns. They go
   * into the params file as they are; load() gets them as `weights`. Null when there is
   * no such memory, and when it is asked for again. */
  void *(*weights)(struct bycc_answer *answer, uint64_t bytes);
} bycc_answer;

typedef struct bycc_vendor_compiler {
  uint32_t abi_version;
  uint32_t size; /* sizeof(bycc_vendor_compiler); what a shorter one lacks is null */
  const char *name;
  const char *version; /* of the library behind it; part of what makes bytes differ */
  const char *patterns; /* text of patterns/<vendor>.json, or null */
  void *self;
  /* Can the vendor take region->nodes[0] (the region holds this node alone)?
   * 1 yes (and offers, if it likes), 0 no with a reason. Asked once for nodes that
   * look alike: same operator, attributes, types and constants. Names (of values,
   * `source`) may differ between such nodes, so the answer must not depend on them.
   * Must not fail in any other way. */
  int32_t (*supports)(void *self, const bycc_target *target,
                      const bycc_region *region, bycc_answer *answer);
  /* Turns a whole region into a blob. 0 done, else reason (and blame). */
  int32_t (*compile)(void *self, const bycc_target *target,
                     const bycc_region *region, bycc_answer *answer);

  /* --- optional; null when the vendor has none */

  /* Passes that run before composites are formed, as --passes= takes them:
   * "canonicalize-ops,fold-constants". Not at -O0, nor with a pass list of the
   * user's. */
  const char *passes;
  /* The vendor's own annotator: sees all nodes of a block of the program (the body
   * of main, of a closure, of a branch) as one region and calls take() or refuse()
   * for each. It decides instead of supports(), which is then asked about groups
   * that patterns find and for offers only. Composites stand in the block as nodes;
   * values of other parts of the program are inputs. A node it does not mention is
   * refused. 0 done, else reason: the vendor then takes nothing of the block. */
  int32_t (*annotate)(void *self, const bycc_target *target,
                      const bycc_region *block, bycc_answer *answer);
  /* Tries ways to run a region and answers with a record (blob, not empty) that
   * compile() gets back as `tuning` of the region, now and in later builds. Asked
   * with --tune=FILE only, for regions that FILE has no record of; they are told
   * apart by operators, attributes, types, wiring and likely extents, not by names or the
   * values of constants. The same region should give the same record. 0 done, else reason. */
  int32_t (*tune)(void *self, const bycc_target *target,
                  const bycc_region *region, bycc_answer *answer);
  /* BYCC_VENDOR_* */
  uint64_t flags;
  /* Operators that supports() may accept on their own, for lists and documents:
   * "nn.conv2d nn.dense". Nothing is decided by it. */
  const char *operators;
} bycc_vendor_compiler;

/* The run half has memory of its own (alloc, release). A value that one region of
 * this vendor makes and only regions of this vendor read stays there: it has no
 * host memory at all, and bycc_region_info tells load() which inputs and outputs
 * are such values. */
#define BYCC_VENDOR_OWN_MEMORY 1u
/* The run half reads no constant of a region but what compile() wrote to
 * bycc_answer::weights: packed for its kernels, say. The constants themselves are not
 * stored for it, and load() gets these bytes alone as `weights`, wherever they lie:
 * 64-byte aligned; null when compile() wrote none. */
#define BYCC_VENDOR_OWN_WEIGHTS 2u
/* NaN that is born inside of a region may get lost there, and with BYCC_NAN_FAST any: for
 * --explain. */
#define BYCC_VENDOR_LOSES_NAN 4u

/* Profiling: one step inside a region. */
typedef struct bycc_step_info {
  const char *name;   /* primitive; "reorder" when it only changes a layout */
  const char *detail; /* implementation name */
  const char *source;
} bycc_step_info;

/* The threads that a model runs on, for a vendor's library that can be told where to run.
 * Between runs they sleep. */
typedef struct bycc_thread_pool {
  uint32_t size; /* sizeof(bycc_thread_pool) */
  /* Calls `task` `count` times at once, each time in a thread of its own, once in the
   * caller's; returns when all have returned. Asked for inside of a task: one call. The
   * threads are there for `count` up to the `threads` of run(), load() or init_state(),
   * while these last. */
  void (*run)(uint32_t count, void (*task)(void *closure), void *closure);
  /* In a task: its number, below team_size. Else 0 of 1. */
  uint32_t (*index)(void);
  uint32_t (*team_size)(void);
  int32_t (*is_inside)(void); /* of a task */
  /* In a task: returns when all tasks of the team have come here. */
  void (*barrier)(void);
} bycc_thread_pool;

typedef struct bycc_vendor_runtime {
  uint32_t abi_version;
  uint32_t size; /* sizeof(bycc_vendor_runtime); what a shorter one lacks is null */
  const char *name;
  /* Loads a region: shared by all contexts, immutable afterwards. Errors write
   * at most `error_size` bytes into `error` and return a bycc_status. */
  int32_t (*load)(const bycc_region_info *info, const uint8_t *weights,
                  uint64_t weights_bytes, int32_t threads, void **region,
                  char *error, size_t error_size);
  void (*unload)(void *region);
  /* Memory that each context lends to the region: size now, pointer in `run`
   * (64-byte aligned, contents kept between runs). */
  uint64_t (*state_bytes)(void *region);
  /* Once per context before its first run; `state` is zeroed memory. */
  int32_t (*init_state)(void *region, void *state, int32_t threads);
  void (*drop_state)(void *region, void *state);
  /* One run; re-entrant for different states. Call on any thread. */
  int32_t (*run)(void *region, void *state, const bycc_array *inputs,
                 const bycc_array *outputs, int32_t threads, char *error,
                 size_t error_size);
  /* Steps for --profile; may be null. `run_profiled` is `run` with `ns[i]`
   * increased by the time of step i. */
  uint32_t (*num_steps)(void *region);
  const bycc_step_info *(*step)(void *region, uint32_t index);
  int32_t (*run_profiled)(void *region, void *state, const bycc_array *inputs,
                          const bycc_array *outputs, int32_t threads,
                          uint64_t *ns, char *error, size_t error_size);

  /* Memory of the vendor's own for values between two of its regions; needed with
   * BYCC_VENDOR_OWN_MEMORY, else null. What alloc returns is not read by anyone
   * else: run() gets it as `data` of its resident inputs and outputs. Null when
   * there is none left: the run then fails with LIMIT. Released after the last
   * region that reads it, or when the run ends early. Called on any thread. */
  void *(*alloc)(uint64_t bytes);
  void (*release)(void *memory);
  /* Arithmetic operations of a step in one run, for --profile; 0: not known, or it only
   * moves data. May be null. */
  double (*step_flops)(void *region, uint32_t index);
  /* Called once, before anything else; the table lives as long as the process. May be
   * null. */
  void (*use_threads)(const bycc_thread_pool *pool);
} bycc_vendor_runtime;

/* Entry points of a plugin .so: `bycc_vendor_compiler_entry` in the compile
 * half, `bycc_vendor_runtime_entry` in the run half (they may share a file). */
typedef const bycc_vendor_compiler *(*bycc_vendor_compiler_fn)(void);
typedef const bycc_vendor_runtime *(*bycc_vendor_runtime_fn)(void);

#ifdef __cplusplus
}
#endif
#endif
