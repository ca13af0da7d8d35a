// TfIdfVectorizer of integers: how often each n-gram of a pool occurs in a row.
// For every length n and distance d between the tokens of an n-gram, all windows are
// compared with all n-grams at once:
//
//   match[row, p, g] = and over k of  x[row, p + k * d] == pool[g, k]
//   count[row, g]    = sum over p and d
#include "OnnxCompose.h"
#include "OnnxConverters.h"

#include <algorithm>

namespace bycc::onnx {
namespace {

struct Pool {
  std::vector<int64_t> tokens;  // n-grams of length 1, then 2, ..
  std::vector<int64_t> starts;  // where those of length n start, at n - 1
  std::vector<int64_t> columns; // of the result, per n-gram
  std::vector<double> weights;  // per n-gram, or none
  int64_t least = 0, most = 0, skips = 0;

  int64_t end(size_t index) const {
    return index + 1 < starts.size() ? starts[index + 1] : static_cast<int64_t>(tokens.size());
  }
  int64_t count(size_t index) const {
    return (end(index) - starts[index]) / static_cast<int64_t>(index + 1);
  }
};

Expected<std::vector<int64_t>> requiredInts(OpContext &op, std::string_view name) {
  std::optional<std::vector<int64_t>> values = BYCC_TRY(op.intsAttr(name));
  if (!values || values->empty())
    return op.error() << "attribute '" << name << "' is missing";
  return *values;
}

Expected<> checkPool(OpContext &op, const Pool &pool) {
  int64_t ngrams = 0, at = 0;
  for (size_t i = 0; i < pool.starts.size(); ++i) {
    if (pool.starts[i] < at || pool.starts[i] > pool.end(i) ||
        pool.end(i) > static_cast<int64_t>(pool.tokens.size()) ||
        (pool.end(i) - pool.starts[i]) % static_cast<int64_t>(i + 1) != 0)
      return op.error() << "ngram_counts do not divide pool_int64s into n-grams";
    at = pool.starts[i];
    ngrams += pool.count(i);
  }
  if (static_cast<int64_t>(pool.columns.size()) != ngrams ||
      (!pool.weights.empty() && static_cast<int64_t>(pool.weights.size()) != ngrams))
    return op.error() << "ngram_indexes or weights are not one per n-gram, of which there are "
                      << ngrams;
  std::vector<int64_t> sorted = pool.columns;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() < 0 || sorted.back() >= (int64_t{1} << 24))
    return op.error() << "ngram_indexes are out of range";
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return op.error(Status::Unsup) << "two n-grams with one index";
  if (pool.least < 1 || pool.most < pool.least ||
      pool.most > static_cast<int64_t>(pool.starts.size()) || pool.skips < 0)
    return op.error() << "from " << pool.least << " to " << pool.most << " tokens with "
                      << pool.skips << " skipped, the pool has n-grams of 1 to "
                      << pool.starts.size();
  return {};
}

Expected<Pool> readPool(OpContext &op) {
  Pool pool;
  if (BYCC_TRY(op.attr("pool_strings", AttrKind::Strings)))
    return op.error(Status::Unsup) << "strings are not supported";
  pool.tokens = BYCC_TRY(requiredInts(op, "pool_int64s"));
  pool.starts = BYCC_TRY(requiredInts(op, "ngram_counts"));
  pool.columns = BYCC_TRY(requiredInts(op, "ngram_indexes"));
  if (const Attribute *weights = BYCC_TRY(op.attr("weights", AttrKind::Floats)))
    pool.weights.assign(weights->floats.begin(), weights->floats.end());
  pool.least = BYCC_TRY(op.requiredInt("min_gram_length"));
  pool.most = BYCC_TRY(op.requiredInt("max_gram_length"));
  pool.skips = BYCC_TRY(op.requiredInt("max_skip_count"));
  BYCC_TRY(checkPool(op, pool));
  return pool;
}

// Occurrences of the n-grams of one length, [rows, n-grams].
NodeId countGrams(OpContext &op, Compose &c, NodeId x, int64_t length, const Pool &pool,
                  size_t index) {
  int64_t n = static_cast<int64_t>(index) + 1, grams = pool.count(index),
          rows = op.shape(x)[0].value();
  NodeId total = c.zeros({rows, grams}, DType::Float32);
  // A single token has no distances, it is counted once.
  for (int64_t distance = 1; distance <= (n == 1 ? 1 : pool.skips + 1); ++distance) {
    int64_t windows = length - (n - 1) * distance;
    if (windows < 1)
      break;
    NodeId match;
    for (int64_t k = 0; k < n; ++k) {
      std::vector<int64_t> tokens;
      for (int64_t g = 0; g < grams; ++g)
        tokens.push_back(pool.tokens[pool.starts[index] + g * n + k]);
      NodeId window = c.expand(c.slice(x, 1, k * distance, k * distance + windows), 2);
      NodeId same = c.call("equal", {window, c.table(tokens, {grams})});
      match = match ? c.call("logical_and", {match, same}) : same;
    }
    total = c.add(total, c.reduce("sum", c.cast(match, DType::Float32), {1}, false));
  }
  return total;
}

} // namespace

Expected<> convertNgrams(OpContext &op) {
  Pool pool = BYCC_TRY(readPool(op));
  std::string mode = BYCC_TRY(op.textAttr("mode", ""));
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return op.error() << "mode must be TF, IDF or TFIDF";
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(op.input(0)));
  if (shape.empty() || shape.size() > 2 || !isInt(op.dtype(op.input(0))))
    return op.error() << "input of type " << op.types().str(op.module().type(op.input(0)))
                      << ", wanted one or more rows of integers";
  int64_t rows = shape.size() == 2 ? shape[0] : 1, length = shape.back();
  int64_t width = *std::max_element(pool.columns.begin(), pool.columns.end()) + 1;
  Compose c(op);
  NodeId x = BYCC_TRY(c.done(c.reshape(c.cast(op.input(0), DType::Int64), {rows, length})));
  // Column j of the result comes from `sources[j]` of the counted n-grams; the last
  // one is a column of zeros.
  std::vector<NodeId> counts;
  std::vector<double> weights;
  std::vector<int64_t> sources(static_cast<size_t>(width), -1);
  int64_t ordinal = 0, counted = 0;
  for (size_t index = 0; index < pool.starts.size(); ++index) {
    int64_t n = static_cast<int64_t>(index) + 1, grams = pool.count(index);
    if (grams > 0 && n >= pool.least && n <= pool.most) {
      counts.push_back(countGrams(op, c, x, length, pool, index));
      for (int64_t g = 0; g < grams; ++g) {
        sources[pool.columns[ordinal + g]] = counted++;
        weights.push_back(pool.weights.empty() ? 1 : pool.weights[ordinal + g]);
      }
    }
    ordinal += grams;
  }
  weights.push_back(0);
  counts.push_back(c.zeros({rows, 1}, DType::Float32));
  std::replace(sources.begin(), sources.end(), int64_t{-1}, counted);
  NodeId all = c.concat(counts, 1);
  if (mode == "IDF")
    all = c.call("minimum", all, 1);
  if (mode != "TF")
    all = c.mul(all, c.numbers(weights, {counted + 1}, DType::Float32));
  NodeId result = c.call("take", {all, c.table(sources, {width})}, {{"axis", int64_t{1}}});
  shape.back() = width;
  op.setOutput(0, BYCC_TRY(c.done(c.reshape(result, shape))));
  return {};
}

} // namespace bycc::onnx
