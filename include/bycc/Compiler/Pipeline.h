// The passes that exist and the lists that run by default.
#pragma once

#include "bycc/Compiler/Extensions.h"
#include "bycc/Transforms/Pipeline.h"

namespace bycc {

// Rows of Transforms and Partition.
void registerAllPasses(PassRegistry &registry);

// What the vendors and options of a compilation add to the default list.
struct PipelineWishes {
  bool hasVendors = false;      // vendor passes take the vendors from the context
  bool hasOrders = false;       // about single nodes
  bool isWrittenByHand = false; // the program says things about vendors itself,
  bool isAnnotated = false;     // and about nodes, not whole functions only
  bool hasPlan = false;         // that says where all of them go
  bool isMixed = false;         // products in bfloat16
  const std::vector<Extensions::Pass> *own = nullptr; // of the library's user
};

// Does a pass of the list choose a plan? Then composites wait for it.
bool choosesPlan(const Pipeline &pipeline);

// What -OLEVEL runs.
Pipeline defaultPipeline(const PassRegistry &registry, int level, const PipelineWishes &wishes);

} // namespace bycc
