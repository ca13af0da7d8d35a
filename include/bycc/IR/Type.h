// Types and dimension expressions, interned: equal types have equal TypeIds,
// equal dims are equal values. Spans stay valid as long as the table.
//
// A tensor type is dtype, shape, layout ("" = row-major) and device (0 = host).
// A dim is a constant, or an expression over symbols that are known at run
// time, or `?` (unknown: nothing is known, two of them need not be equal).
#pragma once

#include "bycc/IR/Ids.h"
#include "bycc/Support/DType.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

class Dim {
public:
  constexpr Dim() = default;                    // 0
  constexpr Dim(int64_t value) : raw_(value) {} // value >= 0
  static constexpr Dim fromExpr(uint32_t index) {
    Dim dim;
    dim.raw_ = -1 - static_cast<int64_t>(index);
    return dim;
  }
  static constexpr Dim unknown() { return fromExpr(0); }
  constexpr bool isConst() const { return raw_ >= 0; }
  constexpr bool isUnknown() const { return raw_ == -1; } // `?`
  constexpr int64_t value() const { return raw_; }        // of a constant
  constexpr uint32_t exprIndex() const { return static_cast<uint32_t>(-1 - raw_); }
  constexpr bool operator==(const Dim &) const = default;
  constexpr int64_t raw() const { return raw_; }

private:
  int64_t raw_ = 0;
};

enum class DimOp : uint8_t { Unknown, Symbol, Add, Sub, Mul, FloorDiv, CeilDiv, Mod, Min, Max };

// One expression node. Operands are dims themselves; Symbol has a name.
struct DimExpr {
  DimOp op = DimOp::Unknown;
  Dim lhs, rhs;
  std::string symbol;
};

enum class TypeKind : uint8_t { Incomplete, Tensor, Tuple, Function };

class TypeTable {
public:
  TypeTable();
  ~TypeTable();
  TypeTable(TypeTable &&) noexcept;
  TypeTable &operator=(TypeTable &&) noexcept;

  TypeId incomplete() const { return TypeId(0); }
  TypeId tensor(DType dtype, std::span<const Dim> shape, std::string_view layout = {},
                int32_t device = 0);
  TypeId tensor(DType dtype, std::initializer_list<Dim> shape) {
    return tensor(dtype, std::span<const Dim>(shape.begin(), shape.size()));
  }
  TypeId tuple(std::span<const TypeId> fields);
  TypeId function(std::span<const TypeId> params, TypeId result);

  TypeKind kind(TypeId type) const;
  bool isTensor(TypeId type) const { return kind(type) == TypeKind::Tensor; }
  bool isTuple(TypeId type) const { return kind(type) == TypeKind::Tuple; }
  DType dtype(TypeId tensor) const;
  std::span<const Dim> shape(TypeId tensor) const;
  std::string_view layout(TypeId tensor) const;
  int32_t device(TypeId tensor) const;
  std::span<const TypeId> fields(TypeId tuple) const;
  std::span<const TypeId> params(TypeId function) const;
  TypeId result(TypeId function) const;

  // All dims constant (tuples: in every field).
  bool isStatic(TypeId type) const;
  // Elements / bytes of a static tensor; nullopt when a dim is not constant or
  // the product passes INT64_MAX.
  std::optional<int64_t> numElements(TypeId tensor) const;
  std::optional<int64_t> sizeBytes(TypeId tensor) const;
  // What of a tensor (tuple: the first field that has some) is not as on the host,
  // row-major on device 0: `layout "NHWC"`, `device 1`; "" when nothing is.
  std::string placeText(TypeId type) const;
  // Whether there is no such type at all.
  bool allOnHost() const;
  // Tensors in a (nested) tuple, in order; a tensor alone gives itself.
  std::vector<TypeId> flatten(TypeId type) const;
  // The same without a list: how many there are, and flatten(type)[index].
  size_t numLeaves(TypeId type) const;
  TypeId leaf(TypeId type, size_t index) const;
  // Of flatten(tuple): the first one that is of the field, and how many are; the field
  // that one is of.
  std::pair<size_t, size_t> leavesOf(TypeId tuple, uint32_t field) const;
  uint32_t fieldOfLeaf(TypeId tuple, size_t index) const;

  // Dim arithmetic; equal sums and products are equal dims; unknown absorbs, and
  // is the result where no extent can be meant (3 - 5).
  Dim symbol(std::string_view name);
  Dim dim(DimOp op, Dim lhs, Dim rhs);
  Dim add(Dim a, Dim b) { return dim(DimOp::Add, a, b); }
  Dim sub(Dim a, Dim b) { return dim(DimOp::Sub, a, b); }
  Dim mul(Dim a, Dim b) { return dim(DimOp::Mul, a, b); }
  Dim floorDiv(Dim a, Dim b) { return dim(DimOp::FloorDiv, a, b); }
  // a >= b whatever the symbols are; false when that is not seen.
  bool isSurelyAtLeast(Dim a, Dim b) const;
  const DimExpr &expr(Dim dim) const; // of a dim that is not constant
  std::string str(Dim dim) const;     // "4", "?", "N", "(N + 1)"
  // What a dim counts as where only speed depends on it: a constant is itself, all
  // else an expression of what its symbols count as (bycc/IR/LikelyExtents.h). Never
  // negative.
  int64_t likely(Dim dim) const;
  // May a dim be less at run time than it counts as? Not what is made of symbols that
  // count as 1 each, such as 197 rows for each image of a batch.
  bool mayBeLess(Dim dim) const;
  void setLikely(Dim symbol, int64_t extent);
  // Symbols that are never 0, for what is said of dims from here on. Whoever says so sees to
  // it that programs check it: the function attribute NonEmpty of @main lists their names.
  void setNonEmpty(Dim symbol);
  std::vector<Dim> nonEmpty() const;

  // Relay text: "Tensor[(2, 3), float32]", "float32" (rank 0), "(T, T)", "fn (T) -> T".
  // Layout and device follow the dtype when not default.
  std::string str(TypeId type) const;
  uint32_t size() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace bycc
