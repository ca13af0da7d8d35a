// The operators of an offload report as a graph: who reads what of whom. Calls, branches,
// tuples and the borders of regions are looked through, so an edge joins the operator that
// makes a tensor with one that uses it. Row i is report.nodes[i].
#pragma once

#include "bycc/Partition/OffloadReport.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bycc {

struct OperatorInput {
  enum class Kind : uint8_t { Operator, Input, Constant, Unknown };
  Kind kind = Kind::Unknown;
  uint32_t index = 0; // row, or number of the model's input
  uint32_t type = 0;
  bool operator==(const OperatorInput &) const = default;
};

struct OperatorGraph {
  struct Type {
    std::string text;   // "Tensor[(1, 64), float32]"
    int64_t bytes = -1; // -1: known at run time only
    bool operator==(const Type &) const = default;
  };
  struct Row {
    uint32_t type = 0;                 // of the result
    std::string attributes;            // "strides=[2, 2], groups=4"
    std::string symbol;                // of what runs it in the object; "" when not known
    std::vector<OperatorInput> inputs; // tensors, tuples opened, in order
    bool operator==(const Row &) const = default;
  };
  std::vector<Type> types;
  std::vector<Row> rows;
  std::vector<std::vector<OperatorInput>> outputs; // by output of the model
};

OperatorGraph makeOperatorGraph(const Module &module, const OffloadReport &report);

} // namespace bycc
