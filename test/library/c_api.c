/* The C interface, from C: a model in memory is compiled, written, and run by the runtime; what
 * is wrong is said by status, text and message. */
#include "bycc/compiler.h"
#include "bycc/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void check(int holds, const char *what, int line) {
  if (holds)
    return;
  failures += 1;
  fprintf(stderr, "line %d: %s\n  last error: %s\n", line, what, bycc_compiler_error());
}
#define CHECK(condition) check((condition) != 0, #condition, __LINE__)

static const char model[] = "#[version = \"0.0.5\"]\n"
                            "def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) "
                            "-> Tensor[(2, 4), float32] {\n"
                            "  %0 = nn.dense(%x, %w, units=4);\n"
                            "  nn.relu(%0)\n"
                            "}\n";
static const float weights[4][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {-1, -1, -1}};
static const float input[2][3] = {{1, 2, 3}, {-1, 0, 5}};
static const float expected[2][4] = {{1, 2, 3, 0}, {0, 0, 5, 0}};

struct seen {
  int messages, errors, notes, steps, stop_at_phase, released;
  int32_t status;
  uint32_t line, column;
  char file[64], text[512];
};

static void on_message(void *user, const bycc_message *message) {
  struct seen *seen = user;
  seen->messages += 1;
  seen->notes += message->severity == BYCC_SEVERITY_NOTE;
  if (message->severity != BYCC_SEVERITY_ERROR)
    return;
  seen->errors += 1;
  seen->status = message->status;
  seen->line = message->line;
  seen->column = message->column;
  snprintf(seen->file, sizeof seen->file, "%s", message->file);
  snprintf(seen->text, sizeof seen->text, "%s", message->text);
}

static int32_t on_progress(void *user, int32_t phase, const char *item, size_t index,
                           size_t count) {
  struct seen *seen = user;
  seen->steps += item && (count == 0 || index <= count);
  return phase == seen->stop_at_phase;
}

static void on_release(void *user) { ((struct seen *)user)->released += 1; }

static bycc_request *request_of(const char *text, struct seen *seen) {
  bycc_request *request = 0;
  CHECK(bycc_request_create(&request) == 0);
  CHECK(bycc_request_model_bytes(request, "net.relay", text, strlen(text)) == 0);
  CHECK(bycc_request_on_message(request, on_message, seen) == 0);
  CHECK(bycc_request_on_progress(request, on_progress, seen) == 0);
  return request;
}

/* The .npy file of `weights`. */
static size_t npy(unsigned char *file) {
  char header[128];
  memset(header, ' ', sizeof header);
  memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
  snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }");
  header[strlen(header)] = ' ';
  header[117] = '\n';
  memcpy(file + 10, header, 118);
  memcpy(file + 128, weights, sizeof weights);
  return 128 + sizeof weights;
}

static void run(const char *json) {
  bycc_model *loaded = 0;
  bycc_context *context = 0;
  const void *data = 0;
  const int64_t *shape = 0;
  size_t bytes = 0;
  CHECK(bycc_model_load(json, 0, &loaded) == 0);
  CHECK(bycc_context_create(loaded, &context) == 0);
  CHECK(bycc_bind_input(context, 0, input, sizeof input, 0) == 0);
  CHECK(bycc_run(context) == 0);
  CHECK(bycc_get_output(context, 0, &data, &shape, &bytes) == 0);
  CHECK(bytes == sizeof expected && data && memcmp(data, expected, bytes) == 0);
  bycc_context_destroy(context);
  bycc_model_destroy(loaded);
}

static int has(const bycc_compiled *compiled, const char *what, const char *part) {
  const void *data = 0;
  size_t bytes = 0;
  if (bycc_compiled_get(compiled, what, &data, &bytes) || bytes == 0)
    return 0;
  return !part || strstr(data, part) != 0;
}

static void compiles_and_runs(const char *folder) {
  struct seen seen = {.stop_at_phase = -1};
  bycc_request *request = request_of(model, &seen);
  bycc_compiled *compiled = 0;
  static unsigned char file[128 + sizeof weights];
  const char *arguments[] = {"--annotate", "dnnl", "-O2", "--cost-model=none"};
  char path[512];
  size_t i, bytes = npy(file), params = 0;
  bycc_piece piece;

  CHECK(bycc_request_add_file(request, "weights/w.npy", file, bytes, on_release, &seen) == 0);
  CHECK(bycc_request_set(request, "params=weights") == 0);
  CHECK(bycc_request_set(request, "emit=obj,relay") == 0);
  CHECK(bycc_request_set_arguments(request, 4, arguments) == 0);
  CHECK(bycc_request_stem(request, "dense") == 0);
  CHECK(bycc_request_save_plan(request) == 0);
  CHECK(bycc_compile(request, &compiled) == 0);
  bycc_request_destroy(request);
  if (!compiled)
    return;
  CHECK(seen.errors == 0 && seen.steps > 0);
  CHECK(strcmp(bycc_compiled_name(compiled), "dense") == 0);
  CHECK(has(compiled, "obj", 0));
  CHECK(has(compiled, "graph", "\"dense.params\""));
  CHECK(has(compiled, "header", "DENSE_SET_ID"));
  CHECK(has(compiled, "relay", "def @main"));
  CHECK(has(compiled, "report", "\"dense_dnnl_0\""));
  CHECK(has(compiled, "explain", "dnnl"));
  CHECK(has(compiled, "plan", "dnnl"));
  CHECK(!has(compiled, "dot", 0));
  CHECK(bycc_compiled_get(compiled, "objj", 0, 0) == BYCC_COMPILER_ARG);
  {
    const void *data = 0;
    CHECK(bycc_compiled_get(compiled, "headr", &data, &bytes) == BYCC_COMPILER_USAGE);
    CHECK(strstr(bycc_compiler_error(), "did you mean 'header'?") != 0);
  }
  for (i = 0; i < bycc_compiled_num_params(compiled); ++i) {
    CHECK(bycc_compiled_params(compiled, i, &piece) == 0);
    params += piece.bytes;
  }
  CHECK(params > sizeof weights);
  CHECK(bycc_compiled_params(compiled, i, &piece) == BYCC_COMPILER_ARG);

  snprintf(path, sizeof path, "%s/other", folder);
  CHECK(bycc_compiled_write(compiled, path) == BYCC_COMPILER_ARG);
  snprintf(path, sizeof path, "%s/nosuch/dense", folder);
  CHECK(bycc_compiled_write(compiled, path) == BYCC_COMPILER_IO);
  snprintf(path, sizeof path, "%s/dense", folder);
  CHECK(bycc_compiled_write(compiled, path) == 0);
  bycc_compiled_destroy(compiled);
  CHECK(seen.released == 1);
  snprintf(path, sizeof path, "%s/dense.json", folder);
  run(path);
}

static void says_what_is_wrong(void) {
  struct seen seen = {.stop_at_phase = -1};
  bycc_compiled *compiled = 0;
  bycc_request *request =
      request_of("#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n"
                 "  nn.softmax(%x, axiss=1)\n}\n",
                 &seen);
  CHECK(bycc_request_set(request, "anotate=dnnl") == BYCC_COMPILER_USAGE);
  CHECK(strstr(bycc_compiler_error(), "did you mean '--annotate'?") != 0);
  CHECK(bycc_request_set(request, "explain") == BYCC_COMPILER_USAGE);
  CHECK(bycc_request_set(request, "nan=perhaps") == BYCC_COMPILER_USAGE);
  CHECK(bycc_request_set(request, 0) == BYCC_COMPILER_ARG);
  CHECK(bycc_request_stem(request, "a/b") == BYCC_COMPILER_ARG);
  CHECK(bycc_compile(request, &compiled) == BYCC_COMPILER_INPUT);
  CHECK(!compiled);
  CHECK(seen.errors == 1 && seen.notes == 0 && seen.status == BYCC_COMPILER_INPUT);
  CHECK(seen.line == 3 && seen.column == 3 && strcmp(seen.file, "net.relay") == 0);
  CHECK(strcmp(seen.text, "nn.softmax: unknown attribute axiss, did you mean axis") == 0);
  CHECK(strstr(bycc_compiler_error(), "net.relay:3:3: error[INPUT]: nn.softmax") != 0);
  CHECK(bycc_request_model_file(request, "nosuch.onnx") == 0);
  CHECK(bycc_compile(request, &compiled) == BYCC_COMPILER_IO);
  bycc_request_destroy(request);

  request = request_of(model, &seen);
  CHECK(bycc_request_set(request, "likely=nosuch=4") == 0);
  CHECK(bycc_compile(request, &compiled) == BYCC_COMPILER_ARG);
  CHECK(seen.notes == 1);
  bycc_request_destroy(request);
}

static void stops(void) {
  struct seen seen = {.stop_at_phase = BYCC_PHASE_HOST_CODE};
  bycc_compiled *compiled = 0;
  bycc_request *request = request_of(model, &seen);
  CHECK(bycc_compile(request, &compiled) == BYCC_COMPILER_CANCELLED);
  CHECK(!compiled && seen.steps > 0);
  bycc_request_destroy(request);
}

static void lists_options(void) {
  bycc_option option = {.size = sizeof option};
  size_t i, found = 0;
  for (i = 0; i < bycc_option_count(); ++i) {
    CHECK(bycc_option_get(i, &option) == 0);
    found += strcmp(option.names, "pin") == 0 && option.repeats &&
             option.form == BYCC_OPTION_VALUE && strcmp(option.value, "NODE=VENDOR|host") == 0 &&
             strlen(option.help) > 0;
  }
  CHECK(found == 1);
  CHECK(bycc_option_get(i, &option) == BYCC_COMPILER_ARG);
  option.size = 0;
  CHECK(bycc_option_get(0, &option) == BYCC_COMPILER_ARG);
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  CHECK(bycc_compiler_api_version() == BYCC_COMPILER_API_VERSION);
  CHECK(strlen(bycc_compiler_version()) > 0);
  CHECK(strcmp(bycc_compiler_status_name(BYCC_COMPILER_CANCELLED), "CANCELLED") == 0);
  CHECK(bycc_compile(0, 0) == BYCC_COMPILER_ARG);
  bycc_request_destroy(0);
  bycc_compiled_destroy(0);
  compiles_and_runs(argv[1]);
  says_what_is_wrong();
  stops();
  lists_options();
  if (failures)
    fprintf(stderr, "%d checks failed\n", failures);
  return failures != 0;
}
