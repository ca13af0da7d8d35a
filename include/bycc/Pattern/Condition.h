// Conditions on a call, as files write them: under an operator in `ops` and in the
// `where` of a pattern. The members are described in patterns/README.md.
#pragma once

#include "bycc/Pattern/Predicates.h"
#include "bycc/Support/Error.h"
#include "bycc/Support/Json.h"

#include <utility>
#include <vector>

namespace bycc {

// One value that a call takes or makes.
struct ValueCondition {
  TypeTest type;
  std::optional<bool> isConstant;
  std::vector<OpId> madeBy; // operators; not empty: the value is a result of one
  std::optional<int64_t> minElements, maxElements;
  std::optional<ValueTest> value; // of a constant
};

// All parts must hold.
struct Condition {
  std::vector<DType> dtypes; // of every tensor argument; empty: any
  std::vector<AttrTest> attrs;
  std::vector<uint32_t> constArgs;                          // arguments that must be constants
  std::vector<std::pair<uint32_t, ValueCondition>> args;    // by position
  std::vector<std::pair<uint32_t, ValueCondition>> results; // tensors of the result, flattened
  std::vector<uint32_t> equalShapes;                        // arguments of one shape
  bool needsStaticShape = false;                            // of every argument and the result
  std::vector<Condition> anyOf;                             // not empty: one holds

  // Does an answer depend on what made an argument?
  bool looksAtMakers() const;
  // Does every way to meet it say which layouts the argument may have?
  bool namesLayout(uint32_t argument) const;
};

WhyNot whyNot(const Condition &condition, const Module &module, NodeId call);

// `object` holds the members of a condition for calls of `op` (invalid: of any
// operator), and perhaps `others`.
Expected<Condition> readCondition(const JsonValue &object, OpId op, const std::string &pointer,
                                  const std::string &file,
                                  const std::vector<std::string> &others = {});

} // namespace bycc
