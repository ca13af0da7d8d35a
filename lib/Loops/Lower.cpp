// The operator table and what all lowerings share; then groups: nodes in order,
// each lowered into stages of one kernel.
#include "OpLowering.h"

#include "bycc/Support/Element.h"

#include <limits>

namespace bycc::loops {

DType accumulator(DType type) {
  return type == DType::Float16 || type == DType::BFloat16 ? DType::Float32 : type;
}

LowerFn findLowering(OpId op) {
  static const LowerTable table = [] {
    LowerTable made(numOps(), nullptr);
    addElementwiseLowerings(made);
    addReductionLowerings(made);
    addMovementLowerings(made);
    addContractionLowerings(made);
    addPoolLowerings(made);
    addSelectionLowerings(made);
    addImageLowerings(made);
    addReshapeLowerings(made);
    addSliceLowerings(made);
    addEinsumLowerings(made);
    addLayoutLowerings(made);
    return made;
  }();
  return table[op.index];
}

// --- attributes

Expected<AxisOrder> OpLowering::axisOrder(std::string_view key, std::string_view layout,
                                          std::string_view leading, size_t numSpatial) const {
  auto parsed = Layout::parse(layout);
  auto axes = parsed ? parsed->axesOf(layoutLetters(leading, numSpatial)) : std::nullopt;
  if (!axes)
    return unsupported() << key << " '" << layout << "'";
  return AxisOrder{(*axes)[0], (*axes)[1], {axes->begin() + 2, axes->end()}};
}

ErrorBuilder OpLowering::unsupported() const {
  return error(Status::Unsup, module.source(call)) << info().name << ": ";
}

// --- shapes and stages

TypeId OpLowering::resultType(size_t index) const {
  return module.types.leaf(module.type(call), index);
}

Expected<std::vector<Ref>> OpLowering::resultShape(const std::vector<Ref> &likely, size_t index) {
  std::vector<Ref> shape;
  for (Dim dim : module.types.shape(resultType(index))) {
    size_t d = shape.size();
    Ref computed = d < likely.size() ? likely[d] : noRef;
    if (dim.isConst()) {
      shape.push_back(x.integer(dim.value()));
      if (computed != noRef && !x.constant(computed))
        requireEqual(computed, shape.back(), "axis " + std::to_string(d) + " of the result");
      continue;
    }
    if (auto known = dim.isUnknown() ? std::nullopt : dims.around.extentOf(dim)) {
      shape.push_back(
          dims.settle(dims.fromProgram(*known), nodeText() + "axis " + std::to_string(d) +
                                                    " of the result has an extent of {}"));
      continue;
    }
    // Extents of inputs are the candidates for what is not known.
    if (computed == noRef)
      return unsupported() << "axis " << d << " of the result is " << module.types.str(dim)
                           << ", which host code cannot compute";
    shape.push_back(dims.settle(computed, nodeText() + "axis " + std::to_string(d) +
                                              " of the result has an extent of {}"));
  }
  return shape;
}

Tensor OpLowering::temp(DType type, std::vector<Ref> shape) {
  Tensor tensor;
  tensor.type = type;
  tensor.shape = shape;
  tensor.buffer = k.addBuffer(type, std::move(shape), Role::Temp);
  return tensor;
}

Ref OpLowering::lowest(DType type) {
  if (isFloat(type))
    return real(-std::numeric_limits<double>::infinity(), type);
  if (!isSignedInt(type))
    return x.integer(0, type);
  return x.integer(int64_t(~uint64_t{0} << (sizeInBytes(type) * 8 - 1)), type);
}

Ref OpLowering::at(const Tensor &tensor, const Indices &indices) {
  // A loop over one extent must not leave a tensor whose extent is another.
  for (size_t d = 0; d < indices.size(); ++d) {
    if (x[indices[d]].op != Op::Axis)
      continue;
    Ref extent = x.extent(static_cast<uint32_t>(x[indices[d]].i));
    if (extent != tensor.shape[d] && !(x.constant(extent) && x.constant(tensor.shape[d])))
      require(x.binary(Op::Le, extent, tensor.shape[d]),
              "axis " + std::to_string(d) + " of an operand has {} elements, {} are needed",
              {tensor.shape[d], extent});
  }
  return atGuarded(tensor, indices);
}

Ref OpLowering::atGuarded(const Tensor &tensor, const Indices &indices) {
  return tensor.number != noRef ? tensor.number : k.load(tensor.buffer, indices);
}

Ref OpLowering::atFlat(const Tensor &tensor, Ref flat) {
  return tensor.number != noRef ? tensor.number : x.load(tensor.buffer, tensor.type, flat);
}

Ref OpLowering::atBroadcast(const Tensor &tensor, const Indices &indices) {
  Indices own;
  size_t skip = indices.size() - tensor.rank();
  for (size_t d = 0; d < tensor.rank(); ++d)
    own.push_back(broadcastIndex(tensor.shape[d], indices[skip + d]));
  return at(tensor, own);
}

Ref OpLowering::broadcastIndex(Ref extent, Ref index) {
  if (x.constant(extent) == 1)
    return x.integer(0);
  bool isSame = x[index].op == Op::Axis && x.extent(static_cast<uint32_t>(x[index].i)) == extent;
  if (x.constant(extent) || isSame)
    return index;
  if (x[index].op == Op::Axis) {
    Ref wanted = x.extent(static_cast<uint32_t>(x[index].i));
    require(
        x.binary(Op::Or, x.binary(Op::Eq, extent, x.integer(1)), x.binary(Op::Eq, extent, wanted)),
        "an extent of {} does not broadcast to {}", {extent, wanted});
  }
  return x.index(index, extent); // 0 where the extent is 1, else it is within
}

Ref OpLowering::broadcastExtent(Ref a, Ref b) {
  if (a == b || x.constant(b) == 1)
    return a;
  if (x.constant(a) == 1 || x.constant(b))
    return b;
  return x.constant(a) ? a : x.select(x.binary(Op::Eq, a, x.integer(1)), b, a);
}

Tensor OpLowering::map(DType type, const std::vector<Ref> &shape, const Kernel::BodyFn &body,
                       bool keep) {
  Tensor tensor = temp(type, shape);
  k.map(tensor.buffer, body).keep = keep;
  return tensor;
}

Expected<> OpLowering::mapResult(const Kernel::BodyFn &body, const std::vector<Ref> &likely) {
  std::vector<Ref> shape = BYCC_TRY(resultShape(likely));
  results.push_back(map(resultDType(), shape, body));
  return {};
}

Tensor OpLowering::reduce(Reduce kind, DType type, const std::vector<Ref> &shape,
                          const std::vector<bool> &isReduced, const Kernel::BodyFn &body) {
  std::vector<Ref> kept = shape;
  for (size_t d = 0; d < shape.size(); ++d)
    if (isReduced[d])
      kept[d] = x.integer(1);
  Tensor tensor = temp(type, kept);
  Stage stage;
  stage.buffer = tensor.buffer;
  stage.reduce = kind;
  Indices indices = k.axesOver(kept, stage.axes);
  stage.store = k.flat(tensor.buffer, indices);
  for (size_t d = 0; d < shape.size(); ++d)
    if (isReduced[d])
      indices[d] = k.axesOver({shape[d]}, stage.reduceAxes)[0];
  stage.body = body(indices);
  k.stages.push_back(std::move(stage));
  return tensor;
}

// --- groups

bool hasLowering(OpId op) { return findLowering(op) != nullptr; }

namespace {

class GroupLowering {
public:
  GroupLowering(const Module &module, Surroundings &around)
      : module_(module), around_(around), dims_(around, group) {}

  Expected<> addNode(NodeId id) {
    const Node &node = module_.node(id);
    auto operands = module_.operands(id);
    switch (node.kind) {
    case NodeKind::Tuple: {
      std::vector<Tensor> fields;
      for (NodeId operand : operands)
        for (const Tensor &tensor : BYCC_TRY(valueOf(operand)))
          fields.push_back(tensor);
      values_[id.index] = fields;
      return {};
    }
    case NodeKind::Project: {
      std::vector<Tensor> fields = BYCC_TRY(valueOf(operands[0]));
      auto [first, count] = module_.types.leavesOf(module_.type(operands[0]), node.payload);
      values_[id.index] = {fields.begin() + static_cast<ptrdiff_t>(first),
                           fields.begin() + static_cast<ptrdiff_t>(first + count)};
      return {};
    }
    case NodeKind::CallOp:
      return lowerOp(id);
    default:
      return error(Status::Unsup, module_.source(id))
             << "this kind of node cannot be in a fused group";
    }
  }

  Expected<std::vector<Tensor>> valueOf(NodeId id) {
    auto known = values_.find(id.index);
    if (known != values_.end())
      return known->second;
    const Constant *constant = around_.constantOf(id);
    std::vector<Tensor> tensors;
    uint32_t field = 0;
    for (TypeId type : module_.types.flatten(module_.type(id))) {
      Tensor tensor;
      tensor.type = module_.types.dtype(type);
      for (Ref extent : BYCC_TRY(around_.extentsOf(id, field)))
        tensor.shape.push_back(dims_.fromProgram(extent));
      if (constant && constant->bytes == static_cast<uint64_t>(sizeInBytes(tensor.type)))
        tensor.number = scalarOf(*constant, tensor.type);
      if (tensor.number == noRef) {
        tensor.buffer = group.kernel.addBuffer(tensor.type, tensor.shape, Role::Input);
        group.kernel.buffers[tensor.buffer].isConstant = constant != nullptr;
        group.inputs.push_back({id, field, tensor.buffer});
      }
      ++field;
      tensors.push_back(tensor);
    }
    values_[id.index] = tensors;
    return tensors;
  }

  // The group's results become output buffers.
  Expected<Group> finish(NodeId result) {
    for (Tensor tensor : BYCC_TRY(valueOf(result))) {
      if (tensor.number != noRef || group.kernel.buffers[tensor.buffer].role != Role::Temp) {
        // A number, an input or a repeated result gets a buffer of its own.
        uint32_t out = group.kernel.addBuffer(tensor.type, tensor.shape, Role::Output);
        group.kernel.map(out, [&](const Indices &i) {
          return tensor.number != noRef ? tensor.number : group.kernel.load(tensor.buffer, i);
        });
        group.outputs.push_back(out);
        continue;
      }
      group.kernel.buffers[tensor.buffer].role = Role::Output;
      ++group.kernel.numOutputs;
      group.outputs.push_back(tensor.buffer);
    }
    group.kernel.numDims = static_cast<uint32_t>(group.dims.size());
    return std::move(group);
  }

  Group group;

private:
  Ref scalarOf(const Constant &constant, DType type) {
    Exprs &x = group.kernel.exprs;
    return isFloat(type) ? x.floating(elementAsDouble(type, constant.data(), 0), type)
                         : x.integer(elementAsInteger(type, constant.data(), 0), type);
  }

  Expected<> lowerOp(NodeId id) {
    LowerFn lower = findLowering(module_.node(id).op);
    if (!lower)
      return error(Status::Unsup, module_.source(id))
             << opInfo(module_.node(id).op).name << ": no host code for this operator yet";
    std::vector<std::vector<Tensor>> inputs;
    for (NodeId operand : module_.operands(id))
      inputs.push_back(BYCC_TRY(valueOf(operand)));
    OpLowering op(module_, id, dims_, std::move(inputs));
    BYCC_TRY(lower(op));
    values_[id.index] = op.results;
    return {};
  }

  const Module &module_;
  Surroundings &around_;
  GroupDims dims_;
  std::unordered_map<uint32_t, std::vector<Tensor>> values_;
};

} // namespace

Expected<Group> lowerFunction(const Module &module, FunctionId function, Surroundings &around) {
  GroupLowering lowering(module, around);
  const Block &body = module.block(module.function(function).body);
  for (NodeId node : body.nodes)
    BYCC_TRY(lowering.addNode(node));
  return lowering.finish(body.result);
}

Expected<Group> lowerCall(const Module &module, NodeId call, Surroundings &around) {
  GroupLowering lowering(module, around);
  BYCC_TRY(lowering.addNode(call));
  return lowering.finish(call);
}

} // namespace bycc::loops
