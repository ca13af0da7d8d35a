// Patterns over operator graphs, as text in vendor and rules files; the language is
// described in patterns/README.md. A pattern is a small graph of nodes by index;
// sub-patterns that are named under `let` are shared nodes, and a shared node
// matches one value.
#pragma once

#include "bycc/IR/Attributes.h"
#include "bycc/IR/Ids.h"
#include "bycc/Pattern/Condition.h"
#include "bycc/Support/Error.h"
#include "bycc/Support/Json.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bycc {

enum class PatternKind : uint8_t {
  Any,         // *   any value; a leaf
  Constant,    // #   a constant; a leaf
  Capture,     // $a  one value per name; child, when there is one, must match it
  Op,          // op(p, ...), (op|op)(p, ...)
  Composite,   // v.name(p, ...): a composite formed earlier
  Tuple,       // (p, q)
  Project,     // p[i]
  Alternative, // p | q, and op?(p) as op(p) | p
  Path,        // path{op|op}(p): p, or what these operators make of it; path+{op|op}(p)
  Typed,       // p<float32, [1, ?]>
};

struct PatternNode {
  PatternKind kind = PatternKind::Any;
  bool anyArgs = false;           // Op, Composite: op(...)
  bool isPlus = false;            // Path: path+
  std::vector<OpId> ops;          // Op: one of these; Path: any of these, empty: any operator
  std::string composite;          // Composite: its name
  uint32_t index = 0;             // Project: field; Capture: index of the name
  std::optional<ValueTest> value; // Constant
  std::optional<TypeTest> type;   // Typed
  std::vector<AttrTest> attrs;    // Op
  std::vector<uint32_t> children; // operands, fields, alternatives
};

// Every call of `op` in the group must meet the condition.
struct PatternCondition {
  OpId op;
  Condition condition;
};

// "vendor.*": which composite it is says the vendor.
inline bool isOpenName(std::string_view composite) {
  return composite.substr(composite.find('.') + 1) == "*";
}

// May a composite of a pattern of that name be called so?
inline bool mayBeNamed(std::string_view pattern, std::string_view composite) {
  return pattern == composite ||
         (isOpenName(pattern) && composite.starts_with(pattern.substr(0, pattern.size() - 1)));
}

struct Pattern {
  std::string name; // of the composite: "vendor.what"; "vendor.*": the vendor says it
  std::vector<PatternNode> nodes;
  uint32_t root = 0;
  bool anyOrder = false;             // all commutative operators match in both orders
  std::vector<std::string> captures; // names of $x
  std::vector<std::string> params;   // of these, the operands that come first, in order
  std::vector<std::pair<std::string, uint32_t>> shared; // names under `let`, their node
  std::vector<PatternCondition> where;
  std::vector<OpId> rootOps;               // operators and composites that the root can be; one
  std::vector<std::string> rootComposites; // of the two is not empty

  bool isOpen() const { return isOpenName(name); }
  // Does it say somewhere which layouts a value may have?
  bool namesLayouts() const;
};

// Text of one pattern, with the texts of its `let`. Errors give the column.
struct PatternText {
  std::string_view root;
  std::vector<std::pair<std::string_view, std::string_view>> let;
};
// `composites`: names that may stand for operators.
Expected<Pattern> parsePattern(std::string_view name, const PatternText &text,
                               std::span<const std::string> composites = {});

// A small Relay function or expression with free variables, as a pattern: a
// variable is an operand, in written order; attributes that are written must
// match, those left out are free; a literal must match by value; commutative
// operators match in both orders. Errors give line and column of the text.
Expected<Pattern> parseRelayPattern(std::string_view name, std::string_view text,
                                    std::span<const std::string> composites = {});

// Fills what follows from the nodes; an error when the root is no operator.
Expected<> finishPattern(Pattern &pattern);

// The `patterns` array of a vendor or rules file. `pointer` is the array's JSON
// pointer. Composite names must start with "vendor."; `earlier` are patterns that
// the vendor has already.
Expected<std::vector<Pattern>> readPatterns(const JsonValue &array, std::string_view vendor,
                                            const std::string &pointer, const std::string &file,
                                            std::span<const Pattern> earlier = {});

} // namespace bycc
