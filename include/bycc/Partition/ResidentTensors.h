// Which tensors at calls of regions never leave a vendor's own memory: made by a
// region, read by regions of the same vendor and by nothing else. The rule is that
// of CodeGen (ResidentValues), asked of a partitioned module, for reports and for what
// vendors are told when they compile a region.
#pragma once

#include "bycc/Partition/AnnotatedRegions.h"

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace bycc {

class ResidentTensors {
public:
  // `vendors`: those with a memory of their own.
  ResidentTensors(const Module &module, std::set<std::string> vendors);
  bool isResident(const TensorRef &tensor) const { return makers_.contains(tensor); }
  // Per input and output of a region 1 when it is resident; empty: none is.
  struct Flags {
    std::vector<uint8_t> inputs, outputs;
  };
  Flags flagsOf(FunctionId region) const;

private:
  struct RegionCall {
    FunctionId region;
    std::vector<TensorRef> inputs, outputs;
  };
  void findLoops();
  void walk(BlockId block, bool mayRepeat);
  void noteCall(NodeId call, FunctionId region, bool mayRepeat);
  void use(NodeId value, const std::string *vendor);
  bool dropDisagreeing();
  bool agree(std::vector<uint8_t> &flags, const std::vector<TensorRef> &tensors);
  const std::string *
  vendorOf(FunctionId function) const;    // of a region; null: no region of these vendors
  FunctionId calleeOf(NodeId call) const; // a global function, or none

  const Module &module_;
  const std::set<std::string> vendors_;
  std::unordered_set<uint32_t> loops_; // functions that may run again and again
  std::unordered_map<TensorRef, const std::string *>
      makers_; // may be resident so far: their vendor
  std::unordered_map<TensorRef, const std::string *> readers_; // null: others than that vendor
  std::vector<RegionCall> calls_;
};

} // namespace bycc
