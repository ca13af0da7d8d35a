// Of the kit (vendor.hpp): a region as a program.
#pragma once

#include "bycc/vendor_region.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace bycc::vendor {

// --- a region as a program
//
// Relay text that bycc reads, composites opened: for logs, and to run what a region computes
// elsewhere. Large constants, and all of float16 and bfloat16, become parameters.

namespace detail {

class RelayPrinter {
public:
  explicit RelayPrinter(Region region) : flat_(region), names_(flat_.values.size()) {}

  std::string print() {
    std::string parameters, body, results;
    uint32_t numParameters = 0;
    auto parameter = [&](uint32_t value) {
      names_[value] = text("%p", numParameters++);
      parameters +=
          text(parameters.empty() ? "" : ", ", names_[value], ": ", type(flat_.values[value]));
    };
    for (uint32_t value : flat_.inputs)
      if (names_[value].empty())
        parameter(value);
    for (const Flat::Call &call : flat_.calls)
      for (uint32_t value : call.inputs)
        if (names_[value].empty() && flat_.values[value].isConstant() && !literal(value))
          parameter(value);
    for (const Flat::Call &call : flat_.calls)
      body += line(call);
    for (uint32_t value : flat_.outputs)
      results += text(results.empty() ? "" : ", ", nameOf(value));
    if (flat_.outputs.size() != 1)
      results = text("(", results, ")");
    return text("#[version = \"0.0.5\"]\ndef @main(", parameters, ") {\n", body, "  ", results,
                "\n}\n");
  }

private:
  static constexpr uint64_t maxLiteral = 64;

  static std::string type(Value value) {
    std::string dims = text(value.dims());
    return text("Tensor[", dims, ", ", dtypeName(value.dtype()), value.layout().empty() ? "" : ", ",
                value.layout(), "]");
  }

  // Sets the name to the constant itself, if it is short.
  bool literal(uint32_t id) {
    Value value = flat_.values[id];
    if (value.elements() > maxLiteral || value.dtype() == BYCC_FLOAT16 ||
        value.dtype() == BYCC_BFLOAT16 || !value.layout().empty())
      return false;
    std::string items;
    for (uint64_t i = 0; i < value.elements(); ++i)
      items += text(i ? ", " : "", element(value, i));
    names_[id] = text(type(value), "[", items, "]");
    return true;
  }
  template <typename T> static std::string number(const void *data, uint64_t index) {
    T item;
    std::memcpy(&item, static_cast<const char *>(data) + index * sizeof(T), sizeof(T));
    return text(item);
  }
  static std::string element(Value value, uint64_t i) {
    const void *data = value.raw().data;
    switch (value.dtype()) {
    case BYCC_BOOL:
      return static_cast<const uint8_t *>(data)[i] ? "true" : "false";
    case BYCC_INT8:
      return text(int{static_cast<const int8_t *>(data)[i]});
    case BYCC_UINT8:
      return text(int{static_cast<const uint8_t *>(data)[i]});
    case BYCC_INT16:
      return number<int16_t>(data, i);
    case BYCC_UINT16:
      return number<uint16_t>(data, i);
    case BYCC_INT32:
      return number<int32_t>(data, i);
    case BYCC_UINT32:
      return number<uint32_t>(data, i);
    case BYCC_INT64:
      return number<int64_t>(data, i);
    case BYCC_UINT64:
      return number<uint64_t>(data, i);
    case BYCC_FLOAT32:
      return number<float>(data, i);
    default:
      return number<double>(data, i);
    }
  }

  std::string nameOf(uint32_t value) {
    if (names_[value].empty() && !literal(value))
      throw Refusal("value ", value, " is used before it is made");
    return names_[value];
  }
  std::string line(const Flat::Call &call) {
    std::string operands, name = text("%", numLines_++);
    for (uint32_t value : call.inputs)
      operands += text(operands.empty() ? "" : ", ", nameOf(value));
    // Operands that are one tuple in the program.
    std::string_view op = call.node.op();
    if (op == "concatenate" || op == "stack" || op == "einsum")
      operands = text("(", operands, call.inputs.size() == 1 ? ",)" : ")");
    for (uint32_t i = 0; i < call.node.size(); ++i)
      if (const bycc_attr &attr = call.node.at(i); attr.kind != BYCC_ATTR_NONE)
        operands += text(operands.empty() ? "" : ", ", attr.name, "=", attribute(attr));
    for (size_t i = 0; i < call.outputs.size(); ++i)
      names_[call.outputs[i]] = call.outputs.size() == 1 ? name : text(name, ".", i);
    return text("  ", name, " = ", op, "(", operands, ");\n");
  }
  static std::string attribute(const bycc_attr &attr) {
    std::string items;
    switch (attr.kind) {
    case BYCC_ATTR_BOOL:
      return attr.i ? "True" : "False";
    case BYCC_ATTR_INT:
      return text(attr.i);
    case BYCC_ATTR_FLOAT:
      return text(attr.f, "f");
    case BYCC_ATTR_STRING:
      return text("\"", attr.s, "\"");
    case BYCC_ATTR_LIST:
      for (uint32_t i = 0; i < attr.count; ++i)
        items += text(i ? ", " : "", attribute(*bycc_item_at(&attr, i)));
      return text("[", items, "]");
    default:
      return "None";
    }
  }

  Flat flat_;
  std::vector<std::string> names_; // by value
  uint32_t numLines_ = 0;
};

} // namespace detail

// Refusal where a region is not one (Flat).
inline std::string relayText(Region region) { return detail::RelayPrinter(region).print(); }

} // namespace bycc::vendor
