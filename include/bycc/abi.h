/* The contract between compiled code (STEM.o), libbycc_runtime and vendor run
 * halves. Plain C. A compiled model is one `bycc_module` descriptor in STEM.o
 * (symbol <module>_bycc_module); running it is one call of `entry` on a
 * `bycc_exec`. Everything compiled code needs from outside it reaches through
 * `bycc_exec::api`, so STEM.o has no undefined symbols but memcpy, memmove,
 * memset and libm functions.
 */
#ifndef BYCC_ABI_H
#define BYCC_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BYCC_ABI_VERSION 4u
#define BYCC_MODULE_MAGIC 0x43435942u /* "BYCC" */

/* Element types; the numbers are part of the ABI. Sub-byte types do not exist. */
enum bycc_dtype {
  BYCC_BOOL = 0, /* one byte, 0 or 1 */
  BYCC_INT8 = 1,
  BYCC_INT16 = 2,
  BYCC_INT32 = 3,
  BYCC_INT64 = 4,
  BYCC_UINT8 = 5,
  BYCC_UINT16 = 6,
  BYCC_UINT32 = 7,
  BYCC_UINT64 = 8,
  BYCC_FLOAT16 = 9,
  BYCC_BFLOAT16 = 10,
  BYCC_FLOAT32 = 11,
  BYCC_FLOAT64 = 12
};

/* Status of every call that can fail; 0 is success. */
enum bycc_status {
  BYCC_OK = 0,
  BYCC_LOAD = 1,
  BYCC_ARG = 2,
  BYCC_LIMIT = 3,
  BYCC_IO = 4,
  BYCC_INTERNAL = 5
};

/* A dense row-major tensor as kernels and vendors see it. `shape` may be null
 * where the compiled code knows every extent. */
typedef struct bycc_array {
  void *data;
  const int64_t *shape;
} bycc_array;

/* A tensor of a library kernel. A result whose extents only the kernel knows has
 * null data: the runtime writes its extents to `shape` and its memory to `data`.
 * `output` is then the index of the module output that it is, or -1. */
typedef struct bycc_operand {
  void *data;
  int64_t *shape; /* rank extents */
  int32_t dtype;  /* bycc_dtype */
  int32_t rank;
  int32_t output;
  int32_t reserved;
} bycc_operand;

/* A call of a library kernel: row `kernel` of bycc/Library/Kernels.def. Attributes are
 * integers, or the bits of doubles, as the row says. */
typedef struct bycc_library_call {
  uint32_t kernel;
  uint32_t num_attributes;
  uint32_t num_inputs;
  uint32_t num_results;
  const int64_t *attributes;
  const bycc_operand *inputs;
  bycc_operand *results;
} bycc_library_call;

/* Where a tensor stands that a node has read or made; `rank` extents follow. */
enum bycc_base {
  BYCC_AT_ADDRESS = 0, /* `offset` is its address */
  BYCC_AT_ARENA = 1,
  BYCC_AT_WEIGHTS = 2,
  BYCC_AT_INPUT = 3, /* `offset` is the index of the input, or output, of the module */
  BYCC_AT_OUTPUT = 4,
  BYCC_AT_VENDOR = 5 /* in a vendor's own memory */
};
typedef struct bycc_place {
  int32_t dtype; /* bycc_dtype */
  int32_t rank;
  int32_t base;   /* bycc_base */
  int32_t output; /* index of the module output that it is, or -1 */
  int64_t offset;
} bycc_place;

struct bycc_exec;

/* One slice [begin, end) of a parallel loop. `thread` < exec->threads indexes
 * the per-thread scratch. */
typedef void (*bycc_task_fn)(void *closure, int64_t begin, int64_t end, int32_t thread);

/* Services of the runtime. Never null. */
typedef struct bycc_exec_api {
  uint32_t size; /* sizeof(bycc_exec_api) */
  /* Splits [0, count) over the pool; slices hold at least `grain` items.
   * Returns when all are done. The split depends on count, grain and the
   * thread count only. */
  void (*parallel_for)(struct bycc_exec *exec, bycc_task_fn task, void *closure, int64_t count,
                       int64_t grain);
  /* 64-byte aligned memory that lives until `release` or the end of the run;
   * null (status LIMIT recorded) when there is none or bytes < 0. */
  void *(*alloc)(struct bycc_exec *exec, int64_t bytes);
  void (*release)(struct bycc_exec *exec, void *memory);
  /* Runs a vendor region; inputs and outputs as in bycc_region_info. */
  int32_t (*call_region)(struct bycc_exec *exec, uint32_t region, const bycc_array *inputs,
                         const bycc_array *outputs);
  /* Records an error and returns `status`, so that code can `return fail(..)`. */
  int32_t (*fail)(struct bycc_exec *exec, int32_t status, const char *message);
  /* Asks for the memory of output `index`, whose extents are `shape`; used for
   * outputs whose type has an unknown dim. Null on failure. */
  void *(*output)(struct bycc_exec *exec, uint32_t index, const int64_t *shape);
  /* Profiling marks; called only while exec->profile is non-null. */
  void (*node_begin)(struct bycc_exec *exec, uint32_t node);
  void (*node_end)(struct bycc_exec *exec, uint32_t node);
  /* Memory of the vendor of `region` for its output `output`, a resident value, until it is
   * released or the run ends; null (status LIMIT recorded) when there is none. `shape` may
   * be null where bycc_port has all extents. */
  void *(*region_alloc)(struct bycc_exec *exec, uint32_t region, uint32_t output,
                        const int64_t *shape);
  void (*region_release)(struct bycc_exec *exec, void *memory);
  /* Runs a library kernel; memory of results that it makes is as from `alloc` or
   * `output`. */
  int32_t (*call_library)(struct bycc_exec *exec, const bycc_library_call *call);
  /* A mark, and the end of everything that `alloc` has given since then. */
  uint64_t (*mark)(struct bycc_exec *exec);
  void (*release_to)(struct bycc_exec *exec, uint64_t mark);
  /* At least `bytes` in place of `memory` of `alloc`, which ends; what it held is
   * lost. Lives as long as `memory` would have. Null as for `alloc`. */
  void *(*grow)(struct bycc_exec *exec, void *memory, int64_t bytes);
  /* As fail, with the values in place of each {} of the message. */
  int32_t (*fail_with)(struct bycc_exec *exec, int32_t status, const char *message,
                       const int64_t *values, uint32_t count);
  /* What a node has read and made, its tensors of floating types only: called after it, only
   * while exec->profile is non-null, and only where `size` says that it is there. `values` are
   * a bycc_place and its extents for each input, then for each output. */
  void (*node_values)(struct bycc_exec *exec, uint32_t node, const int64_t *values,
                      uint32_t num_inputs, uint32_t num_outputs);
  /* 1: the region was loaded. Called only for regions with has_host_code, and only where
   * `size` says that it is there. */
  int32_t (*has_region)(struct bycc_exec *exec, uint32_t region);
} bycc_exec_api;

/* One run. Made by the runtime; compiled code reads it. */
typedef struct bycc_exec {
  const bycc_exec_api *api;
  uint8_t *arena;         /* 64-byte aligned, module->arena_bytes */
  uint8_t *scratch;       /* threads * module->scratch_bytes, 64-byte aligned */
  const uint8_t *weights; /* base of the mapped params file */
  void *const *inputs;    /* one pointer per module input */
  const int64_t *const *input_shapes;
  void *const *outputs; /* null entry, of an output of unknown dims: ask api->output */
  int32_t threads;
  void *profile;
  void *owner; /* the runtime's own */
} bycc_exec;

/* A dim of an input or output: value >= 0, or -1 with its text ("N", "?"). */
typedef struct bycc_dim {
  int64_t value;
  const char *text;
} bycc_dim;

typedef struct bycc_tensor_info {
  const char *name; /* as in the model */
  const char *file; /* file name stem, see cli.md: no '/' */
  int32_t dtype;    /* bycc_dtype */
  int32_t rank;
  const bycc_dim *dims;
} bycc_tensor_info;

/* An input or output of a region. */
typedef struct bycc_port {
  int32_t dtype; /* bycc_dtype */
  int32_t rank;
  const int64_t *dims;  /* -1: known at run time */
  const char *layout;   /* "" = row-major */
  uint64_t is_resident; /* 1: in the vendor's own memory (BYCC_VENDOR_OWN_MEMORY) */
} bycc_port;

/* A vendor region. `blob` is what the vendor's compile half wrote. */
typedef struct bycc_region_info {
  const char *symbol;
  const char *vendor;
  const char *vendor_version; /* of that compile half, and what was behind it; "": nothing */
  const char *vendor_library;
  const uint8_t *blob;
  uint64_t blob_bytes;
  uint32_t num_inputs;
  uint32_t num_outputs;
  const bycc_port *inputs;
  const bycc_port *outputs;
  /* 1: of a vendor with BYCC_VENDOR_OWN_WEIGHTS. What its compile half wrote lies in
   * the params file at `weights_offset`, a multiple of 64; without bytes there is
   * none. */
  int32_t owns_weights;
  int32_t has_host_code; /* 1: the entry asks has_region, and does without it */
  uint64_t weights_offset;
  uint64_t weights_bytes;
} bycc_region_info;

/* What is profiled: a host kernel or a region call, in program order. */
typedef struct bycc_node_info {
  const char *name;   /* kernel or region symbol */
  const char *source; /* names of the model's nodes, comma separated */
  double flops;       /* of a run; 0: none, or extents come at run time */
} bycc_node_info;

typedef struct bycc_module {
  uint32_t magic;
  uint32_t abi_version;
  const char *name;
  const char *compiler_version;
  const char *triple;
  const char *cpu;
  const char *features;  /* "avx2,fma,...": all must be present on the machine */
  uint8_t set_id[16];    /* shared by STEM.o, STEM.json and STEM.params */
  uint64_t params_bytes; /* size of STEM.params, 0 when there is none */
  const uint8_t *params; /* embedded copy of it, or null */
  uint64_t arena_bytes;
  uint64_t scratch_bytes;  /* per thread */
  int32_t default_threads; /* 0: not recorded */
  uint32_t num_inputs;
  uint32_t num_outputs;
  uint32_t num_regions;
  uint32_t num_nodes;
  const bycc_tensor_info *inputs;
  const bycc_tensor_info *outputs;
  const bycc_region_info *regions;
  const bycc_node_info *nodes;
  int32_t (*entry)(bycc_exec *exec);
} bycc_module;

#ifdef __cplusplus
}
#endif
#endif
