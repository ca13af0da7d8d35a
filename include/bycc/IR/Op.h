// The operator table: what Ops.def says about each operator, parsed once. Rows
// are read by the parser, the printer, type inference, fusion and the cost
// model; none of these names an operator.
#pragma once

#include "bycc/IR/Attributes.h"
#include "bycc/IR/Ids.h"
#include "bycc/Support/Error.h"

#include <bitset>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

class Module;
class InferContext;
struct Padding; // bycc/Support/Layout.h

// Fusion kinds of relay-ops.md, in this order.
enum class OpKind : uint8_t { Elementwise, Broadcast, Injective, Reduction, OutFusable, Opaque };

// Properties of operators, as Ops.def spells them: "commutative".
enum class OpTrait : uint8_t {
  Annotation,  // an order or a hint: the result is the operand, and it stays where it stands
  Arithmetic,  // one number of two of the same type
  Bracket,     // begins or ends a region that was written by hand
  Commutative, // the operands may change places
  Costly,      // some ten instructions an element: not to be computed more often than needed
  Device,      // says where a value is to be; there is one host, so the result is the operand
  Dynamic,     // an operand says what is an attribute of its static twin
  Idempotent,  // twice is once
  Involution,  // twice is not at all
  Movement,    // each element of the result is one of operand 0: moved, or chosen as by max
  Norm,        // scales what it reads by sums over it, and writes each result once
  Saturating,  // of a huge negative number it makes an ordinary one
  View,        // the elements of operand 0 in their order, under another shape
};
inline constexpr size_t numOpTraits = size_t{1} + static_cast<size_t>(OpTrait::View);

enum class AttrType : uint8_t { Bool, Int, Float, String, Ints, Floats, DTypeName, Any };

struct AttrSpec {
  std::string name;
  AttrType type;
  bool isRequired;        // `name!`: must be written
  bool isNullable;        // None is legal
  AttrValue defaultValue; // None when required or nullable without default
};

struct OpInfo {
  std::string_view name;           // "nn.conv2d"
  std::vector<std::string> inputs; // names; a tuple input counts once
  uint32_t minInputs = 0;          // trailing inputs may be optional ("x?")
  bool isVariadic = false;         // last input repeats ("xs...")
  std::vector<AttrSpec> attrs;     // in table order
  Expected<TypeId> (*inferType)(InferContext &context) = nullptr;
  OpKind kind = OpKind::Opaque;
  // FLOPs of a call: 2 per multiply-add, 1 per other arithmetic result, 0 for
  // data movement.
  double (*flops)(const Module &module, NodeId call) = nullptr;
  std::bitset<numOpTraits> traits;

  bool has(OpTrait trait) const { return traits[static_cast<size_t>(trait)]; }
  // A loop over the result that reads each operand at the same place, broadcast.
  bool isMap() const { return kind <= OpKind::Broadcast; }
  const AttrSpec *findAttr(std::string_view name) const;
};

const OpInfo &opInfo(OpId op);
// Invalid when there is no such operator.
OpId findOp(std::string_view name);
uint32_t numOps();
// Is the node a call of an operator with the trait?
bool isCallWith(const Module &module, NodeId node, OpTrait trait);
std::string_view name(OpTrait trait);
std::vector<std::string> allOpNames(); // sorted

namespace ops {
// One constant per operator: ops::nn_conv2d, ops::add, ...
#define BYCC_OP(id, name, inputs, attrs, rule, kind, flops, ...) id##_index,
enum Index : uint32_t {
#include "bycc/IR/Ops.def"
};
#undef BYCC_OP
#define BYCC_OP(id, name, inputs, attrs, rule, kind, flops, ...)                                   \
  inline constexpr OpId id{id##_index};
#include "bycc/IR/Ops.def"
#undef BYCC_OP
} // namespace ops

// Attributes of an operator call, defaults filled in. checkAttrs has checked the
// kinds; a wrong kind asserts.
namespace attrs {
bool isNone(const Module &module, NodeId call, std::string_view key);
bool boolean(const Module &module, NodeId call, std::string_view key);
int64_t integer(const Module &module, NodeId call, std::string_view key);
double number(const Module &module, NodeId call, std::string_view key);
std::string_view text(const Module &module, NodeId call, std::string_view key);
// One int counts as a list of one, None as a list of none.
std::vector<int64_t> integers(const Module &module, NodeId call, std::string_view key);
// [[a, b], ..]
std::vector<std::pair<int64_t, int64_t>> pairs(const Module &module, NodeId call,
                                               std::string_view key);
// Of an axis that type inference has checked: counted from the front of `rank` axes.
size_t axis(const Module &module, NodeId call, std::string_view key, size_t rank);
// The attribute `padding`, which type inference has checked.
Padding padding(const Module &module, NodeId call, size_t rank);
// A single value is that of all `rank` axes; of an attribute, none are ones.
std::vector<int64_t> perAxis(std::vector<int64_t> values, size_t rank);
std::vector<int64_t> perAxis(const Module &module, NodeId call, std::string_view key, size_t rank);
} // namespace attrs

// What a type rule sees: the call's operand types and attributes (defaults
// filled in), and the value of constant operands.
class InferContext {
public:
  InferContext(Module &module, NodeId call) : module_(module), call_(call) {}
  Module &module() { return module_; }
  NodeId call() const { return call_; }
  size_t numInputs() const;
  TypeId input(size_t index) const;
  NodeId inputNode(size_t index) const;

  // Attribute accessors; the parser has checked kinds, a wrong kind asserts.
  bool boolean(std::string_view key) const;
  int64_t integer(std::string_view key) const;
  double number(std::string_view key) const;
  std::string_view text(std::string_view key) const;
  std::vector<int64_t> integers(std::string_view key) const; // one int counts as a list of one
  bool isNone(std::string_view key) const;

  // An INPUT error at the call: "nn.conv2d: " is put in front.
  ErrorBuilder error() const;
  ErrorBuilder error(Status status) const;

private:
  Module &module_;
  NodeId call_;
};

} // namespace bycc
