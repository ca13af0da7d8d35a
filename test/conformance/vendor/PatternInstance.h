// Programs that a pattern matches.
#pragma once

#include "Harness.h"

#include "bycc/Pattern/Pattern.h"

namespace bycc::conformance {

// Walks the ways to give the pattern's leaves shapes from a small list (data,
// weights and biases of the usual operators) such that all types fit.
class PatternInstances {
public:
  // Where the pattern has a list of operators, the program has the one of this number, from
  // the start again where a list is shorter; a path+ is one operator.
  PatternInstances(const Pattern &pattern, std::span<const Pattern> all, size_t variant)
      : pattern_(pattern), all_(all), variant_(variant) {}
  // So many give each list's operators with those of the others, as far as sizes have no factor in
  // common.
  static size_t numVariants(const Pattern &pattern);
  // def @main(leaves) { pattern }; the leaves after the first are constants when
  // `constants` is set. Nothing when there is no further way.
  std::optional<Module> next(bool constants);

private:
  class Attempt;
  bool advance(size_t leaf); // to the next shape of this leaf, and the first of later ones
  const Pattern &pattern_;
  std::span<const Pattern> all_;
  size_t variant_;
  std::vector<size_t> choice_; // shape of each leaf met so far
  bool isFirst_ = true;
};

} // namespace bycc::conformance
