// Classes of calls: what `class` of a cost row says, "depthwise" or "axis=-1, rows<8".
// Its parts are classes that a file defines by a condition, built-in ones, and
// comparisons of attributes and of measures; the table of those that are built in is in
// CostClass.cpp, patterns/README.md describes them.
#pragma once

#include "bycc/Pattern/Condition.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

// Conditions by the name that a file gives them.
using FileClasses = std::map<std::string, std::shared_ptr<const Condition>>;

class CostClass {
public:
  // For calls of `op`, of any operator when that is invalid. An INPUT error without a
  // place when the text cannot be read, a name is unknown, or `op` has no such part.
  static Expected<CostClass> parse(std::string_view text, OpId op, const FileClasses &fileClasses);
  // That a file may give the name to a class of its own.
  static Expected<> checkName(std::string_view name);

  size_t size() const { return parts_.size(); }
  // The part "fused": of host code that runs in one loop with what makes or reads its tensors.
  // That is no matter of a call alone: CostModel asks for it apart.
  bool isFused() const { return isFused_; }
  // Do all other parts hold for an operator call?
  bool holds(const Module &module, NodeId call) const;
  // Is each part of `other` met by calls that meet some part of this? As seen from the parts:
  // "filters<5" implies "filters<8", and conditions of files imply themselves alone.
  bool implies(const CostClass &other) const;

private:
  // One of `condition`, `isIn` and `measure`, or none: then `test` is of an attribute.
  struct Part {
    std::shared_ptr<const Condition> condition;
    bool (*isIn)(const Module &module, NodeId call) = nullptr;
    std::optional<double> (*measure)(const Module &module, NodeId call) = nullptr;
    AttrTest test;
  };
  static Expected<Part> parsePart(AttrTest test, OpId op, const FileClasses &fileClasses);
  static bool holds(const Part &part, const Module &module, NodeId call);
  static bool implies(const Part &part, const Part &other);

  std::vector<Part> parts_; // none: every call
  bool isFused_ = false;
};

// The class `depthwise`: a convolution with a group for each channel of its data, of several.
bool isDepthwise(const Module &module, NodeId call);

// The first tensor of a type, of a tuple's fields; invalid when there is none.
TypeId firstTensor(const Module &module, TypeId type);

} // namespace bycc
