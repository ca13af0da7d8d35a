/* The vendor boundary: a versioned C ABI that built-in vendors and plugins use
 * alike. A vendor has two halves that never link each other: the compile half
 * (loaded by bycc) answers for nodes and turns a region into bytes; the run
 * half (loaded by the runtime) turns these bytes into something that runs.
 *
 * A region is flat and read-only: values (tensors) and nodes in topological
 * order. Tuples are flattened: a node has any number of input and output
 * values. All pointers stay the caller's and live for the call only.
 *
 * What may change when is promised in share/doc/abi.md. In short: a vendor that is
 * built against this header loads in every later bycc of this BYCC_VENDOR_ABI_VERSION.
 *
 *   - Structs begin with `size` (tables with `abi_version`, then `size`): sizeof where
 *     they were made. They get new members at their end, nothing else changes.
 *     BYCC_HAS(p, member) asks whether a struct of a bycc that may be older has one.
 *   - So arrays of them are not C arrays here: elements have the size that stands in
 *     them. Members that are `const void *` are such arrays; the functions named
 *     beside them reach an element.
 *   - bycc_array and bycc_extent never grow.
 */
#ifndef BYCC_VENDOR_H
#define BYCC_VENDOR_H

#include "bycc/abi.h"

#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BYCC_VENDOR_ABI_VERSION 2u

/* Does the struct behind the pointer have the member? */
#define BYCC_HAS(pointer, member)                                                                  \
  ((size_t)((const char *)(&(pointer)->member + 1) - (const char *)(pointer)) <= (pointer)->size)

/* Kinds of device, queue and event come with later versions of bycc: they are null today. */
typedef struct bycc_device bycc_device;
typedef struct bycc_queue bycc_queue;
typedef struct bycc_event bycc_event;

enum bycc_attr_kind {
  BYCC_ATTR_NONE = 0,
  BYCC_ATTR_BOOL = 1,   /* i */
  BYCC_ATTR_INT = 2,    /* i */
  BYCC_ATTR_FLOAT = 3,  /* f */
  BYCC_ATTR_STRING = 4, /* s */
  BYCC_ATTR_LIST = 5    /* items, count */
};

typedef struct bycc_attr {
  uint32_t size;
  int32_t kind;     /* bycc_attr_kind */
  const char *name; /* null inside lists */
  int64_t i;
  double f;
  const char *s;
  uint32_t count;
  const void *items; /* bycc_item_at() */
} bycc_attr;

/* bycc_value::flags. At compile(): this input or output of the region is to stay in the
 * vendor's own memory (BYCC_VENDOR_OWN_MEMORY). load() says whether it does: a value that
 * was to stay may go through the host's memory after all, never the other way round. */
#define BYCC_VALUE_RESIDENT 1u

typedef struct bycc_value {
  uint32_t size;
  int32_t dtype; /* bycc_dtype */
  int32_t rank;
  int32_t device;      /* 0 = host */
  const int64_t *dims; /* -1: unknown until run time */
  /* Null when all dims are known, else one entry of the region's table of extents per
   * axis, -1 where dims says it or nothing is known. */
  const int32_t *extents;
  const char *layout; /* "" = row-major */
  /* Constants: the bytes now, and where the run half finds them. */
  const void *data; /* null: not a constant */
  uint64_t bytes;
  uint64_t weights_offset; /* from the weights that load() gets; valid at compile(), not at
                              supports(), nor for vendors with BYCC_VENDOR_OWN_WEIGHTS */
  const char *name;
  uint64_t flags; /* BYCC_VALUE_* */
} bycc_value;

struct bycc_region;

/* A name that a pattern gave to a part of a composite, so that a vendor need not
 * match again. `kind` says what `index` counts:
 *   BYCC_ROLE_INPUT  `$x`: the node's inputs
 *   BYCC_ROLE_NODE   `$x:op(..)`, `@x`: nodes of its body, with their attributes
 *   BYCC_ROLE_VALUE  `$x:#`, `$x:(p[i])`: values of its body: a constant inside (with
 *                    its bytes), a field of a result
 */
enum bycc_role_kind { BYCC_ROLE_INPUT = 0, BYCC_ROLE_NODE = 1, BYCC_ROLE_VALUE = 2 };
typedef struct bycc_role {
  uint32_t size;
  int32_t kind; /* bycc_role_kind */
  uint32_t index;
  const char *name;
} bycc_role;

typedef struct bycc_node {
  uint32_t size;
  uint32_t num_attrs;
  uint32_t num_inputs;
  uint32_t num_outputs;
  uint32_t num_roles;
  /* "nn.conv2d", or the composite's name "dnnl.conv2d_bias". At supports(), of a composite
   * whose pattern leaves that open: "dnnl.*"; see bycc_answer::name. */
  const char *op;
  const void *attrs;      /* bycc_attr_at(): all attributes, defaults filled in, sorted by name */
  const uint32_t *inputs; /* value indices */
  const uint32_t *outputs;
  /* Composites: the body, its inputs in the order of this node's inputs. */
  const struct bycc_region *body; /* null for plain operators */
  const void *roles;              /* bycc_role_at() */
  const char *source;             /* the model's name for it, for messages */
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
  int32_t op; /* bycc_extent_op */
  int64_t lhs, rhs;
} bycc_extent;

/* What gives a symbol its value in a run: an extent of an input of the region. */
typedef struct bycc_symbol {
  uint32_t size;
  int32_t input; /* index into the region's inputs; -1: no input has this extent */
  int32_t axis;
  const char *name;
  /* What it will likely be, in elements, at least 1 (--likely, else 1 for a batch and 64
   * for others). Plan for it; a run may bring any other value, and results must not
   * depend on it. */
  int64_t likely;
} bycc_symbol;

typedef struct bycc_region {
  uint32_t size;
  uint32_t num_values;
  uint32_t num_nodes;
  uint32_t num_inputs;
  uint32_t num_outputs;
  uint32_t num_symbols;
  uint32_t num_extents;
  const char *symbol;
  const void *values;     /* bycc_value_at() */
  const void *nodes;      /* bycc_node_at() */
  const uint32_t *inputs; /* value indices */
  const uint32_t *outputs;
  /* Run-time extents. Bodies of composites share the tables of their region. */
  const void *symbols; /* bycc_symbol_at() */
  const bycc_extent *extents;
  /* At compile(): what tune() once answered for this region; null when nothing. */
  const void *tuning;
  uint64_t tuning_bytes;
} bycc_region;

/* An option of a vendor, as its table describes it. Users set it with
 * --vendor-option V.NAME=VALUE: when a model is compiled those of the compile half, when
 * it is loaded those of the run half. What was given when a model was compiled is written
 * into its graph JSON and counts for its id. */
typedef struct bycc_vendor_option {
  uint32_t size;
  int32_t kind;        /* BYCC_ATTR_BOOL (true, false), INT, FLOAT or STRING */
  const char *name;    /* lower-case letters, digits, '-' and '_' */
  const char *value;   /* the default, as a user would write it */
  const char *choices; /* "a|b|c": the only values; null: any of its kind */
  const char *help;    /* one line */
  uint64_t flags;      /* BYCC_VENDOR_OPTION_* */
} bycc_vendor_option;
/* The value is a path: graph JSON has the file's name alone, since a model does not
 * depend on the folder that it was compiled in. */
#define BYCC_VENDOR_OPTION_PATH 1u

/* What --nan says. */
enum bycc_nan {
  BYCC_NAN_KEEP = 0, /* NaN in a region's inputs and constants reaches its results as the
                      * operators define */
  BYCC_NAN_FAST = 1  /* it may get lost */
};

/* What the code is for; never the build machine unless the user said so. */
typedef struct bycc_target {
  uint32_t size;
  int32_t threads; /* recorded default, 0 = not recorded */
  int32_t nan;     /* bycc_nan */
  uint32_t num_options;
  const char *triple;
  const char *cpu;
  const char *features; /* "avx512f,fma,...", sorted */
  /* The compile half's options, all of them, sorted by name: bycc_attr_at(),
   * bycc_attr_named(). Answers and blobs may depend on them. */
  const void *options;
  const bycc_device *device;
} bycc_target;

/* Where a vendor puts its answer; texts and bytes are copied at once. Which of
 * the functions count is said at each entry point; the others do nothing. */
typedef struct bycc_answer {
  uint32_t size;
  void *impl;
  void (*reason)(struct bycc_answer *answer, const char *text); /* why not */
  void (*blame)(struct bycc_answer *answer, uint32_t node);     /* which node */
  void (*blob)(struct bycc_answer *answer, const void *bytes, size_t size);
  /* One way to run the node, and what it costs per call in microseconds (< 0: not
   * known). May be called several times; the cheapest is chosen, the first of
   * equals. It counts before the `cost` of the vendor's file, and without one: then a
   * launch and transfers take no time, and nodes without an offer that of host code. */
  void (*offer)(struct bycc_answer *answer, const char *implementation, double microseconds);
  /* Nodes of one group may become one region, and never share one with nodes of another
   * group. Nodes of group 0 are regions as bycc finds them, apart from other groups. A
   * group is several regions where the program leaves it in between, or where costs say
   * that a part of it is better off elsewhere. */
  void (*take)(struct bycc_answer *answer, uint32_t node, uint32_t group);
  void (*refuse)(struct bycc_answer *answer, uint32_t node, const char *why);
  /* At compile(), once per region, for vendors with BYCC_VENDOR_OWN_WEIGHTS: `bytes`
   * bytes of zeroed memory, 64-byte aligned, to fill before compile() returns. They go
   * into the params file as they are; load() gets them as `weights`. Null when there is
   * no such memory, and when it is asked for again. */
  void *(*weights)(struct bycc_answer *answer, uint64_t bytes);
  /* At supports(), about a composite whose name its pattern leaves open ("VENDOR.*"): the
   * name, "VENDOR.what", of letters, digits, '.' and '_'. A yes without one is a no. */
  void (*name)(struct bycc_answer *answer, const char *name);
} bycc_answer;

typedef struct bycc_vendor_compiler {
  uint32_t abi_version; /* BYCC_VENDOR_ABI_VERSION */
  uint32_t size;        /* sizeof(bycc_vendor_compiler); what a shorter one lacks is null */
  const char *name;
  /* Of the vendor's code: letters, digits, '.', '-', '_' and '+'. It stands in graph JSON
   * and counts for the id of a model; the run half must read blobs of it
   * (bycc_vendor_runtime::reads). */
  const char *version;
  /* Name and version of what is behind it, "oneDNN 2.6.3"; null: nothing. In graph JSON
   * and in a model's id, too. */
  const char *library;
  const char *patterns; /* text of patterns/<vendor>.json, or null */
  uint64_t flags;       /* BYCC_VENDOR_* */
  void *self;
  /* Can the vendor take node 0 of the region (which holds this node alone)?
   * 1 yes (and offers, if it likes), 0 no with a reason. Asked once for nodes that
   * look alike: same operator, attributes, types and constants. Names (of values,
   * `source`) may differ between such nodes, so the answer must not depend on them.
   * Must not fail in any other way. */
  int32_t (*supports)(void *self, const bycc_target *target, const bycc_region *region,
                      bycc_answer *answer);
  /* Turns a whole region into a blob. 0 done, else reason (and blame). */
  int32_t (*compile)(void *self, const bycc_target *target, const bycc_region *region,
                     bycc_answer *answer);

  /* --- optional; null when the vendor has none */

  uint64_t num_options;
  const void *options; /* bycc_vendor_option_at() */
  /* Passes that run before composites are formed, as --passes= takes them:
   * "canonicalize-ops,fold-constants". Not at -O0, nor with a pass list of the
   * user's. */
  const char *passes;
  /* Operators that supports() may accept on their own, for lists and documents:
   * "nn.conv2d nn.dense". Nothing is decided by it. */
  const char *operators;
  /* The vendor's own annotator: sees all nodes of a block of the program (the body
   * of main, of a closure, of a branch) as one region and calls take() or refuse()
   * for each. It decides instead of supports(), which is then asked about groups
   * that patterns find and for offers only. Composites stand in the block as nodes;
   * values of other parts of the program are inputs. A node it does not mention is
   * refused. 0 done, else reason: the vendor then takes nothing of the block. */
  int32_t (*annotate)(void *self, const bycc_target *target, const bycc_region *block,
                      bycc_answer *answer);
  /* Tries ways to run a region and answers with a record (blob, not empty) that
   * compile() gets back as `tuning` of the region, now and in later builds. Asked
   * with --tune=FILE only, for regions that FILE has no record of; they are told
   * apart by operators, attributes, types, wiring, likely extents and options, not by names
   * or the values of constants. The same region should give the same record. 0 done, else
   * reason. */
  int32_t (*tune)(void *self, const bycc_target *target, const bycc_region *region,
                  bycc_answer *answer);
} bycc_vendor_compiler;

/* The run half has memory of its own (alloc, release). A value that one region of
 * this vendor makes and only regions of this vendor read stays there: it has no
 * host memory at all, and load() is told which inputs and outputs are such values. */
#define BYCC_VENDOR_OWN_MEMORY 1u
/* The run half reads no constant of a region but what compile() wrote to
 * bycc_answer::weights: packed for its kernels, say. The constants themselves are not
 * stored for it, and load() gets these bytes alone as `weights`, wherever they lie:
 * 64-byte aligned; null when compile() wrote none. */
#define BYCC_VENDOR_OWN_WEIGHTS 2u
/* NaN that is born inside of a region may get lost there, and with BYCC_NAN_FAST any: for
 * --explain. */
#define BYCC_VENDOR_LOSES_NAN 4u

/* The threads that a model runs on, for a vendor's library that can be told where to run.
 * Between runs they sleep. There is one pool, and it lives as long as the process. */
typedef struct bycc_thread_pool {
  uint32_t size;
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

/* What a run half works in: opened before the first region is loaded with it, closed after
 * the last one was unloaded. Models that are loaded with the same options share one;
 * several may be open at a time. All functions get it; they may be called on any thread. */
typedef struct bycc_vendor_context {
  uint32_t size;
  uint32_t num_options;
  void *impl; /* the vendor's own: what open() puts there */
  /* The run half's options, all of them, sorted by name: bycc_attr_at(),
   * bycc_attr_named(). */
  const void *options;
  const bycc_thread_pool *threads;
  const bycc_device *device;
} bycc_vendor_context;

/* A tensor of the run half. */
typedef struct bycc_tensor {
  uint32_t size;
  int32_t dtype; /* bycc_dtype */
  int32_t rank;
  uint32_t flags;       /* BYCC_VALUE_RESIDENT: in the vendor's own memory */
  const int64_t *shape; /* -1, at load() only: known at run time */
  const char *layout;   /* "" = row-major */
  uint64_t bytes;       /* 0 at load() when it is known at run time */
} bycc_tensor;

/* What load() is given. */
typedef struct bycc_region_load {
  uint32_t size;
  int32_t threads;
  uint32_t num_inputs;
  uint32_t num_outputs;
  const char *symbol;
  const uint8_t *blob; /* what the compile half wrote */
  uint64_t blob_bytes;
  const uint8_t *weights;
  uint64_t weights_bytes;
  const void *inputs; /* bycc_tensor_at() */
  const void *outputs;
  const char *version; /* of the compile half that wrote the blob */
  const char *library; /* that it had; "": none */
} bycc_region_load;

/* What run() is given. */
typedef struct bycc_region_run {
  uint32_t size;
  int32_t threads;
  const bycc_array *inputs;
  const bycc_array *outputs;
  /* Null, or with num_steps: entry i is to be increased by the nanoseconds of step i. */
  uint64_t *step_ns;
  bycc_queue *queue;
  uint64_t num_waits;
  bycc_event *const *waits;
  bycc_event **done;
  /* Memory for what a run needs until it returns, not behind it: at least `bytes`, 64-byte
   * aligned. All regions of a program get the same, one after the other, so it is in the
   * caches, and holds anything at the start. Of two calls in a run the second counts. The
   * address is mostly that of the run before. Null: there is not so much. */
  void *(*scratch)(const struct bycc_region_run *run, uint64_t bytes);
  void *owner; /* bycc's */
} bycc_region_run;

/* Profiling: one step inside a region. */
typedef struct bycc_step_info {
  uint32_t size;
  const char *name;   /* primitive; "reorder" when it only changes a layout */
  const char *detail; /* implementation name */
  const char *source;
  double flops; /* arithmetic operations in one run; 0: not known, or it only moves data */
} bycc_step_info;

typedef struct bycc_vendor_runtime {
  uint32_t abi_version; /* BYCC_VENDOR_ABI_VERSION */
  uint32_t size;        /* sizeof(bycc_vendor_runtime); what a shorter one lacks is null */
  const char *name;
  const char *version; /* of the vendor's code */
  const char *library; /* name and version of what is behind it; null: nothing */
  /* Loads a region: shared by all runs, immutable afterwards. Errors write
   * at most `error_size` bytes into `error` and return a bycc_status. */
  int32_t (*load)(const bycc_vendor_context *context, const bycc_region_load *load, void **region,
                  char *error, size_t error_size);
  void (*unload)(const bycc_vendor_context *context, void *region);
  /* Memory that each of a program's contexts lends to the region: size now, pointer in
   * `run` (64-byte aligned, contents kept between runs). */
  uint64_t (*state_bytes)(const bycc_vendor_context *context, void *region);
  /* Once per state before its first run; `state` is zeroed memory. */
  int32_t (*init_state)(const bycc_vendor_context *context, void *region, void *state,
                        int32_t threads);
  void (*drop_state)(const bycc_vendor_context *context, void *region, void *state);
  /* One run; re-entrant for different states. */
  int32_t (*run)(const bycc_vendor_context *context, void *region, void *state,
                 const bycc_region_run *run, char *error, size_t error_size);

  /* --- optional; null when the vendor has none */

  /* Versions of compile halves whose blobs it reads, with '*' for any text: "1.* 2.0".
   * Null: its own `version` alone. */
  const char *reads;
  uint64_t num_options;
  const void *options; /* bycc_vendor_option_at() */
  /* Sets context->impl, the one member that a vendor may write. Errors as for load(). */
  int32_t (*open)(bycc_vendor_context *context, char *error, size_t error_size);
  void (*close)(bycc_vendor_context *context);
  /* Steps for --profile. */
  uint32_t (*num_steps)(const bycc_vendor_context *context, void *region);
  const bycc_step_info *(*step)(const bycc_vendor_context *context, void *region, uint32_t index);
  /* Memory of the vendor's own for values between two of its regions; needed with
   * BYCC_VENDOR_OWN_MEMORY. `tensor` has all its extents; without elements it gets memory
   * as well. What alloc returns is not read by anyone else: run() gets it as `data` of its
   * resident inputs and outputs. Null when there is none left: the run then fails with
   * LIMIT. Released after the last region that reads it, or when the run ends early. */
  void *(*alloc)(const bycc_vendor_context *context, const bycc_tensor *tensor);
  void (*release)(const bycc_vendor_context *context, void *memory);
  /* What runs are expected to ask bycc_region_run::scratch() for, so that it is there before
   * the first one. */
  uint64_t (*scratch_bytes)(const bycc_vendor_context *context, void *region);
} bycc_vendor_runtime;

/* Elements of arrays whose structs may be larger, or smaller, than this header's. There
 * is no check: `index` is below the count that stands beside the array. */
static inline const void *bycc_element_at(const void *array, uint32_t index) {
  uint32_t size;
  memcpy(&size, array, sizeof size);
  return (const char *)array + (size_t)index * size;
}
static inline const bycc_value *bycc_value_at(const bycc_region *region, uint32_t index) {
  return (const bycc_value *)bycc_element_at(region->values, index);
}
static inline const bycc_node *bycc_node_at(const bycc_region *region, uint32_t index) {
  return (const bycc_node *)bycc_element_at(region->nodes, index);
}
static inline const bycc_symbol *bycc_symbol_at(const bycc_region *region, uint32_t index) {
  return (const bycc_symbol *)bycc_element_at(region->symbols, index);
}
static inline const bycc_role *bycc_role_at(const bycc_node *node, uint32_t index) {
  return (const bycc_role *)bycc_element_at(node->roles, index);
}
/* Of a node, or of options: attributes are `attrs` or `options`. */
static inline const bycc_attr *bycc_attr_at(const void *attrs, uint32_t index) {
  return (const bycc_attr *)bycc_element_at(attrs, index);
}
static inline const bycc_attr *bycc_item_at(const bycc_attr *list, uint32_t index) {
  return (const bycc_attr *)bycc_element_at(list->items, index);
}
static inline const bycc_tensor *bycc_tensor_at(const void *tensors, uint32_t index) {
  return (const bycc_tensor *)bycc_element_at(tensors, index);
}
static inline const bycc_vendor_option *bycc_vendor_option_at(const void *options, uint32_t index) {
  return (const bycc_vendor_option *)bycc_element_at(options, index);
}
/* The attribute of this name among `count`; null when there is none. */
static inline const bycc_attr *bycc_attr_named(const void *attrs, uint32_t count,
                                               const char *name) {
  for (uint32_t i = 0; i < count; ++i)
    if (strcmp(bycc_attr_at(attrs, i)->name, name) == 0)
      return bycc_attr_at(attrs, i);
  return NULL;
}

/* Entry points of a plugin .so: `bycc_vendor_compiler_entry` in the compile
 * half, `bycc_vendor_runtime_entry` in the run half (they may share a file). */
typedef const bycc_vendor_compiler *(*bycc_vendor_compiler_fn)(void);
typedef const bycc_vendor_runtime *(*bycc_vendor_runtime_fn)(void);

#ifdef __cplusplus
}
#endif
#endif
