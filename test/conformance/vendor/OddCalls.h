// The zoo: calls of every operator with scalars, empty tensors, extents beyond any
// memory, unknown extents, every dtype and odd attributes; what type inference lets
// through is something a vendor may be asked.
#pragma once

#include "Harness.h"

namespace bycc::conformance {

struct OddCall {
  OpId op;
  size_t shape; // in the list of shapes
  DType dtype;
  int variant; // of attribute values: 0 leaves out what need not be written

  // The call with operands of one type; nothing when inference refuses it.
  std::optional<NodeId> addTo(Subject &subject) const;
  bool isSmall(int64_t maxElements) const; // all extents known, no more elements
  std::string str() const;
};

std::vector<OddCall> oddCalls();

} // namespace bycc::conformance
