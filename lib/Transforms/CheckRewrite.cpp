#include "CheckRewrite.h"

#include "bycc/Eval/Eval.h"
#include "bycc/Support/Element.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <unordered_map>

namespace bycc {
namespace {

constexpr double maxWork = 2e7; // elements and FLOPs of a trial with the sizes of the match

// Extents of the match -> those of the trial.
using Extents = std::map<int64_t, int64_t>;

// The match as a function of a module of its own, and the replacement as another.
class Trial {
public:
  Trial(const Module &source, const Match &match, const Extents *small)
      : source_(source), match_(match), small_(small) {}

  Expected<> build(const Rewrite &rewrite, std::span<const Pattern> patterns) {
    for (FunctionId *function : {&before_, &after_}) {
      *function = module_.addFunction(function == &before_ ? "before" : "after");
      copies_.clear();
      Builder builder(module_, module_.function(*function).body);
      NodeId root = BYCC_TRY(copyGroup(builder, *function));
      if (function == &after_)
        root = BYCC_TRY(replace(builder, root, rewrite, patterns));
      module_.block(module_.function(*function).body).result = root;
    }
    TypeId was = resultType(before_), is = resultType(after_);
    if (was != is)
      return error(Status::Input) << "it makes " << module_.types.str(is) << " of "
                                  << module_.types.str(was);
    return {};
  }

  double work() const {
    double sum = 0;
    for (uint32_t i = 0; i < module_.numNodes(); ++i) {
      NodeId node(i);
      for (TypeId type : module_.types.flatten(module_.type(node)))
        sum += static_cast<double>(module_.types.numElements(type).value_or(0));
      if (module_.node(node).kind == NodeKind::CallOp && opInfo(module_.node(node).op).flops)
        sum += opInfo(module_.node(node).op).flops(module_, node);
    }
    return sum;
  }

  // "" where both agree; an error where one of them has no answer.
  Expected<std::string> compare(uint64_t seed, double low, double high) const {
    std::vector<Tensor> inputs;
    for (NodeId param : module_.function(before_).params)
      inputs.push_back(BYCC_TRY(randomTensor(module_.type(param), seed++, low, high)));
    std::vector<Tensor> was = BYCC_TRY(evaluate(module_, before_, inputs));
    std::vector<Tensor> is = BYCC_TRY(evaluate(module_, after_, inputs));
    for (size_t i = 0; i < was.size(); ++i)
      if (std::string why = difference(was[i], is[i]); !why.empty())
        return why;
    return std::string();
  }

private:
  TypeId resultType(FunctionId function) const {
    return module_.type(module_.block(module_.function(function).body).result);
  }

  // Constants of one element are part of what is computed; others stand for any.
  static bool isKept(const Module &module, NodeId node) {
    return module.isConstant(node) && module.types.numElements(module.type(node)) == 1;
  }

  Expected<NodeId> copyGroup(Builder &builder, FunctionId function) {
    for (NodeId node : topologicalGroup()) {
      std::vector<NodeId> operands;
      for (NodeId operand : source_.operands(node))
        operands.push_back(BYCC_TRY(copyOf(builder, function, operand)));
      const Node &record = source_.node(node);
      switch (record.kind) {
      case NodeKind::CallOp:
        copies_[node] =
            BYCC_TRY(builder.call(record.op, operands, source_.attributes.dict(record.attrs)));
        break;
      case NodeKind::Tuple:
        copies_[node] = BYCC_TRY(builder.limitedTuple(operands));
        break;
      case NodeKind::Project:
        copies_[node] = BYCC_TRY(builder.project(operands[0], record.payload));
        break;
      default:
        return error(Status::Unsup) << "a call of a function";
      }
    }
    return copies_.at(match_.root);
  }

  // Operands first.
  std::vector<NodeId> topologicalGroup() const {
    std::set<NodeId> left(match_.nodes.begin(), match_.nodes.end());
    std::vector<NodeId> order, stack = {match_.root};
    while (!stack.empty()) {
      NodeId node = stack.back();
      size_t size = stack.size();
      for (NodeId operand : source_.operands(node))
        if (left.contains(operand))
          stack.push_back(operand);
      if (stack.size() > size)
        continue;
      stack.pop_back();
      if (left.erase(node))
        order.push_back(node);
    }
    return order;
  }

  Expected<NodeId> copyOf(Builder &builder, FunctionId function, NodeId node) {
    if (auto known = copies_.find(node); known != copies_.end())
      return known->second;
    TypeId type = source_.type(node);
    NodeId copy;
    if (isKept(source_, node)) {
      const Constant &constant = source_.constant(node);
      std::vector<Dim> shape(source_.types.shape(type).begin(), source_.types.shape(type).end());
      copy = module_.addConstant(source_.types.dtype(type), shape, constant.data(), constant.bytes);
    } else if (!source_.types.isTensor(type)) {
      std::vector<NodeId> fields;
      for (TypeId field : source_.types.flatten(type))
        fields.push_back(BYCC_TRY(addParam(function, field)));
      copy = BYCC_TRY(builder.limitedTuple(fields));
    } else {
      copy = BYCC_TRY(addParam(function, type));
    }
    return copies_[node] = copy;
  }

  Expected<NodeId> addParam(FunctionId function, TypeId type) {
    std::vector<Dim> shape;
    for (Dim dim : source_.types.shape(type)) {
      int64_t extent = source_.types.likely(dim);
      auto small = small_ ? small_->find(extent) : Extents::const_iterator();
      shape.emplace_back(small_ && small != small_->end() ? small->second : extent);
    }
    NodeId param = module_.addParam("p" + std::to_string(module_.function(function).params.size()),
                                    module_.types.tensor(source_.types.dtype(type), shape));
    module_.function(function).params.push_back(param);
    return param;
  }

  Expected<NodeId> replace(Builder &builder, NodeId root, const Rewrite &rewrite,
                           std::span<const Pattern> patterns) {
    Match copy;
    copy.root = root;
    for (const MatchRole &role : match_.roles)
      if (auto found = copies_.find(role.node); found != copies_.end())
        copy.roles.push_back({role.name, found->second});
    return makeReplacement(builder, rewrite, copy, patterns);
  }

  Expected<Tensor> randomTensor(TypeId type, uint64_t seed, double low, double high) const {
    DType dtype = module_.types.dtype(type);
    std::mt19937_64 random(seed);
    std::vector<double> values(static_cast<size_t>(*module_.types.numElements(type)));
    for (double &value : values) {
      value = low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53);
      if (dtype == DType::Bool)
        value = value > (low + high) / 2;
      else if (!isFloat(dtype))
        value = std::floor(isUnsigned(dtype) ? std::abs(4 * value) : 4 * value);
    }
    std::vector<int64_t> shape;
    for (Dim dim : module_.types.shape(type))
      shape.push_back(dim.value());
    return Tensor::fromDoubles(dtype, shape, values);
  }

  static bool isUnsigned(DType dtype) {
    return dtype == DType::UInt8 || dtype == DType::UInt16 || dtype == DType::UInt32 ||
           dtype == DType::UInt64;
  }

  static std::string difference(const Tensor &was, const Tensor &is) {
    double tolerance = !isFloat(was.dtype)            ? 0
                       : was.dtype == DType::BFloat16 ? 4e-2
                       : was.dtype == DType::Float16  ? 5e-3
                                                      : 1e-4;
    double largest = 0;
    for (int64_t i = 0; i < was.numElements(); ++i)
      if (std::isfinite(was.real(i)))
        largest = std::max(largest, std::abs(was.real(i)));
    for (int64_t i = 0; i < was.numElements(); ++i) {
      double a = was.real(i), b = is.real(i);
      bool isEqual = std::isnan(a) || std::isnan(b) ? std::isnan(a) == std::isnan(b)
                     : std::isinf(a) || std::isinf(b)
                         ? a == b
                         : std::abs(a - b) <= tolerance * (largest + 1e-30);
      if (!isEqual)
        return "element " + std::to_string(i) + " of the result is " + formatDouble(b) +
               " instead of " + formatDouble(a);
    }
    return "";
  }

  const Module &source_;
  const Match &match_;
  const Extents *small_; // null: as they are
  Module module_;
  FunctionId before_, after_;
  std::unordered_map<NodeId, NodeId> copies_;
};

Extents smallExtents(const Module &module, const Match &match) {
  std::set<int64_t> extents;
  for (NodeId node : match.nodes)
    for (NodeId operand : module.operands(node))
      for (TypeId type : module.types.flatten(module.type(operand)))
        for (Dim dim : module.types.shape(type))
          if (int64_t extent = module.types.likely(dim); extent > 1)
            extents.insert(extent);
  Extents small;
  int64_t next = 2;
  for (int64_t extent : extents) {
    next = std::min(extent, next);
    small[extent] = next++;
  }
  return small;
}

} // namespace

RewriteVerdict tryRewrite(const Module &module, const Rewrite &rewrite, const Match &match,
                          std::span<const Pattern> patterns) {
  Extents small = smallExtents(module, match);
  RewriteVerdict verdict;
  for (const Extents *extents : {&std::as_const(small), static_cast<const Extents *>(nullptr)}) {
    Trial trial(module, match, extents);
    if (Expected<> built = trial.build(rewrite, patterns); !built) {
      verdict.why = built.error().message();
      continue;
    }
    if (!extents && trial.work() > maxWork) {
      verdict.why = "it is too large to be tried";
      continue;
    }
    // Of either sign, and positive: for what is defined there only.
    for (auto [low, high] : {std::pair(-2.0, 2.0), std::pair(0.1, 3.0), std::pair(-0.5, 0.5)}) {
      Expected<std::string> difference = trial.compare(1, low, high);
      if (!difference)
        return {false, false, difference.error().message()};
      if (!difference->empty())
        return {false, true, *difference};
    }
    return {true, false, ""};
  }
  return verdict;
}

} // namespace bycc
