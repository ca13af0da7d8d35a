// The IR as vendors see it: a flat bycc_region (tuples gone, composites with
// their bodies).
#pragma once

#include "bycc/Target/Vendor.h"

#include <functional>

namespace bycc {

class RegionView {
public:
  // Where the run half finds a constant's bytes, from the weights base.
  using OffsetOf = std::function<uint64_t(const Constant &)>;

  // A whole external function. Its body holds operator calls, composites, tuples
  // and projections only.
  static RegionView ofFunction(const Module &module, FunctionId function,
                               const OffsetOf &offsetOf = {});
  // One operator call or composite call.
  static RegionView ofNode(const Module &module, NodeId node);
  // A whole block of the program: operator calls and composite calls are nodes. All
  // else that tensors come from (parameters, outer values, ifs, calls of other
  // functions) gives inputs; what results, ifs and such calls use is an output.
  static RegionView ofBlock(const Module &module, BlockId block);
  // A group that is no function yet, as one node named `name`.
  static RegionView ofGroup(const Module &module, const std::string &name, const Match &match);

  RegionView(RegionView &&) noexcept;
  ~RegionView();
  const bycc_region &region() const;
  NodeId node(uint32_t index) const; // behind region().nodes[index]
  // Fills in bycc_node::implementation.
  void setImplementation(uint32_t index, const std::string &name);
  // Sets BYCC_VALUE_RESIDENT: 1 per input and output that is to be so.
  void setResident(const std::vector<uint8_t> &inputs, const std::vector<uint8_t> &outputs);
  // Fills in bycc_region::tuning.
  void setTuning(std::vector<uint8_t> record);

private:
  struct Impl;
  explicit RegionView(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Asks the vendor about each node of its region again (the same question, so the
// same answer) and fills in the implementation chosen from those it offers.
void chooseImplementations(RegionView &view, const Vendor &vendor, const Module &module,
                           const TargetInfo &target);

// The names that a pattern gave to parts of a match, as the attribute Roles of the
// composite holds them:
//   w=1      input 1 of the composite (tensors, tuples flattened)
//   @conv=0  call 0 of the body, operators and composites counted
//   #c=2.1   a constant: what input 1 of call 2 is
//   %p=2.1   a field of a result: output 1 of call 2
std::vector<std::string> rolesOf(const Module &module, const Match &match);

// The model's name of a node: the ONNX name, else %name or %n of the text, else
// the operator.
std::string nodeName(const Module &module, NodeId node);

} // namespace bycc
