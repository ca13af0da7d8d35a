// Random programs: printing, parsing and printing again changes nothing.
#include "helpers.h"

#include <random>

using namespace bycc;
using namespace bycc::test;

namespace {

class Generator {
public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  std::string program() {
    values_ = {"%x"};
    std::string body = statements(static_cast<int>(pick(12)), 0);
    return mainOf(body + pickValue());
  }

private:
  uint32_t pick(uint32_t count) { return static_cast<uint32_t>(random_() % count); }
  std::string pickValue() { return values_[pick(static_cast<uint32_t>(values_.size()))]; }

  std::string statements(int count, int depth) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += statement(depth);
    return text;
  }

  std::string statement(int depth) {
    switch (pick(5)) {
    case 0: {
      std::string name = "%v" + std::to_string(pick(4));
      std::string text = "let " + name + " = " + expression(depth) + ";\n";
      values_.push_back(name);
      return text;
    }
    case 1:
      return expression(depth) + ";\n";
    default: {
      std::string name = "%" + std::to_string(next_++);
      std::string text = name + " = " + expression(depth) + ";\n";
      values_.push_back(name);
      return text;
    }
    }
  }

  std::string block(int depth) {
    auto outer = values_;
    std::string text = "{\n" + statements(static_cast<int>(pick(3)), depth + 1);
    text += pickValue() + "\n}";
    values_ = outer;
    return text;
  }

  std::string expression(int depth) {
    static const char *unary[] = {"abs", "nn.relu", "tanh", "negative"};
    switch (pick(depth < 4 ? 8 : 5)) {
    case 0:
      return "add(" + pickValue() + ", " + pickValue() + ")";
    case 1:
      return pickValue() + " * " + std::to_string(pick(100)) + "f";
    case 2:
      return "(" + pickValue() + ", " + pickValue() + ", 3).1";
    case 3:
      return std::string(unary[pick(4)]) + "(" + pickValue() + ", annotation.vendors=[\"a\"])";
    case 4:
      return std::string(unary[pick(4)]) + "(" + std::string(unary[pick(4)]) + "(" + pickValue() +
             "))";
    case 5:
      return "if (%c) " + block(depth) + " else " + block(depth);
    case 6:
      return "fn (%p: Tensor[(2, 3), float32], Composite=\"a.b\") { abs(%p) }(" + pickValue() + ")";
    default:
      return "(" + statements(1, depth + 1) + pickValue() + ")";
    }
  }

  std::mt19937 random_;
  std::vector<std::string> values_;
  int next_ = 0;
};

} // namespace

TEST_CASE("random programs print, parse and print the same") {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    INFO("seed " << seed);
    std::string text = Generator(seed).program();
    auto module = parseRelay(text, "t.relay");
    if (!module)
      continue; // a let in parentheses went out of scope
    checkStable(*module);
  }
}
