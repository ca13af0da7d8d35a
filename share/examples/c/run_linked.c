/* Runs a compiled model that is linked into the program:
 *
 *   bycc share/models/example.onnx -o example.o        # also writes example.h, example.params
 *   cc -Iinclude -I. share/examples/c/run_linked.c example.o -Lbuild/lib -lbycc_runtime -lm -o run_linked
 *   LD_LIBRARY_PATH=build/lib ./run_linked example.params
 */
#include "bycc/runtime.h"
#include "example.h"

#include <stdio.h>

static int failed(const char *what) {
  fprintf(stderr, "%s: %s\n", what, bycc_last_error());
  return 1;
}

int main(int argc, char **argv) {
  static EXAMPLE_INPUT_0_type input[EXAMPLE_INPUT_0_COUNT];
  static EXAMPLE_OUTPUT_0_type output[EXAMPLE_OUTPUT_0_COUNT];
  bycc_load_options options = {sizeof options, 1, 0, argc > 1 ? argv[1] : "example.params",
                               EXAMPLE_SET_ID};
  bycc_model *model = 0;
  bycc_context *context = 0;
  size_t i, best = 0;

  for (i = 0; i < EXAMPLE_INPUT_0_COUNT; ++i)
    input[i] = (float)(i % 7) / 7.0f;
  if (bycc_model_load_linked(&example_bycc_module, &options, &model))
    return failed("load");
  if (bycc_context_create(model, &context))
    return failed("create a context");
  if (bycc_bind_input(context, 0, input, sizeof input, 0) ||
      bycc_bind_output(context, 0, output, sizeof output))
    return failed("bind");
  if (bycc_run(context))
    return failed("run");
  for (i = 1; i < EXAMPLE_OUTPUT_0_COUNT; ++i)
    if (output[i] > output[best])
      best = i;
  printf("largest of %d outputs: %d (%.4f)\n", (int)EXAMPLE_OUTPUT_0_COUNT, (int)best, output[best]);
  bycc_context_destroy(context);
  bycc_model_destroy(model);
  return 0;
}
