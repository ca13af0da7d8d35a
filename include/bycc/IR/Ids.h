// Dense, typed indices. Everything in a Module is named by one; analyses are
// arrays indexed by `.index`.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace bycc {

template <typename Tag> struct Id {
  uint32_t index = UINT32_MAX;
  constexpr Id() = default;
  constexpr explicit Id(uint32_t value) : index(value) {}
  constexpr explicit operator bool() const { return index != UINT32_MAX; }
  constexpr auto operator<=>(const Id &) const = default;
};

using NodeId = Id<struct NodeTag>;
using BlockId = Id<struct BlockTag>;
using FunctionId = Id<struct FunctionTag>;
using TypeId = Id<struct TypeTag>;
using AttrsId = Id<struct AttrsTag>;   // always valid; AttrsId(0) is the empty dictionary
using StringId = Id<struct StringTag>; // StringId(0) is ""
using ConstantId = Id<struct ConstantTag>;
using SourceId = Id<struct SourceTag>; // SourceId(0) is "unknown"
using OpId = Id<struct OpTag>;         // row of the operator table, see Op.h

} // namespace bycc

template <typename Tag> struct std::hash<bycc::Id<Tag>> {
  size_t operator()(bycc::Id<Tag> id) const noexcept { return id.index; }
};
