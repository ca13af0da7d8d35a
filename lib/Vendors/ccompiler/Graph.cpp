// See Graph.h.
#include "Graph.h"

namespace bycc::ccompiler {

namespace {

constexpr int32_t maxRank = 32;
constexpr int64_t maxElements = int64_t{1} << 40;

using vendor::Refusal;

void checkDims(vendor::Value value) {
  int64_t product = 1;
  for (int64_t dim : value.dims()) {
    if (dim == -1)
      throw Refusal("an extent of ", value.dims(), " is unknown until run time");
    if (dim < -1)
      throw Refusal("an extent of ", value.dims(), " is negative");
    if (dim > maxElements || (dim > 0 && product > maxElements / dim))
      throw Refusal(value.dims(), " has too many elements");
    product *= dim;
  }
  if (value.isConstant() && value.raw().bytes != value.bytes())
    throw Refusal("constant of ", value.raw().bytes, " bytes for ", value.dims());
}

Value readValue(vendor::Value from) {
  if (from.dtype() < 0 || from.dtype() >= numDTypes)
    throw Refusal("unknown dtype ", from.dtype());
  Value value;
  value.dtype = static_cast<DType>(from.dtype());
  if (value.dtype == DType::Float16 || value.dtype == DType::BFloat16)
    throw Refusal("C has no portable type for ", name(value.dtype));
  if (from.rank() < 0 || from.rank() > maxRank)
    throw Refusal("rank ", from.rank(), " is not supported, at most ", maxRank);
  checkDims(from);
  value.dims.assign(from.dims().begin(), from.dims().end());
  if (!from.layout().empty())
    throw Refusal("layout ", from.layout(), " is not supported");
  if (from.raw().device != 0)
    throw Refusal("device ", from.raw().device, " is not supported");
  value.data = from.raw().data;
  value.weightsOffset = from.raw().weights_offset;
  return value;
}

} // namespace

Graph readGraph(vendor::Region region) {
  vendor::Flat flat(region);
  Graph graph;
  graph.symbol = region.symbol();
  auto addUpTo = [&](size_t end) {
    for (auto id = static_cast<ValueId>(graph.values.size()); id < end; ++id) {
      graph.values.push_back(readValue(flat.values[id]));
      graph.values.back().root = id;
    }
  };
  // Values have their numbers in the order in which calls need them.
  for (ValueId input : flat.inputs) {
    addUpTo(input + 1);
    Value &value = graph.values[input];
    value.data = nullptr; // comes with each run
    if (value.inputIndex < 0)
      value.inputIndex = static_cast<int64_t>(graph.inputs.size());
    graph.inputs.push_back(input);
  }
  for (vendor::Flat::Call &call : flat.calls) {
    vendor::blaming(call.place, [&] {
      for (const auto *ids : {&call.inputs, &call.outputs})
        for (ValueId id : *ids)
          addUpTo(id + 1);
    });
    graph.ops.push_back({call.node, std::move(call.inputs), std::move(call.outputs), call.place});
  }
  addUpTo(flat.values.size());
  graph.outputs = std::move(flat.outputs);
  return graph;
}

} // namespace bycc::ccompiler
