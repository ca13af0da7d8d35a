// The operator cases of this folder: one JSON file per operator with inputs,
// attributes and expected results that bycc did not compute. Each backend has a
// program that runs them all (EvalNumeric.cpp is the one of Eval).
#pragma once

#include "bycc/Eval/Eval.h"

#include <optional>
#include <string>
#include <vector>

namespace bycc::numeric {

struct Case {
  std::string name; // "nn.conv2d[3]"
  OpId op;
  AttrDict attrs;
  std::vector<Value> inputs;     // a tuple operand is a tuple value
  std::vector<Tensor> outputs;   // flattened
  std::string error;             // a part of the message, "" when the case succeeds
  Status status = Status::Input; // of the error
};

// All cases of the folder, in the order of the file names.
std::vector<Case> loadCases(const std::string &folder);

// What the types of parameters say about extents: the number; a symbol that equal
// extents share; or nothing. The last two keep the numbers of integer vectors, whose
// length may be the rank of a result.
enum class Extents { Known, Symbolic, Unknown };

// def @main(inputs) { op(inputs, attrs) } with the inputs' types as parameters;
// numbers, integer inputs of rank 1 and scales of quantised operators are constants when
// `constants` is set, every dim is `?` when `isDynamic` is.
Expected<Module> makeModule(const Case &each, bool constants, Extents extents);

// The call alone, its parameters added to `function`.
Expected<NodeId> addCall(Module &module, FunctionId function, const Case &each, bool constants,
                         Extents extents);

// The case with bfloat16 wherever it says float, its results those of Eval; nullopt
// when it has no floats or its operator takes float32 only.
std::optional<Case> inBFloat16(const Case &given);

// The inputs that these made parameters of.
std::vector<Tensor> parameters(const Case &each, bool constants);

// "" when equal within the dtype's tolerance, else where they differ.
std::string difference(const Tensor &actual, const Tensor &expected);

} // namespace bycc::numeric
