// The meaning of every operator as the plain loop that defines it: the oracle of
// the tests and the engine of constant folding. Correct first, slow is fine.
//
// Floats are computed in double and rounded once per operator; integers wrap.
// NaN passes through relu, clip, maximum, minimum, max pooling and max/min
// reductions. Integer division by zero gives 0. A float that is cast to an
// integer is truncated and kept in range, NaN gives 0.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

namespace bycc {

// Row-major elements. The bytes are shared and never change once made.
struct Tensor {
  DType dtype = DType::Float32;
  std::vector<int64_t> shape;
  std::shared_ptr<const uint8_t> bytes;

  // Zeros; `data` gets the address of the bytes to fill in. LIMIT above 16 GiB.
  static Expected<Tensor> make(DType dtype, std::vector<int64_t> shape, uint8_t *&data);
  static Expected<Tensor> fromBytes(DType dtype, std::vector<int64_t> shape, const void *data);
  static Expected<Tensor> fromDoubles(DType dtype, std::vector<int64_t> shape,
                                      std::span<const double> values);
  // Shares the constant's storage.
  static Tensor fromConstant(const Module &module, const Constant &constant);

  int64_t numElements() const;
  int64_t sizeBytes() const { return numElements() * sizeInBytes(dtype); }
  double real(int64_t index) const;     // any dtype as double
  int64_t integer(int64_t index) const; // floats are truncated, uint64 is reinterpreted
};

struct Closure; // a local function and the values it uses

// What a node evaluates to: a tensor, a tuple, or a function.
struct Value {
  using Tuple = std::vector<Value>;
  std::variant<Tensor, std::shared_ptr<const Tuple>, std::shared_ptr<const Closure>> content;

  Value() = default;
  Value(Tensor tensor) : content(std::move(tensor)) {}
  Value(Tuple fields) : content(std::make_shared<const Tuple>(std::move(fields))) {}
  Value(std::shared_ptr<const Closure> closure) : content(std::move(closure)) {}

  bool isTensor() const { return content.index() == 0; }
  bool isTuple() const { return content.index() == 1; }
  const Tensor &tensor() const { return std::get<0>(content); }
  const Tuple &fields() const { return *std::get<1>(content); }
  // Tensors in order, nested tuples opened; functions are left out.
  std::vector<Tensor> flatten() const;
};

// Runs a function of a typed module; a tuple result is flattened. ARG when an
// input does not fit its parameter; UNSUP for an operator without a definition;
// LIMIT when calls nest more than 100 deep; a function that calls itself as its last
// step is a loop and nests nothing.
//
// `observer`, if any, is told of each call inside when it has returned (not of the
// turns of a loop).
using CallObserver =
    std::function<void(FunctionId, std::span<const Value> arguments, const Value &result)>;
Expected<std::vector<Tensor>> evaluate(const Module &module, FunctionId function,
                                       std::span<const Tensor> inputs,
                                       const CallObserver &observer = {});

// One operator call on given operand values.
Expected<Value> evaluateCall(const Module &module, NodeId call, std::span<const Value> operands);

// The same for folding: the tensors of all operands in order (fields of a tuple
// operand one after the other) in, those of the result out.
Expected<std::vector<Constant>> evaluateCall(Module &module, NodeId call,
                                             std::span<const Constant> operands);

// True when the operator has a definition here.
bool hasDefinition(OpId op);

} // namespace bycc
