// What running something costs, in microseconds, as files say it. A region costs
// its launch, its operators, and the tensors that cross its border; an operator
// the larger of its arithmetic and its memory traffic.
#pragma once

#include "bycc/IR/Ids.h"

#include <unordered_map>

namespace bycc {

struct CostRates {
  double flopsPerMicrosecond = 0; // 0: arithmetic is free
  double bytesPerMicrosecond = 0; // 0: traffic is free
};

struct CostModel {
  double launchMicroseconds = 0;           // per region call; on the host per operator
  double transferMicroseconds = 0;         // per tensor across a region's border
  double transferBytesPerMicrosecond = 0;  // 0: size does not matter
  CostRates rates;
  std::unordered_map<uint32_t, CostRates> byOp; // by OpId index, instead of `rates`

  const CostRates &ratesOf(OpId op) const {
    auto found = byOp.find(op.index);
    return found == byOp.end() ? rates : found->second;
  }
};

} // namespace bycc
