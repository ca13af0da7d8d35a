// Compile half of the xnnpack vendor: answers for nodes, and writes regions as programs with
// weights in the order that XNNPACK wants. It needs no XNNPACK.
#include "Translate.h"

#include "bycc/Support/Sized.h"

#include <algorithm>
#include <cmath>

extern "C" const char xnnpack_patterns[];

namespace bycc::xnnpack {

namespace {

void tell(bycc_answer *answer, const std::string &reason, std::optional<uint32_t> blamed) {
  if (answer->reason)
    answer->reason(answer, reason.c_str());
  if (answer->blame && blamed)
    answer->blame(answer, *blamed);
}

Expected<std::vector<uint8_t>> blobOf(Translation &translation, const bycc_target &target,
                                      bycc_answer *answer) {
  Program &program = translation.program;
  program.keepsNan = target.nan == BYCC_NAN_KEEP;
  if (program.weightsBytes > 0) {
    void *memory = answer->weights ? answer->weights(answer, program.weightsBytes) : nullptr;
    if (!memory)
      return error(Status::Limit) << "no memory for " << program.weightsBytes
                                  << " bytes of weights";
    auto weights = static_cast<float *>(memory);
    for (const Filling &filling : translation.fillings)
      fill(program, filling, weights + program.values[filling.value].offset / sizeof(float));
    program.hasNanConstant = program.hasNanConstant ||
                             std::any_of(weights, weights + program.weightsBytes / sizeof(float),
                                         [](float each) { return std::isnan(each); });
  }
  return writeProgram(program);
}

// The door for what allocations throw.
template <typename Body> bool answered(bycc_answer *answer, Body body) {
  std::optional<uint32_t> blamed;
  try {
    Expected<> done = body(blamed);
    if (!done)
      tell(answer, done.error().message(), blamed);
    return static_cast<bool>(done);
  } catch (const std::bad_alloc &) {
    tell(answer, "not enough memory", blamed);
    return false;
  }
}

int32_t supportsXnnpack(void *, const bycc_target *, const bycc_region *region,
                        bycc_answer *answer) {
  return answered(answer, [&](std::optional<uint32_t> &blamed) -> Expected<> {
    BYCC_TRY(translate(*region, blamed));
    return {};
  });
}

int32_t compileXnnpack(void *, const bycc_target *target, const bycc_region *region,
                       bycc_answer *answer) {
  bool isDone = answered(answer, [&](std::optional<uint32_t> &blamed) -> Expected<> {
    Translation translation = BYCC_TRY(translate(*region, blamed));
    std::vector<uint8_t> blob = BYCC_TRY(blobOf(translation, *target, answer));
    answer->blob(answer, blob.data(), blob.size());
    return {};
  });
  return isDone ? 0 : 1;
}

} // namespace
} // namespace bycc::xnnpack

extern "C" const bycc_vendor_compiler *bycc_vendor_compiler_xnnpack(void) {
  using namespace bycc::xnnpack;
  static const std::string names = operatorNames();
  static const bycc_vendor_compiler compiler = [] {
    auto table = bycc::sized<bycc_vendor_compiler>();
    table.abi_version = BYCC_VENDOR_ABI_VERSION;
    table.name = "xnnpack";
    table.version = programVersion;
    table.patterns = xnnpack_patterns;
    table.supports = supportsXnnpack;
    table.compile = compileXnnpack;
    table.flags = BYCC_VENDOR_OWN_WEIGHTS | BYCC_VENDOR_LOSES_NAN;
    table.operators = names.c_str();
    return table;
  }();
  return &compiler;
}
