// See CText.h.
#include "CText.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace bycc::ccompiler {

namespace {

struct TypeNames {
  const char *type, *suffix, *sum;
};

// By DType. 16-bit floats have none: readGraph refuses them.
constexpr TypeNames typeNames[numDTypes] = {
    {"uint8_t", "bool", "uint32_t"}, {"int8_t", "i8", "uint32_t"},
    {"int16_t", "i16", "uint32_t"},  {"int32_t", "i32", "uint32_t"},
    {"int64_t", "i64", "uint64_t"},  {"uint8_t", "u8", "uint32_t"},
    {"uint16_t", "u16", "uint32_t"}, {"uint32_t", "u32", "uint32_t"},
    {"uint64_t", "u64", "uint64_t"}, {nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr},     {"float", "f32", "float"},
    {"double", "f64", "double"},
};

const TypeNames &namesOf(DType dtype) { return typeNames[static_cast<int>(dtype)]; }

template <typename T> T elementAt(const void *data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * static_cast<int64_t>(sizeof(T)),
              sizeof value);
  return value;
}

std::string signedLiteral(int64_t value) {
  if (value == INT64_MIN)
    return "INT64_MIN";
  bool isWide = value > INT32_MAX || value < -INT32_MAX;
  std::string digits = std::to_string(value);
  std::string text = isWide ? "INT64_C(" + digits + ")" : digits;
  return value < 0 && !isWide ? "(" + text + ")" : text;
}

std::string unsignedLiteral(uint64_t value) {
  return value > INT32_MAX ? "UINT64_C(" + std::to_string(value) + ")"
                           : std::to_string(value) + "u";
}

} // namespace

const char *cType(DType dtype) { return namesOf(dtype).type; }
const char *shortName(DType dtype) { return namesOf(dtype).suffix; }
const char *sumType(DType dtype) { return namesOf(dtype).sum; }

std::string converted(const std::string &expression, std::string_view from, std::string_view to) {
  return from == to ? expression : "(" + std::string(to) + ")" + expression;
}

std::string literal(DType dtype, double value) {
  const char *suffix = dtype == DType::Float32 ? "f" : "";
  if (dtype == DType::Float32)
    value = static_cast<float>(value);
  if (std::isnan(value))
    return "NAN";
  if (std::isinf(value))
    return value < 0 ? "(-INFINITY)" : "INFINITY";
  char buffer[64];
  int digits = dtype == DType::Float32 ? 9 : 17;
  if (value == std::trunc(value) && std::fabs(value) < 1e6)
    std::snprintf(buffer, sizeof buffer, "%.1f%s", value, suffix);
  else
    std::snprintf(buffer, sizeof buffer, "%.*e%s", digits - 1, value, suffix);
  return std::signbit(value) ? "(" + std::string(buffer) + ")" : buffer;
}

std::string literal(DType dtype, const void *data, int64_t index) {
  switch (dtype) {
  case DType::Bool:
    return elementAt<uint8_t>(data, index) ? "1" : "0";
  case DType::Int8:
    return signedLiteral(elementAt<int8_t>(data, index));
  case DType::Int16:
    return signedLiteral(elementAt<int16_t>(data, index));
  case DType::Int32:
    return "(int32_t)" + signedLiteral(elementAt<int32_t>(data, index));
  case DType::Int64:
    return "(int64_t)" + signedLiteral(elementAt<int64_t>(data, index));
  case DType::UInt8:
    return std::to_string(elementAt<uint8_t>(data, index));
  case DType::UInt16:
    return std::to_string(elementAt<uint16_t>(data, index));
  case DType::UInt32:
    return "(uint32_t)" + unsignedLiteral(elementAt<uint32_t>(data, index));
  case DType::UInt64:
    return "(uint64_t)" + unsignedLiteral(elementAt<uint64_t>(data, index));
  case DType::Float32:
    return literal(dtype, elementAt<float>(data, index));
  default:
    return literal(dtype, elementAt<double>(data, index));
  }
}

std::string indexText(const std::vector<std::string> &index, const Dims &strides, int64_t offset) {
  std::string out;
  for (size_t i = 0; i < index.size(); ++i) {
    if (strides[i] == 0 || index[i] == "0")
      continue;
    bool isAtom = index[i].find_first_of(" +-") == std::string::npos;
    std::string term = isAtom || strides[i] == 1 ? index[i] : "(" + index[i] + ")";
    if (strides[i] != 1)
      term += " * " + std::to_string(strides[i]);
    out += (out.empty() ? "" : " + ") + term;
  }
  if (offset > 0 || out.empty())
    out += (out.empty() ? "" : " + ") + std::to_string(offset);
  else if (offset < 0)
    out += " - " + std::to_string(-offset);
  return out;
}

std::string filled(std::string_view text, const std::vector<std::pair<char, std::string>> &values) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    char key = text[++i];
    bool isKnown = false;
    for (const auto &[name, value] : values)
      if (name == key) {
        out += value;
        isKnown = true;
      }
    if (!isKnown)
      out += {'$', key}; // for a later round
  }
  return out;
}

void CWriter::line(const std::string &text) {
  if (!text.empty())
    text_.append(2 * depth_, ' ');
  text_ += text + "\n";
}

void CWriter::open(const std::string &head) {
  line(head.empty() ? "{" : head + " {");
  ++depth_;
}

void CWriter::close(const std::string &tail) {
  --depth_;
  line(tail);
}

void CWriter::loop(const std::string &name, const std::string &extent, const std::string &step) {
  std::string next = step == "1" ? "++" + name : name + " += " + step;
  open("for (int64_t " + name + " = 0; " + name + " < " + extent + "; " + next + ")");
}

void CWriter::closeTo(size_t depth) {
  while (depth_ > depth)
    close();
}

} // namespace bycc::ccompiler
