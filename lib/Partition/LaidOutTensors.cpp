#include "LaidOutTensors.h"

#include "bycc/IR/Op.h"

#include "Composites.h"
#include "UnionFind.h"

#include <algorithm>

namespace bycc {
namespace {

bool hasLayout(const OpInfo &info) {
  return std::ranges::any_of(info.attrs, [](const AttrSpec &attr) {
    return attr.name == "data_layout" || attr.name == "layout";
  });
}

} // namespace

void markLaidOut(const Module &module, std::span<const NodeId> items, std::span<const TypeId> types,
                 PlanProblem &problem) {
  enum class Kind : uint8_t { Other, Map, Layout };
  std::vector<Kind> kinds(items.size(), Kind::Other);
  for (size_t i = 0; i < items.size(); ++i) {
    bool allMaps = true, anyLayout = false;
    forEachOperator(module, items[i], [&](NodeId call) {
      const OpInfo &info = opInfo(module.node(call).op);
      allMaps &= info.isMap();
      anyLayout |= hasLayout(info);
    });
    kinds[i] = anyLayout ? Kind::Layout : allMaps ? Kind::Map : Kind::Other;
  }
  if (std::ranges::find(kinds, Kind::Layout) == kinds.end())
    return;
  std::vector<uint32_t> made(items.size(), none); // the last one of each
  for (uint32_t t = 0; t < problem.tensors.size(); ++t)
    if (uint32_t maker = problem.tensors[t].maker; maker != none)
      made[maker] = t;
  UnionFind same(problem.tensors.size());
  auto rank = [&](uint32_t t) {
    return module.types.isTensor(types[t]) ? module.types.shape(types[t]).size() : 0;
  };
  std::vector<uint32_t> marked;
  for (uint32_t t = 0; t < problem.tensors.size(); ++t) {
    uint32_t maker = problem.tensors[t].maker;
    bool isMarked = maker != none && kinds[maker] == Kind::Layout;
    for (uint32_t user : problem.users[t]) {
      if (made[user] == none)
        continue;
      if (kinds[user] == Kind::Map && types[t] == types[made[user]])
        same.join(t, made[user]);
      isMarked |= kinds[user] == Kind::Layout && rank(t) == rank(made[user]);
    }
    if (isMarked && rank(t) >= 3)
      marked.push_back(t);
  }
  for (uint32_t t : marked)
    problem.tensors[same.find(t)].isLaidOut = true;
  for (uint32_t t = 0; t < problem.tensors.size(); ++t)
    problem.tensors[t].isLaidOut = problem.tensors[same.find(t)].isLaidOut;
}

} // namespace bycc
