// A split as slices, which become part of the kernels that read them:
//
//   split(x, 2, axis=1)  =>  (strided_slice(x, [0], [n], axes=[1]), strided_slice(x, [n], [2n], ..))

#include "LegalizeRules.h"
#include "SimplifyRules.h"

namespace bycc {
namespace {

// One kernel that makes many parts is called once.
constexpr size_t maxSlices = 8;

Expected<NodeId> slices(Legalizer &l) {
  NodeId x = l.input(0);
  std::span<const TypeId> fields = l.module.types.fields(l.module.type(l.call()));
  size_t axis = attrs::axis(l.module, l.call(), "axis", l.rank(x));
  std::vector<NodeId> parts;
  int64_t begin = 0;
  for (TypeId field : fields) {
    Dim extent = l.module.types.shape(field)[axis];
    if (!extent.isConst() || fields.size() > maxSlices)
      return l.call();
    int64_t end = begin + extent.value();
    parts.push_back(BYCC_TRY(
        l.make(ops::strided_slice, {x}, sliceAttrs({begin}, {end}, {static_cast<int64_t>(axis)}))));
    l.inherit(parts.back());
    begin = end;
  }
  return l.tuple(parts);
}

const LegalizeRule movementRows[] = {{ops::split, slices}};

} // namespace

std::span<const LegalizeRule> movementRules() { return movementRows; }

} // namespace bycc
