// Interning of types and dims. Records live in append-only tables; the shapes
// and field lists they point to live in chunks that never move, so spans handed
// out stay valid.

#include "bycc/IR/Type.h"

#include "DimTable.h"

#include "bycc/Support/Error.h"
#include "bycc/Support/Hash.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace bycc {
namespace {

// Memory that only grows; hands out arrays that never move.
class ChunkArena {
public:
  template <typename T> T *copy(std::span<const T> values) {
    if (values.empty())
      return nullptr;
    size_t bytes = values.size() * sizeof(T);
    void *memory = take(bytes);
    std::memcpy(memory, values.data(), bytes);
    return static_cast<T *>(memory);
  }

private:
  void *take(size_t bytes) {
    bytes = (bytes + 7) & ~size_t{7};
    if (bytes > capacity_ - used_ || chunks_.empty()) {
      capacity_ = std::max<size_t>(bytes, 64 * 1024);
      chunks_.push_back(std::make_unique<uint64_t[]>(capacity_ / 8));
      used_ = 0;
    }
    void *memory = reinterpret_cast<char *>(chunks_.back().get()) + used_;
    used_ += bytes;
    return memory;
  }
  std::vector<std::unique_ptr<uint64_t[]>> chunks_;
  size_t used_ = 0, capacity_ = 0;
};

struct Record {
  TypeKind kind = TypeKind::Incomplete;
  DType dtype = DType::Float32;
  int32_t device = 0;
  uint32_t count = 0; // dims, fields or params
  const void *list = nullptr;
  const std::string *layout = nullptr; // null: row-major
  TypeId result;                       // Function
  const uint32_t *leafEnds = nullptr;  // Tuple: tensors in the fields up to each, that included
};

} // namespace

struct TypeTable::Impl {
  std::vector<Record> records;
  std::unordered_multimap<uint64_t, uint32_t> byHash;
  ChunkArena arena;
  bool allOnHost = true;
  std::vector<std::unique_ptr<std::string>> layouts;
  DimTable dims;

  const std::string *internLayout(std::string_view text) {
    if (text.empty())
      return nullptr;
    for (const auto &layout : layouts)
      if (*layout == text)
        return layout.get();
    layouts.push_back(std::make_unique<std::string>(text));
    return layouts.back().get();
  }

  static bool sameList(const Record &a, const Record &b, size_t elementSize) {
    return a.count == b.count &&
           (a.count == 0 || !std::memcmp(a.list, b.list, a.count * elementSize));
  }

  TypeId intern(Record record, size_t elementSize) {
    uint64_t hash =
        hashBytes(record.list, record.count * elementSize,
                  static_cast<uint64_t>(record.kind) * 131 + static_cast<uint64_t>(record.dtype));
    hash = hashCombine(hash, static_cast<uint64_t>(static_cast<uint32_t>(record.device)));
    hash = hashCombine(hash, record.layout ? hashText(*record.layout) : 0);
    hash = hashCombine(hash, record.result.index);
    auto [begin, end] = byHash.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      const Record &old = records[it->second];
      if (old.kind == record.kind && old.dtype == record.dtype && old.device == record.device &&
          old.layout == record.layout && old.result == record.result &&
          sameList(old, record, elementSize))
        return TypeId(it->second);
    }
    if (record.count)
      record.list = elementSize == sizeof(Dim)
                        ? static_cast<const void *>(arena.copy(std::span<const Dim>(
                              static_cast<const Dim *>(record.list), record.count)))
                        : static_cast<const void *>(arena.copy(std::span<const TypeId>(
                              static_cast<const TypeId *>(record.list), record.count)));
    uint32_t index = static_cast<uint32_t>(records.size());
    records.push_back(record);
    byHash.emplace(hash, index);
    return TypeId(index);
  }

  void countLeaves(Record &tuple) {
    if (tuple.leafEnds || !tuple.count)
      return;
    std::vector<uint32_t> ends;
    uint32_t count = 0;
    for (uint32_t i = 0; i < tuple.count; ++i) {
      const Record &field = records[static_cast<const TypeId *>(tuple.list)[i].index];
      if (field.kind != TypeKind::Tuple)
        ++count;
      else if (field.count)
        count += field.leafEnds[field.count - 1];
      ends.push_back(count);
    }
    tuple.leafEnds = arena.copy(std::span<const uint32_t>(ends));
  }

  const Record &tensor(TypeId type) const {
    const Record &record = records[type.index];
    BYCC_ASSERT(record.kind == TypeKind::Tensor, "a tensor type is asked for");
    return record;
  }
};

TypeTable::TypeTable() : impl_(std::make_unique<Impl>()) {
  impl_->records.emplace_back(); // Incomplete
}
TypeTable::~TypeTable() = default;
TypeTable::TypeTable(TypeTable &&) noexcept = default;
TypeTable &TypeTable::operator=(TypeTable &&) noexcept = default;

TypeId TypeTable::tensor(DType dtype, std::span<const Dim> shape, std::string_view layout,
                         int32_t device) {
  Record record;
  record.kind = TypeKind::Tensor;
  record.dtype = dtype;
  record.device = device;
  record.layout = impl_->internLayout(layout);
  impl_->allOnHost &= layout.empty() && device == 0;
  record.count = static_cast<uint32_t>(shape.size());
  record.list = shape.data();
  return impl_->intern(record, sizeof(Dim));
}

TypeId TypeTable::tuple(std::span<const TypeId> fields) {
  Record record;
  record.kind = TypeKind::Tuple;
  record.count = static_cast<uint32_t>(fields.size());
  record.list = fields.data();
  TypeId made = impl_->intern(record, sizeof(TypeId));
  impl_->countLeaves(impl_->records[made.index]);
  return made;
}

TypeId TypeTable::function(std::span<const TypeId> params, TypeId result) {
  Record record;
  record.kind = TypeKind::Function;
  record.count = static_cast<uint32_t>(params.size());
  record.list = params.data();
  record.result = result;
  return impl_->intern(record, sizeof(TypeId));
}

TypeKind TypeTable::kind(TypeId type) const { return impl_->records[type.index].kind; }
DType TypeTable::dtype(TypeId tensor) const { return impl_->tensor(tensor).dtype; }

std::span<const Dim> TypeTable::shape(TypeId tensor) const {
  const Record &record = impl_->tensor(tensor);
  return {static_cast<const Dim *>(record.list), record.count};
}

std::string_view TypeTable::layout(TypeId tensor) const {
  const Record &record = impl_->tensor(tensor);
  return record.layout ? std::string_view(*record.layout) : std::string_view();
}

int32_t TypeTable::device(TypeId tensor) const { return impl_->tensor(tensor).device; }

std::span<const TypeId> TypeTable::fields(TypeId tuple) const {
  const Record &record = impl_->records[tuple.index];
  BYCC_ASSERT(record.kind == TypeKind::Tuple, "a tuple type is asked for");
  return {static_cast<const TypeId *>(record.list), record.count};
}

std::span<const TypeId> TypeTable::params(TypeId function) const {
  const Record &record = impl_->records[function.index];
  BYCC_ASSERT(record.kind == TypeKind::Function, "a function type is asked for");
  return {static_cast<const TypeId *>(record.list), record.count};
}

TypeId TypeTable::result(TypeId function) const {
  const Record &record = impl_->records[function.index];
  BYCC_ASSERT(record.kind == TypeKind::Function, "a function type is asked for");
  return record.result;
}

bool TypeTable::isStatic(TypeId type) const {
  switch (kind(type)) {
  case TypeKind::Tensor:
    return std::ranges::all_of(shape(type), &Dim::isConst);
  case TypeKind::Tuple:
    return std::ranges::all_of(fields(type), [&](TypeId field) { return isStatic(field); });
  case TypeKind::Incomplete:
  case TypeKind::Function:
    break;
  }
  return false;
}

std::optional<int64_t> TypeTable::numElements(TypeId tensor) const {
  int64_t count = 1;
  bool overflow = false, hasZero = false;
  for (Dim dim : shape(tensor)) {
    if (!dim.isConst())
      return std::nullopt;
    hasZero |= dim.value() == 0;
    overflow |= __builtin_mul_overflow(count, dim.value(), &count);
  }
  if (hasZero)
    return 0;
  return overflow ? std::nullopt : std::optional(count);
}

std::optional<int64_t> TypeTable::sizeBytes(TypeId tensor) const {
  auto count = numElements(tensor);
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, sizeInBytes(dtype(tensor)), &bytes))
    return std::nullopt;
  return bytes;
}

std::string TypeTable::placeText(TypeId type) const {
  for (TypeId part : flatten(type)) {
    if (!isTensor(part))
      continue;
    if (std::string_view name = layout(part); !name.empty())
      return "layout \"" + escaped(name) + "\"";
    if (device(part) != 0)
      return "device " + std::to_string(device(part));
  }
  return "";
}

bool TypeTable::allOnHost() const { return impl_->allOnHost; }

std::vector<TypeId> TypeTable::flatten(TypeId type) const {
  if (kind(type) != TypeKind::Tuple)
    return {type};
  std::vector<TypeId> flat;
  for (TypeId field : fields(type))
    for (TypeId leaf : flatten(field))
      flat.push_back(leaf);
  return flat;
}

size_t TypeTable::numLeaves(TypeId type) const {
  const Record &record = impl_->records[type.index];
  return record.kind != TypeKind::Tuple ? 1 : record.count ? record.leafEnds[record.count - 1] : 0;
}

TypeId TypeTable::leaf(TypeId type, size_t index) const {
  while (kind(type) == TypeKind::Tuple) {
    uint32_t field = fieldOfLeaf(type, index);
    index -= leavesOf(type, field).first;
    type = fields(type)[field];
  }
  return type;
}

uint32_t TypeTable::fieldOfLeaf(TypeId tuple, size_t index) const {
  BYCC_ASSERT(index < numLeaves(tuple), "a tensor in a tuple is asked for");
  const Record &record = impl_->records[tuple.index];
  const uint32_t *end = record.leafEnds + record.count;
  return static_cast<uint32_t>(std::upper_bound(record.leafEnds, end, index) - record.leafEnds);
}

std::pair<size_t, size_t> TypeTable::leavesOf(TypeId tuple, uint32_t field) const {
  const Record &record = impl_->records[tuple.index];
  BYCC_ASSERT(record.kind == TypeKind::Tuple && field < record.count,
              "a field of a tuple is asked for");
  size_t first = field ? record.leafEnds[field - 1] : 0;
  return {first, record.leafEnds[field] - first};
}

Dim TypeTable::symbol(std::string_view name) { return impl_->dims.symbol(name); }
Dim TypeTable::dim(DimOp op, Dim lhs, Dim rhs) { return impl_->dims.make(op, lhs, rhs); }
bool TypeTable::isSurelyAtLeast(Dim a, Dim b) const { return impl_->dims.isSurelyAtLeast(a, b); }
int64_t TypeTable::likely(Dim dim) const { return std::max<int64_t>(impl_->dims.likely(dim), 0); }
bool TypeTable::mayBeLess(Dim dim) const { return impl_->dims.mayBeLess(dim); }
void TypeTable::setLikely(Dim symbol, int64_t extent) { impl_->dims.setLikely(symbol, extent); }
void TypeTable::setNonEmpty(Dim symbol) { impl_->dims.setNonEmpty(symbol); }
std::vector<Dim> TypeTable::nonEmpty() const { return impl_->dims.nonEmpty(); }

const DimExpr &TypeTable::expr(Dim dim) const {
  BYCC_ASSERT(!dim.isConst(), "a dim that is an expression is asked for");
  return impl_->dims.expr(dim);
}

std::string TypeTable::str(Dim dim) const {
  return dim.isConst() ? std::to_string(dim.value()) : impl_->dims.text(dim);
}

std::string TypeTable::str(TypeId type) const {
  auto list = [&](std::span<const TypeId> types) {
    std::string text;
    for (TypeId each : types)
      text += (text.empty() ? "" : ", ") + str(each);
    return text;
  };
  switch (kind(type)) {
  case TypeKind::Incomplete:
    return "_";
  case TypeKind::Tuple: {
    auto all = fields(type);
    return "(" + list(all) + (all.size() == 1 ? ",)" : ")");
  }
  case TypeKind::Function:
    return "fn (" + list(params(type)) + ") -> " + str(result(type));
  case TypeKind::Tensor:
    break;
  }
  std::string dtypeText(bycc::name(dtype(type)));
  std::string extra;
  if (!layout(type).empty())
    extra += ", layout=\"" + std::string(layout(type)) + "\"";
  if (device(type))
    extra += ", device=" + std::to_string(device(type));
  if (shape(type).empty() && extra.empty())
    return dtypeText;
  std::string text = "Tensor[(";
  bool first = true;
  for (Dim dim : shape(type)) {
    text += (first ? "" : ", ") + str(dim);
    first = false;
  }
  return text + "), " + dtypeText + extra + "]";
}

uint32_t TypeTable::size() const { return static_cast<uint32_t>(impl_->records.size()); }

} // namespace bycc
