#include "bycc/IR/LikelyExtents.h"

#include "bycc/IR/Visitor.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <unordered_set>

namespace bycc {
namespace {

bool isSymbol(const Module &module, Dim dim) {
  return !dim.isConst() && module.types.expr(dim).op == DimOp::Symbol;
}

std::vector<TypeId> inputTypes(const Module &module) {
  std::vector<TypeId> types;
  if (FunctionId main = module.main())
    for (NodeId param : module.function(main).params)
      for (TypeId type : module.types.flatten(module.type(param)))
        types.push_back(type);
  return types;
}

// Walks types and dims, each of them once.
class Collector {
public:
  explicit Collector(const Module &module) : module_(module) {}

  OpenExtents run() {
    for (TypeId type : inputTypes(module_))
      addType(type);
    for (FunctionId function : module_.globals())
      forEachNode(module_, module_.function(function).body, [&](NodeId node) {
        addType(module_.type(node));
        for (NodeId operand : module_.operands(node))
          addType(module_.type(operand));
      });
    return std::move(found_);
  }

private:
  void addType(TypeId type) {
    if (!types_.insert(type.index).second)
      return;
    for (TypeId tensor : module_.types.flatten(type))
      if (module_.types.isTensor(tensor))
        for (Dim dim : module_.types.shape(tensor))
          addDim(dim);
  }

  void addDim(Dim dim) {
    if (dim.isConst() || !dims_.insert(dim.raw()).second)
      return;
    const DimExpr &expr = module_.types.expr(dim);
    if (expr.op == DimOp::Symbol) {
      found_.symbols.emplace_back(expr.symbol, module_.types.likely(dim));
    } else if (dim.isUnknown()) {
      found_.hasUnknown = true;
    } else {
      addDim(expr.lhs);
      addDim(expr.rhs);
    }
  }

  const Module &module_;
  OpenExtents found_;
  std::unordered_set<uint32_t> types_;
  std::unordered_set<int64_t> dims_;
};

} // namespace

int64_t usualExtent(std::string_view symbol) {
  std::string word; // "Batch_Size" is "batchsize"
  for (char c : symbol)
    if (c != '_')
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view batches[] = {"b", "bs", "batch", "batchsize", "batchdim", "nbatch"};
  bool isBatch = symbol == "N" || std::ranges::find(batches, word) != std::end(batches);
  return isBatch ? 1 : likelyUnknown;
}

namespace {

// "N" behind a batch that says so is a length: (batch_size, N).
void findLengths(Module &module) {
  for (TypeId type : inputTypes(module)) {
    if (!module.types.isTensor(type) || module.types.shape(type).empty())
      continue;
    std::span<const Dim> shape = module.types.shape(type);
    if (!isSymbol(module, shape[0]) || module.types.likely(shape[0]) != 1)
      continue;
    for (Dim dim : shape.subspan(1))
      if (isSymbol(module, dim) && dim != shape[0] && module.types.expr(dim).symbol == "N")
        module.types.setLikely(dim, likelyUnknown);
  }
}

// A batch without a name, by its place: x_0 of the frontend; s10 of PyTorch's exporter, which may
// give each input's first extent one of its own (of a vector it is a length).
bool isNamelessFirst(std::string_view symbol, size_t rank) {
  auto isDigit = [](unsigned char c) { return std::isdigit(c) != 0; };
  return symbol.ends_with("_0") || (rank > 1 && symbol.size() > 1 && symbol[0] == 's' &&
                                    std::ranges::all_of(symbol.substr(1), isDigit));
}

bool standsBehindFirst(const Module &module, Dim dim) {
  for (TypeId type : inputTypes(module))
    if (module.types.isTensor(type) && !module.types.shape(type).empty() &&
        std::ranges::count(module.types.shape(type).subspan(1), dim) > 0)
      return true;
  return false;
}

} // namespace

void findBatchExtents(Module &module) {
  findLengths(module);
  std::vector<Dim> firsts;
  bool areNameless = true;
  for (TypeId type : inputTypes(module)) {
    if (!module.types.isTensor(type) || module.types.shape(type).empty())
      continue;
    Dim dim = module.types.shape(type)[0];
    if (!isSymbol(module, dim))
      return;
    areNameless &=
        isNamelessFirst(module.types.expr(dim).symbol, module.types.shape(type).size()) &&
        !standsBehindFirst(module, dim);
    firsts.push_back(dim);
  }
  bool isOne = std::ranges::all_of(firsts, [&](Dim dim) { return dim == firsts[0]; });
  if (isOne || areNameless)
    for (Dim dim : firsts)
      module.types.setLikely(dim, 1);
}

std::string OpenExtents::text() const {
  constexpr size_t shown = 8; // of hundreds in exported models
  std::vector<std::string> parts;
  for (const auto &[name, extent] : symbols)
    if (parts.size() < shown)
      parts.push_back(name + "=" + std::to_string(extent));
  if (symbols.size() > shown)
    parts.push_back(std::to_string(symbols.size() - shown) + " more");
  if (hasUnknown)
    parts.push_back("unknown extents as " + std::to_string(likelyUnknown));
  return parts.empty() ? "" : "with " + join(parts, ", ") + " (likely)";
}

OpenExtents openExtents(const Module &module) { return Collector(module).run(); }

Expected<> setLikelyExtents(Module &module, const std::map<std::string, int64_t> &extents) {
  if (extents.empty())
    return {};
  std::vector<std::string> names;
  for (const auto &[name, extent] : openExtents(module).symbols)
    names.push_back(name);
  for (const auto &[name, extent] : extents) {
    if (std::ranges::find(names, name) != names.end()) {
      module.types.setLikely(module.types.symbol(name), extent);
      continue;
    }
    auto problem = error(Status::Arg).as(MessageId::NoSuchParameter)
                   << "--likely: the model has no open dimension '" << escaped(name) << "'"
                   << didYouMean(name, names);
    return std::move(problem).note(names.empty() ? "none of its dimensions has a name and is open"
                                                 : "open are " + join(names, ", "));
  }
  return {};
}

double likelyElements(const TypeTable &types, TypeId tensor) {
  double product = 1;
  for (Dim dim : types.shape(tensor))
    product *= static_cast<double>(types.likely(dim));
  return product;
}

bool hasUnknownExtents(const Module &module, NodeId call) {
  auto isGuess = [&](NodeId node) {
    return std::ranges::any_of(module.types.flatten(module.type(node)), [&](TypeId type) {
      return module.types.isTensor(type) &&
             std::ranges::any_of(module.types.shape(type), &Dim::isUnknown);
    });
  };
  return isGuess(call) || std::ranges::any_of(module.operands(call), isGuess);
}

} // namespace bycc
