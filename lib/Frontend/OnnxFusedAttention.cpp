// Attention and MultiHeadAttention as ONNX Runtime's optimiser writes them (domain com.microsoft). What
// is masked gets a summand, by default -10000, and not -inf: with all masked, all have one weight. Keys
// behind the query, of a decoder, are forbidden indeed.
#include "OnnxAttention.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

#include <cstring>
#include <limits>

namespace bycc::onnx {
namespace {

// The inputs that masks and summands stand in, and how many keys are in front of the queries.
struct Masks {
  size_t mask = 0, summand = 0;
  NodeId past; // [batch, heads, length, size]; may be missing
};

// A mask of any rank as a condition on scores [batch, heads, length, keys]. [batch] is the number of
// keys, [2 * batch] their ends and then their beginnings, [3 * batch + 2] the number and sums of it;
// [batch, keys] and [batch, length, keys] say it of each.
Expected<NodeId> allowedBy(OpContext &op, NodeId mask, const AttentionForm &form) {
  Compose c(op);
  int64_t rank = op.rank(mask);
  if (rank == 2 || rank == 3)
    return c.done(c.expand(c.call("greater", mask, 0), 1, 4 - rank));
  if (rank != 1)
    return op.error(Status::Unsup) << "a mask of rank " << rank;
  Dim batch = op.shape(form.q)[0], count = op.shape(mask)[0];
  NodeId key = BYCC_TRY(positions(op, form.k, 2));
  auto bound = [&](NodeId part) { return c.expand(c.cast(part, DType::Int64), 1, 3); };
  if (count == batch)
    return c.done(c.call("less", {key, bound(mask)}));
  int64_t samples = batch.isConst() ? batch.value() : -1,
          values = count.isConst() ? count.value() : 0;
  if (values != 2 * samples && values != 3 * samples + 2)
    return op.error(Status::Unsup) << "a mask of " << op.types().str(count)
                                   << " values for a batch of " << op.types().str(batch);
  NodeId isBefore = c.call("less", {key, bound(c.slice(mask, 0, 0, samples))});
  if (values != 2 * samples)
    return c.done(isBefore);
  NodeId first = bound(c.slice(mask, 0, samples, values));
  return c.done(c.call("logical_and", {isBefore, c.call("greater_equal", {key, first})}));
}

// What masks, the input that is added, and the order of tokens add to the scores.
Expected<NodeId> summandOf(OpContext &op, const AttentionForm &form, const Masks &masks) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double filter = BYCC_TRY(op.floatAttr("mask_filter_value", -10000));
  bool isCausal = BYCC_TRY(op.intAttr("unidirectional", 0)) != 0;
  Compose c(op);
  DType dtype = op.dtype(form.q);
  NodeId sum;
  if (op.has(masks.mask)) {
    NodeId allowed = BYCC_TRY(allowedBy(op, op.input(masks.mask), form));
    sum = c.where(allowed, c.scalar(dtype, 0), c.scalar(dtype, filter));
  }
  if (op.has(masks.summand))
    sum = sum ? c.add(sum, op.input(masks.summand)) : op.input(masks.summand);
  if (isCausal) {
    NodeId key = BYCC_TRY(positions(op, form.k, 2)),
           query = c.expand(BYCC_TRY(positions(op, form.q, 2)), 1);
    if (masks.past)
      query = c.add(query, BYCC_TRY(extentOf(op, masks.past, 2)));
    NodeId isBefore = c.call("less_equal", {key, query});
    sum = c.where(isBefore, sum ? sum : c.scalar(dtype, 0), c.scalar(dtype, -infinity));
  }
  return c.done(sum);
}

Expected<int64_t> headsOf(OpContext &op) {
  int64_t heads = BYCC_TRY(op.requiredInt("num_heads"));
  if (heads < 1)
    return op.error() << "num_heads is " << heads;
  return heads;
}

Expected<> refuse(OpContext &op, std::initializer_list<const char *> flags) {
  for (const char *flag : flags)
    if (BYCC_TRY(op.intAttr(flag, 0)) != 0)
      return op.error(Status::Unsup) << flag << " is not supported";
  return {};
}

// Elements [begin, begin + size) of each row of a constant.
NodeId constantPart(OpContext &op, NodeId x, int64_t begin, int64_t size) {
  const Constant &whole = op.module().constant(x);
  std::vector<Dim> shape = op.shape(x);
  DType dtype = op.dtype(x);
  size_t item = static_cast<size_t>(sizeInBytes(dtype));
  size_t from = static_cast<size_t>(shape.back().value()) * item,
         to = static_cast<size_t>(size) * item, rows = from == 0 ? 0 : whole.bytes / from;
  std::vector<uint8_t> bytes(rows * to);
  for (size_t row = 0; row < rows; ++row)
    std::memcpy(bytes.data() + row * to,
                whole.data() + row * from + static_cast<size_t>(begin) * item, to);
  shape.back() = Dim(size);
  return op.module().addConstant(dtype, shape, bytes.data(), bytes.size());
}

// The parts of this many elements along the last axis.
Expected<std::vector<NodeId>> partsOf(OpContext &op, NodeId x, std::span<const int64_t> sizes) {
  if (op.rank(x) < 1)
    return op.error() << "an operand of rank 0";
  int64_t all = 0;
  for (int64_t size : sizes)
    if (size < 0 || __builtin_add_overflow(all, size, &all))
      return op.error() << "parts of " << size << " elements";
  if (op.shape(x).back() != Dim(all))
    return op.error() << op.types().str(op.module().type(x)) << " in parts of " << all
                      << " elements";
  std::vector<NodeId> parts;
  int64_t last = op.rank(x) - 1, begin = 0;
  Compose c(op);
  for (int64_t size : sizes) {
    parts.push_back(op.module().isConstant(x)
                        ? constantPart(op, x, begin, size)
                        : BYCC_TRY(c.done(c.slice(x, last, begin, begin + size))));
    begin += size;
  }
  return parts;
}

// The sizes of Q, K and V.
Expected<std::vector<int64_t>> sizesOf(OpContext &op, NodeId projected) {
  if (auto given = BYCC_TRY(op.intsAttr("qkv_hidden_sizes")); given && !given->empty()) {
    if (given->size() != 3)
      return op.error() << "qkv_hidden_sizes has " << given->size() << " values, wanted 3";
    return *given;
  }
  Dim all = op.rank(projected) > 0 ? op.shape(projected).back() : Dim::unknown();
  if (!all.isConst() || all.value() % 3 != 0)
    return op.error() << op.types().str(op.module().type(projected)) << " is not Q, K and V";
  return std::vector<int64_t>(3, all.value() / 3);
}

// past[part] of [2, batch, heads, length, size], in front of x.
Expected<NodeId> withPast(OpContext &op, NodeId past, int64_t part, NodeId x) {
  Compose c(op);
  NodeId both[2] = {c.squeeze(c.slice(past, 0, part, part + 1), {0}), x};
  return c.done(c.concat(both, 2));
}

} // namespace

Expected<std::vector<NodeId>> projectedParts(OpContext &op, NodeId projected) {
  return partsOf(op, projected, BYCC_TRY(sizesOf(op, projected)));
}

Expected<> attendProjected(OpContext &op, std::vector<NodeId> parts,
                           const ProjectedInputs &inputs) {
  int64_t heads = BYCC_TRY(headsOf(op));
  BYCC_TRY(refuse(op, {"do_rotary", "past_present_share_buffer"}));
  op.ignoreAttr("rotary_embedding_dim");
  if (op.rank(parts[0]) != 3)
    return op.error() << "an input of rank " << op.rank(parts[0]) << ", wanted 3";
  for (NodeId &part : parts)
    part = BYCC_TRY(splitHeads(op, part, heads, "num_heads"));
  AttentionForm form{parts[0], parts[1], parts[2]};
  Masks masks{inputs.mask, inputs.summand, {}};
  Compose c(op);
  if (op.has(inputs.past)) {
    NodeId past = op.input(inputs.past);
    if (op.rank(past) != 5)
      return op.error() << "past of rank " << op.rank(past) << ", wanted 5";
    form.k = BYCC_TRY(withPast(op, past, 0, form.k));
    form.v = BYCC_TRY(withPast(op, past, 1, form.v));
    masks.past = BYCC_TRY(c.done(c.squeeze(c.slice(past, 0, 0, 1), {0})));
  }
  if (op.wantsOutput(1)) {
    NodeId both[2] = {form.k, form.v};
    op.setOutput(1, BYCC_TRY(c.done(c.stack(both, 0))));
  }
  form.scale = BYCC_TRY(scaleOf(op, form.q, true));
  form.summand = BYCC_TRY(summandOf(op, form, masks));
  op.setOutput(0, BYCC_TRY(mergeHeads(op, BYCC_TRY(attend(op, form)).result)));
  return {};
}

// Input times weights is Q, K and V beside each other. With known weights these are three products, so
// that none of them is copied from a common one.
Expected<> convertProjectedAttention(OpContext &op) {
  NodeId x = op.input(0), weights = op.input(1);
  if (op.rank(weights) != 2)
    return op.error() << "weights of rank " << op.rank(weights) << ", wanted 2";
  std::vector<NodeId> factors{weights}, biases;
  bool isKnown =
      op.module().isConstant(weights) && (!op.has(2) || op.module().isConstant(op.input(2)));
  if (isKnown)
    factors = BYCC_TRY(projectedParts(op, weights));
  if (op.has(2))
    biases = isKnown ? BYCC_TRY(projectedParts(op, op.input(2))) : std::vector{op.input(2)};
  std::vector<NodeId> parts;
  for (size_t i = 0; i < factors.size(); ++i) {
    parts.push_back(BYCC_TRY(matmulOf(op, x, factors[i])));
    if (!biases.empty())
      parts[i] = BYCC_TRY(sumOf(op, parts[i], biases[i]));
  }
  if (!isKnown)
    parts = BYCC_TRY(projectedParts(op, parts[0]));
  return attendProjected(op, std::move(parts), {.mask = 3, .past = 4, .summand = 5});
}

namespace {

// Part `index` of [batch, length, heads, parts, size] as [batch, heads, length, size].
Expected<NodeId> packedPart(OpContext &op, NodeId x, int64_t index) {
  Compose c(op);
  NodeId part = c.squeeze(c.slice(x, 3, index, index + 1), {3});
  return c.done(c.transpose(part, {0, 2, 1, 3}));
}

// With its part of the bias (input 3, of Q, K and V together), in heads.
Expected<NodeId> headsAt(OpContext &op, size_t index, int64_t heads,
                         std::span<const int64_t> sizes) {
  NodeId x = op.input(index);
  if (op.has(3))
    x = BYCC_TRY(sumOf(op, x, BYCC_TRY(partsOf(op, op.input(3), sizes))[index]));
  return splitHeads(op, x, heads, "num_heads");
}

Expected<int64_t> hiddenSize(OpContext &op, NodeId x) {
  Dim size = op.shape(x).back();
  if (!size.isConst())
    return op.error(Status::Unsup) << "the size of a head must be known when the model is read";
  return size.value();
}

// Q, K and V in heads. Keys and values of rank 4 are so already: those of another sequence, without
// a bias.
Expected<AttentionForm> readHeads(OpContext &op, int64_t heads) {
  NodeId q = op.input(0);
  bool isAllPacked = op.rank(q) == 5;
  int64_t keyRank = op.has(1) ? op.rank(op.input(1)) : 0;
  if ((isAllPacked || keyRank == 5) && op.has(3))
    return op.error(Status::Unsup) << "a bias of packed operands";
  if (isAllPacked)
    return AttentionForm{BYCC_TRY(packedPart(op, q, 0)), BYCC_TRY(packedPart(op, q, 1)),
                         BYCC_TRY(packedPart(op, q, 2))};
  if (op.rank(q) != 3 || keyRank < 3 || keyRank > 5 ||
      (keyRank < 5 && (!op.has(2) || op.rank(op.input(2)) != keyRank)))
    return op.error() << "query of rank " << op.rank(q) << " and key of rank " << keyRank;
  int64_t size = BYCC_TRY(hiddenSize(op, q));
  if (keyRank == 5)
    return AttentionForm{BYCC_TRY(splitHeads(op, q, heads, "num_heads")),
                         BYCC_TRY(packedPart(op, op.input(1), 0)),
                         BYCC_TRY(packedPart(op, op.input(1), 1))};
  int64_t valueSize = BYCC_TRY(hiddenSize(op, op.input(2))) * (keyRank == 4 ? heads : 1);
  const int64_t sizes[] = {size, size, valueSize};
  AttentionForm form{BYCC_TRY(headsAt(op, 0, heads, sizes)), op.input(1), op.input(2)};
  if (keyRank == 3) {
    form.k = BYCC_TRY(headsAt(op, 1, heads, sizes));
    form.v = BYCC_TRY(headsAt(op, 2, heads, sizes));
  }
  return form;
}

} // namespace

Expected<> convertMultiHeadAttention(OpContext &op) {
  int64_t heads = BYCC_TRY(headsOf(op));
  for (auto [index, what] :
       {std::pair<size_t, const char *>{8, "past_sequence_length"}, {9, "cache_indirection"}})
    if (op.has(index))
      return op.error(Status::Unsup)
             << what << " (a buffer that is written in place) is not supported";
  AttentionForm form = BYCC_TRY(readHeads(op, heads));
  Masks masks{4, 5, {}};
  if (op.has(6) != op.has(7) || (op.has(6) && op.rank(op.input(1)) == 4))
    return op.error() << "past_key and past_value come together, and with keys of rank 3";
  if (op.has(6)) {
    masks.past = op.input(6);
    NodeId keys[2] = {op.input(6), form.k}, values[2] = {op.input(7), form.v};
    Compose c(op);
    form.k = BYCC_TRY(c.done(c.concat(keys, 2)));
    form.v = BYCC_TRY(c.done(c.concat(values, 2)));
  }
  op.setOutput(1, form.k);
  op.setOutput(2, form.v);
  form.scale = BYCC_TRY(scaleOf(op, form.q, true));
  form.summand = BYCC_TRY(summandOf(op, form, masks));
  Attended made = BYCC_TRY(attend(op, form));
  op.setOutput(0, BYCC_TRY(mergeHeads(op, made.result)));
  op.setOutput(3, made.biased);
  return {};
}

// The tables have a row for each position. Positions are given for each token, or as the first one.
Expected<> convertRotaryOfTables(OpContext &op) {
  NodeId x = op.input(0), table = op.input(2);
  bool isPacked = op.rank(x) == 3, isInterleaved = BYCC_TRY(op.intAttr("interleaved", 0)) != 0;
  int64_t heads = BYCC_TRY(op.intAttr("num_heads", 0));
  int64_t part = BYCC_TRY(op.intAttr("rotary_embedding_dim", 0));
  BYCC_TRY(refuse(op, {"is_packed_batching"}));
  op.ignoreAttr("scale"); // as ONNX Runtime does
  if ((!isPacked && op.rank(x) != 4) || op.rank(table) != 2 || op.rank(op.input(1)) > 2)
    return op.error() << "input of rank " << op.rank(x) << ", position_ids of rank "
                      << op.rank(op.input(1)) << ", tables of rank " << op.rank(table);
  if (isPacked && part == 0) { // then the tables are for whole heads
    int64_t half = BYCC_TRY(hiddenSize(op, table));
    heads = half > 0 ? BYCC_TRY(hiddenSize(op, x)) / (2 * half) : 0;
  }
  if (isPacked)
    x = BYCC_TRY(splitHeads(op, x, heads, "num_heads"));
  Compose c(op);
  NodeId places = op.input(1);
  if (op.rank(places) < 2)
    places = c.expand(c.add(BYCC_TRY(positions(op, x, 2)), places), 0);
  NodeId cosine = BYCC_TRY(turnsAt(op, op.input(2), places)),
         sine = BYCC_TRY(turnsAt(op, op.input(3), places));
  NodeId result = BYCC_TRY(rotated(op, x, cosine, sine, part, isInterleaved));
  op.setOutput(0, isPacked ? BYCC_TRY(mergeHeads(op, result)) : result);
  return {};
}

} // namespace bycc::onnx
