// From operators to stages: a fused group of the program becomes one kernel.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Loops/Compute.h"
#include "bycc/Support/Error.h"
#include "bycc/Target/TargetInfo.h"

#include <map>

namespace bycc::loops {

// The program around a group, as far as lowering asks about it. Extents and
// elements are expressions of the program.
class Surroundings {
public:
  virtual ~Surroundings() = default;
  virtual Exprs &exprs() = 0;
  // Null when the node's value is not a constant.
  virtual const Constant *constantOf(NodeId node) = 0;
  virtual Expected<std::vector<Ref>> extentsOf(NodeId node, uint32_t field) = 0;
  virtual const TargetInfo &target() = 0;
  // What the element of a tensor holds at run time.
  virtual Expected<Ref> elementOf(NodeId node, int64_t element) = 0;
  // A symbolic dim of a type; nullopt when its symbols are not known here.
  virtual std::optional<Ref> extentOf(Dim dim) = 0;
  // The expression as a dim of its own, evaluated at this place. An extent fails
  // the run with `what` when it is negative or too large.
  virtual Ref define(Ref expression, const std::string &what) = 0;
};

// What must hold before the kernel runs, as an expression of the kernel.
struct Requirement {
  Ref condition = noRef;
  std::string message; // each {} stands for a value
  std::vector<Ref> values;
};

// What a kernel reads and writes, in terms of the program around it.
struct GroupInput {
  NodeId node;    // parameter or outer node
  uint32_t field; // of its flattened type
  uint32_t buffer;
};
struct Group {
  Kernel kernel;
  std::vector<GroupInput> inputs;
  std::vector<uint32_t> outputs; // buffers, flattened result; an input's buffer when passed through
  std::vector<Ref> dims;         // what the kernel's dims stand for, as expressions of the program
  std::vector<Requirement> requirements;
};

// A sum of products of extents, without a minus: it is not negative.
bool isSumOfExtents(const Exprs &exprs, Ref ref);

// Goes between the extents of the program and those of a group's kernel.
class GroupDims {
public:
  GroupDims(Surroundings &around, Group &group) : around(around), group(group) {}
  Surroundings &around;
  Group &group;
  // Sums and products are taken over; anything else becomes a dim of the kernel.
  Ref fromProgram(Ref ref);
  Ref toProgram(Ref ref) const;
  Ref define(Ref value) { return fromProgram(around.define(toProgram(value), "")); }
  // An extent that is no sum of products becomes a dim.
  Ref settle(Ref extent, const std::string &what);

private:
  std::map<Ref, Ref> known_; // program -> kernel
};
// The expression of a kernel with `dims` for its dims, in another arena.
Ref translate(const Exprs &kernel, Ref ref, const std::vector<Ref> &dims, Exprs &into);

// A Primitive function's body (params given by `function`), or a single call.
Expected<Group> lowerFunction(const Module &module, FunctionId function, Surroundings &around);
Expected<Group> lowerCall(const Module &module, NodeId call, Surroundings &around);

// Whether the operator can be in a group.
bool hasLowering(OpId op);

} // namespace bycc::loops
