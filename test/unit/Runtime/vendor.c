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

static int32_t load(const bycc_region_info *info, const uint8_t *weights, uint64_t weights_bytes,
                    int32_t threads, void **region, char *error, size_t error_size) {
  (void)threads;
  if (info->blob_bytes != 1) {
    snprintf(error, error_size, "blob of %d bytes", (int)info->blob_bytes);
    return BYCC_LOAD;
  }
  if (info->owns_weights &&
      (weights_bytes != info->weights_bytes || (weights_bytes ? *(const float *)weights != 2 : weights != 0))) {
    snprintf(error, error_size, "%d bytes of other weights", (int)weights_bytes);
    return BYCC_LOAD;
  }
  struct region *made = malloc(sizeof *made);
  made->factor = info->blob[0];
  made->weights = weights;
  *region = made;
  return BYCC_OK;
}
static void unload(void *region) { free(region); }
static uint64_t state_bytes(void *region) { return (void)region, sizeof(struct state); }
static int32_t init_state(void *region, void *state, int32_t threads) {
  (void)region, (void)threads;
  return ((struct state *)state)->runs == 0 ? BYCC_OK : BYCC_INTERNAL;
}
static void drop_state(void *region, void *state) { (void)region, (void)state; }
static int32_t run(void *region, void *state, const bycc_array *inputs, const bycc_array *outputs,
                   int32_t threads, char *error, size_t error_size) {
  (void)threads;
  const float *in = inputs[0].data;
  float *out = outputs[0].data;
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
static uint32_t num_steps(void *region) { return (void)region, 1; }
static const bycc_step_info *step(void *region, uint32_t index) {
  static const bycc_step_info info = {"multiply", "loop", "sum"};
  return (void)region, (void)index, &info;
}
static int32_t run_profiled(void *region, void *state, const bycc_array *inputs,
                            const bycc_array *outputs, int32_t threads, uint64_t *ns, char *error,
                            size_t error_size) {
  ns[0] += 7;
  return run(region, state, inputs, outputs, threads, error, error_size);
}

const bycc_vendor_runtime *bycc_vendor_runtime_entry(void) {
  static const bycc_vendor_runtime runtime = {
      BYCC_VENDOR_ABI_VERSION, sizeof(bycc_vendor_runtime), "fake", load, unload, state_bytes,
      init_state, drop_state, run, num_steps, step, run_profiled};
  return &runtime;
}
