// See RegionCopy.h.
#include "RegionCopy.h"

#include "Region.h"

#include "bycc/Support/Sized.h"
#include "bycc/vendor.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

namespace bycc::onednn {

namespace {

constexpr vendor::Format copyFormat = {"dnnl region with extents", planVersion};
constexpr int maxDepth = 8; // of bodies, and of lists in attributes

// ---- making a copy

RegionCopy::Attr copyOf(const bycc_attr &attr) {
  RegionCopy::Attr copy{
      attr.name ? attr.name : "", attr.s ? attr.s : "", attr.kind, attr.i, attr.f, {}};
  for (uint32_t i = 0; attr.kind == BYCC_ATTR_LIST && i < attr.count; ++i)
    copy.items.push_back(copyOf(*bycc_item_at(&attr, i)));
  return copy;
}

Expected<RegionCopy::Value> copyOf(const bycc_value &value) {
  RegionCopy::Value copy;
  copy.dtype = value.dtype;
  copy.device = value.device;
  copy.isScalar = value.rank <= 0;
  copy.dims = dimsOf(value);
  copy.layout = value.layout ? value.layout : "";
  copy.isConstant = value.data != nullptr;
  copy.offset = value.weights_offset;
  copy.bytes = value.bytes;
  copy.data = value.data;
  if (value.extents)
    copy.extents.assign(value.extents, value.extents + value.rank);
  for (size_t i = 0; i < copy.dims.size(); ++i)
    if (copy.dims[i] < 0 && (copy.extents.empty() || copy.extents[i] < 0))
      return error(Status::Unsup) << "an extent of " << text(copy.dims)
                                  << " is unknown until run time";
  return copy;
}

Expected<RegionCopy> copyLevel(const bycc_region &region) {
  RegionCopy copy;
  for (uint32_t i = 0; i < region.num_values; ++i)
    copy.values.push_back(BYCC_TRY(copyOf(*bycc_value_at(&region, i))));
  for (uint32_t n = 0; n < region.num_nodes; ++n) {
    const bycc_node &node = *bycc_node_at(&region, n);
    RegionCopy::Node made;
    made.op = node.op;
    made.source = node.source ? node.source : "";
    for (uint32_t i = 0; i < node.num_attrs; ++i)
      made.attrs.push_back(copyOf(*bycc_attr_at(node.attrs, i)));
    made.inputs.assign(node.inputs, node.inputs + node.num_inputs);
    made.outputs.assign(node.outputs, node.outputs + node.num_outputs);
    if (node.body)
      made.body.push_back(BYCC_TRY(copyLevel(*node.body)));
    copy.nodes.push_back(std::move(made));
  }
  copy.inputs.assign(region.inputs, region.inputs + region.num_inputs);
  copy.outputs.assign(region.outputs, region.outputs + region.num_outputs);
  return copy;
}

// ---- bytes

template <typename A> void put(A &archive, RegionCopy::Value &value) {
  archive(value.dtype, value.device, value.isScalar, value.dims, value.extents, value.isConstant,
          value.offset, value.bytes, value.layout);
}

template <typename A> void checkDepth(A &archive, int depth) {
  if constexpr (A::isReader)
    if (depth > maxDepth)
      archive.fail("it nests too deep");
}

template <typename A> void put(A &archive, RegionCopy::Attr &attr, int depth) {
  checkDepth(archive, depth);
  archive(attr.name, attr.text, attr.kind, attr.integer, attr.number);
  archive.list(attr.items, [&](RegionCopy::Attr &item) { put(archive, item, depth + 1); });
}

template <typename A> void put(A &archive, RegionCopy &copy, int depth) {
  checkDepth(archive, depth);
  archive.list(copy.values, [&](RegionCopy::Value &value) { put(archive, value); });
  archive.list(copy.nodes, [&](RegionCopy::Node &node) {
    archive(node.op, node.source);
    archive.list(node.attrs, [&](RegionCopy::Attr &attr) { put(archive, attr, 0); });
    archive(node.inputs, node.outputs);
    archive.list(node.body, [&](RegionCopy &body) { put(archive, body, depth + 1); });
  });
  archive(copy.inputs, copy.outputs);
  archive.list(copy.extents,
               [&](bycc_extent &extent) { archive(extent.op, extent.lhs, extent.rhs); });
  archive.list(copy.symbols,
               [&](RegionCopy::Symbol &symbol) { archive(symbol.input, symbol.axis); });
  archive.choice(copy.nan, static_cast<NanMode>(numNanModes));
}

bool areBelow(const std::vector<uint32_t> &ids, size_t count) {
  return std::all_of(ids.begin(), ids.end(), [&](uint32_t id) { return id < count; });
}

// Ids in range; constants, inputs and earlier nodes define what nodes and outputs use.
bool isSound(const RegionCopy &copy, size_t numExtents) {
  std::vector<bool> isDefined;
  for (const RegionCopy::Value &value : copy.values) {
    isDefined.push_back(value.isConstant != 0);
    if (value.dims.empty() || value.dims.size() > 64 ||
        (!value.extents.empty() && value.extents.size() != value.dims.size()))
      return false;
    for (int32_t entry : value.extents)
      if (entry < -1 || entry >= static_cast<int64_t>(numExtents))
        return false;
  }
  size_t count = copy.values.size();
  auto areDefined = [&](const std::vector<uint32_t> &ids) {
    return areBelow(ids, count) &&
           std::all_of(ids.begin(), ids.end(), [&](uint32_t id) { return isDefined[id]; });
  };
  auto define = [&](const std::vector<uint32_t> &ids) {
    if (!areBelow(ids, count))
      return false;
    for (uint32_t id : ids)
      isDefined[id] = true;
    return true;
  };
  if (!define(copy.inputs))
    return false;
  for (const RegionCopy::Node &node : copy.nodes) {
    bool isGood = areDefined(node.inputs) && define(node.outputs) && node.body.size() <= 1;
    if (!isGood || (!node.body.empty() && !isSound(node.body[0], numExtents)))
      return false;
  }
  return areDefined(copy.outputs);
}

bool areSoundTables(const RegionCopy &copy) {
  for (size_t i = 0; i < copy.extents.size(); ++i) {
    const bycc_extent &extent = copy.extents[i];
    auto isEarlier = [&](int64_t entry) { return entry >= 0 && entry < static_cast<int64_t>(i); };
    if (extent.op < BYCC_EXTENT_CONST || extent.op > BYCC_EXTENT_MAX)
      return false;
    if (extent.op == BYCC_EXTENT_SYMBOL &&
        (extent.lhs < 0 || extent.lhs >= static_cast<int64_t>(copy.symbols.size())))
      return false;
    if (extent.op >= BYCC_EXTENT_ADD && (!isEarlier(extent.lhs) || !isEarlier(extent.rhs)))
      return false;
  }
  for (const RegionCopy::Symbol &symbol : copy.symbols) // each axis is one that is told at run time
    if (symbol.input < 0 || symbol.input >= static_cast<int64_t>(copy.inputs.size()) ||
        symbol.axis < 0 ||
        symbol.axis >=
            static_cast<int64_t>(
                copy.values[copy.inputs[static_cast<size_t>(symbol.input)]].extents.size()))
      return false;
  return true;
}

// ---- values for symbols

constexpr int64_t invalid = -1; // no extent is negative

// Division rounds down, by 0 it is invalid, as is what passes 64 bits.
int64_t evaluated(int32_t op, int64_t a, int64_t b) {
  int64_t out = 0;
  if (a == invalid || b == invalid)
    return invalid;
  switch (op) {
  case BYCC_EXTENT_ADD:
    return __builtin_add_overflow(a, b, &out) ? invalid : out;
  case BYCC_EXTENT_SUB:
    return __builtin_sub_overflow(a, b, &out) ? invalid : out;
  case BYCC_EXTENT_MUL:
    return __builtin_mul_overflow(a, b, &out) ? invalid : out;
  case BYCC_EXTENT_MIN:
    return std::min(a, b);
  case BYCC_EXTENT_MAX:
    return std::max(a, b);
  default:
    break;
  }
  if (b <= 0 || a == std::numeric_limits<int64_t>::min())
    return invalid;
  int64_t rest = ((a % b) + b) % b, floor = (a - rest) / b;
  return op == BYCC_EXTENT_MOD ? rest : op == BYCC_EXTENT_FLOORDIV ? floor : floor + (rest != 0);
}

std::vector<int64_t> evaluateTable(const RegionCopy &copy, const Dims &symbols) {
  std::vector<int64_t> table;
  for (const bycc_extent &extent : copy.extents) {
    auto at = [&](int64_t entry) { return table[static_cast<size_t>(entry)]; };
    table.push_back(extent.op == BYCC_EXTENT_CONST ? extent.lhs
                    : extent.op == BYCC_EXTENT_SYMBOL
                        ? symbols[static_cast<size_t>(extent.lhs)]
                        : evaluated(extent.op, at(extent.lhs), at(extent.rhs)));
  }
  return table;
}

Dims dimsWith(const RegionCopy::Value &value, const std::vector<int64_t> &table) {
  Dims dims = value.dims;
  for (size_t i = 0; i < value.extents.size(); ++i)
    if (value.extents[i] >= 0)
      dims[i] = table[static_cast<size_t>(value.extents[i])];
  return dims;
}

} // namespace

bool hasRunTimeExtents(const bycc_region &region) { return !vendor::Region(region).isStatic(); }

Expected<RegionCopy> copyRegion(const bycc_region &region) {
  RegionCopy copy = BYCC_TRY(copyLevel(region));
  copy.extents.assign(region.extents, region.extents + region.num_extents);
  for (uint32_t i = 0; i < region.num_symbols; ++i) {
    const bycc_symbol &symbol = *bycc_symbol_at(&region, i);
    copy.symbols.push_back({symbol.name, symbol.input, symbol.axis});
  }
  return copy;
}

Expected<> checkSymbols(const RegionCopy &copy) {
  for (const RegionCopy::Symbol &symbol : copy.symbols)
    if (symbol.input < 0)
      return error(Status::Unsup) << "no input of the region has the extent '" << symbol.name
                                  << "'";
  return {};
}

namespace {

// Bodies of composites included.
template <typename Copy, typename F> void forEachConstant(Copy &copy, F each) {
  for (auto &value : copy.values)
    if (value.isConstant && value.data)
      each(value);
  for (auto &node : copy.nodes)
    for (auto &body : node.body)
      forEachConstant(body, each);
}

} // namespace

uint64_t placeConstants(RegionCopy &copy) {
  std::map<std::pair<const void *, uint64_t>, uint64_t> offsets;
  uint64_t end = 0;
  forEachConstant(copy, [&](RegionCopy::Value &value) {
    auto [entry, isNew] = offsets.try_emplace({value.data, value.bytes}, end);
    if (isNew)
      end += aligned(value.bytes);
    value.offset = entry->second;
  });
  return end;
}

void copyConstants(const RegionCopy &placed, uint8_t *weights) {
  forEachConstant(placed, [&](const RegionCopy::Value &value) {
    std::memcpy(weights + value.offset, value.data, value.bytes);
  });
}

std::vector<uint8_t> writeRegion(const RegionCopy &copy) {
  vendor::Writer writer(copyFormat);
  RegionCopy written = copy; // one function for both directions wants it mutable
  put(writer, written, 0);
  return writer.take();
}

bool isWrittenRegion(std::span<const uint8_t> bytes) { return vendor::isOf(copyFormat, bytes); }

Expected<RegionCopy> readRegion(std::span<const uint8_t> bytes) {
  try {
    vendor::Reader reader(copyFormat, bytes);
    RegionCopy copy;
    put(reader, copy, 0);
    reader.finish();
    if (!isSound(copy, copy.extents.size()) || !areSoundTables(copy))
      reader.fail("a number means nothing");
    return copy;
  } catch (const vendor::Failure &failure) {
    return error(Status::Load) << failure.what();
  }
}

Expected<Dims> symbolsFor(const RegionCopy &copy, const std::vector<const int64_t *> &shapes) {
  Dims symbols;
  for (size_t i = 0; i < shapes.size(); ++i)
    if (!shapes[i] && !copy.values[copy.inputs[i]].extents.empty())
      return error(Status::Internal) << "input " << i << " of the region comes without its extents";
  for (const RegionCopy::Symbol &symbol : copy.symbols)
    symbols.push_back(shapes[static_cast<size_t>(symbol.input)][symbol.axis]);
  std::vector<int64_t> table = evaluateTable(copy, symbols);
  for (size_t i = 0; i < shapes.size(); ++i) {
    const RegionCopy::Value &value = copy.values[copy.inputs[i]];
    if (!shapes[i])
      continue;
    Dims wanted = value.isScalar ? Dims{} : dimsWith(value, table);
    Dims found(shapes[i], shapes[i] + wanted.size());
    if (found != wanted)
      return error(Status::Usage) << "input " << i << " of the region has shape " << text(found)
                                  << ", wanted " << text(wanted);
  }
  return symbols;
}

Expected<std::unique_ptr<RegionInstance>> RegionInstance::make(const RegionCopy &copy,
                                                               const Dims &symbols,
                                                               std::span<const uint8_t> weights) {
  auto instance = std::make_unique<RegionInstance>();
  instance->extents_ = evaluateTable(copy, symbols);
  instance->weights_ = weights;
  BYCC_TRY(instance->addLevel(copy));
  return instance;
}

Expected<bycc_value> RegionInstance::valueOf(const RegionCopy::Value &value) {
  const Dims &dims = dims_.emplace_back(dimsWith(value, extents_));
  auto out = sized<bycc_value>();
  out.dtype = value.dtype;
  out.rank = value.isScalar ? 0 : static_cast<int32_t>(dims.size());
  out.dims = dims.data();
  out.layout = value.layout.c_str();
  out.device = value.device;
  out.name = "";
  if (!value.isConstant)
    return out;
  out.bytes = value.bytes;
  out.weights_offset = value.offset;
  out.data = value.data;
  if (!out.data) {
    if (value.offset > weights_.size() || value.bytes > weights_.size() - value.offset)
      return error(Status::Load) << "constant lies outside the weights";
    out.data = weights_.data() + value.offset;
  }
  return out;
}

const bycc_attr *RegionInstance::attrsOf(const std::vector<RegionCopy::Attr> &attrs) {
  std::vector<bycc_attr> list;
  for (const RegionCopy::Attr &attr : attrs) {
    bycc_attr &made = list.emplace_back(sized<bycc_attr>());
    made.name = attr.name.c_str();
    made.kind = attr.kind;
    made.i = attr.integer;
    made.f = attr.number;
    made.s = attr.text.c_str();
    made.items = attr.items.empty() ? nullptr : attrsOf(attr.items);
    made.count = static_cast<uint32_t>(attr.items.size());
  }
  return attrs_.emplace_back(std::move(list)).data();
}

Expected<bycc_region *> RegionInstance::addLevel(const RegionCopy &copy) {
  Level &level = levels_.emplace_back();
  for (const RegionCopy::Value &value : copy.values)
    level.values.push_back(BYCC_TRY(valueOf(value)));
  auto isEmpty = [&](uint32_t value) {
    Dims dims = dimsOf(level.values[value]);
    return std::ranges::find(dims, 0) != dims.end();
  };
  for (const RegionCopy::Node &node : copy.nodes) {
    if (std::ranges::all_of(node.outputs, isEmpty))
      continue;
    auto made = sized<bycc_node>();
    made.op = node.op.c_str();
    made.source = node.source.c_str();
    made.attrs = attrsOf(node.attrs);
    made.num_attrs = static_cast<uint32_t>(node.attrs.size());
    std::vector<uint32_t> inputs = node.inputs;
    if (node.op == "concatenate")
      std::erase_if(inputs, isEmpty);
    made.num_inputs = static_cast<uint32_t>(inputs.size());
    made.inputs = lists_.emplace_back(std::move(inputs)).data();
    made.outputs = node.outputs.data();
    made.num_outputs = static_cast<uint32_t>(node.outputs.size());
    if (!node.body.empty())
      made.body = BYCC_TRY(addLevel(node.body[0]));
    level.nodes.push_back(made);
  }
  bycc_region &region = level.region = sized<bycc_region>();
  region.symbol = "";
  region.values = level.values.data();
  region.num_values = static_cast<uint32_t>(level.values.size());
  region.nodes = level.nodes.data();
  region.num_nodes = static_cast<uint32_t>(level.nodes.size());
  region.inputs = copy.inputs.data();
  region.num_inputs = static_cast<uint32_t>(copy.inputs.size());
  std::vector<uint32_t> outputs = copy.outputs;
  if (&level == &levels_.front())
    std::erase_if(outputs, isEmpty);
  region.num_outputs = static_cast<uint32_t>(outputs.size());
  region.outputs = lists_.emplace_back(std::move(outputs)).data();
  return &region;
}

} // namespace bycc::onednn
