// What a graph declares of itself, against what it has: extents that the user binds, types of
// inputs, defaults of inputs, types of results.
#include "OnnxImporter.h"

#include "bycc/IR/Functions.h"
#include "bycc/Support/Integers.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/ShellWord.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

namespace bycc::onnx {
namespace {

std::vector<std::string> keysOf(const auto &map) {
  std::vector<std::string> keys;
  for (const auto &entry : map)
    keys.push_back(entry.first);
  return keys;
}

// Some exporters write -1 where they mean an open one.
std::optional<int64_t> givenExtent(const DimSpec &dim) {
  return dim.value.value_or(-1) < 0 ? std::nullopt : dim.value;
}

} // namespace

// Open extents without a name get one each, of the input and the axis: "x_0". Two of them need not be
// the same number, so none is given twice.
void Importer::nameOpenDims(const Graph &graph) {
  std::set<std::string> taken;
  for (const ValueInfo &info : graph.inputs)
    for (const DimSpec &dim : info.dims)
      taken.emplace(dim.param);
  for (const ValueInfo &info : graph.inputs) {
    std::string input(info.name);
    auto given = options_.shapes.find(input);
    size_t rank = given == options_.shapes.end() ? 0 : given->second.size();
    for (size_t i = 0; i < (info.hasShape ? info.dims.size() : rank); ++i) {
      std::string name = info.hasShape ? std::string(info.dims[i].param) : "";
      if (name.empty() && !(info.hasShape && givenExtent(info.dims[i])))
        for (name = input + "_" + std::to_string(i); !taken.insert(name).second;)
          name += "_";
      dimNames_[input].push_back(name);
    }
  }
}

// Names given to --shape and --dim exist.
Expected<> Importer::checkBindings(const Graph &graph) {
  std::map<std::string, bool> inputs, params;
  for (const ValueInfo &info : graph.inputs) {
    inputs[std::string(info.name)] = true;
    for (const std::string &name : dimNames_[std::string(info.name)])
      if (!name.empty())
        params[name] = true;
  }
  auto check = [&](const auto &given, const std::map<std::string, bool> &known,
                   const char *what) -> Expected<> {
    for (const auto &[name, value] : given) {
      if (known.count(name))
        continue;
      std::vector<std::string> keys = keysOf(known);
      ErrorBuilder problem = error(Status::Arg, {file_}).as(MessageId::NoSuchParameter)
                             << "there is no " << what << " '" << escaped(name) << "'";
      if (std::optional<std::string> near = nearest(name, keys))
        return std::move(problem).note("did you mean '" + escaped(*near) + "'?");
      if (!keys.empty())
        return std::move(problem).note("there are: " + escaped(bycc::join(keys, ", ")));
      return problem;
    }
    return {};
  };
  BYCC_TRY(check(options_.shapes, inputs, "input"));
  BYCC_TRY(check(options_.dims, params, "dimension"));
  for (const auto &[name, value] : options_.dims) {
    if (value < 0)
      return error(Status::Arg, {file_})
             << "dimension '" << escaped(name) << "' cannot be " << value;
    dimValues_[name] = value;
  }
  return {};
}

// Names of dimensions are any text ("past + 1", "batch size"); symbols are identifiers.
Dim Importer::symbolOf(const std::string &param) {
  auto [it, isNew] = symbols_.emplace(param, param);
  if (isNew) {
    std::string name = param;
    for (char &c : name)
      if (!std::isalnum(static_cast<unsigned char>(c)))
        c = '_';
    bool isWord = name == "min" || name == "max" || name == "ceildiv";
    if (isWord || std::isdigit(static_cast<unsigned char>(name[0])))
      name.insert(0, "_");
    while (!symbolNames_.insert(name).second)
      name += "_";
    it->second = std::move(name);
  }
  return module_.types.symbol(it->second);
}

std::string Importer::adviceToBind(std::span<const Dim> dims) {
  std::set<std::string_view> symbols;
  std::vector<Dim> left(dims.begin(), dims.end());
  while (!left.empty()) {
    Dim dim = left.back();
    left.pop_back();
    if (dim.isConst() || dim.isUnknown())
      continue;
    const DimExpr &e = module_.types.expr(dim);
    if (e.op == DimOp::Symbol)
      symbols.insert(e.symbol);
    else
      left.insert(left.end(), {e.lhs, e.rhs});
  }
  std::vector<std::string> options;
  for (const auto &[param, symbol] : symbols_)
    if (symbols.contains(symbol))
      options.push_back("--dim " + shellWord(escaped(param)) + "=N");
  return options.empty() ? "" : "bind extents: " + bycc::join(options, " ");
}

// --shape of an input beats what other inputs make of a name: exporters use one for several extents.
Expected<Dim> Importer::boundDim(const ValueInfo &info, size_t index, int64_t wanted,
                                 const SourceLocation &location) {
  const std::string &param = dimNames_[std::string(info.name)][index];
  std::optional<int64_t> value = givenExtent(info.dims[index]);
  if (auto given = options_.dims.find(param); given != options_.dims.end())
    value = given->second;
  if (wanted < 0)
    return error(Status::Arg, location) << "dimension " << index << " cannot be " << wanted;
  if (value && *value != wanted)
    return error(Status::Arg, location) << "dimension " << index << " is " << *value
                                        << " in the model, cannot be bound to " << wanted;
  if (!param.empty())
    dimValues_.try_emplace(param, wanted);
  return Dim(wanted);
}

Expected<Dim> Importer::openDim(const std::string &param, const SourceLocation &location) {
  if (options_.allowSymbolicDims)
    return symbolOf(param);
  return error(Status::Input, location).note("bind it with --dim " + escaped(param) + "=N")
         << "dimension '" << escaped(param) << "' is not bound";
}

Expected<Dim> Importer::inputDim(const ValueInfo &info, size_t index,
                                 const std::vector<int64_t> *bound,
                                 const SourceLocation &location) {
  const DimSpec &spec = info.dims[index];
  const std::string &param = dimNames_[std::string(info.name)][index];
  std::optional<int64_t> value = givenExtent(spec);
  auto known = dimValues_.find(param);
  if (spec.value && !value) {
    if (!bound && known == dimValues_.end() && !options_.declaredWarnings)
      return error(Status::Input, location)
                 .note("bind it with --shape " + shellWord(escaped(info.name)) +
                       "=..., or leave it open with --declared-types=warn")
             << "dimension " << index << " is " << *spec.value;
    readsNegativeAsOpen_ = true;
  }
  if (bound && (*bound)[index] != openExtent)
    return boundDim(info, index, (*bound)[index], location);
  if (!param.empty() && known != dimValues_.end())
    value = known->second;
  if (value)
    return Dim(*value);
  return openDim(param, location);
}

// An initializer is the default of the input of its name, whose type it has.
Expected<> Importer::checkDefault(const ValueInfo &info, const Value &value) {
  if (!info.hasType || value.isPoisoned)
    return {};
  SourceLocation location{.file = file_, .node = std::string(info.name), .nodeOp = "input"};
  if (!info.isTensor)
    return error(Status::Input, location)
           << "declared as something else than a tensor, its initializer is one";
  DType dtype = BYCC_TRY(dtypeOf(info.elemType, location));
  TypeId type = module_.type(value.node);
  std::span<const Dim> dims = module_.types.shape(type);
  bool fits =
      dtype == module_.types.dtype(type) && (!info.hasShape || info.dims.size() == dims.size());
  std::vector<std::string> declared;
  for (size_t d = 0; info.hasShape && d < info.dims.size(); ++d) {
    const DimSpec &spec = info.dims[d];
    declared.push_back(spec.value           ? std::to_string(*spec.value)
                       : spec.param.empty() ? "?"
                                            : escaped(spec.param));
    fits &= d >= dims.size() || !spec.value || dims[d] == Dim(*spec.value);
    if (spec.value || spec.param.empty() || d >= dims.size())
      continue;
    auto [bound, isNew] = extentsOfDefaults_.try_emplace(std::string(spec.param), dims[d].value());
    if (bound->second != dims[d].value())
      return error(Status::Input, location)
             << "its initializer is " << module_.types.str(type) << " with " << escaped(spec.param)
             << " = " << dims[d].value() << ", that of another input has " << escaped(spec.param)
             << " = " << bound->second;
  }
  if (fits)
    return {};
  return error(Status::Input, location)
         << "declared as " << name(dtype) << "[" << bycc::join(declared, ", ")
         << "], its initializer is " << module_.types.str(type);
}

void Importer::addInput(const ValueInfo &info, FunctionId main) {
  SourceLocation location{.file = file_, .node = std::string(info.name), .nodeOp = "input"};
  auto add = [&]() -> Expected<> {
    if (!info.isTensor)
      return error(info.hasType ? Status::Unsup : Status::Input, location)
             << (info.hasType ? "only tensors are supported" : "the input has no type");
    DType dtype = BYCC_TRY(dtypeOf(info.elemType, location));
    auto given = options_.shapes.find(std::string(info.name));
    const std::vector<int64_t> *bound = given == options_.shapes.end() ? nullptr : &given->second;
    if (!info.hasShape && !bound)
      return error(Status::Input, location)
                 .note("bind it with --shape " + escaped(info.name) + "=...")
             << "the input has no shape";
    if (info.hasShape && bound && bound->size() != info.dims.size())
      return error(Status::Arg, location)
             << "has rank " << info.dims.size() << ", cannot be bound to rank " << bound->size();
    ValueInfo shaped = info;
    if (!info.hasShape)
      shaped.dims.resize(bound->size());
    std::vector<Dim> dims;
    std::vector<Diagnostic> unbound;
    for (size_t i = 0; i < shaped.dims.size(); ++i) {
      Expected<Dim> dim = inputDim(shaped, i, bound, location);
      if (!dim)
        unbound.push_back(dim.error().diagnostics().front());
      else
        dims.push_back(*dim);
    }
    if (!unbound.empty())
      return Error(std::move(unbound));
    TypeId type = module_.types.tensor(dtype, dims);
    if (module_.types.isStatic(type) && !module_.types.sizeBytes(type))
      return error(Status::Limit, location).as(MessageId::TooLarge)
             << "type " << module_.types.str(type) << " is too large";
    NodeId node = module_.addParam(info.name, type, module_.addSource(location));
    module_.function(main).params.push_back(node);
    return define(info.name, {node, nullptr, false}, location);
  };
  Expected<> done = add();
  if (done)
    return;
  report(done.takeError());
  scopes_.back().emplace(info.name, Value{{}, nullptr, true});
}

namespace {

std::vector<int64_t> intsOf(const Node &node, std::string_view name) {
  auto found = std::ranges::find(node.attributes, name, &Attribute::name);
  return found == node.attributes.end() ? std::vector<int64_t>() : found->ints;
}

bool isOneOf(const Node &node, std::initializer_list<std::string_view> operators) {
  return (node.domain.empty() || node.domain == "ai.onnx") && !node.outputs.empty() &&
         std::ranges::find(operators, node.opType) != operators.end();
}
bool isElementwise(const Node &node) {
  return isOneOf(node, {"Add", "Cast", "Clip", "Div", "Identity", "Mul", "Sub"});
}
bool slides(const Node &node) { return isOneOf(node, {"AveragePool", "Conv", "MaxPool"}); }

// Spatial axes along which a convolution or pool of nothing has no place for its window, even with
// the padding: nobody runs that.
std::vector<bool> axesNeverEmpty(const Graph &graph, const Node &node) {
  std::vector<int64_t> kernel = intsOf(node, "kernel_shape"), pads = intsOf(node, "pads"),
                       dilations = intsOf(node, "dilations");
  if (kernel.empty() && node.inputs.size() > 1)
    if (auto weight = std::ranges::find(graph.initializers, node.inputs[1], &Tensor::name);
        weight != graph.initializers.end() && weight->dims.size() > 2)
      kernel.assign(weight->dims.begin() + 2, weight->dims.end());
  auto mode = std::ranges::find(node.attributes, "auto_pad", &Attribute::name);
  if (mode != node.attributes.end() && mode->s != "NOTSET" && mode->s != "VALID")
    return {};
  std::vector<bool> axes;
  for (size_t i = 0, n = kernel.size(); i < n; ++i) {
    CheckedInt reach = checkedMul(kernel[i] - 1, dilations.size() == n ? dilations[i] : int64_t{1});
    CheckedInt padding = pads.size() == 2 * n ? checkedAdd(pads[i], pads[i + n]) : 0;
    axes.push_back(reach && padding && *padding <= *reach);
  }
  return axes;
}

} // namespace

// Symbols of inputs that are convolved or pooled, as they are or through operators that work element
// by element: what is slid over cannot be empty. With that, what exporters write for the extents of
// such a result, (h - 1) / 2 + 1 rounded towards 0, is what type inference finds.
void Importer::addNonEmpty(const Graph &graph, FunctionId main) {
  std::map<std::string_view, std::set<NodeId>> sources; // inputs that a value is made of
  for (const auto &[name, value] : scopes_.back())
    if (value.node && module_.node(value.node).kind == NodeKind::Param)
      sources[name] = {value.node};
  std::set<std::string> symbols;
  auto add = [&](NodeId input, const std::vector<bool> &axes) {
    std::span<const Dim> shape = module_.types.shape(module_.type(input));
    for (size_t i = 0; shape.size() == axes.size() + 2 && i < axes.size(); ++i)
      if (Dim dim = shape[i + 2]; axes[i] && !dim.isConst() && !dim.isUnknown() &&
                                  module_.types.expr(dim).op == DimOp::Symbol)
        symbols.insert(module_.types.str(dim));
  };
  for (const Node &node : graph.nodes) {
    bool isMap = isElementwise(node), isWindow = slides(node);
    for (size_t i = 0; i < node.inputs.size() && (isMap || (isWindow && i == 0)); ++i) {
      const std::set<NodeId> from = sources[node.inputs[i]];
      if (isMap)
        sources[node.outputs[0]].insert(from.begin(), from.end());
      else
        for (NodeId input : from)
          add(input, axesNeverEmpty(graph, node));
    }
  }
  if (symbols.empty())
    return;
  module_.setFunctionAttr(main, "NonEmpty", AttrValue::List(symbols.begin(), symbols.end()));
  setNonEmptySymbols(module_, main);
}

// What a declared type is wrong about; a warning where the user wants it so.
void Importer::reportDeclared(const SourceLocation &location, const std::string &message) {
  if (!options_.declaredWarnings)
    return report(error(Status::Input, location).note("--declared-types=warn makes it a warning")
                  << message);
  Diagnostic warning;
  warning.location = location;
  warning.message = message;
  auto isSame = [&](const Diagnostic &other) { // of the body of a loop, which is read again
    return other.location.node == location.node && other.message == message;
  };
  if (std::ranges::none_of(*options_.declaredWarnings, isSame))
    options_.declaredWarnings->push_back(std::move(warning));
}

// Declared types of results: what they say must be what was inferred.
void Importer::checkDeclared(const ValueInfo &info, const char *what) {
  auto found = scopes_.back().find(info.name);
  if (found == scopes_.back().end() || found->second.isPoisoned || !found->second.node ||
      !info.isTensor)
    return;
  // onnxruntime-genai declares all constants as scalars.
  if (info.dims.empty() && module_.isConstant(found->second.node))
    return;
  TypeId type = module_.type(found->second.node);
  SourceLocation location{.file = file_, .node = std::string(info.name), .nodeOp = what};
  Expected<DType> dtype = dtypeOf(info.elemType, location);
  if (!dtype)
    return report(dtype.takeError());
  std::span<const Dim> shape = module_.types.shape(type);
  bool agrees =
      *dtype == module_.types.dtype(type) && (!info.hasShape || info.dims.size() == shape.size());
  std::vector<Dim> declared;
  for (size_t i = 0; i < info.dims.size(); ++i) {
    const DimSpec &spec = info.dims[i];
    std::optional<int64_t> value = givenExtent(spec);
    if (spec.value && !value && !readsNegativeAsOpen_)
      return reportDeclared(location, "dimension " + std::to_string(i) + " is " +
                                          std::to_string(*spec.value));
    declared.push_back(value ? Dim(*value) : Dim::unknown());
    if (agrees && value && shape[i].isConst() && shape[i].value() != *value)
      agrees = false;
  }
  if (!agrees)
    reportDeclared(location, "is declared as " +
                                 module_.types.str(module_.types.tensor(*dtype, declared)) +
                                 ", but is " + module_.types.str(type));
}

} // namespace bycc::onnx
