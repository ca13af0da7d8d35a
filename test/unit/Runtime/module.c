/* A compiled model as bycc would write it, by hand:
 *
 *   scaled[N,4]   = a[N,4] * w[4] + b[N]    (memory asked for with api->output)
 *   sums[4]       = exp of the column sums of a
 *   positive[?]   = the elements of a above 0
 *
 * a[0][0] selects faults: -1000 fails with ARG, -2000 allocates -1 bytes, -3000 reads
 * w once more at the end. With
 * the region variants, sums go through region 0 of the vendor "fake", which
 * doubles them. OWN_WEIGHTS: where the region's own weights lie. */
#include "bycc/abi.h"

#include <math.h>
#include <string.h>

struct scale {
  const float *a, *b, *w;
  float *out;
  float *scratch;
};

static void scale_rows(void *closure, int64_t begin, int64_t end, int32_t thread) {
  struct scale *s = closure;
  float *row = s->scratch + 16 * thread;
  for (int64_t i = begin; i < end; ++i) {
    for (int j = 0; j < 4; ++j)
      row[j] = s->a[4 * i + j] * s->w[j] + s->b[i];
    memcpy(s->out + 4 * i, row, 16);
  }
}

static int32_t run(bycc_exec *exec) {
  const float *a = exec->inputs[0], *b = exec->inputs[1];
  int64_t n = exec->input_shapes[0][0], count = 0;
  if (n > 0 && a[0] == -1000)
    return exec->api->fail(exec, BYCC_ARG, "gather: index 7 is out of range of extent 4");
  if (n > 0 && a[0] == -2000 && !exec->api->alloc(exec, -1))
    return BYCC_LIMIT;
  if (exec->profile)
    exec->api->node_begin(exec, 0);
  int64_t shape[2] = {n, 4};
  struct scale s = {a, b, (const float *)(exec->weights + 128), exec->api->output(exec, 0, shape),
                    (float *)exec->scratch};
  if (!s.out)
    return BYCC_INTERNAL;
  exec->api->parallel_for(exec, scale_rows, &s, n, 1);
  if (exec->profile)
    exec->api->node_end(exec, 0);

  float *sums = (float *)exec->arena, *spare = exec->api->alloc(exec, 4 * n + 4);
  if (!spare)
    return BYCC_LIMIT;
  for (int j = 0; j < 4; ++j) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += a[4 * i + j];
    sums[j] = expf(sum);
  }
  exec->api->release(exec, spare);
#ifdef VARIANT_REGION
  if (exec->profile)
    exec->api->node_begin(exec, 1);
  bycc_array in = {sums, 0}, out = {exec->outputs[1], 0};
  int32_t status = exec->api->call_region(exec, 0, &in, &out);
  if (status)
    return status;
  if (exec->profile)
    exec->api->node_end(exec, 1);
#else
  memcpy(exec->outputs[1], sums, 16);
#endif

  if (n > 0 && a[0] == -3000)
    memcpy(exec->outputs[1], s.w, 16);
  for (int64_t i = 0; i < 4 * n; ++i)
    count += a[i] > 0;
  float *positive = exec->api->output(exec, 2, &count);
  if (!positive)
    return BYCC_INTERNAL;
  for (int64_t i = 0; i < 4 * n; ++i)
    if (a[i] > 0)
      *positive++ = a[i];
  return BYCC_OK;
}

static const bycc_dim rows_by_4[] = {{-1, "N"}, {4, 0}}, rows[] = {{-1, "N"}}, four[] = {{4, 0}},
                      any[] = {{-1, "?"}};
static const bycc_tensor_info inputs[] = {{"in/a", "in_a", BYCC_FLOAT32, 2, rows_by_4},
                                          {"b", "b", BYCC_FLOAT32, 1, rows}};
static const bycc_tensor_info outputs[] = {{"scaled", "scaled", BYCC_FLOAT32, 2, rows_by_4},
                                           {"sums", "sums", BYCC_FLOAT32, 1, four},
                                           {"positive", "positive", BYCC_FLOAT32, 1, any}};
static const bycc_node_info nodes[] = {{"probe_scale", "mul,add", 8}, {"probe_fake_0", "sum", 4}};
#ifdef VARIANT_REGION
static const int64_t four_dims[] = {4};
static const bycc_port port[] = {{BYCC_FLOAT32, 1, four_dims, "", 0}};
#ifdef OWN_WEIGHTS
static const uint8_t blob[] = {3};
static const bycc_region_info regions[] = {
    {"probe_fake_0", "fake", "1", "", blob, 1, 1, 1, port, port, 1, 0, OWN_WEIGHTS}};
#else
static const uint8_t blob[] = {2};
static const bycc_region_info regions[] = {
    {"probe_fake_0", "fake", "1", "", blob, 1, 1, 1, port, port, 0, 0, 0, 0}};
#endif
#define NUM_REGIONS 1
#else
#define regions 0
#define NUM_REGIONS 0
#endif

const bycc_module probe_bycc_module = {
    BYCC_MODULE_MAGIC,
    BYCC_ABI_VERSION,
    "probe",
    "test",
    "x86_64-linux-gnu",
    "x86-64",
    "sse2,cmov",
    {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, /* set_id */
    248,                                                     /* params_bytes: see TestModel.cpp */
    0,
    64,
    64,
    2, /* params, arena, scratch, threads */
    2,
    3,
    NUM_REGIONS,
    2,
    inputs,
    outputs,
    regions,
    nodes,
    run};
