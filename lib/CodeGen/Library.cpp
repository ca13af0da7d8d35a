// The table of operators that library kernels compute, with their attributes.
#include "Library.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace bycc::te {
namespace {

// One operator call on its way to a kernel.
struct Call {
  const Module &m;
  NodeId id;

  int64_t integer(std::string_view key) const { return attrs::integer(m, id, key); }
  int64_t flag(std::string_view key) const { return attrs::boolean(m, id, key); }
  std::string_view text(std::string_view key) const { return attrs::text(m, id, key); }
  bool isNone(std::string_view key) const { return attrs::isNone(m, id, key); }
  int64_t rank(size_t operand) const { return static_cast<int64_t>(m.types.shape(m.type(m.operands(id)[operand])).size()); }
  int64_t axis(std::string_view key, size_t operand = 0) const {
    int64_t value = integer(key);
    return value < 0 ? value + rank(operand) : value;
  }
  ErrorBuilder unsupported() const { return error(Status::Unsup, m.source(id)) << opInfo(m.node(id).op).name << ": "; }
};

Expected<LibraryUse> argsort(const Module &m, NodeId id) {
  Call call{m, id};
  return LibraryUse{LibraryKernel::argsort, {call.axis("axis"), call.flag("is_ascend")}, {0}};
}

Expected<LibraryUse> argwhere(const Module &, NodeId) { return LibraryUse{LibraryKernel::argwhere}; }

Expected<LibraryUse> cumulate(const Module &m, NodeId id) {
  Call call{m, id};
  bool isFlat = call.isNone("axis");
  LibraryUse use{LibraryKernel::cumulate, {isFlat ? -1 : call.axis("axis"), m.node(id).op == ops::cumprod, call.flag("exclusive")}};
  if (!isFlat)
    use.like = {0};
  return use;
}

Expected<LibraryUse> invertPermutation(const Module &, NodeId) { return LibraryUse{LibraryKernel::invertPermutation, {}, {0}}; }

Expected<int64_t> scatterMode(const Call &call, std::string_view key) {
  constexpr std::array<std::string_view, 6> modes = {"update", "add", "mul", "min", "max", "mean"};
  auto found = std::find(modes.begin(), modes.end(), call.text(key));
  if (found == modes.end())
    return call.unsupported() << key << " \"" << call.text(key) << "\"";
  return found - modes.begin();
}

Expected<LibraryUse> scatterElements(const Module &m, NodeId id) {
  Call call{m, id};
  return LibraryUse{LibraryKernel::scatterElements, {call.axis("axis"), BYCC_TRY(scatterMode(call, "reduction"))}, {0}};
}

Expected<LibraryUse> scatterNd(const Module &m, NodeId id) {
  Call call{m, id};
  return LibraryUse{LibraryKernel::scatterNd, {BYCC_TRY(scatterMode(call, "mode"))}, {0}};
}

Expected<LibraryUse> searchSorted(const Module &m, NodeId id) {
  return LibraryUse{LibraryKernel::searchSorted, {Call{m, id}.flag("right")}, {1}};
}

Expected<LibraryUse> sort(const Module &m, NodeId id) {
  Call call{m, id};
  return LibraryUse{LibraryKernel::sort, {call.axis("axis"), call.flag("is_ascend")}, {0}};
}

Expected<LibraryUse> sparseToDense(const Module &, NodeId) { return LibraryUse{LibraryKernel::sparseToDense}; }

Expected<LibraryUse> topk(const Module &m, NodeId id) {
  Call call{m, id};
  int64_t k = m.node(id).op == ops::topk ? call.integer("k") : -1;
  std::string_view which = call.text("ret_type");
  return LibraryUse{LibraryKernel::topk, {k, call.axis("axis"), call.flag("is_ascend"), which != "indices", which != "values"}};
}

Expected<LibraryUse> unique(const Module &m, NodeId id) {
  Call call{m, id};
  return LibraryUse{LibraryKernel::unique,
                    {call.flag("sorted"), call.flag("return_counts")},
                    {LibraryUse::told, LibraryUse::told, 0}};
}

constexpr std::pair<OpId, LibraryFn> uses[] = {
    {ops::argsort, argsort},
    {ops::argwhere, argwhere},
    {ops::cumprod, cumulate},
    {ops::cumsum, cumulate},
    {ops::dyn_topk, topk},
    {ops::invert_permutation, invertPermutation},
    {ops::scatter_elements, scatterElements},
    {ops::scatter_nd, scatterNd},
    {ops::searchsorted, searchSorted},
    {ops::sort, sort},
    {ops::sparse_to_dense, sparseToDense},
    {ops::topk, topk},
    {ops::unique, unique},
};

} // namespace

LibraryFn findLibraryUse(OpId op) {
  static const std::vector<LibraryFn> table = [] {
    std::vector<LibraryFn> made(numOps(), nullptr);
    for (auto [known, use] : uses)
      made[known.index] = use;
    return made;
  }();
  return table[op.index];
}

} // namespace bycc::te
