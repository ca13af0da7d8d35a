// From nodes of a program to the pattern that matches them, and what is like them: the way
// from an example to an entry of a vendor's file. Kept are operators, how they are put
// together, attributes that say what is computed (axes, transposes, layouts), and values of
// constants of one element; shapes, names, windows and epsilons are free.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Pattern/Pattern.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bycc {

struct DerivedPattern {
  std::string name; // "vendor.what"
  std::string root;
  std::vector<std::pair<std::string, std::string>> let;    // values that several nodes read
  std::vector<std::string> params;                         // operands, as they are met
  std::vector<std::pair<std::string, std::string>> dtypes; // operators and what they take
  NodeId rootNode;
  std::vector<NodeId> nodes; // calls, tuples and projections, by id

  Expected<Pattern> parse() const;
  std::string json() const; // an entry of `patterns`, one line for each member
};

// Nodes of the block on ways from one of `from` to one of `to`, these included.
std::vector<NodeId> nodesBetween(const Module &module, BlockId block, std::span<const NodeId> from,
                                 std::span<const NodeId> to);

// Of calls of the block. `name` empty: made of the operators. An ARG error when the calls
// are no group: when a node that is not among them lies between two that are, or when
// several are read from outside.
Expected<DerivedPattern> derivePattern(const Module &module, BlockId block,
                                       std::span<const NodeId> calls, std::string_view vendor,
                                       std::string_view name = "");

} // namespace bycc
