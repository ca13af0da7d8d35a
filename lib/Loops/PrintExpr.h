// Expressions as text that a person reads: "max(b0[64 * a0 + a1] + b1[a1], 0)". Axes are
// numbered in the order in which they are first named.
#pragma once

#include "bycc/Loops/Compute.h"

namespace bycc::loops {

class ExprText {
public:
  explicit ExprText(const Exprs &exprs) : exprs_(exprs) {}
  std::string of(Ref ref);       // "..." where it would be long
  std::string axis(uint32_t id); // "a3"
  // Has a name from here on.
  void setName(Ref ref, std::string name) { named_[ref] = std::move(name); }

private:
  std::string print(Ref ref, int precedence);
  std::string call(const std::string &name, const Expr &expr);
  const Exprs &exprs_;
  std::unordered_map<uint32_t, size_t> axes_;
  std::unordered_map<Ref, std::string> named_;
  size_t left_ = 0; // nodes that may still be printed
};

} // namespace bycc::loops
