// Attention and the operators around it. Masks are kept as what they are, conditions
// and summands, and meet in one bias:
//
//   allowed = mask and j <= i + offset and window and j < length
//   bias    = allowed ? summand : -inf
//   y       = softmax(softcap(s * Q K^T) + bias) V
//
// Query i may look at key j; `offset` is how many keys stand in front of the queries.
// A query that may look at nothing gives 0.
#include "OnnxAttention.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

#include <cmath>
#include <limits>

namespace bycc::onnx {

Expected<NodeId> splitHeads(OpContext &op, NodeId x, int64_t heads, std::string_view what) {
  if (heads < 1)
    return op.error() << what << " is " << heads;
  Dim size = op.shape(x).back();
  if (size.isConst() && size.value() % heads != 0)
    return op.error() << size.value() << " elements do not divide into " << heads << " heads";
  Compose c(op);
  NodeId split = c.call("reshape", {x}, {{"newshape", AttrValue::List{0, 0, heads, -1}}});
  return c.done(c.transpose(split, {0, 2, 1, 3}));
}

Expected<NodeId> mergeHeads(OpContext &op, NodeId x) {
  Compose c(op);
  NodeId merged = c.transpose(x, {0, 2, 1, 3});
  return c.done(c.call("reshape", {merged}, {{"newshape", AttrValue::List{0, 0, -1}}}));
}

Expected<NodeId> positions(OpContext &op, NodeId x, int64_t axis) {
  Compose c(op);
  Dim count = op.shape(x)[axis];
  if (count.isConst())
    return c.done(c.iota(count.value(), DType::Int64));
  return c.done(c.iota(BYCC_TRY(extentOf(op, x, axis))));
}

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct OnnxForm : AttentionForm {
  bool isPacked = false, isCausal = false;
  int64_t left = -1, right = -1, outputMode = 0;
};

Expected<OnnxForm> readAttention(OpContext &op) {
  OnnxForm form{{op.input(0), op.input(1), op.input(2)}};
  int64_t rank = op.rank(form.q);
  if ((rank != 3 && rank != 4) || op.rank(form.k) != rank || op.rank(form.v) != rank)
    return op.error() << "Q, K and V of rank " << rank << ", " << op.rank(form.k) << " and "
                      << op.rank(form.v) << ", wanted 3 or 4";
  form.isPacked = rank == 3;
  if (form.isPacked) {
    int64_t queryHeads = BYCC_TRY(op.requiredInt("q_num_heads")),
            heads = BYCC_TRY(op.requiredInt("kv_num_heads"));
    form.q = BYCC_TRY(splitHeads(op, form.q, queryHeads, "q_num_heads"));
    form.k = BYCC_TRY(splitHeads(op, form.k, heads, "kv_num_heads"));
    form.v = BYCC_TRY(splitHeads(op, form.v, heads, "kv_num_heads"));
  }
  op.ignoreAttr("q_num_heads");
  op.ignoreAttr("kv_num_heads");
  form.isCausal = BYCC_TRY(op.intAttr("is_causal", 0)) != 0;
  form.left = BYCC_TRY(op.intAttr("left_window_size", -1));
  form.right = BYCC_TRY(op.intAttr("right_window_size", -1));
  if (form.left < -1 || form.right < -1)
    return op.error() << "a window of " << form.left << " and " << form.right;
  form.outputMode = BYCC_TRY(op.intAttr("qk_matmul_output_mode", 0));
  if (form.outputMode < 0 || form.outputMode > 3)
    return op.error() << "qk_matmul_output_mode is " << form.outputMode;
  form.softcap = BYCC_TRY(op.floatAttr("softcap", 0));
  if (const Attribute *type = BYCC_TRY(op.attr("softmax_precision", AttrKind::Int)))
    form.precision =
        BYCC_TRY(dtypeOf(static_cast<int32_t>(type->i), op.module().source(op.sourceId())));
  form.scale = BYCC_TRY(scaleOf(op, form.q));
  return form;
}

// past_key and past_value in front of the keys and values.
Expected<> addPast(OpContext &op, OnnxForm &form) {
  if (op.has(4) != op.has(5) || (op.has(4) && op.has(6)))
    return op.error() << "past_key and past_value come together, and without nonpad_kv_seqlen";
  if (op.has(4)) {
    NodeId keys[2] = {op.input(4), form.k}, values[2] = {op.input(5), form.v};
    Compose c(op);
    form.k = BYCC_TRY(c.done(c.concat(keys, 2)));
    form.v = BYCC_TRY(c.done(c.concat(values, 2)));
  }
  if (op.wantsOutput(1))
    op.setOutput(1, form.k);
  if (op.wantsOutput(2))
    op.setOutput(2, form.v);
  return {};
}

struct Bias {
  NodeId allowed, summand; // either may be missing
  bool mayForbidAll = false;

  void require(Compose &c, NodeId condition) {
    allowed = allowed ? c.call("logical_and", {allowed, condition}) : condition;
  }
};

// A mask that is shorter than the keys forbids the rest.
Expected<NodeId> fullMask(OpContext &op, NodeId mask, NodeId keys) {
  Dim own = op.shape(mask).back(), all = op.shape(keys)[2];
  if (own == all)
    return mask;
  if (!own.isConst() || !all.isConst())
    return mask; // taken to be of one length
  if (own.value() > all.value())
    return op.error() << "a mask over " << own.value() << " keys, there are " << all.value();
  std::vector<std::array<int64_t, 2>> widths(static_cast<size_t>(op.rank(mask)), {0, 0});
  widths.back()[1] = all.value() - own.value();
  Compose c(op);
  if (op.dtype(mask) == DType::Bool)
    return c.done(c.cast(c.pad(c.cast(mask, DType::UInt8), widths, 0), DType::Bool));
  return c.done(c.pad(mask, widths, -infinity));
}

Expected<Bias> biasOf(OpContext &op, const OnnxForm &form) {
  Bias bias;
  Compose c(op);
  if (op.has(3)) {
    NodeId mask = op.input(3);
    if (op.rank(mask) < 1)
      return op.error() << "a mask of rank 0";
    mask = BYCC_TRY(fullMask(op, mask, form.k));
    (op.dtype(mask) == DType::Bool ? bias.allowed : bias.summand) = mask;
    bias.mayForbidAll = true;
  }
  bool hasWindow = form.left >= 0 || form.right >= 0;
  if (!form.isCausal && !hasWindow && !op.has(6))
    return bias;
  NodeId key = BYCC_TRY(positions(op, form.k, 2)),
         query = c.expand(BYCC_TRY(positions(op, form.q, 2)), 1);
  if (op.has(6)) { // lengths of the samples
    NodeId lengths = c.expand(c.cast(op.input(6), DType::Int64), 1, 3);
    bias.require(c, c.call("less", {key, lengths}));
    query = c.add(query, c.sub(lengths, BYCC_TRY(extentOf(op, form.q, 2))));
  } else if (op.has(4)) {
    query = c.add(query, BYCC_TRY(extentOf(op, op.input(4), 2)));
  }
  bias.mayForbidAll = bias.mayForbidAll || hasWindow || op.has(6);
  if (form.isCausal)
    bias.require(c, c.call("less_equal", {key, query}));
  if (form.left >= 0)
    bias.require(c, c.call("greater_equal", {key, c.sub(query, static_cast<double>(form.left))}));
  if (form.right >= 0)
    bias.require(c, c.call("less_equal", {key, c.add(query, static_cast<double>(form.right))}));
  BYCC_TRY(c.done(query));
  return bias;
}

// The bias as one summand of scores of this dtype; nothing without masks.
Expected<NodeId> summandOf(OpContext &op, const Bias &bias, DType dtype) {
  Compose c(op);
  NodeId summand = bias.summand ? c.cast(bias.summand, dtype) : op.scalar(dtype, 0);
  if (bias.allowed)
    summand = c.where(bias.allowed, summand, op.scalar(dtype, -infinity));
  else if (!bias.summand)
    return NodeId();
  return c.done(summand);
}

} // namespace

Expected<double> scaleOf(OpContext &op, NodeId q, bool isZeroNone) {
  Dim size = op.shape(q)[3];
  double given = BYCC_TRY(op.floatAttr("scale", 0));
  if (!(given >= 0))
    return op.error(Status::Unsup) << "scale is " << given;
  if (BYCC_TRY(op.attr("scale", AttrKind::Float)) && !(isZeroNone && given == 0))
    return given;
  if (size.isConst() && size.value() > 0)
    return 1 / std::sqrt(static_cast<double>(size.value()));
  return op.error(Status::Unsup) << "the size of a head must be known when the model is read";
}

namespace {

// How many heads of q share one of k and v.
Expected<int64_t> groupSize(OpContext &op, const AttentionForm &form) {
  Dim queries = op.shape(form.q)[1], keys = op.shape(form.k)[1], values = op.shape(form.v)[1];
  if (queries == keys && queries == values)
    return 1;
  if (!queries.isConst() || !keys.isConst() || keys != values || keys.value() < 1 ||
      queries.value() % keys.value() != 0)
    return op.error() << op.types().str(queries) << " query heads for " << op.types().str(keys)
                      << " heads of keys and " << op.types().str(values) << " of values";
  return queries.value() / keys.value();
}

NodeId reshaped(Compose &c, NodeId x, AttrValue::List codes) {
  return c.call("reshape", {x}, {{"newshape", std::move(codes)}});
}

// [batch, heads, length, n] x [batch, heads / group, n, m] -> [batch, heads, length, m], without a
// copy for each head: those of a group are rows of one product.
Expected<NodeId> groupedProduct(OpContext &op, NodeId a, NodeId b, int64_t group) {
  if (group == 1)
    return matmulOf(op, a, b);
  Compose c(op);
  NodeId rows = reshaped(c, a, {0, -4, -1, group, 0, 0});
  rows = BYCC_TRY(c.done(reshaped(c, rows, {0, 0, -3, 0})));
  NodeId product = BYCC_TRY(matmulOf(op, rows, b));
  return c.done(reshaped(c, reshaped(c, product, {0, 0, -4, group, -1, 0}), {0, -3, 0, 0}));
}

// scale * Q K^T. In float16 both are scaled before: a product of them as they are may be beyond the
// largest number.
Expected<NodeId> scoresOf(OpContext &op, const AttentionForm &form, int64_t group) {
  Compose c(op);
  bool isHalf = op.dtype(form.q) == DType::Float16;
  double root = std::sqrt(form.scale);
  NodeId q = BYCC_TRY(c.done(isHalf ? c.mul(form.q, root) : form.q));
  NodeId k = BYCC_TRY(c.done(c.transpose(isHalf ? c.mul(form.k, root) : form.k, {0, 1, 3, 2})));
  NodeId scores = BYCC_TRY(groupedProduct(op, q, k, group));
  return c.done(isHalf || form.scale == 1 ? scores : c.mul(scores, form.scale));
}

} // namespace

Expected<Attended> attend(OpContext &op, const AttentionForm &form) {
  DType dtype = op.dtype(form.q);
  int64_t group = BYCC_TRY(groupSize(op, form));
  Compose c(op);
  Attended made;
  made.scores = made.capped = BYCC_TRY(scoresOf(op, form, group));
  if (form.softcap > 0)
    made.capped = c.mul(c.call("tanh", {c.div(made.scores, form.softcap)}), form.softcap);
  made.biased = form.summand ? c.add(made.capped, form.summand) : made.capped;
  NodeId all = made.biased;
  if (form.sink) {
    NodeId parts[2] = {all, c.add(c.call("zeros_like", {c.slice(all, 3, 0, 1)}), form.sink)};
    all = c.concat(parts, 3);
  }
  made.weights = c.cast(c.call("nn.softmax", {c.cast(all, form.precision.value_or(dtype))}), dtype);
  if (form.sink)
    made.weights = c.slice(made.weights, 3, 0, -1);
  if (form.mayForbidAll) {
    NodeId largest = c.reduce("max", form.summand, {op.rank(form.summand) - 1});
    made.weights = c.where(c.call("equal", largest, -infinity), c.scalar(dtype, 0), made.weights);
  }
  made.result = BYCC_TRY(groupedProduct(op, BYCC_TRY(c.done(made.weights)), form.v, group));
  return made;
}

Expected<> convertAttention(OpContext &op) {
  OnnxForm form = BYCC_TRY(readAttention(op));
  BYCC_TRY(addPast(op, form));
  Bias bias = BYCC_TRY(biasOf(op, form));
  form.summand = BYCC_TRY(summandOf(op, bias, op.dtype(form.q)));
  form.mayForbidAll = bias.mayForbidAll;
  Attended made = BYCC_TRY(attend(op, form));
  op.setOutput(0, form.isPacked ? BYCC_TRY(mergeHeads(op, made.result)) : made.result);
  NodeId shown[4] = {made.scores, made.capped, made.biased, made.weights};
  op.setOutput(3, shown[form.outputMode]);
  return {};
}

// Pairs are neighbours, or element i of the first and of the second half.
Expected<NodeId> rotated(OpContext &op, NodeId x, NodeId cosine, NodeId sine, int64_t rotated,
                         bool isInterleaved) {
  Dim size = op.shape(x)[3];
  if (!size.isConst())
    return op.error(Status::Unsup) << "the size of a head must be known when the model is read";
  rotated = rotated == 0 ? size.value() : rotated;
  if (rotated < 2 || rotated % 2 != 0 || rotated > size.value())
    return op.error() << "rotates " << rotated << " of " << size.value() << " elements";
  Compose c(op);
  int64_t half = rotated / 2, step = isInterleaved ? 2 : 1;
  NodeId a = c.slice(x, 3, 0, isInterleaved ? rotated : half, step);
  NodeId b = c.slice(x, 3, isInterleaved ? 1 : half, rotated, step);
  NodeId parts[2] = {c.sub(c.mul(cosine, a), c.mul(sine, b)),
                     c.add(c.mul(sine, a), c.mul(cosine, b))};
  NodeId turned;
  if (isInterleaved)
    turned =
        c.call("reshape", {c.stack(parts, 4)}, {{"newshape", AttrValue::List{0, 0, 0, rotated}}});
  else
    turned = c.concat(parts, 3);
  if (rotated < size.value()) {
    NodeId both[2] = {turned, c.slice(x, 3, rotated, size.value())};
    turned = c.concat(both, 3);
  }
  return c.done(turned);
}

Expected<NodeId> turnsAt(OpContext &op, NodeId table, NodeId places) {
  Compose c(op);
  return c.done(
      c.expand(c.call("take", {table, places}, {{"axis", int64_t{0}}, {"mode", "error"}}), 1));
}

Expected<> convertRotaryEmbedding(OpContext &op) {
  NodeId x = op.input(0);
  bool isPacked = op.rank(x) == 3, isInterleaved = BYCC_TRY(op.intAttr("interleaved", 0)) != 0;
  int64_t heads = BYCC_TRY(op.intAttr("num_heads", 0));
  if (!isPacked && op.rank(x) != 4)
    return op.error() << "input of rank " << op.rank(x) << ", wanted 3 or 4";
  if (isPacked)
    x = BYCC_TRY(splitHeads(op, x, heads, "num_heads"));
  Compose c(op);
  auto table = [&](size_t index) { // [batch, 1, length, rotated / 2]
    return op.has(3) ? turnsAt(op, op.input(index), op.input(3))
                     : c.done(c.expand(op.input(index), 1));
  };
  NodeId cosine = BYCC_TRY(table(1)), sine = BYCC_TRY(table(2));
  int64_t part = BYCC_TRY(op.intAttr("rotary_embedding_dim", 0));
  NodeId result = BYCC_TRY(rotated(op, x, cosine, sine, part, isInterleaved));
  op.setOutput(0, isPacked ? BYCC_TRY(mergeHeads(op, result)) : result);
  return {};
}

// Writes `update` into a cache, for each sample from its own place on.
Expected<> convertTensorScatter(OpContext &op) {
  NodeId cache = op.input(0), update = op.input(1);
  int64_t rank = op.rank(cache);
  int64_t axis = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("axis", -2)), rank));
  std::string mode = BYCC_TRY(op.textAttr("mode", "linear"));
  if (mode != "linear" && mode != "circular")
    return op.error() << "mode must be linear or circular";
  if (axis == 0 || op.rank(update) != rank)
    return op.error() << "an update of rank " << op.rank(update) << " along axis " << axis
                      << ", the cache has rank " << rank;
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(update));
  Compose c(op);
  NodeId places = c.expand(c.iota(shape[axis], DType::Int64), 1, rank - 1 - axis);
  if (op.has(2))
    places = c.add(places, c.expand(c.cast(op.input(2), DType::Int64), 1, rank - 1));
  if (mode == "circular")
    places = c.call("floor_mod", {places, BYCC_TRY(extentOf(op, cache, axis))});
  op.setOutput(
      0, BYCC_TRY(c.done(c.call("scatter_elements", {cache, c.broadcast(places, shape), update},
                                {{"axis", axis}}))));
  return {};
}

// A depthwise convolution over the past and the present; the last kernel - 1 elements
// are the next past.
Expected<> convertCausalConv(OpContext &op) {
  NodeId x = op.input(0), weight = op.input(1);
  std::string activation = BYCC_TRY(op.textAttr("activation", "none"));
  if (activation != "none" && activation != "silu" && activation != "swish")
    return op.error() << "activation must be none, silu or swish";
  if (op.rank(x) != 3 || op.rank(weight) != 3)
    return op.error() << "operands of rank " << op.rank(x) << " and " << op.rank(weight)
                      << ", wanted 3";
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(x)),
                       kernel = BYCC_TRY(op.staticShape(weight));
  int64_t past = kernel[2] - 1;
  if (past < 0)
    return op.error() << "the kernel is empty";
  DType dtype = op.dtype(x);
  Compose c(op);
  NodeId parts[2] = {op.has(3) ? op.input(3) : c.zeros({shape[0], shape[1], past}, dtype), x};
  NodeId all = past > 0 ? c.concat(parts, 2) : x;
  NodeId result = c.call("nn.conv1d", {all, weight},
                         {{"groups", shape[1]},
                          {"channels", shape[1]},
                          {"kernel_size", AttrValue::ints({&kernel[2], 1})}});
  if (op.has(2))
    result = c.call("nn.bias_add", {result, op.input(2)});
  if (activation != "none") {
    NodeId wide = c.cast(result, DType::Float32);
    result = c.cast(c.mul(wide, c.call("sigmoid", {wide})), dtype);
  }
  op.setOutput(0, BYCC_TRY(c.done(result)));
  if (op.wantsOutput(1))
    op.setOutput(1, BYCC_TRY(c.done(past > 0 ? c.slice(all, 2, shape[2], shape[2] + past)
                                             : c.zeros({shape[0], shape[1], 0}, dtype))));
  return {};
}

// Linear attention, token by token over a state [batch, heads, key size, value size]:
//   state = exp(decay) * state + key (x) beta * (value - state^T key)
//   y     = scale * query^T state
// where an update rule leaves out decay or the correction by beta.
Expected<> convertLinearAttention(OpContext &op) {
  constexpr int64_t mostTokens = 512;
  std::string rule = BYCC_TRY(op.textAttr("update_rule", "gated_delta"));
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    return op.error() << "update_rule must be linear, gated, delta or gated_delta";
  bool isGated = rule == "gated" || rule == "gated_delta",
       isDelta = rule == "delta" || rule == "gated_delta";
  if (isGated != op.has(4) || isDelta != op.has(5))
    return op.error() << "update_rule " << rule << " with" << (op.has(4) ? "" : "out")
                      << " decay and with" << (op.has(5) ? "" : "out") << " beta";
  op.ignoreAttr("chunk_size");
  int64_t queryHeads = BYCC_TRY(op.requiredInt("q_num_heads")),
          heads = BYCC_TRY(op.requiredInt("kv_num_heads"));
  if (heads < 1 || queryHeads < 1 || queryHeads % heads != 0)
    return op.error() << queryHeads << " query heads for " << heads << " heads of keys";
  for (size_t i : {0, 1, 2, 4, 5})
    if (op.has(i) && op.rank(op.input(i)) != 3)
      return op.error() << "input " << i << " has rank " << op.rank(op.input(i)) << ", wanted 3";
  const DType wide = DType::Float32, dtype = op.dtype(op.input(0));
  Compose c(op);
  auto perHead = [&](size_t index, int64_t count) -> Expected<NodeId> {
    return c.done(c.cast(BYCC_TRY(splitHeads(op, op.input(index), count, "num_heads")), wide));
  };
  NodeId q = BYCC_TRY(perHead(0, queryHeads)), k = BYCC_TRY(perHead(1, heads)),
         v = BYCC_TRY(perHead(2, heads));
  std::vector<int64_t> keyShape = BYCC_TRY(op.staticShape(k)),
                       valueShape = BYCC_TRY(op.staticShape(v));
  int64_t tokens = keyShape[2];
  if (tokens > mostTokens || tokens < 1)
    return op.error(Status::Unsup) << tokens << " tokens, 1 to " << mostTokens << " are supported";
  NodeId decay, beta;
  if (isGated)
    decay = c.call("exp", {BYCC_TRY(perHead(4, heads))});
  if (isDelta)
    beta = BYCC_TRY(perHead(5, op.shape(op.input(5)).back() == Dim(1) ? 1 : heads));
  double scale = BYCC_TRY(op.floatAttr("scale", 0));
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(keyShape[3]));
  NodeId state = op.has(3) ? c.cast(op.input(3), wide)
                           : c.zeros({keyShape[0], heads, keyShape[3], valueShape[3]}, wide);
  // Of token t: a column (over key elements) and a row (over value elements).
  auto column = [&](NodeId x, int64_t t) {
    return c.transpose(c.slice(x, 2, t, t + 1), {0, 1, 3, 2});
  };
  auto row = [&](NodeId x, int64_t t) { return c.slice(x, 2, t, t + 1); };
  std::vector<NodeId> results;
  for (int64_t t = 0; t < tokens; ++t) {
    NodeId key = column(k, t), value = row(v, t);
    if (isGated)
      state = c.mul(state, column(decay, t));
    if (isDelta)
      value = c.mul(c.sub(value, c.reduce("sum", c.mul(state, key), {2})), row(beta, t));
    state = c.add(state, c.mul(key, value));
    NodeId read = state;
    if (queryHeads != heads)
      read = c.call("repeat", {state}, {{"repeats", queryHeads / heads}, {"axis", int64_t{1}}});
    results.push_back(c.mul(c.reduce("sum", c.mul(read, column(q, t)), {2}), scale));
  }
  BYCC_TRY(c.done(state));
  NodeId all = BYCC_TRY(c.done(c.cast(c.concat(results, 2), dtype)));
  op.setOutput(0, BYCC_TRY(mergeHeads(op, all)));
  if (op.wantsOutput(1))
    op.setOutput(1, BYCC_TRY(c.done(c.cast(state, op.has(3) ? op.dtype(op.input(3)) : dtype))));
  return {};
}

} // namespace bycc::onnx
