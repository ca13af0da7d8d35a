// Which calls of a function compute in bfloat16: the choice with the least
// estimated time, found as a minimum cut.
//
//   each call that may convert is a node;     its side of the cut is its dtype
//   what it saves in bfloat16                 an edge from the source (bfloat16)
//   a tensor whose maker and readers differ   one conversion, however many readers
//   inputs, results, calls that never convert stand with the sink (float32)
//
// So conversions come to lie on the cheapest edges (the smallest tensors, before a
// value is copied or widened, behind one that is narrowed), and a product whose
// conversions cost more than it saves stays float32.
//
// An operator that rounds (Follow) converts only where some of its data is bfloat16
// anyway; one that moves elements where its data is, or where it feeds what is.
// Where all of it saves a small part of the function's time only (least_gain), nothing
// converts: rounding is not for free.
// State of loops stays float32: its rounding errors would add up without bound.
// A value that comes from a finite constant beyond bfloat16's range (masks of
// attention) is not converted while it runs: it would become infinite.
#pragma once

#include "ProductTimes.h"
#include "bycc/IR/Module.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Transforms/PrecisionRules.h"

#include <string>
#include <vector>

namespace bycc {

class MinimumCut;

class PrecisionChoice {
public:
  PrecisionChoice(const Module &module, FunctionId function, const PrecisionRules &rules,
                  const ProductTimes &times, const Users &users);

  bool isConverted(NodeId call) const { return varOf(call) != none && isChosen_[varOf(call)]; }
  // A local function that calls itself.
  bool isLoop(NodeId function) const {
    return function.index < isLoop_.size() && isLoop_[function.index];
  }
  // A float product that is not converted, and why.
  struct Stay {
    NodeId call;
    std::string reason;
  };
  std::vector<Stay> stays() const;
  // Converted calls of the class.
  size_t numConverted(PrecisionClass cls) const;

private:
  static constexpr uint32_t none = UINT32_MAX;
  struct Var {
    NodeId call;
    PrecisionClass cls;
    double saved = 0;       // microseconds
    bool isDemoted = false; // kept from converting by what other calls do
  };
  // A float32 tensor that calls read.
  struct Value {
    NodeId node;
    std::vector<uint32_t> readers;                    // vars
    bool isReadAsFloat = false, isReadAsHalf = false; // by what does not change
  };
  enum class Maker : uint8_t { Var, Float, Half, Constant };

  uint32_t varOf(NodeId node) const {
    return node.index < varOf_.size() ? varOf_[node.index] : none;
  }
  uint32_t makerVar(NodeId value) const; // that makes the value, a field of a split as well
  bool isFloat32(NodeId node) const;
  double elements(TypeId type) const;
  std::vector<NodeId> floatOperands(NodeId call) const; // fields of tuples one by one
  Maker maker(NodeId value) const;

  void findLoops(FunctionId function);
  void collect(BlockId block, bool isClosed, bool isLoop);
  bool mayConvert(NodeId node, bool isLoop) const;
  bool hasFloatData(NodeId call) const;
  bool isSplit(NodeId node) const;
  std::string whyNever(NodeId node) const;
  double savedBy(NodeId call, PrecisionClass cls) const;
  double floatTraffic(NodeId call) const; // microseconds
  bool isBeyondRange(NodeId node);
  void markBeyondRange(NodeId node);

  void readAll();
  void read(NodeId value, uint32_t var);
  void readAsFloat(NodeId value);
  Value &valueOf(NodeId node);

  double narrowing(NodeId value) const { return conversion(value, 4); }
  double widening(NodeId value) const { return conversion(value, 8); }
  double conversion(NodeId value, int bytes) const;
  void choose();
  void solve();
  void addReaders(MinimumCut &cut, const Value &value) const;
  bool demote();
  double gain() const;      // of the choice, microseconds
  double floatTime() const; // of the function
  void dropSmallGain();
  std::string reasonOf(const Var &var) const;

  const Module &module_;
  const PrecisionRules &rules_;
  const Users &users_;
  const ProductTimes &times_;
  FunctionId function_;
  bool isWholeLoop_ = false;
  std::vector<uint8_t> isLoop_; // by node: local functions that call themselves
  std::vector<Var> vars_;
  std::vector<uint32_t> varOf_, valueOf_; // by node
  std::vector<Value> values_;
  std::vector<NodeId> nodes_;     // of all blocks, in order
  std::vector<uint8_t> isBeyond_; // by node: 0 not known, 1 no, 2 yes
  std::vector<uint8_t> isChosen_; // by var
  std::vector<Stay> others_;      // products that cannot convert
  std::string dropped_;           // why nothing converts although something would gain
};

} // namespace bycc
