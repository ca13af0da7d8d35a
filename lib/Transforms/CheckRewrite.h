// Tries a rewrite out before it counts: what a match computes and what the rewrite would put
// in its place are evaluated (Eval) for random inputs.
//
// The sizes are small ones where the operators allow it: each extent of the match becomes a
// small number of its own, so that equal extents stay equal and different ones different.
// Where that does not type (an attribute that says an extent), they are those of the match,
// up to a limit of work.
#pragma once

#include "bycc/Pattern/Rewrite.h"

#include <optional>
#include <span>
#include <string>

namespace bycc {

struct RewriteVerdict {
  bool isRight = false;
  bool isWrong = false; // neither: it could not be tried
  std::string why;      // "element 3 of the result is 0.5 instead of 0.731"
};

RewriteVerdict tryRewrite(const Module &module, const Rewrite &rewrite, const Match &match,
                          std::span<const Pattern> patterns);

} // namespace bycc
