// What an extent counts as that is known at run time only: one answer for FLOPs,
// costs, precision, schedules, vendors and the report, so that all of them speak of
// the same model. Results never depend on it.
//
//   batch, batch_size, N, b       1   but N behind a batch is a length: (batch_size, N)
//   first in every input of main  1    a batch, whatever its name is; so are x_0 and y_0, as first
//                                      extents without a name are called
//   any other symbol              64
//   ?                             64
//   (seq / 2)                     32   what its symbols make of it, at least 0
//
// Who knows better says so: --likely seq=128. TypeTable::likely() answers for a dim.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bycc {

// Of a dim of which nothing is known.
inline constexpr int64_t likelyUnknown = 64;

// By the name of a symbol alone.
int64_t usualExtent(std::string_view symbol);

// Of a tensor type; 1 for rank 0.
double likelyElements(const TypeTable &types, TypeId tensor);

// A symbol that is the first dim of every input of main (of rank 1 and more) counts 1 from
// here on, and so do first dims that all are without a name; an N behind a batch counts 64.
void findBatchExtents(Module &module);

// The extents that a program leaves open, and what they count as.
struct OpenExtents {
  std::vector<std::pair<std::string, int64_t>> symbols; // those of main's inputs first
  bool hasUnknown = false;                              // somewhere is a `?`
  bool empty() const { return symbols.empty() && !hasUnknown; }
  // "with batch=1, seq=64 (likely)"; "" when nothing is open.
  std::string text() const;
};
OpenExtents openExtents(const Module &module);

// Name and extent, at least 1, as --likely gives them. ARG error: a name that is no
// symbol of the program.
Expected<> setLikelyExtents(Module &module, const std::map<std::string, int64_t> &extents);

// A result or an operand of the call has a `?`: its FLOPs are a guess.
bool hasUnknownExtents(const Module &module, NodeId call);

} // namespace bycc
