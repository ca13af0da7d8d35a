// Version 4 of the contract between compiled code and runtime, as objects that are compiled
// already have it: a field may be added at the end of bycc_exec_api and bycc_exec, nothing may
// move. Generated code takes its offsets from the header, so only this file has numbers; it is
// checked when it is compiled.
#include "bycc/abi.h"

#include <cstddef>

static_assert(BYCC_ABI_VERSION == 4u);
static_assert(offsetof(bycc_exec, api) == 0 && offsetof(bycc_exec, arena) == 8 &&
              offsetof(bycc_exec, scratch) == 16);
static_assert(offsetof(bycc_exec, weights) == 24 && offsetof(bycc_exec, inputs) == 32);
static_assert(offsetof(bycc_exec, input_shapes) == 40 && offsetof(bycc_exec, outputs) == 48);
static_assert(offsetof(bycc_exec, threads) == 56 && offsetof(bycc_exec, profile) == 64);
static_assert(offsetof(bycc_exec_api, parallel_for) == 8 && offsetof(bycc_exec_api, alloc) == 16);
static_assert(offsetof(bycc_exec_api, release) == 24 && offsetof(bycc_exec_api, call_region) == 32);
static_assert(offsetof(bycc_exec_api, fail) == 40 && offsetof(bycc_exec_api, output) == 48);
static_assert(offsetof(bycc_exec_api, node_begin) == 56 && offsetof(bycc_exec_api, node_end) == 64);
static_assert(offsetof(bycc_exec_api, region_alloc) == 72 &&
              offsetof(bycc_exec_api, region_release) == 80);
static_assert(offsetof(bycc_exec_api, call_library) == 88 && offsetof(bycc_exec_api, mark) == 96);
static_assert(offsetof(bycc_exec_api, release_to) == 104 && offsetof(bycc_exec_api, grow) == 112);
static_assert(offsetof(bycc_exec_api, fail_with) == 120 &&
              offsetof(bycc_exec_api, node_values) == 128);
static_assert(sizeof(bycc_operand) == 32 && sizeof(bycc_library_call) == 40 &&
              sizeof(bycc_place) == 24);
static_assert(sizeof(bycc_dim) == 16 && sizeof(bycc_tensor_info) == 32 &&
              sizeof(bycc_node_info) == 24);
static_assert(sizeof(bycc_region_info) == 96 && sizeof(bycc_port) == 32 &&
              sizeof(bycc_module) == 160);
