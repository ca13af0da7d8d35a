// What a run half in C has that keeps nothing for a context, and one block of malloc() for a region.
#pragma once

#include "bycc/vendor.h"

#include <stdlib.h>

static void unload(const bycc_vendor_context *context, void *region) { free(region); }
static uint64_t state_bytes(const bycc_vendor_context *context, void *region) { return 0; }
static int32_t init_state(const bycc_vendor_context *context, void *region, void *state,
                          int32_t threads) {
  return 0;
}
static void drop_state(const bycc_vendor_context *context, void *region, void *state) {}
