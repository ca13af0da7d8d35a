#include "OnnxLoop.h"

#include "OnnxDynamic.h"

#include <algorithm>

namespace bycc::onnx {
namespace {

constexpr int64_t maxUnrolled = 3;

class LoopBuilder {
public:
  LoopBuilder(OpContext &op, const LoopSpec &spec)
      : op_(op), spec_(spec), module_(op.module()), builder_(op.importer().builder()) {}

  Expected<LoopResult> run() {
    if (spec_.mayUnroll && spec_.numTurns && *spec_.numTurns > 0 && *spec_.numTurns <= maxUnrolled)
      return unroll();
    for (NodeId state : spec_.states)
      types_.push_back(module_.type(state));
    BlockId outer = builder_.block();
    bool isFixed = false;
    while (!isFixed) {
      BYCC_TRY(op_.importer().countLoopBody(op_));
      auto names = op_.importer().nodeNames();
      Expected<bool> attempt = tryTypes(outer);
      builder_.setBlock(outer);
      isFixed = BYCC_TRY(std::move(attempt));
      if (!isFixed)
        op_.importer().restoreNodeNames(std::move(names));
    }
    return finish(outer);
  }

private:
  // --- very short loops
  Expected<LoopResult> unroll() {
    LoopResult result{spec_.states, {}};
    std::vector<std::vector<NodeId>> rows;
    for (int64_t i = 0; i < *spec_.numTurns; ++i) {
      LoopTurn turn =
          BYCC_TRY(spec_.turn(op_.scalar(DType::Int64, static_cast<double>(i)), {}, result.states));
      result.states = turn.states;
      rows.resize(turn.rows.size());
      for (size_t r = 0; r < rows.size(); ++r)
        rows[r].insert(turn.rows[r].isReversed ? rows[r].begin() : rows[r].end(),
                       turn.rows[r].value);
    }
    for (const std::vector<NodeId> &row : rows)
      result.rows.push_back(BYCC_TRY(op_.call("stack", {op_.tuple(row)}, {{"axis", 0}})));
    return result;
  }

  // --- the body
  // True when the states keep their types; else `types_` has grown more general.
  Expected<bool> tryTypes(BlockId outer) {
    function_ = module_.addFunction({}, outer);
    body_ = module_.function(function_).body;
    then_ = module_.addIfBlocks(body_);
    index_ = addParam("i", module_.types.tensor(DType::Int64, {}));
    condition_ = NodeId();
    if (spec_.condition)
      condition_ = addParam("go", module_.types.tensor(DType::Bool, {}));
    std::vector<NodeId> states;
    for (TypeId type : types_)
      states.push_back(addParam("s" + std::to_string(states.size()), type));
    builder_.setBlock(then_);
    turn_ = BYCC_TRY(spec_.turn(index_, condition_, states));
    builder_.setSource(op_.sourceId());
    bool isFixed = true;
    for (size_t i = 0; i < types_.size(); ++i) {
      TypeId joined = BYCC_TRY(join(types_[i], module_.type(turn_.states[i]), i));
      isFixed = isFixed && joined == types_[i];
      types_[i] = joined;
    }
    states_ = states;
    return isFixed;
  }

  NodeId addParam(const std::string &name, TypeId type) {
    NodeId param = module_.addParam(name, type, op_.sourceId());
    module_.function(function_).params.push_back(param);
    return param;
  }

  Expected<TypeId> join(TypeId before, TypeId after, size_t state) {
    const TypeTable &types = module_.types;
    auto a = types.shape(before), b = types.shape(after);
    if (types.dtype(before) != types.dtype(after) || a.size() != b.size())
      return op_.error(Status::Unsup)
             << "value " << state << " that the loop carries on changes from " << types.str(before)
             << " to " << types.str(after);
    std::vector<Dim> dims;
    for (size_t d = 0; d < a.size(); ++d)
      dims.push_back(a[d] == b[d] ? a[d] : Dim::unknown());
    return module_.types.tensor(types.dtype(before), dims);
  }

  // --- rows: `made` before the loop, given to the function, and what a turn makes of it
  struct Stack {
    NodeId made, param;
    bool isWritten; // into a tensor of its size; else it grows
  };

  Expected<Stack> addStack(const LoopRow &row, BlockId outer) {
    if (!row.value)
      return op_.error() << "the body leaves out a result that is stacked";
    std::vector<Dim> shape = op_.shape(row.value);
    DType dtype = op_.dtype(row.value);
    bool isExact = !spec_.condition && !turn_.condition;
    NodeId like = isExact ? stateLike(row.value) : NodeId();
    Stack stack{{}, {}, isExact && (op_.isStatic(row.value) || like)};
    builder_.setBlock(outer);
    std::vector<int64_t> extents;
    for (Dim dim : shape)
      extents.push_back(dim.isConst() ? dim.value() : 0);
    Dim count = Dim::unknown();
    if (!stack.isWritten) {
      stack.made = BYCC_TRY(filled(dtype, 0, extents));
    } else if (spec_.numTurns && !like) {
      count = Dim(std::max<int64_t>(*spec_.numTurns, 0));
      stack.made = BYCC_TRY(filled(dtype, count.value(), extents));
    } else {
      NodeId rows = BYCC_TRY(op_.call("maximum", {spec_.trip, op_.scalar(DType::Int64, 0)}));
      std::vector<NodeId> parts{BYCC_TRY(op_.call("expand_dims", {rows}, {{"axis", 0}}))};
      if (like)
        parts.push_back(BYCC_TRY(op_.call("shape_of", {like}, {{"dtype", "int64"}})));
      else if (!extents.empty())
        parts.push_back(op_.ints(extents));
      stack.made =
          BYCC_TRY(op_.call("dyn.full", {op_.scalar(dtype, 0), BYCC_TRY(onnx::join(op_, parts))},
                            {{"dtype", name(dtype)}}));
      count = op_.shape(stack.made)[0];
    }
    shape.insert(shape.begin(), count);
    stack.param = addParam("rows", module_.types.tensor(dtype, shape));
    return stack;
  }

  // A state that has in every turn the extents of this row; none where all are known.
  NodeId stateLike(NodeId row) const {
    std::vector<Dim> shape = op_.shape(row);
    if (op_.isStatic(row) || std::ranges::any_of(shape, &Dim::isUnknown))
      return {};
    for (size_t i = 0; i < types_.size(); ++i)
      if (std::ranges::equal(module_.types.shape(types_[i]), shape))
        return spec_.states[i];
    return {};
  }

  Expected<NodeId> filled(DType dtype, int64_t count, std::vector<int64_t> shape) {
    shape.insert(shape.begin(), count);
    return op_.call("zeros", {}, {{"shape", AttrValue::ints(shape)}, {"dtype", name(dtype)}});
  }

  Expected<NodeId> addRow(const Stack &stack, const LoopRow &row) {
    NodeId one = BYCC_TRY(op_.call("expand_dims", {row.value}, {{"axis", 0}}));
    if (!stack.isWritten)
      return append(stack, row, one);
    NodeId at = index_;
    if (row.isReversed) {
      NodeId last = BYCC_TRY(op_.call("subtract", {spec_.trip, op_.scalar(DType::Int64, 1)}));
      at = BYCC_TRY(op_.call("subtract", {last, index_}));
    }
    at = BYCC_TRY(op_.call("expand_dims", {at}, {{"axis", 0}}));
    int64_t step = 1;
    NodeId end = BYCC_TRY(op_.call("add", {at, op_.scalar(DType::Int64, 1)}));
    return op_.call("strided_set", {stack.param, one, at, end, op_.ints({&step, 1})});
  }

  // The first row tells the extents that nobody knows before it.
  Expected<NodeId> append(const Stack &stack, const LoopRow &row, NodeId one) {
    std::vector<NodeId> parts{stack.param, one};
    if (row.isReversed)
      std::swap(parts[0], parts[1]);
    if (op_.isStatic(row.value))
      return op_.call("concatenate", {op_.tuple(parts)}, {{"axis", 0}});
    NodeId isFirst = BYCC_TRY(op_.call("equal", {index_, op_.scalar(DType::Int64, 0)}));
    BlockId here = builder_.block(), first = module_.addIfBlocks(here);
    module_.block(first).result = one;
    BlockId later(first.index + 1);
    builder_.setBlock(later);
    module_.block(later).result =
        BYCC_TRY(op_.call("concatenate", {op_.tuple(parts)}, {{"axis", 0}}));
    builder_.setBlock(here);
    return builder_.ifNode(isFirst, first);
  }

  // --- the function around it
  Expected<LoopResult> finish(BlockId outer) {
    std::vector<Stack> stacks;
    for (const LoopRow &row : turn_.rows) {
      auto stack = addStack(row, outer);
      builder_.setBlock(outer);
      stacks.push_back(BYCC_TRY(std::move(stack)));
    }
    NodeId loop = addFunctionNode(stacks);
    auto built = fill(loop, stacks);
    builder_.setBlock(outer);
    BYCC_TRY(std::move(built));
    BYCC_TRY(inferNode(module_, loop));
    module_.block(outer).nodes.push_back(loop);
    std::vector<NodeId> arguments{op_.scalar(DType::Int64, 0)};
    if (spec_.condition)
      arguments.push_back(spec_.condition);
    arguments.insert(arguments.end(), spec_.states.begin(), spec_.states.end());
    for (const Stack &stack : stacks)
      arguments.push_back(stack.made);
    NodeId call = BYCC_TRY(builder_.callFunction(loop, arguments));
    LoopResult result;
    for (size_t i = 0; i < states_.size() + stacks.size(); ++i)
      (i < states_.size() ? result.states : result.rows)
          .push_back(BYCC_TRY(op_.project(call, static_cast<uint32_t>(i))));
    return result;
  }

  // The function as a value, typed, so that its body can call it.
  NodeId addFunctionNode(const std::vector<Stack> &stacks) {
    std::vector<TypeId> results = types_, params;
    for (const Stack &stack : stacks)
      results.push_back(module_.type(stack.param));
    for (NodeId param : module_.function(function_).params)
      params.push_back(module_.type(param));
    bycc::Function &function = module_.function(function_);
    function.resultType = module_.types.tuple(results);
    function.source = op_.sourceId();
    bycc::Node node;
    node.kind = NodeKind::Function;
    node.payload = function_.index;
    node.isLet = true;
    node.name = module_.intern("loop");
    node.source = op_.sourceId();
    node.type = module_.types.function(params, function.resultType);
    return module_.addNode(node);
  }

  Expected<> fill(NodeId loop, const std::vector<Stack> &stacks) {
    builder_.setBlock(then_);
    std::vector<NodeId> next{BYCC_TRY(op_.call("add", {index_, op_.scalar(DType::Int64, 1)}))};
    if (spec_.condition)
      next.push_back(turn_.condition ? turn_.condition : condition_);
    next.insert(next.end(), turn_.states.begin(), turn_.states.end());
    std::vector<NodeId> results = states_;
    for (size_t r = 0; r < stacks.size(); ++r) {
      next.push_back(BYCC_TRY(addRow(stacks[r], turn_.rows[r])));
      results.push_back(stacks[r].param);
    }
    module_.block(then_).result = BYCC_TRY(builder_.callFunction(loop, next));
    builder_.setBlock(BlockId(then_.index + 1));
    module_.block(builder_.block()).result = builder_.tuple(results);
    builder_.setBlock(body_);
    NodeId goesOn = condition_;
    if (spec_.trip) {
      NodeId isBelow = BYCC_TRY(op_.call("less", {index_, spec_.trip}));
      goesOn = goesOn ? BYCC_TRY(op_.call("logical_and", {isBelow, goesOn})) : isBelow;
    }
    module_.block(body_).result = BYCC_TRY(builder_.ifNode(goesOn, then_));
    return {};
  }

  OpContext &op_;
  const LoopSpec &spec_;
  Module &module_;
  Builder &builder_;
  std::vector<TypeId> types_; // of the states
  FunctionId function_;
  BlockId body_, then_;
  NodeId index_, condition_;
  std::vector<NodeId> states_;
  LoopTurn turn_;
};

} // namespace

Expected<LoopResult> buildLoop(OpContext &op, const LoopSpec &spec) {
  return LoopBuilder(op, spec).run();
}

} // namespace bycc::onnx
