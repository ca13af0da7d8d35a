/* Compiles a model and runs it, from C:
 *
 *   cc -Iinclude share/examples/c/compile_and_run.c -Lbuild/lib -lbycc -lbycc_runtime -o run
 *   LD_LIBRARY_PATH=build/lib ./run share/models/example.onnx annotate=dnnl
 */
#include "bycc/compiler.h"
#include "bycc/runtime.h"

#include <stdio.h>
#include <stdlib.h>

static void show(void *user, const bycc_message *message) {
  static const char *const severities[] = {"error", "warning", "remark", "note"};
  (void)user;
  fprintf(stderr, "%s:%u:%u: %s: %s\n", message->file, (unsigned)message->line,
          (unsigned)message->column, severities[message->severity], message->text);
}

/* MODEL and options as on the command line; writes example.o, .json, .h and .params. */
static int compile(int argc, char **argv) {
  bycc_request *request = 0;
  bycc_compiled *compiled = 0;
  const void *explained = 0;
  size_t bytes = 0;
  int failed =
      bycc_request_create(&request) || bycc_request_model_file(request, argv[1]) ||
      bycc_request_stem(request, "example") ||
      bycc_request_set_arguments(request, (size_t)argc - 2, (const char *const *)argv + 2) ||
      bycc_request_on_message(request, show, 0) || bycc_compile(request, &compiled) ||
      bycc_compiled_get(compiled, "explain", &explained, &bytes) ||
      bycc_compiled_write(compiled, "example");
  if (failed)
    fprintf(stderr, "%s", bycc_compiler_error());
  else
    printf("%s", (const char *)explained);
  bycc_compiled_destroy(compiled);
  bycc_request_destroy(request);
  return failed;
}

/* Inputs of zeros; says what the outputs are. */
static int run(void) {
  bycc_model *model = 0;
  bycc_context *context = 0;
  const bycc_module *module;
  uint32_t i;
  int failed = bycc_model_load("example.json", 0, &model) || bycc_context_create(model, &context);
  module = failed ? 0 : bycc_model_module(model);
  for (i = 0; !failed && i < module->num_inputs; ++i) {
    const bycc_tensor_info *info = &module->inputs[i];
    size_t count = 1;
    int32_t axis;
    for (axis = 0; axis < info->rank; ++axis)
      count *= (size_t)info->dims[axis].value; /* of this example all are known */
    failed = bycc_bind_input(context, i, calloc(count, 8), count * 8, 0); /* no element is larger */
  }
  failed = failed || bycc_run(context);
  for (i = 0; !failed && i < module->num_outputs; ++i) {
    const void *data = 0;
    const int64_t *shape = 0;
    size_t bytes = 0;
    failed = bycc_get_output(context, i, &data, &shape, &bytes);
    if (!failed)
      printf("output '%s': %lu bytes\n", module->outputs[i].name, (unsigned long)bytes);
  }
  if (failed)
    fprintf(stderr, "%s\n", bycc_last_error());
  bycc_context_destroy(context);
  bycc_model_destroy(model);
  return failed;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: compile_and_run MODEL [OPTION...]\n");
    return 2;
  }
  return compile(argc, argv) || run();
}
