#include "RandomProgram.h"

#include "bycc/IR/Op.h"

#include <random>
#include <vector>

namespace bycc::cases {

namespace {

constexpr const char *unary[] = {"abs", "nn.relu", "sigmoid", "tanh", "negative"};
constexpr const char *binary[] = {"add", "multiply", "subtract", "maximum"};
constexpr const char *type = "Tensor[(2, 4), float32]";

class Writer {
public:
  explicit Writer(uint32_t seed) : random_(seed) {}

  std::string program(uint32_t size) {
    std::string text = "#[version = \"0.0.5\"]\ndef @main(%c: bool";
    std::vector<std::string> values;
    for (const char *name : {"%x", "%y"}) {
      text += std::string(", ") + name + ": " + type;
      values.emplace_back(name);
    }
    text += ") {\n" + block(values, size, 0) + "}\n";
    return text;
  }

private:
  uint32_t pick(uint32_t count) { return static_cast<uint32_t>(random_() % count); }
  std::string fresh() { return "%" + std::to_string(next_++); }
  const std::string &any(const std::vector<std::string> &values) {
    // Recent values more often, so that graphs are deep.
    size_t back = pick(3) ? std::min<size_t>(values.size(), 5) : values.size();
    return values[values.size() - 1 - pick(static_cast<uint32_t>(back))];
  }

  // Bindings and a result: one value, or (at the top) a tuple of some.
  std::string block(std::vector<std::string> values, uint32_t size, int depth) {
    std::string text;
    for (uint32_t i = 0; i < size; ++i)
      text += statement(values, depth);
    if (depth > 0 || pick(2))
      return text + any(values) + "\n";
    std::string result = "(";
    for (uint32_t i = 0, count = 1 + pick(3); i < count; ++i)
      result += any(values) + ", ";
    return text + result + values.back() + ")\n";
  }

  std::string statement(std::vector<std::string> &values, int depth) {
    uint32_t kind = pick(16);
    if (kind == 0 && depth < 2)
      return branch(values, depth);
    if (kind == 1 && depth < 2)
      return closure(values, depth);
    if (kind == 2)
      return splitAndJoin(values);
    if (kind == 3)
      return throughTuple(values);
    if (kind == 4) {
      std::string name = "%v" + std::to_string(next_++);
      std::string text = "let " + name + " = " + call(values) + ";\n";
      values.push_back(name);
      return text;
    }
    std::string name = fresh(), text = name + " = " + call(values) + ";\n";
    values.push_back(name);
    return text;
  }

  std::string call(const std::vector<std::string> &values) {
    if (pick(2))
      return std::string(unary[pick(std::size(unary))]) + "(" + any(values) + ")";
    std::string right = pick(6) == 0 ? "0.5f" : any(values);
    return std::string(binary[pick(std::size(binary))]) + "(" + any(values) + ", " + right + ")";
  }

  std::string branch(std::vector<std::string> &values, int depth) {
    std::string name = fresh(), text = name + " = if (%c) {\n";
    text += block(values, 1 + pick(3), depth + 1) + "} else {\n";
    text += block(values, 1 + pick(3), depth + 1) + "};\n";
    values.push_back(name);
    return text;
  }

  std::string closure(std::vector<std::string> &values, int depth) {
    std::string function = "%f" + std::to_string(next_++), param = "%p" + std::to_string(next_++);
    std::vector<std::string> inner = values;
    inner.push_back(param);
    std::string text = "let " + function + " = fn (" + param + ": " + type + ") -> " + type +
                       " {\n" + block(inner, 1 + pick(3), depth + 1) + "};\n";
    std::string name = fresh();
    text += name + " = " + function + "(" + any(values) + ");\n";
    values.push_back(name);
    return text;
  }

  std::string splitAndJoin(std::vector<std::string> &values) {
    std::string parts = fresh(), joined = fresh();
    std::string text = parts + " = split(" + any(values) + ", indices_or_sections=2, axis=1);\n";
    std::string first = parts + ".0", second = parts + ".1";
    if (pick(2)) {
      std::string changed = fresh();
      text += changed + " = " + unary[pick(std::size(unary))] + "(" + parts + ".1);\n";
      second = changed;
    }
    text += joined + " = concatenate((" + second + ", " + first + "), axis=1);\n";
    values.push_back(joined);
    return text;
  }

  std::string throughTuple(std::vector<std::string> &values) {
    std::string tuple = fresh(), name = fresh();
    std::string text = tuple + " = (" + any(values) + ", " + any(values) + ");\n";
    text += name + " = " + binary[pick(std::size(binary))] + "(" + tuple + ".1, " + any(values) +
            ");\n";
    values.push_back(name);
    return text;
  }

  std::mt19937 random_;
  int next_ = 0;
};

} // namespace

std::string randomProgram(uint32_t seed, uint32_t size) { return Writer(seed).program(size); }

VendorSet randomVendors(uint32_t seed, uint32_t count) {
  std::mt19937 random(seed * 7 + 1);
  VendorSet set;
  for (uint32_t i = 0; i < count; ++i) {
    std::string name = std::string("v") + static_cast<char>('a' + i);
    auto vendor = std::make_unique<Vendor>(name);
    for (const char *op : unary)
      if (random() % 2)
        vendor->addRule(findOp(op), {});
    for (const char *op : binary)
      if (random() % 2)
        vendor->addRule(findOp(op), {});
    for (const char *op : {"split", "concatenate"})
      if (random() % 2)
        vendor->addRule(findOp(op), {});
    std::vector<Pattern> patterns;
    if (random() % 2)
      patterns.push_back(parsePattern(name + ".add_act", {"nn.relu(add(*, *)) | tanh(subtract(*, *))", {}}).takeValue());
    if (random() % 2)
      patterns.push_back(
          parsePattern(name + ".sum", {"sigmoid?(add(multiply($a, *), $a | #))", {}}).takeValue());
    vendor->addPatterns(std::move(patterns));
    set.add(std::move(vendor));
  }
  set.bindConstants = seed % 3 != 0;
  set.mergeRegions = seed % 7 != 0;
  return set;
}

} // namespace bycc::cases
