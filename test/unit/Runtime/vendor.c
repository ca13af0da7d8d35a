/* The run half of a vendor that multiplies four floats by the factor in its blob. In a
 * run it first cuts the file that $FAKE_CUTS names; with $FAKE_READS it adds what is
 * at its weights + 128 then. */
#include "bycc/vendor.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct region {
  int factor;
  const uint8_t *weights;
};
struct state {
  uint64_t runs;
};

static int32_t load(const bycc_vendor_context *context, const bycc_region_load *info, void **region,
                    char *error, size_t error_size) {
  (void)context;
  if (info->blob_bytes != 1) {
    snprintf(error, error_size, "blob of %d bytes", (int)info->blob_bytes);
    return BYCC_LOAD;
  }
  /* A blob of 3: of a vendor with weights of its own. */
  if (info->blob[0] == 3 &&
      (info->weights_bytes ? *(const float *)info->weights != 2 : info->weights != 0)) {
    snprintf(error, error_size, "%d bytes of other weights", (int)info->weights_bytes);
    return BYCC_LOAD;
  }
  struct region *made = malloc(sizeof *made);
  made->factor = info->blob[0] == 3 ? 2 : info->blob[0];
  made->weights = info->weights;
  *region = made;
  return BYCC_OK;
}
static void unload(const bycc_vendor_context *context, void *region) {
  (void)context, free(region);
}
static uint64_t state_bytes(const bycc_vendor_context *context, void *region) {
  return (void)context, (void)region, sizeof(struct state);
}
static int32_t init_state(const bycc_vendor_context *context, void *region, void *state,
                          int32_t threads) {
  (void)context, (void)region, (void)threads;
  return ((struct state *)state)->runs == 0 ? BYCC_OK : BYCC_INTERNAL;
}
static void drop_state(const bycc_vendor_context *context, void *region, void *state) {
  (void)context, (void)region, (void)state;
}
static int32_t run(const bycc_vendor_context *context, void *region, void *state,
                   const bycc_region_run *run, char *error, size_t error_size) {
  (void)context;
  const float *in = run->inputs[0].data;
  float *out = run->outputs[0].data;
  if (run->step_ns)
    run->step_ns[0] += 7;
  ++((struct state *)state)->runs;
  const char *cuts = getenv("FAKE_CUTS");
  if (cuts && truncate(cuts, 0) != 0)
    return BYCC_INTERNAL;
  if (getenv("FAKE_READS"))
    out[0] += ((struct region *)region)->weights[128];
  for (int i = 0; i < 4; ++i)
    out[i] = in[i] * ((struct region *)region)->factor;
  if (in[0] > 1e30f) {
    snprintf(error, error_size, "primitive failed");
    return BYCC_INTERNAL;
  }
  return BYCC_OK;
}
static uint32_t num_steps(const bycc_vendor_context *context, void *region) {
  return (void)context, (void)region, 1;
}
static const bycc_step_info *step(const bycc_vendor_context *context, void *region,
                                  uint32_t index) {
  static const bycc_step_info info = {sizeof info, "multiply", "loop", "sum", 0};
  return (void)context, (void)region, (void)index, &info;
}
const bycc_vendor_runtime *bycc_vendor_runtime_entry(void) {
  static const bycc_vendor_runtime runtime = {.abi_version = BYCC_VENDOR_ABI_VERSION,
                                              .size = sizeof runtime,
                                              .name = "fake",
                                              .version = "1",
                                              .load = load,
                                              .unload = unload,
                                              .state_bytes = state_bytes,
                                              .init_state = init_state,
                                              .drop_state = drop_state,
                                              .run = run,
                                              .num_steps = num_steps,
                                              .step = step};
  return &runtime;
}
