// Quantised models of many tools are float programs with pairs of quantize and
// dequantize in them. This pass makes the islands between the pairs what they
// stand for:
//
//   quantize(relu(conv(dequantize(x), dequantize(w)) + b))
//     =>  qnn.requantize(nn.bias_add(qnn.conv2d(x, w), b'))
//   conv(dequantize(x), dequantize(w))  whose result is not quantised
//     =>  qnn.dequantize(qnn.conv2d(x, w))
//
// An island is written from its end. quantize(v) becomes integers when
//
//   1. v stands for integers at one scale (IntegerForm): they are requantized;
//   2. v is relu or clip of such a value: quantising is monotone, so the integers
//      are clipped instead, or nothing is left to do since they saturate there;
//   3. v moves elements, or takes the larger of two: the same of the integers;
//   4. v is a sum, difference, product or average of integers: qnn.add, ..;
//   5. v is any function of one byte: qnn.tanh and its like, or a table of 256.
//
// Everything else stays float, with a remark that says why. Results are those of
// the float program but for ties and the last digits of float32: one rounding
// for each quantize, as it was written.

#include "ConstantView.h"
#include "IntegerForm.h"
#include "Scopes.h"
#include "bycc/Eval/Eval.h"
#include "bycc/Transforms/Passes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace bycc {
namespace {

using MaybeNode = std::optional<NodeId>;

class Island {
public:
  Island(Module &module, IntegerForm &form, NodeId quantize)
      : module_(module), form_(form), quantize_(quantize),
        dtype_(module.types.dtype(module.type(quantize))) {}

  // What stands in place of the quantize; nullopt when the island stays float.
  Expected<MaybeNode> close() {
    scale_ = BYCC_TRY(form_.folded(module_.operands(quantize_)[1]));
    zero_ = BYCC_TRY(form_.folded(module_.operands(quantize_)[2]));
    for (NodeId *each : {&scale_, &zero_}) {
      auto value = uniformValue(module_, *each);
      if (value && !form_.shape(*each).empty())
        *each = module_.addScalar(form_.dtype(*each), *value);
      else if (!form_.shape(*each).empty()) {
        form_.refuse(quantize_, "scales per axis of the result");
        return MaybeNode();
      }
    }
    if (dtype_ != DType::Int8 && dtype_ != DType::UInt8) {
      form_.refuse(quantize_, "a result of " + std::string(name(dtype_)));
      return MaybeNode();
    }
    return lower(module_.operands(quantize_)[0]);
  }

private:
  NodeId operand(NodeId node, size_t index = 0) const { return module_.operands(node)[index]; }

  AttrDict rounding(AttrDict attrs = {}) const {
    std::string_view written = attrs::text(module_, quantize_, "rounding");
    attrs.push_back({"rounding", AttrValue(written == "None" ? "TONEAREST" : written)});
    return attrs;
  }
  AttrDict asReal(AttrDict attrs = {}) const {
    attrs.push_back({"compute_dtype", AttrValue("float32")});
    attrs.push_back({"out_dtype", AttrValue(name(dtype_))});
    return rounding(std::move(attrs));
  }

  Expected<MaybeNode> lower(NodeId value) {
    if (auto found = lowered_.find(value); found != lowered_.end())
      return found->second;
    if (depth_ > 200)
      return MaybeNode();
    ++depth_;
    Expected<MaybeNode> result = lowerNew(value);
    --depth_;
    if (result)
      lowered_[value] = *result;
    return result;
  }

  Expected<MaybeNode> lowerNew(NodeId value) {
    if (module_.isOp(value, ops::nn_relu) || module_.isOp(value, ops::clip))
      return bounded(value);
    auto form = BYCC_TRY(form_.of(value));
    if (form && (form_.isByte(form->ints) || !IntegerForm::isMovement(module_, value)))
      return requantized(*form);
    if (IntegerForm::isMovement(module_, value) && module_.node(value).kind == NodeKind::CallOp)
      return moved(value);
    if (module_.node(value).kind != NodeKind::CallOp)
      return MaybeNode();
    OpId op = module_.node(value).op;
    if (op == ops::add || op == ops::subtract || op == ops::multiply)
      if (MaybeNode ints = BYCC_TRY(arithmetic(value)))
        return ints;
    if (op == ops::maximum || op == ops::minimum)
      if (MaybeNode ints = BYCC_TRY(larger(value)))
        return ints;
    if (op == ops::nn_avg_pool2d || op == ops::nn_global_avg_pool2d)
      return average(value);
    if (op == ops::mean)
      return mean(value);
    if (op == ops::concatenate)
      return concatenated(value);
    return function(value);
  }

  Expected<MaybeNode> requantized(const Quantized &form) {
    bool isThere = form_.dtype(form.ints) == dtype_ && form.axis < 0 &&
                   form_.isSame(form.scale, scale_) && form_.isSame(form.zero, zero_);
    if (isThere)
      return MaybeNode(form.ints);
    if (form_.dtype(form.ints) == DType::UInt16) {
      form_.refuse(quantize_, "values of uint16");
      return MaybeNode();
    }
    int64_t axis = form.axis >= 0 ? form.axis : -1;
    return MaybeNode(
        BYCC_TRY(form_.make(ops::qnn_requantize, {form.ints, form.scale, form.zero, scale_, zero_},
                            asReal({{"axis", AttrValue(axis)}}))));
  }

  // The integer that quantize makes of a number.
  Expected<NodeId> bound(double value) {
    AttrDict attrs = rounding({{"out_dtype", AttrValue(name(dtype_))}});
    return form_.make(ops::qnn_quantize, {module_.addScalar(DType::Float32, value), scale_, zero_},
                      std::move(attrs));
  }

  Expected<MaybeNode> bounded(NodeId value) {
    MaybeNode inner = BYCC_TRY(lower(operand(value)));
    if (!inner)
      return MaybeNode();
    bool isRelu = module_.isOp(value, ops::nn_relu);
    NodeId low = BYCC_TRY(bound(isRelu ? 0 : attrs::number(module_, value, "a_min")));
    NodeId high = BYCC_TRY(bound(isRelu ? INFINITY : attrs::number(module_, value, "a_max")));
    double least = dtype_ == DType::Int8 ? -128 : 0, most = least + 255;
    if (!module_.isConstant(low) || !module_.isConstant(high)) {
      NodeId above = BYCC_TRY(form_.make(ops::maximum, {*inner, low}));
      return MaybeNode(BYCC_TRY(form_.make(ops::minimum, {above, high})));
    }
    double from = uniformValue(module_, low).value_or(least),
           to = uniformValue(module_, high).value_or(most);
    if (from <= least && to >= most)
      return inner;
    return MaybeNode(BYCC_TRY(
        form_.make(ops::clip, {*inner}, {{"a_min", AttrValue(from)}, {"a_max", AttrValue(to)}})));
  }

  Expected<MaybeNode> moved(NodeId value) {
    MaybeNode inner = BYCC_TRY(lower(operand(value)));
    if (!inner)
      return MaybeNode();
    return form_.moved(value, *inner, zero_);
  }

  // The integers of a value of 8 bits at one scale.
  Expected<std::optional<Quantized>> bytesOf(NodeId value, NodeId user) {
    auto form = BYCC_TRY(form_.of(value));
    if (form && (form->axis >= 0 || !form_.isByte(form->ints))) {
      form_.refuse(user, "an input is not of 8 bits at one scale");
      return std::optional<Quantized>();
    }
    return form;
  }

  Expected<MaybeNode> arithmetic(NodeId value) {
    auto a = BYCC_TRY(bytesOf(operand(value, 0), value));
    if (!a)
      return MaybeNode();
    auto b = BYCC_TRY(bytesOf(operand(value, 1), value));
    if (!b)
      return MaybeNode();
    OpId op = module_.node(value).op;
    OpId twin = op == ops::add        ? ops::qnn_add
                : op == ops::subtract ? ops::qnn_subtract
                                      : ops::qnn_mul;
    return MaybeNode(BYCC_TRY(form_.make(
        twin, {a->ints, b->ints, a->scale, a->zero, b->scale, b->zero, scale_, zero_}, asReal())));
  }

  Expected<MaybeNode> larger(NodeId value) {
    MaybeNode a = BYCC_TRY(lower(operand(value, 0)));
    if (!a)
      return MaybeNode();
    MaybeNode b = BYCC_TRY(lower(operand(value, 1)));
    if (!b)
      return MaybeNode();
    return MaybeNode(BYCC_TRY(form_.make(module_.node(value).op, {*a, *b})));
  }

  Expected<MaybeNode> average(NodeId value) {
    auto x = BYCC_TRY(bytesOf(operand(value), value));
    if (!x)
      return MaybeNode();
    AttrDict attrs = module_.attributes.dict(module_.node(value).attrs);
    if (module_.isOp(value, ops::nn_global_avg_pool2d)) {
      std::string_view layout = attrs::text(module_, value, "layout");
      std::span<const Dim> dims = form_.shape(x->ints);
      size_t h = layout.find('H'), w = layout.find('W');
      if (layout.size() != dims.size() || h >= dims.size() || w >= dims.size() ||
          !dims[h].isConst() || !dims[w].isConst()) {
        form_.refuse(value, "a window that is not known");
        return MaybeNode();
      }
      std::array<int64_t, 2> window{dims[h].value(), dims[w].value()};
      attrs.push_back({"pool_size", AttrValue::ints(window)});
    }
    return MaybeNode(
        BYCC_TRY(form_.make(ops::qnn_avg_pool2d, {x->ints, x->scale, x->zero, scale_, zero_},
                            asReal(std::move(attrs)))));
  }

  // sum(q) at the scale s / n, with the zero point n * z.
  Expected<MaybeNode> mean(NodeId value) {
    auto x = BYCC_TRY(bytesOf(operand(value), value));
    if (!x)
      return MaybeNode();
    auto all = module_.types.numElements(module_.type(x->ints)),
         left = module_.types.numElements(module_.type(value));
    if (!all || !left || *left == 0 || *all / *left > (1 << 23)) {
      form_.refuse(value, "a number of elements that is not known or too large");
      return MaybeNode();
    }
    int64_t count = *all / *left;
    NodeId wide = BYCC_TRY(form_.cast(x->ints, DType::Int32));
    Quantized sums;
    sums.ints =
        BYCC_TRY(form_.builder().callWithAttrs(ops::sum, {&wide, 1}, module_.node(value).attrs));
    sums.scale = BYCC_TRY(form_.make(
        ops::divide, {x->scale, module_.addScalar(DType::Float32, static_cast<double>(count))}));
    sums.zero = BYCC_TRY(form_.make(
        ops::multiply, {x->zero, module_.addScalar(DType::Int32, static_cast<double>(count))}));
    return requantized(sums);
  }

  Expected<MaybeNode> concatenated(NodeId value) {
    NodeId tuple = operand(value);
    if (module_.node(tuple).kind != NodeKind::Tuple)
      return MaybeNode();
    std::vector<NodeId> fields,
        values(module_.operands(tuple).begin(), module_.operands(tuple).end());
    for (NodeId each : values) {
      MaybeNode ints = BYCC_TRY(lower(each));
      if (!ints)
        return MaybeNode();
      fields.push_back(*ints);
    }
    NodeId ints = form_.builder().tuple(fields);
    return MaybeNode(BYCC_TRY(
        form_.builder().callWithAttrs(ops::concatenate, {&ints, 1}, module_.node(value).attrs)));
  }

  // --- functions of one byte

  Expected<MaybeNode> function(NodeId value) {
    std::vector<NodeId> body; // in dependency order
    std::optional<NodeId> source;
    std::set<NodeId> seen;
    if (!BYCC_TRY(collect(value, module_.type(value), body, source, seen)) || !source) {
      return MaybeNode();
    }
    auto x = BYCC_TRY(bytesOf(*source, value));
    if (!x)
      return MaybeNode();
    for (NodeId each : {x->scale, x->zero, scale_, zero_})
      if (!module_.isConstant(each)) {
        form_.refuse(value, "scales that are known at run time only");
        return MaybeNode();
      }
    if (body.size() == 1)
      if (MaybeNode twin = BYCC_TRY(oneFunction(value, *x)))
        return twin;
    return lookUp(*x, *source, body);
  }

  // One element of the result needs one of each operand, whatever the shapes.
  static bool isElementwise(OpId op) {
    const OpInfo &info = opInfo(op);
    return op != ops::qnn_dequantize && !info.has(OpTrait::Movement) &&
           (info.kind == OpKind::Elementwise || info.has(OpTrait::Arithmetic));
  }

  // True when the value is made of elementwise calls from one value and numbers.
  Expected<bool> collect(NodeId value, TypeId type, std::vector<NodeId> &body,
                         std::optional<NodeId> &source, std::set<NodeId> &seen) {
    constexpr size_t maxBody = 32;
    if (!seen.insert(value).second)
      return true;
    if (uniformValue(module_, value) && module_.types.numElements(module_.type(value)) == 1)
      return true;
    bool isCall = module_.node(value).kind == NodeKind::CallOp;
    bool isInner = isCall && isElementwise(module_.node(value).op) && module_.type(value) == type;
    if (isInner && body.size() < maxBody) {
      std::vector<NodeId> operands(module_.operands(value).begin(), module_.operands(value).end());
      for (NodeId each : operands)
        if (!BYCC_TRY(collect(each, type, body, source, seen)))
          return false;
      body.push_back(value);
      return true;
    }
    if (module_.type(value) != type || (source && *source != value) || !BYCC_TRY(form_.of(value))) {
      if (form_.whyNot().empty() || isCall)
        form_.refuse(value, "it has no integer rule");
      return false;
    }
    source = value;
    return true;
  }

  Expected<MaybeNode> oneFunction(NodeId value, const Quantized &x) {
    static constexpr std::pair<OpId, OpId> twins[] = {
        {ops::abs, ops::qnn_abs},   {ops::erf, ops::qnn_erf},     {ops::exp, ops::qnn_exp},
        {ops::log, ops::qnn_log},   {ops::rsqrt, ops::qnn_rsqrt}, {ops::sigmoid, ops::qnn_sigmoid},
        {ops::sqrt, ops::qnn_sqrt}, {ops::tanh, ops::qnn_tanh}};
    for (auto [op, twin] : twins)
      if (module_.isOp(value, op))
        return MaybeNode(BYCC_TRY(form_.make(twin, {x.ints, x.scale, x.zero, scale_, zero_},
                                             rounding({{"out_dtype", AttrValue(name(dtype_))}}))));
    return MaybeNode();
  }

  // take(f(all 256 bytes), x - lowest)
  Expected<MaybeNode> lookUp(const Quantized &x, NodeId source, const std::vector<NodeId> &body) {
    DType in = form_.dtype(x.ints);
    int first = in == DType::Int8 ? -128 : 0;
    std::array<uint8_t, 256> bytes;
    for (int i = 0; i < 256; ++i)
      bytes[i] = static_cast<uint8_t>(i + first);
    Dim count(256);
    NodeId all = module_.addConstant(in, {&count, 1}, bytes.data(), bytes.size());
    std::map<NodeId, NodeId> values;
    values[source] = BYCC_TRY(form_.make(ops::qnn_dequantize, {all, x.scale, x.zero}));
    for (NodeId node : body) {
      std::vector<NodeId> operands;
      for (NodeId each : module_.operands(node)) {
        auto found = values.find(each);
        operands.push_back(found == values.end() ? each : found->second);
      }
      for (NodeId &each : operands)
        if (module_.isConstant(each) && form_.shape(each).size() > 1)
          each = reshapeConstant(module_, each, {});
      NodeId made = BYCC_TRY(
          form_.builder().callWithAttrs(module_.node(node).op, operands, module_.node(node).attrs));
      values[node] = BYCC_TRY(form_.folded(made));
    }
    NodeId table = BYCC_TRY(form_.make(ops::qnn_quantize, {values[body.back()], scale_, zero_},
                                       rounding({{"out_dtype", AttrValue(name(dtype_))}})));
    NodeId index = BYCC_TRY(form_.cast(x.ints, DType::Int32));
    if (first != 0)
      index = BYCC_TRY(form_.make(ops::subtract, {index, module_.addScalar(DType::Int32, first)}));
    return MaybeNode(BYCC_TRY(form_.make(ops::take, {table, index})));
  }

  Module &module_;
  IntegerForm &form_;
  NodeId quantize_;
  DType dtype_;
  NodeId scale_, zero_;
  std::map<NodeId, MaybeNode> lowered_;
  int depth_ = 0;
};

class ToInteger {
public:
  ToInteger(Module &module, PassContext &context)
      : module_(module), context_(context), form_(module) {}

  Expected<NodeId> rewrite(NodeId node, Builder &builder) {
    if (module_.node(node).kind != NodeKind::CallOp)
      return node;
    form_.setBuilder(&builder);
    builder.setSource(module_.node(node).source);
    if (IntegerForm::isProduct(module_, node))
      return product(node, builder);
    if (module_.isOp(node, ops::qnn_quantize))
      return island(node);
    return node;
  }

  void remark() {
    if (islands_ > 0)
      context_.remarks.push_back(std::to_string(products_) +
                                 " products of quantised operands are integer, and " +
                                 std::to_string(islands_ - floats_) + " of " +
                                 std::to_string(islands_) + " islands between them");
  }

private:
  Expected<NodeId> product(NodeId node, Builder &builder) {
    form_.refuse(node, "");
    auto sums = BYCC_TRY(form_.ofProduct(node));
    if (!sums) {
      bool isMeant = module_.isOp(module_.operands(node)[0], ops::qnn_dequantize);
      if (isMeant)
        stay(node);
      return node;
    }
    ++products_;
    int64_t axis = sums->axis >= 0 ? sums->axis : -1;
    return builder.call(ops::qnn_dequantize, {sums->ints, sums->scale, sums->zero},
                        {{"axis", AttrValue(axis)}});
  }

  Expected<NodeId> island(NodeId node) {
    // Quantised where a float value of the program begins: no island ends here.
    Island island(module_, form_, node);
    form_.refuse(node, "");
    MaybeNode ints = BYCC_TRY(island.close());
    bool isIsland = ints || comesFromIntegers(module_.operands(node)[0]);
    islands_ += isIsland;
    if (ints)
      return *ints;
    if (isIsland) {
      ++floats_;
      stay(node);
    }
    return node;
  }

  bool comesFromIntegers(NodeId value) const {
    for (int steps = 0; steps < 64 && module_.node(value).kind == NodeKind::CallOp; ++steps) {
      if (module_.isOp(value, ops::qnn_dequantize))
        return true;
      if (module_.operands(value).empty())
        return false;
      value = module_.operands(value)[0];
    }
    return false;
  }

  void stay(NodeId node) {
    std::string where = module_.source(node).str();
    context_.remarks.push_back((where.empty() ? "" : where + ": ") +
                               std::string(opInfo(module_.node(node).op).name) +
                               " stays float: " + form_.whyNot());
  }

  Module &module_;
  PassContext &context_;
  IntegerForm form_;
  int islands_ = 0, floats_ = 0, products_ = 0;
};

} // namespace

Expected<bool> fakeQuantizationToInteger(Module &module, PassContext &context) {
  ToInteger pass(module, context);
  bool changed = BYCC_TRY(rewriteOpenBlocks(
      module, [&](NodeId node, Builder &builder) { return pass.rewrite(node, builder); }));
  pass.remark();
  return changed;
}

} // namespace bycc
