// A split as slices, which become part of the kernels that read them:
//
//   split(x, 2, axis=1)  =>  (strided_slice(x, [0], [n], axes=[1]), strided_slice(x, [n], [2n], ..))

#include "LegalizeRules.h"

namespace bycc {
namespace {

// One kernel that makes many parts is called once.
constexpr size_t maxSlices = 8;

Expected<NodeId> slices(Legalizer &l) {
  NodeId x = l.input(0);
  std::span<const TypeId> fields = l.module.types.fields(l.module.type(l.call()));
  int64_t axis = attrs::integer(l.module, l.call(), "axis");
  size_t at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(l.rank(x)) : axis);
  auto list = [](int64_t value) { return AttrValue::ints(std::vector<int64_t>{value}); };
  std::vector<NodeId> parts;
  int64_t begin = 0;
  for (TypeId field : fields) {
    Dim extent = l.module.types.shape(field)[at];
    if (!extent.isConst() || fields.size() > maxSlices)
      return l.call();
    int64_t end = begin + extent.value();
    parts.push_back(BYCC_TRY(l.make(ops::strided_slice, {x},
                                    {{"begin", list(begin)},
                                     {"end", list(end)},
                                     {"strides", list(1)},
                                     {"axes", list(static_cast<int64_t>(at))}})));
    l.inherit(parts.back());
    begin = end;
  }
  return l.tuple(parts);
}

const LegalizeRule movementRows[] = {{ops::split, slices}};

} // namespace

std::span<const LegalizeRule> movementRules() { return movementRows; }

} // namespace bycc
