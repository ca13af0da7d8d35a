// See OddCalls.h.
#include "OddCalls.h"

#include "bycc/IR/Builder.h"

#include <array>
#include <cmath>

namespace bycc::conformance {

namespace {

constexpr int numVariants = 4; // of attribute values

const std::vector<std::vector<Dim>> &shapes() {
  constexpr int64_t huge = int64_t{1} << 62;
  static const std::vector<std::vector<Dim>> list = {{},
                                                     {0},
                                                     {1},
                                                     {3, 0, 2},
                                                     {2, 2},
                                                     {1, 4, 4, 4},
                                                     {1, 1, 1, 1, 2, 2},
                                                     {huge},
                                                     {huge, huge},
                                                     {Dim::unknown(), 2},
                                                     {2, 2, 2},
                                                     {1, 2, 2, 2, 2},
                                                     {huge, 0},
                                                     {1 << 20, 1 << 20}};
  return list;
}

AttrValue list(std::initializer_list<int64_t> values) {
  return AttrValue::ints(std::span(values.begin(), values.size()));
}

// Values of an attribute from usual to odd.
AttrValue valueOf(const AttrSpec &spec, int variant) {
  constexpr int64_t big = int64_t{1} << 40;
  switch (spec.type) {
  case AttrType::Bool:
    return AttrValue(variant % 2 == 1);
  case AttrType::Int:
    return AttrValue(std::array<int64_t, 4>{1, 0, -1, big}[variant]);
  case AttrType::Float:
    return AttrValue(std::array<double, 4>{0.5, -1e300, NAN, INFINITY}[variant]);
  case AttrType::String:
    return AttrValue(std::array<const char *, 4>{"NCHW", "", "NHWC", "NCHW4c"}[variant]);
  case AttrType::Ints:
    return std::array<AttrValue, 4>{list({1, 1}), list({}), list({-1}), list({big, 0})}[variant];
  case AttrType::Floats:
    return AttrValue(AttrValue::List{AttrValue(1.0)});
  case AttrType::DTypeName:
    return AttrValue(std::array<const char *, 4>{"float32", "int8", "bool", "float16"}[variant]);
  default:
    return std::array<AttrValue, 4>{AttrValue(1), list({1}), AttrValue(), list({})}[variant];
  }
}

// Variant 0 leaves out what need not be written.
AttrDict attrsOf(const OpInfo &info, int variant) {
  AttrDict attrs;
  for (const AttrSpec &spec : info.attrs)
    if (spec.isRequired || variant > 0)
      attrs.push_back({spec.name, valueOf(spec, variant)});
  return attrs;
}

// Every dtype with some shapes, some dtypes with every shape.
bool isAsked(size_t shape, DType dtype) {
  return dtype == DType::Float32 || shape == 4 || shape == 5 ||
         shape % numDTypes == static_cast<size_t>(dtype);
}

// A parameter, or a constant of ones where that is small.
NodeId makeOperand(Subject &subject, TypeId type, bool isConstant) {
  Module &module = subject.module;
  auto bytes = module.types.sizeBytes(type);
  if (!isConstant || !bytes || *bytes > 4096)
    return subject.param(type);
  std::vector<uint8_t> data(static_cast<size_t>(*bytes), 1);
  return module.addConstant(module.types.dtype(type), module.types.shape(type), data.data(),
                            data.size());
}

} // namespace

std::optional<NodeId> OddCall::addTo(Subject &subject) const {
  Module &module = subject.module;
  TypeId type = module.types.tensor(dtype, shapes()[shape]);
  const OpInfo &info = opInfo(op);
  std::vector<NodeId> operands;
  for (size_t i = 0; i < info.inputs.size(); ++i)
    operands.push_back(makeOperand(subject, type, i > 0 && variant == 2));
  Builder builder(module, module.function(subject.function).body);
  Expected<NodeId> call = builder.call(op, operands, attrsOf(info, variant));
  if (!call && operands.size() == 1) {
    NodeId pair = builder.tuple(std::vector<NodeId>{operands[0], operands[0]});
    call = builder.call(op, {pair}, attrsOf(info, variant));
  }
  return call ? std::optional(*call) : std::nullopt;
}

bool OddCall::isSmall(int64_t maxElements) const {
  int64_t product = 1;
  for (Dim dim : shapes()[shape]) {
    if (!dim.isConst() || dim.value() > maxElements)
      return false;
    product *= dim.value();
  }
  return product <= maxElements;
}

std::string OddCall::str() const {
  TypeTable types;
  return std::string(opInfo(op).name) + " of " + types.str(types.tensor(dtype, shapes()[shape])) +
         ", variant " + std::to_string(variant);
}

std::vector<OddCall> oddCalls() {
  std::vector<OddCall> calls;
  for (uint32_t op = 0; op < numOps(); ++op)
    for (size_t shape = 0; shape < shapes().size(); ++shape)
      for (int dtype = 0; dtype < numDTypes; ++dtype)
        if (isAsked(shape, static_cast<DType>(dtype)))
          for (int variant = 0; variant < numVariants; ++variant)
            calls.push_back({OpId(op), shape, static_cast<DType>(dtype), variant});
  return calls;
}

} // namespace bycc::conformance
