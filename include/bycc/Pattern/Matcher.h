// Finds a pattern in the graph: full backtracking over alternatives, paths and the
// two orders of commutative operators, in a fixed order, so the answer is the same every
// time. Gives up after a fixed number of steps.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Pattern/Pattern.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bycc {

// A part of a match that the pattern gave a name: `$x` or `@x`.
struct MatchRole {
  std::string name;
  NodeId node;
};

struct Match {
  NodeId root;
  std::vector<NodeId> nodes;  // calls, tuples and projections inside, the root included; by id
  std::vector<NodeId> leaves; // operands of the group in order of first appearance in the
                              // pattern, none twice, those of `params` before the others;
                              // other constants that `#` met are not among them
  std::vector<MatchRole> roles;
};

enum class MatchOutcome : uint8_t { None, Accepted, GaveUp };

class Matcher {
public:
  // `mayContain` says whether a node may become part of a group with this root.
  using MayContain = std::function<bool(NodeId node)>;
  // Called for each way to match, best first; true takes it and ends the search.
  using Accept = std::function<bool(const Match &match)>;

  // For one pattern and any number of roots; all four must outlive it. Nodes may be
  // added to the module in between.
  Matcher(const Module &module, const Pattern &pattern, const MayContain &mayContain,
          const Accept &accept);
  ~Matcher();
  MatchOutcome match(NodeId root);
  // Why a `where` refused the last match that it refused; "" when none did.
  const std::string &reason() const;

  static constexpr uint32_t maxSteps = 20000;
  static constexpr uint32_t maxCandidates = 64;

private:
  class Search;
  std::unique_ptr<Search> search_;
};

} // namespace bycc
