// Patterns over operator graphs, as text in patterns/*.json and rules files; the
// language is described in patterns/README.md. A pattern is a small graph of
// nodes by index; sub-patterns that are named under `let` are shared nodes, and
// a shared node matches one value.
#pragma once

#include "bycc/IR/Attributes.h"
#include "bycc/IR/Ids.h"
#include "bycc/Support/Error.h"
#include "bycc/Support/Json.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bycc {

enum class PatternKind : uint8_t {
  Any,         // *   any value; a leaf
  Constant,    // #   a constant; a leaf
  Capture,     // $a  one value per name; child, when there is one, must match it
  Op,          // op(p, ...)
  Tuple,       // (p, q)
  Project,     // p[i]
  Alternative, // p | q, and op?(p) as op(p) | p
};

struct PatternNode {
  PatternKind kind = PatternKind::Any;
  bool anyArgs = false;            // Op: op(...)
  OpId op;                         // Op
  uint32_t index = 0;              // Project: field; Capture: index of the name
  std::optional<double> value;     // Constant: every element has this value ...
  double tolerance = 0;            // ... give or take
  AttrDict attrs;                  // Op: attributes that must have these values
  std::vector<uint32_t> children;  // operands, fields, alternatives
};

// Every call of `op` in the group must have these attribute values.
struct PatternCondition {
  OpId op;
  AttrDict attrs;
};

struct Pattern {
  std::string name; // of the composite: "vendor.what"
  std::vector<PatternNode> nodes;
  uint32_t root = 0;
  std::vector<std::string> captures;                    // names of $x
  std::vector<std::pair<std::string, uint32_t>> shared; // names under `let`, their node
  std::vector<PatternCondition> where;
  std::vector<OpId> rootOps; // operators that the root can be; never empty
};

// Text of one pattern, with the texts of its `let`. Errors give the column.
struct PatternText {
  std::string_view root;
  std::vector<std::pair<std::string_view, std::string_view>> let;
};
Expected<Pattern> parsePattern(std::string_view name, const PatternText &text);

// The `patterns` array of a patterns or rules file. `pointer` is the array's
// JSON pointer; errors name file, line and pointer. Composite names must start
// with "vendor.".
Expected<std::vector<Pattern>> readPatterns(const JsonValue &array, std::string_view vendor,
                                            const std::string &pointer, const std::string &file);

// Helpers for readers of such files.
// The JSON pointer of an object's member.
std::string pointerTo(const std::string &pointer, std::string_view key);
// An INPUT error at the value: "POINTER: ".
ErrorBuilder jsonError(const JsonValue &value, const std::string &pointer, const std::string &file);
// Error naming the first member that is not in `known`, with the nearest.
Expected<> checkKeys(const JsonValue &object, const std::vector<std::string> &known,
                     const std::string &pointer, const std::string &file);
// The operator of that name; an error with the nearest when there is none.
Expected<OpId> readOpName(std::string_view name, const JsonValue &at, const std::string &pointer,
                          const std::string &file);
// {key: value} for an operator's attributes; an unknown key is an error.
Expected<AttrDict> readAttrs(const JsonValue &object, OpId op, const std::string &pointer,
                             const std::string &file);

} // namespace bycc
