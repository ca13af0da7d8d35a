// Compiles the module of a case to host code in process, loads and runs it.
#pragma once

#include "Cases.h"

#include "bycc/CodeGen/CodeGen.h"
#include "bycc/CodeGen/HostTarget.h"
#include "bycc/Runtime/ObjectLoader.h"
#include "bycc/runtime.h"

#include <functional>

namespace bycc::numeric {

struct Built {
  runtime::LoadedObject object;
  std::string params;
};
Expected<Built> build(Module &module, const TargetInfo &target);

// A loaded model and its context, with two threads and the case's inputs bound.
struct Loaded {
  bycc_model *model = nullptr;
  bycc_context *context = nullptr;
  Loaded(const Case &each, const Built &built, bool constants);
  ~Loaded();
};

// Checks the results against those of the case.
using Difference = std::function<std::string(const Tensor &actual, const Tensor &expected)>;
void run(const Case &each, const Built &built, bool constants,
         const Difference &compare = difference);

} // namespace bycc::numeric
