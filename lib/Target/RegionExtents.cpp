#include "RegionExtents.h"

#include "bycc/Support/Sized.h"

namespace bycc {

// The operators of dims have the numbers that vendors see.
static_assert(static_cast<int>(DimOp::Symbol) == BYCC_EXTENT_SYMBOL);
static_assert(static_cast<int>(DimOp::Add) == BYCC_EXTENT_ADD);
static_assert(static_cast<int>(DimOp::Sub) == BYCC_EXTENT_SUB);
static_assert(static_cast<int>(DimOp::Mul) == BYCC_EXTENT_MUL);
static_assert(static_cast<int>(DimOp::FloorDiv) == BYCC_EXTENT_FLOORDIV);
static_assert(static_cast<int>(DimOp::CeilDiv) == BYCC_EXTENT_CEILDIV);
static_assert(static_cast<int>(DimOp::Mod) == BYCC_EXTENT_MOD);
static_assert(static_cast<int>(DimOp::Min) == BYCC_EXTENT_MIN);
static_assert(static_cast<int>(DimOp::Max) == BYCC_EXTENT_MAX);

const int32_t *RegionExtents::of(TypeId type) {
  if (!module_.types.isTensor(type) || module_.types.isStatic(type))
    return nullptr;
  std::vector<int32_t> &list = lists_.emplace_back();
  for (Dim dim : module_.types.shape(type))
    list.push_back(dim.isConst() ? -1 : entryOf(dim));
  return list.data();
}

void RegionExtents::addInput(uint32_t input, TypeId type) {
  if (!module_.types.isTensor(type))
    return;
  std::span<const Dim> shape = module_.types.shape(type);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis].isConst() || module_.types.expr(shape[axis]).op != DimOp::Symbol)
      continue;
    bycc_symbol &symbol = symbols_[static_cast<size_t>(symbolOf(shape[axis]))];
    if (symbol.input < 0) {
      symbol.input = static_cast<int32_t>(input);
      symbol.axis = static_cast<int32_t>(axis);
    }
  }
}

void RegionExtents::put(bycc_region &region) const {
  region.num_symbols = static_cast<uint32_t>(symbols_.size());
  region.symbols = symbols_.data();
  region.num_extents = static_cast<uint32_t>(extents_.size());
  region.extents = extents_.data();
}

int32_t RegionExtents::symbolOf(Dim dim) {
  auto [known, isNew] = numbers_.try_emplace(dim.raw(), static_cast<int32_t>(symbols_.size()));
  if (isNew) {
    bycc_symbol &symbol = symbols_.emplace_back(sized<bycc_symbol>());
    symbol.name = names_.emplace_back(module_.types.expr(dim).symbol).c_str();
    symbol.input = symbol.axis = -1;
    symbol.likely = module_.types.likely(dim);
  }
  return known->second;
}

int32_t RegionExtents::add(int32_t op, int64_t lhs, int64_t rhs) {
  extents_.push_back({op, lhs, rhs});
  return static_cast<int32_t>(extents_.size() - 1);
}

int32_t RegionExtents::entryOf(Dim dim) {
  if (auto known = entries_.find(dim.raw()); known != entries_.end())
    return known->second;
  int32_t entry = -1;
  if (dim.isConst()) {
    entry = add(BYCC_EXTENT_CONST, dim.value(), 0);
  } else if (const DimExpr &expr = module_.types.expr(dim); expr.op == DimOp::Symbol) {
    entry = add(BYCC_EXTENT_SYMBOL, symbolOf(dim), 0);
  } else if (expr.op != DimOp::Unknown) {
    int32_t lhs = entryOf(expr.lhs), rhs = entryOf(expr.rhs);
    if (lhs >= 0 && rhs >= 0)
      entry = add(static_cast<int32_t>(expr.op), lhs, rhs);
  }
  return entries_[dim.raw()] = entry;
}

} // namespace bycc
