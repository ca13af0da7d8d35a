// Rewrites of vendor files: {"from": "multiply($x, sigmoid($x))", "to": "npu.swish($x)"}. What
// `from` finds is replaced by what `to` says; pass apply-rewrites does it, after a check.
#pragma once

#include "bycc/IR/Builder.h"
#include "bycc/Pattern/Matcher.h"
#include "bycc/Pattern/Pattern.h"
#include "bycc/Support/Json.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

struct Rewrite {
  std::string text; // "multiply($x, sigmoid($x)) -> npu.swish($x)", for messages
  SourceLocation place;
  Pattern from;
  Pattern to; // its parts can all be made: see whyNotMade()
};

// The `rewrites` array of a vendor. `patterns` are the vendor's; a `to` that is one composite
// which none of them forms makes it: it is what `from` finds, and is added to them.
Expected<std::vector<Rewrite>> readRewrites(const JsonValue &array, std::string_view vendor,
                                            const std::string &pointer, const std::string &file,
                                            std::vector<Pattern> &patterns);

// Makes what `to` says, for a match of `from` in the module of the builder. A composite is
// made as the operators that its pattern asks for; a number has the dtype of the root.
// INPUT errors of operators that do not fit their operands.
Expected<NodeId> makeReplacement(Builder &builder, const Rewrite &rewrite, const Match &match,
                                 std::span<const Pattern> patterns);

} // namespace bycc
