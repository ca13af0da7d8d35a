// GroupQueryAttention of ONNX Runtime (domain com.microsoft): several query heads share one of keys and
// values, and the past may be a buffer that has room for what comes. Sample b has seqlens_k[b] + 1
// tokens with the new ones, so
//
//   first[b] = max(seqlens_k[b] + 1 - length, 0)        its past
//   present  = past, or as much as total_sequence_length asks for, with the new ones from first[b] on
//   query s may look at key j when j <= first[b] + s
//
// or, with sliding_window_cache, the past is a buffer of the last tokens alone.
#include "OnnxAttention.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

#include <limits>

namespace bycc::onnx {
namespace {

// Positions of inputs, as the operator numbers them.
struct In {
  enum : size_t {
    query,
    key,
    value,
    pastKey,
    pastValue,
    lengths,
    total,
    cosines,
    sines,
    places,
    summand,
    sink,
    keyScale,
    valueScale,
    queryNorm,
    keyNorm,
    queryLengths,
  };
};

struct Grouped {
  NodeId q, k, v; // [batch, heads, length, size]
  NodeId counts;  // [batch, 1]: tokens with the new ones
  NodeId first;   // [batch, 1]: without them
  NodeId at;      // [batch, length]: the positions of the queries
};

Expected<> refuseOthers(OpContext &op) {
  for (auto [index, what] : {std::pair<size_t, const char *>{In::keyScale, "k_scale"},
                             {In::valueScale, "v_scale"},
                             {In::queryLengths, "query_seqlens"}})
    if (op.has(index))
      return op.error(Status::Unsup) << what << " is not supported";
  for (const char *flag : {"qk_output", "kv_cache_bit_width"})
    if (BYCC_TRY(op.intAttr(flag, 0)) != 0)
      return op.error(Status::Unsup) << flag << " is not supported";
  for (const char *type : {"k_quant_type", "v_quant_type"})
    if (BYCC_TRY(op.textAttr(type, "NONE")) != "NONE")
      return op.error(Status::Unsup) << type << " is not supported: past and present are floats";
  return {};
}

// Q, K and V in heads, from three inputs or from one.
Expected<Grouped> readOperands(OpContext &op) {
  int64_t heads = BYCC_TRY(op.requiredInt("num_heads")),
          shared = BYCC_TRY(op.requiredInt("kv_num_heads"));
  if (heads < 1 || shared < 1)
    return op.error() << "num_heads is " << heads << ", kv_num_heads " << shared;
  NodeId parts[3] = {op.input(In::query)};
  if (op.has(In::key) != op.has(In::value))
    return op.error() << "key and value come together";
  if (op.has(In::key)) {
    parts[1] = op.input(In::key);
    parts[2] = op.input(In::value);
  } else {
    Dim all = op.rank(parts[0]) == 3 ? op.shape(parts[0])[2] : Dim::unknown();
    if (!all.isConst() || all.value() % (heads + 2 * shared) != 0)
      return op.error() << op.types().str(all) << " elements do not divide into " << heads
                        << " + 2 * " << shared << " heads";
    int64_t size = all.value() / (heads + 2 * shared), last = op.rank(parts[0]) - 1;
    Compose c(op);
    NodeId packed = parts[0];
    parts[0] = c.slice(packed, last, 0, heads * size);
    parts[1] = c.slice(packed, last, heads * size, (heads + shared) * size);
    parts[2] = BYCC_TRY(c.done(c.slice(packed, last, (heads + shared) * size, all.value())));
  }
  if (op.rank(parts[0]) != 3 || op.rank(parts[1]) != 3 || op.rank(parts[2]) != 3)
    return op.error() << "query of rank " << op.rank(parts[0]) << ", wanted 3";
  Grouped made;
  made.q = BYCC_TRY(splitHeads(op, parts[0], heads, "num_heads"));
  made.k = BYCC_TRY(splitHeads(op, parts[1], shared, "kv_num_heads"));
  made.v = BYCC_TRY(splitHeads(op, parts[2], shared, "kv_num_heads"));
  return made;
}

Expected<> findPositions(OpContext &op, Grouped &form) {
  Compose c(op);
  NodeId length = BYCC_TRY(extentOf(op, form.q, 2));
  NodeId counts = c.add(c.cast(op.input(In::lengths), DType::Int64), 1);
  form.counts = c.reshape(counts, {-1, 1}); // some models have a column
  form.first = c.call("maximum", c.sub(form.counts, length), 0);
  form.at = BYCC_TRY(c.done(c.add(form.first, BYCC_TRY(positions(op, form.q, 2)))));
  return {};
}

// Normalised by head and turned, where the operator asks for it.
Expected<> prepareHeads(OpContext &op, Grouped &form) {
  double epsilon = BYCC_TRY(op.floatAttr("qk_norm_epsilon", 1e-6));
  double ofQueries = BYCC_TRY(op.floatAttr("q_norm_epsilon", epsilon));
  double ofKeys = BYCC_TRY(op.floatAttr("k_norm_epsilon", epsilon));
  if (op.has(In::queryNorm) && op.has(In::keyNorm)) {
    form.q = BYCC_TRY(rmsNormOf(op, form.q, op.input(In::queryNorm), 3, ofQueries));
    form.k = BYCC_TRY(rmsNormOf(op, form.k, op.input(In::keyNorm), 3, ofKeys));
  }
  bool isInterleaved = BYCC_TRY(op.intAttr("rotary_interleaved", 0)) != 0;
  if (BYCC_TRY(op.intAttr("do_rotary", 0)) == 0)
    return {};
  if (!op.has(In::cosines) || !op.has(In::sines) || op.rank(op.input(In::cosines)) != 2)
    return op.error() << "do_rotary without tables of rank 2";
  Dim half = op.shape(op.input(In::cosines))[1];
  if (!half.isConst())
    return op.error(Status::Unsup) << "the size of the tables must be known when the model is read";
  Compose c(op);
  NodeId at = op.has(In::places) ? op.input(In::places) : form.at;
  NodeId cosine = BYCC_TRY(turnsAt(op, op.input(In::cosines), at)),
         sine = BYCC_TRY(turnsAt(op, op.input(In::sines), at));
  form.q = BYCC_TRY(rotated(op, form.q, cosine, sine, 2 * half.value(), isInterleaved));
  form.k = BYCC_TRY(rotated(op, form.k, cosine, sine, 2 * half.value(), isInterleaved));
  return {};
}

// x with zeros behind it along `axis`, up to as many as `wanted` says, or as it is when it has them.
Expected<NodeId> extended(OpContext &op, NodeId x, int64_t axis, NodeId wanted) {
  Dim own = op.shape(x)[axis];
  Compose c(op);
  if (std::optional<std::vector<double>> known = op.numbersOf(wanted); known && own.isConst()) {
    std::vector<std::array<int64_t, 2>> widths(static_cast<size_t>(op.rank(x)), {0, 0});
    widths[axis][1] = std::max<int64_t>(0, static_cast<int64_t>(known->front()) - own.value());
    return c.done(c.pad(x, widths, 0));
  }
  NodeId missing = c.call("maximum", c.sub(wanted, BYCC_TRY(extentOf(op, x, axis))), 0);
  std::vector<NodeId> extents;
  for (int64_t i = 0; i < op.rank(x); ++i)
    extents.push_back(c.expand(i == axis ? missing : BYCC_TRY(extentOf(op, x, i)), 0));
  NodeId shape = BYCC_TRY(join(op, extents));
  NodeId both[2] = {x, c.call("dyn.full", {c.scalar(op.dtype(x), 0), shape})};
  return c.done(c.concat(both, axis));
}

// The new rows of each sample where its past ends.
Expected<NodeId> presentOf(OpContext &op, size_t index, NodeId fresh, const Grouped &form) {
  if (!op.has(index))
    return fresh;
  NodeId past = op.input(index);
  if (op.rank(past) != 4 || !isFloat(op.dtype(past)))
    return op.error() << "a past of type " << op.types().str(op.module().type(past));
  if (op.shape(past)[2] == Dim(0))
    return fresh;
  NodeId wanted = BYCC_TRY(runTimeInt(op, In::total, "total_sequence_length"));
  NodeId room = BYCC_TRY(extended(op, past, 2, wanted));
  Compose c(op);
  NodeId at = c.expand(c.expand(form.at, 1), 3); // [batch, 1, length, 1]
  at = op.isStatic(fresh) ? c.broadcast(at, BYCC_TRY(op.staticShape(fresh)))
                          : c.call("dyn.broadcast_to", {at, BYCC_TRY(extentsOf(op, fresh))});
  return c.done(c.call("scatter_elements", {room, at, fresh}, {{"axis", int64_t{2}}}));
}

// The rows of a buffer that are in use: so many that the longest sample has.
Expected<NodeId> rowsInUse(OpContext &op, size_t index, NodeId present) {
  if (!op.has(index) || op.shape(op.input(index))[2] == Dim(0))
    return present;
  NodeId count = BYCC_TRY(runTimeInt(op, In::total, "total_sequence_length"));
  Dim room = op.shape(present)[2];
  Compose c(op);
  if (std::optional<std::vector<double>> known = op.numbersOf(count); known && room.isConst()) {
    int64_t rows = static_cast<int64_t>(known->front());
    return rows >= room.value() ? present : c.done(c.slice(present, 2, 0, rows));
  }
  constexpr int64_t zero = 0, one = 1, axis = 2;
  return c.done(c.call("dyn.strided_slice",
                       {present, op.ints({&zero, 1}), c.expand(count, 0), op.ints({&one, 1})},
                       {{"axes", AttrValue::ints({&axis, 1})}}));
}

Expected<int64_t> windowOf(OpContext &op) {
  int64_t window = BYCC_TRY(op.intAttr("local_window_size", -1));
  if (window == 0 || window < -1)
    return op.error() << "local_window_size is " << window;
  return window;
}

// Keys and values to look at, and their positions: [keys] or [batch, 1, 1, keys].
struct Seen {
  NodeId keys, values, places;
};

Expected<Seen> withWholePast(OpContext &op, const Grouped &form) {
  NodeId keys = BYCC_TRY(presentOf(op, In::pastKey, form.k, form)),
         values = BYCC_TRY(presentOf(op, In::pastValue, form.v, form));
  op.setOutput(1, keys);
  op.setOutput(2, values);
  Seen seen{BYCC_TRY(rowsInUse(op, In::pastKey, keys)),
            BYCC_TRY(rowsInUse(op, In::pastValue, values)),
            {}};
  seen.places = BYCC_TRY(positions(op, seen.keys, 2));
  return seen;
}

// A buffer with the last tokens alone, in order from row 0 on. When it has no room left, as many rows
// go at once as it has beside a window and one:
//
//   kept(n) = n <= room ? n : n - step * ceil((n - room) / step), step = room - window + 1
Expected<Seen> withLastOfPast(OpContext &op, const Grouped &form) {
  constexpr double nowhere = 1e15;
  int64_t window = BYCC_TRY(windowOf(op));
  if (window < 1 || !op.has(In::pastKey) || !op.has(In::pastValue) || op.has(In::summand))
    return op.error(Status::Unsup) << "sliding_window_cache without a window or a past, or with "
                                      "attention_bias";
  NodeId past = op.input(In::pastKey);
  if (op.rank(past) != 4)
    return op.error() << "a past of rank " << op.rank(past) << ", wanted 4";
  NodeId room = BYCC_TRY(extentOf(op, past, 2)), row = BYCC_TRY(positions(op, past, 2));
  Compose c(op);
  NodeId step = c.call("maximum", c.sub(room, static_cast<double>(window - 1)), 1);
  auto kept = [&](NodeId count) {
    NodeId steps = c.call("floor_divide", {c.add(c.sub(count, room), c.sub(step, 1)), step});
    return c.where(c.call("less_equal", {count, room}), count, c.sub(count, c.mul(steps, step)));
  };
  NodeId keptBefore = kept(form.first), begin = c.sub(form.first, keptBefore);
  NodeId old = c.where(c.call("less", {row, keptBefore}), c.add(begin, row),
                       c.scalar(DType::Int64, nowhere));
  NodeId all[2] = {old, form.at};
  Seen seen;
  NodeId places = c.concat(all, 1);
  seen.places = c.expand(places, 1, 2);
  NodeId isRow = c.expand(c.expand(c.call("less", places, nowhere), 1), 3);
  NodeId place = c.add(c.sub(form.counts, kept(form.counts)), row);
  NodeId source = c.where(c.call("less", {place, form.first}), c.sub(place, begin),
                          c.add(c.sub(place, form.first), room));
  auto joined = [&](size_t index, NodeId fresh, size_t output) {
    NodeId both[2] = {op.input(index), fresh}, rows = c.concat(both, 2);
    op.setOutput(
        output, c.call("take", {rows, source}, {{"batch_dims", int64_t{1}}, {"axis", int64_t{2}}}));
    // Rows that nobody has written may be anything.
    return c.where(isRow, rows, c.scalar(op.dtype(fresh), 0));
  };
  seen.keys = joined(In::pastKey, form.k, 1);
  seen.values = joined(In::pastValue, form.v, 2);
  BYCC_TRY(c.done(seen.values));
  return seen;
}

// 0 or the given summand for a key that a query may look at, else -inf.
Expected<NodeId> summandOf(OpContext &op, const Grouped &form, const Seen &seen) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  int64_t window = BYCC_TRY(windowOf(op));
  bool isCausal = BYCC_TRY(op.intAttr("causal", 1)) != 0;
  Compose c(op);
  NodeId at = c.expand(c.expand(form.at, 1), 3), j = seen.places;
  NodeId allowed =
      isCausal ? c.call("less_equal", {j, at}) : c.call("less", {j, c.expand(form.counts, 1, 2)});
  if (window > 0)
    allowed = c.call("logical_and",
                     {allowed, c.call("greater", {j, c.sub(at, static_cast<double>(window))})});
  DType dtype = op.dtype(form.q);
  NodeId sum = c.scalar(dtype, 0);
  if (op.has(In::summand) && op.rank(op.input(In::summand)) != 4)
    return op.error() << "attention_bias of rank " << op.rank(op.input(In::summand))
                      << ", wanted 4";
  if (op.has(In::summand))
    sum = BYCC_TRY(extended(op, op.input(In::summand), 3, BYCC_TRY(extentOf(op, seen.keys, 2))));
  return c.done(c.where(allowed, sum, c.scalar(dtype, -infinity)));
}

} // namespace

Expected<> convertGroupQueryAttention(OpContext &op) {
  BYCC_TRY(refuseOthers(op));
  if (!op.has(In::query) || !op.has(In::lengths) || !op.has(In::total))
    return op.error() << "query, seqlens_k or total_sequence_length is missing";
  Grouped grouped = BYCC_TRY(readOperands(op));
  BYCC_TRY(findPositions(op, grouped));
  BYCC_TRY(prepareHeads(op, grouped));
  bool isSliding = BYCC_TRY(op.intAttr("sliding_window_cache", 0)) != 0;
  Seen seen = BYCC_TRY(isSliding ? withLastOfPast(op, grouped) : withWholePast(op, grouped));
  AttentionForm form{grouped.q, seen.keys, seen.values};
  form.scale = BYCC_TRY(scaleOf(op, form.q, true));
  form.softcap = BYCC_TRY(op.floatAttr("softcap", 0));
  form.summand = BYCC_TRY(summandOf(op, grouped, seen));
  bool isSmooth = BYCC_TRY(op.intAttr("smooth_softmax", 0)) > 0;
  if (op.has(In::sink)) {
    Compose c(op);
    form.sink = BYCC_TRY(c.done(c.expand(c.cast(op.input(In::sink), op.dtype(form.q)), 1, 2)));
  } else if (isSmooth) {
    form.sink = op.scalar(op.dtype(form.q), 0);
  }
  op.setOutput(0, BYCC_TRY(mergeHeads(op, BYCC_TRY(attend(op, form)).result)));
  return {};
}

} // namespace bycc::onnx
