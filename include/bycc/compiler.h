/* libbycc in C: compile a model. To run what comes of it: bycc/runtime.h.
 *
 *   bycc_request *request = 0;
 *   bycc_compiled *compiled = 0;
 *   if (bycc_request_create(&request) ||
 *       bycc_request_model_file(request, "net.onnx") ||
 *       bycc_request_set(request, "annotate=dnnl") ||
 *       bycc_compile(request, &compiled) ||
 *       bycc_compiled_write(compiled, "net"))
 *     fprintf(stderr, "%s", bycc_compiler_error());
 *   bycc_compiled_destroy(compiled);
 *   bycc_request_destroy(request);
 *
 * Functions that can fail return 0 or a status; bycc_compiler_error() then holds the text
 * for the calling thread. Handles are opaque; null where one is wanted is BYCC_ARG, and
 * destroying null does nothing. Texts are UTF-8 and end with NUL. Structs that the library
 * fills grow at the end: set `size`, it fills that much.
 *
 * Ownership. A request may be changed and compiled again, and be destroyed before what was
 * made of it. Pointers that are handed out live as long as the handle that they are of;
 * those of a bycc_message, for the call.
 *
 * Threads. bycc_compile() may run in any number of threads at the same time, also with one
 * request that nobody changes meanwhile; callbacks are then called in each of them. Functions
 * that read a bycc_compiled may run at the same time. All others want their handle alone.
 *
 * What a compilation does to its process, and what it cannot keep from it, is told in
 * bycc/Compiler.h. It prints nothing.
 */
#ifndef BYCC_COMPILER_H
#define BYCC_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BYCC_COMPILER_API_VERSION 1u

/* Of functions here, and of errors in messages. Numbers that bycc_status (bycc/abi.h) has
 * mean the same. */
enum bycc_compiler_status {
  BYCC_COMPILER_OK = 0,
  BYCC_COMPILER_LOAD = 1,       /* a plugin */
  BYCC_COMPILER_ARG = 2,        /* a name inside the model; a null pointer */
  BYCC_COMPILER_LIMIT = 3,      /* memory, sizes */
  BYCC_COMPILER_IO = 4,         /* a file */
  BYCC_COMPILER_INTERNAL = 5,   /* a fault of bycc */
  BYCC_COMPILER_INPUT = 6,      /* the model is wrong */
  BYCC_COMPILER_UNSUP = 7,      /* something in the model is not supported */
  BYCC_COMPILER_CODEGEN = 8,    /* no code can be made */
  BYCC_COMPILER_USAGE = 9,      /* an option or its value */
  BYCC_COMPILER_POLICY = 10,    /* strict */
  BYCC_COMPILER_CANCELLED = 11, /* the progress callback said so */
  BYCC_COMPILER_DIFFERS = 12
};
const char *bycc_compiler_status_name(int32_t status); /* "OK", "INPUT", ... */

const char *bycc_compiler_version(void);  /* "0.1.0" */
uint32_t bycc_compiler_api_version(void); /* BYCC_COMPILER_API_VERSION of the library */
const char *bycc_compiler_error(void);    /* of the last failure in this thread */

/* --- what is asked for */

typedef struct bycc_request bycc_request;
int32_t bycc_request_create(bycc_request **request);
void bycc_request_destroy(bycc_request *request);

/* The model: a file, or bytes in memory under a name, whose suffix says what they are. */
int32_t bycc_request_model_file(bycc_request *request, const char *path);
int32_t bycc_request_model_bytes(bycc_request *request, const char *name, const void *data,
                                 size_t bytes);

/* A file in memory. Paths in options are looked for here before they are looked for on the
 * disk: external data of a model without a folder as NAME, weights of params=PATH as
 * PATH/NAME.npy. The bytes are copied, unless there is `release`: then they stay where they
 * are, and it is called with `user` when they are no longer read, on any thread; also when
 * this function fails. */
typedef void (*bycc_release_fn)(void *user);
int32_t bycc_request_add_file(bycc_request *request, const char *name, const void *data,
                              size_t bytes, bycc_release_fn release, void *user);

/* An option of the command line by its name: "annotate=dnnl", "O=3", "embed-weights"; dashes
 * may stand before it. Options that add up there do so here, of others the last one counts.
 * "emit=obj,relay" says what is made, "obj" without it. */
int32_t bycc_request_set(bycc_request *request, const char *option);
/* Several, as a command line has them: {"--annotate", "dnnl", "-O3", "--pin=conv*=host"}.
 * All or none are set. */
int32_t bycc_request_set_arguments(bycc_request *request, size_t count,
                                   const char *const *arguments);

/* STEM of the files STEM.o, STEM.json, ..., without a folder, as the graph JSON names them;
 * the model's name without its suffix if it is not set. */
int32_t bycc_request_stem(bycc_request *request, const char *stem);
/* A folder in which vendor plugins are looked for. */
int32_t bycc_request_plugin_folder(bycc_request *request, const char *folder);
/* The placement is to be saved: bycc_compiled_get(.., "plan", ..). */
int32_t bycc_request_save_plan(bycc_request *request);

/* Callbacks run on the thread of bycc_compile() and must return: no exceptions, no longjmp. */
enum bycc_severity {
  BYCC_SEVERITY_ERROR = 0,
  BYCC_SEVERITY_WARNING = 1,
  BYCC_SEVERITY_REMARK = 2,
  BYCC_SEVERITY_NOTE = 3 /* of the message before */
};
typedef struct bycc_message {
  uint32_t size;
  int32_t severity;
  int32_t status;   /* of errors */
  const char *file; /* ""; or where it is: */
  uint32_t line;    /* from 1; 0: not known */
  uint32_t column;  /* in bytes, from 1; 0: not known */
  const char *node; /* of the model; "" */
  const char *op;   /* of the node; "" */
  const char *text; /* without the place */
} bycc_message;
typedef void (*bycc_message_fn)(void *user, const bycc_message *message);
/* Warnings and remarks as they come, then, if it fails, the errors. */
int32_t bycc_request_on_message(bycc_request *request, bycc_message_fn message, void *user);

/* What options such as print-after ask to be printed. */
typedef void (*bycc_print_fn)(void *user, const char *text, size_t bytes);
int32_t bycc_request_on_print(bycc_request *request, bycc_print_fn print, void *user);

enum bycc_phase {
  BYCC_PHASE_START = 0,
  BYCC_PHASE_VENDORS = 1,
  BYCC_PHASE_LOAD = 2,
  BYCC_PHASE_PASSES = 3,
  BYCC_PHASE_REGIONS = 4,
  BYCC_PHASE_HOST_CODE = 5,
  BYCC_PHASE_FINISH = 6
};
/* At each item of each phase, `index` of `count` (0: not known), and ten times a second while
 * vendors compile. Not 0 ends the compilation with CANCELLED. */
typedef int32_t (*bycc_progress_fn)(void *user, int32_t phase, const char *item, size_t index,
                                    size_t count);
int32_t bycc_request_on_progress(bycc_request *request, bycc_progress_fn progress, void *user);

/* --- what comes of it */

typedef struct bycc_compiled bycc_compiled;
int32_t bycc_compile(const bycc_request *request, bycc_compiled **compiled);
void bycc_compiled_destroy(bycc_compiled *compiled);

/* Prefix of the object's symbols. */
const char *bycc_compiled_name(const bycc_compiled *compiled);

/* A result in memory. `what` is a form of emit ("obj", "header", "asm", "llvm", "loops", "relay",
 * "json", "dot"), which has no bytes when it was not asked for, or
 *   "graph"    the graph JSON that goes with the object
 *   "report"   where each node is and why, as JSON (--dump-offloads)
 *   "explain"  the same as text
 *   "plan"     the placement (bycc_request_save_plan)
 *   "tuning"   the new content of the file of tune=F
 *   "trace"    times, as a Chrome trace
 * Texts end with a NUL that `bytes` does not count. */
int32_t bycc_compiled_get(const bycc_compiled *compiled, const char *what, const void **data,
                          size_t *bytes);

/* The weights: STEM.params is these pieces, one after the other; none: without weights, or
 * they are embedded. They are not copied, but parts of the model. */
typedef struct bycc_piece {
  const void *data;
  size_t bytes;
} bycc_piece;
size_t bycc_compiled_num_params(const bycc_compiled *compiled);
int32_t bycc_compiled_params(const bycc_compiled *compiled, size_t index, bycc_piece *piece);

/* Writes what was made to STEM.o, .json, .h, .params (and .s, .ll, .opt.relay, .opt.json,
 * .dot), all at once or nothing. `stem` may have a folder; its last part must be the one of
 * the request, which the graph JSON holds. Meanwhile SIGINT and SIGTERM remove what is
 * half written before they do what they did. */
int32_t bycc_compiled_write(const bycc_compiled *compiled, const char *stem);

/* --- which options there are */

enum bycc_option_form {
  BYCC_OPTION_FLAG = 0,
  BYCC_OPTION_VALUE = 1,
  BYCC_OPTION_OPTIONAL = 2 /* a value may stand after '=' */
};
typedef struct bycc_option {
  uint32_t size;
  int32_t form;
  int32_t repeats;   /* 1: adds up */
  const char *names; /* "annotate"; several: "v|verbose" */
  const char *value; /* "FILE"; "keep|fast": these */
  const char *help;  /* one line */
  const char *group;
} bycc_option;
size_t bycc_option_count(void);
int32_t bycc_option_get(size_t index, bycc_option *option);

#ifdef __cplusplus
}
#endif
#endif
