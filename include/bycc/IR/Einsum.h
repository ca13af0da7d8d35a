// Subscripts of einsum as numbers: "ij,jk->ik" on two matrices is {0,1},{1,2} ->
// {0,2}. An ellipsis stands for the axes that no letter names; its axes broadcast.
#pragma once

#include "bycc/Support/Error.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace bycc {

struct Einsum {
  std::vector<std::vector<uint32_t>> inputs; // a label per axis
  std::vector<uint32_t> output;              // each label once
  uint32_t numLabels = 0;
  std::vector<bool> isEllipsis; // per label
  std::vector<char> letters;    // per label; '.' for an ellipsis
};

// An INPUT error, without a place, when the equation does not fit the ranks.
// Without "->" the result has the ellipsis, then the letters that occur once.
Expected<Einsum> parseEinsum(std::string_view equation, std::span<const size_t> ranks);

} // namespace bycc
