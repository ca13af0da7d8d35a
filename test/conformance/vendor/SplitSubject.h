// A region as two, one after the other.
#pragma once

#include "Harness.h"

namespace bycc::conformance {

// Where a tensor comes from.
struct TensorSource {
  enum Kind : uint8_t { Input, First, Second } kind; // of the whole; an output of one of the two
  size_t index;
};

struct SplitSubject {
  Subject first, second;
  std::vector<TensorSource> firstInputs, secondInputs, results; // results: of the whole
  std::vector<uint8_t> onlyPasses; // per output of the first: only the second reads it
};

// The first `numFirst` calls and the others; nothing when the second reads nothing of the
// first, or a call does not let itself be made again.
std::optional<SplitSubject> splitSubject(const Subject &whole, size_t numFirst);
size_t numCalls(const Subject &subject);

} // namespace bycc::conformance
