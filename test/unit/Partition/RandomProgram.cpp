#include "RandomProgram.h"

#include "bycc/IR/Op.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Support/Hash.h"
#include "bycc/Target/RegionView.h"

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
      result += (pick(4) ? any(values) : "(" + any(values) + ", " + any(values) + ")") + ", ";
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
      return pick(2) ? throughTuple(values) : throughNestedTuple(values);
    if (kind == 5 && depth < 2)
      return branchOfTuples(values, depth);
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

  std::string branchOfTuples(std::vector<std::string> &values, int depth) {
    std::string pair = fresh(), name = fresh();
    auto arm = [&] {
      std::string value = fresh();
      return value + " = " + call(values) + ";\n(" + value + ", " + any(values) + ")\n";
    };
    std::string text = pair + " = if (%c) {\n" + arm() + "} else {\n" + arm() + "};\n";
    text += name + " = maximum(" + pair + ".0, " + pair + (depth ? ".1" : ".0") + ");\n";
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
    if (pick(3) == 0)
      return splitAndGather(values);
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

  // A result of four, used whole and in part.
  std::string splitAndGather(std::vector<std::string> &values) {
    std::string parts = fresh(), joined = fresh(), changed = fresh(), name = fresh();
    std::string text = parts + " = split(" + any(values) + ", indices_or_sections=4, axis=1);\n";
    text += joined + " = concatenate(" + parts + ", axis=1);\n";
    text += changed + " = " + unary[pick(std::size(unary))] + "(" + parts + ".2);\n";
    text += name + " = add(" + joined + ", " + changed + ");\n";
    values.push_back(name);
    return text;
  }

  std::string throughNestedTuple(std::vector<std::string> &values) {
    std::string inner = fresh(), outer = fresh(), again = fresh(), name = fresh();
    std::string text = inner + " = (" + any(values) + ", " + any(values) + ");\n";
    text += outer + " = (" + any(values) + ", (" + inner + ", " + any(values) + "));\n";
    text += again + " = " + outer + ".1;\n";
    text +=
        name + " = " + binary[pick(std::size(binary))] + "(" + again + ".0.1, " + outer + ".0);\n";
    values.push_back(name);
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

namespace {

std::string randomEnd(std::mt19937 &random, const std::string &vendor) {
  constexpr const char *ends[] = {"abs",      "nn.relu", "sigmoid", "tanh",        "add",
                                  "multiply", "maximum", "split",   "concatenate", "*"};
  return random() % 8 ? ends[random() % std::size(ends)] : vendor + ".add_act";
}

// None for most vendors; else a few that are denied, or the few that are allowed.
EdgeRules randomEdges(std::mt19937 &random, const std::string &vendor) {
  EdgeRules edges;
  uint32_t kind = random() % 6;
  if (kind > 2)
    return edges;
  for (uint32_t i = 0, count = 1 + random() % 4; i < count; ++i)
    (kind ? edges.denied : edges.allowed)
        .emplace_back(randomEnd(random, vendor), randomEnd(random, vendor));
  return edges;
}

} // namespace

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
      patterns.push_back(
          parsePattern(name + ".add_act", {"nn.relu(add(*, *)) | tanh(subtract(*, *))", {}})
              .takeValue());
    if (random() % 2)
      patterns.push_back(
          parsePattern(name + ".sum", {"sigmoid?(add(multiply($a, *), $a | #))", {}}).takeValue());
    vendor->addPatterns(std::move(patterns));
    vendor->regionRules.edges = randomEdges(random, name);
    set.add(std::move(vendor));
  }
  set.bindConstants = seed % 3 != 0;
  set.mergeRegions = seed % 7 != 0;
  return set;
}

CostModel addRandomCosts(uint32_t seed, VendorSet &vendors) {
  std::mt19937 random(seed * 5 + 3);
  auto model = [&] {
    CostModel cost;
    cost.launchMicroseconds = random() % 8;
    cost.transferMicroseconds = random() % 3;
    cost.rates.flopsPerMicrosecond = 1 + random() % 8;
    return cost;
  };
  for (size_t i = 0; i < vendors.size(); ++i)
    if (random() % 4)
      vendors[i].cost = model();
  return model();
}

void addRandomOrders(uint32_t seed, const Module &module, const VendorSet &vendors,
                     PlacementRules &rules) {
  forEachNode(module, module.function(module.main()).body, [&](NodeId node) {
    if (module.node(node).kind != NodeKind::CallOp)
      return;
    // By name, so that a node keeps its orders when others are taken away.
    std::mt19937 random(seed ^ static_cast<uint32_t>(hashText(nodeName(module, node))));
    uint32_t kind = random() % 32;
    const Vendor &chosen = vendors[random() % vendors.size()];
    const std::string &vendor = chosen.name();
    // Who is pinned to a vendor that refuses it is an error of its own.
    if (kind == 0 && chosen.opRules().contains(module.node(node).op.index))
      rules.pin(node, vendor, "pinned");
    if (kind == 1)
      rules.pin(node, "host", "pinned to the host");
    if (kind == 2)
      rules.forbid(node, vendor, "forbidden");
    if (kind == 3)
      rules.setLabel(node, 1 + random() % 2);
  });
}

} // namespace bycc::cases
