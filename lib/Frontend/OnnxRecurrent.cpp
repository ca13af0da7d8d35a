// RNN, GRU and LSTM. The products of all inputs with W are one product in front of
// the loop over time; a turn adds the product of the state with R:
//
//   xw = dense(X, W) + bias                      [sequence, batch, gates * hidden]
//   loop: h' = step(take(xw, t) + dense(h, R))   Y[t] = h'
//
// A sequence shorter than the longest one is masked: past its end the state stays
// and Y is zero. Backwards that begins with the padding, where the state is still
// the initial one.
#include "OnnxActivation.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"
#include "OnnxLoop.h"

#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc::onnx {
namespace {

enum class Cell { Rnn, Gru, Lstm };

// What the steps of one direction use.
struct Direction {
  NodeId xw, r;        // of all gates
  NodeId stateBias;    // GRU: of h, inside of the reset gate
  NodeId peepholes[3]; // LSTM: i, o, f
  std::vector<Activation> f;
  bool isReversed = false;
};

class Recurrent {
public:
  // `weight`, `state`: W and R, where they are not inputs 1 and 2 as they are.
  Recurrent(OpContext &op, Cell cell, NodeId weight = {}, NodeId state = {})
      : op_(op), c_(op), cell_(cell), weights_{weight, state}, gates_(cell == Cell::Rnn   ? 1
                                                                      : cell == Cell::Gru ? 3
                                                                                          : 4) {}

  Expected<> run() {
    BYCC_TRY(readInputs());
    BYCC_TRY(readAttributes());
    std::vector<std::vector<NodeId>> finals(2); // h, c of all directions
    std::vector<NodeId> rows;
    for (int64_t d = 0; d < numDirections_; ++d) {
      LoopResult result = BYCC_TRY(runDirection(d));
      for (size_t s = 0; s < result.states.size(); ++s)
        finals[s].push_back(result.states[s]);
      rows.insert(rows.end(), result.rows.begin(), result.rows.end());
    }
    if (op_.wantsOutput(0))
      op_.setOutput(0, allSteps(rows));
    for (size_t s = 0; s < 2; ++s)
      if (op_.wantsOutput(s + 1))
        op_.setOutput(s + 1, c_.call("stack", {op_.tuple(finals[s])}, {{"axis", layout_}}));
    BYCC_TRY(c_.done(NodeId()));
    return {};
  }

private:
  NodeId operand(size_t input) const {
    NodeId given = input == 1 || input == 2 ? weights_[input - 1] : NodeId();
    return given ? given : op_.input(input);
  }

  Expected<> checkShape(size_t input, const char *what, std::vector<Dim> wanted) {
    if (!op_.has(input))
      return {};
    std::vector<Dim> shape = op_.shape(operand(input));
    bool fits = shape.size() == wanted.size();
    for (size_t i = 0; fits && i < shape.size(); ++i)
      fits = shape[i] == wanted[i] || !shape[i].isConst() || !wanted[i].isConst();
    if (fits)
      return {};
    TypeId type = op_.types().tensor(op_.dtype(operand(input)), wanted);
    return op_.error() << what << " has type " << op_.types().str(op_.module().type(operand(input)))
                       << ", wanted " << op_.types().str(type);
  }

  Expected<> readInputs() {
    layout_ = BYCC_TRY(op_.intAttr("layout", 0));
    if (layout_ != 0 && layout_ != 1)
      return op_.error() << "layout is " << layout_ << ", wanted 0 or 1";
    x_ = op_.input(0);
    if (op_.rank(x_) != 3 || op_.rank(operand(1)) != 3 || op_.rank(operand(2)) != 3)
      return op_.error() << "X, W and R have 3 axes, they have " << op_.rank(x_) << ", "
                         << op_.rank(operand(1)) << " and " << op_.rank(operand(2));
    if (!isFloat(op_.dtype(x_)))
      return op_.error() << "X is " << name(op_.dtype(x_)) << ", wanted a float";
    if (layout_)
      x_ = c_.transpose(x_, {1, 0, 2});
    std::vector<Dim> r = op_.shape(operand(2));
    if (!r[0].isConst() || !r[2].isConst())
      return op_.error(Status::Unsup) << "the shape of R must be known, it is "
                                      << op_.types().str(op_.module().type(operand(2)));
    numDirections_ = r[0].value();
    hidden_ = r[2].value();
    if (hidden_ < 1 || hidden_ > int64_t{1} << 32)
      return op_.error() << "R is for " << hidden_ << " hidden values";
    batch_ = op_.shape(x_)[1];
    Dim all(gates_ * hidden_), directions(numDirections_), hidden(hidden_);
    BYCC_TRY(checkShape(1, "W", {directions, all, op_.shape(x_)[2]}));
    BYCC_TRY(checkShape(2, "R", {directions, all, hidden}));
    BYCC_TRY(checkShape(3, "B", {directions, Dim(2 * gates_ * hidden_)}));
    BYCC_TRY(checkShape(4, "sequence_lens", {batch_}));
    std::vector<Dim> state = layout_ ? std::vector<Dim>{batch_, directions, hidden}
                                     : std::vector<Dim>{directions, batch_, hidden};
    BYCC_TRY(checkShape(5, "initial_h", state));
    if (cell_ == Cell::Lstm) {
      BYCC_TRY(checkShape(6, "initial_c", state));
      BYCC_TRY(checkShape(7, "P", {directions, Dim(3 * hidden_)}));
    }
    return {};
  }

  Expected<> readAttributes() {
    std::string direction = BYCC_TRY(op_.textAttr("direction", "forward"));
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      return op_.error() << "direction is '" << escaped(direction) << "'";
    isReverse_ = direction == "reverse";
    if (numDirections_ != (direction == "bidirectional" ? 2 : 1))
      return op_.error() << "R has " << numDirections_ << " directions, direction is " << direction;
    int64_t size = BYCC_TRY(op_.intAttr("hidden_size", hidden_));
    if (size != hidden_)
      return op_.error() << "hidden_size is " << size << ", R has " << hidden_;
    if (BYCC_TRY(op_.attr("clip", AttrKind::Float)))
      clip_ = BYCC_TRY(op_.floatAttr("clip", 0));
    if (cell_ == Cell::Gru)
      isLinearFirst_ = BYCC_TRY(op_.intAttr("linear_before_reset", 0)) != 0;
    if (cell_ == Cell::Lstm)
      isInputForget_ = BYCC_TRY(op_.intAttr("input_forget", 0)) != 0;
    op_.ignoreAttr("output_sequence"); // version 1: said which outputs there are
    return readActivations();
  }

  Expected<std::vector<float>> floats(const char *name) {
    const Attribute *found = BYCC_TRY(op_.attr(name, AttrKind::Floats));
    return found ? found->floats : std::vector<float>();
  }

  // Each function takes its parameters from the front of the lists.
  Expected<> readActivations() {
    std::vector<std::string> names;
    if (const Attribute *given = BYCC_TRY(op_.attr("activations", AttrKind::Strings)))
      names.assign(given->strings.begin(), given->strings.end());
    std::vector<std::string> defaults = cell_ == Cell::Rnn ? std::vector<std::string>{"Tanh"}
                                        : cell_ == Cell::Gru
                                            ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                            : std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"};
    for (int64_t d = 0; names.empty() && d < numDirections_; ++d)
      activationNames_.insert(activationNames_.end(), defaults.begin(), defaults.end());
    if (!names.empty())
      activationNames_ = names;
    perDirection_ = defaults.size();
    if (activationNames_.size() != perDirection_ * static_cast<size_t>(numDirections_))
      return op_.error() << "activations has " << activationNames_.size() << " names, wanted "
                         << perDirection_ * static_cast<size_t>(numDirections_);
    std::vector<float> alpha = BYCC_TRY(floats("activation_alpha")),
                       beta = BYCC_TRY(floats("activation_beta"));
    size_t nextAlpha = 0, nextBeta = 0;
    for (std::string_view text : activationNames_) {
      const Activation *known = findActivation(text);
      if (!known)
        return op_.error(Status::Unsup) << "activation '" << escaped(text) << "' is not supported";
      Activation f = *known;
      if (f.numParameters > 0 && nextAlpha < alpha.size())
        f.alpha = static_cast<double>(alpha[nextAlpha++]);
      if (f.numParameters > 1 && nextBeta < beta.size())
        f.beta = static_cast<double>(beta[nextBeta++]);
      activations_.push_back(f);
    }
    return {};
  }

  // Row `direction` of an input [directions, ..].
  NodeId part(size_t input, int64_t direction, int64_t axis = 0) {
    return c_.squeeze(c_.slice(operand(input), axis, direction, direction + 1), {axis});
  }
  // Gates [first, first + count) along the last axis of a tensor of `rank`.
  NodeId gates(NodeId x, int64_t rank, int64_t first, int64_t count = 1) {
    return c_.slice(x, rank - 1, first * hidden_, (first + count) * hidden_);
  }

  Expected<Direction> prepare(int64_t d) {
    Direction made;
    made.isReversed = isReverse_ || d == 1;
    made.r = part(2, d);
    made.f.assign(activations_.begin() + d * static_cast<int64_t>(perDirection_),
                  activations_.begin() + (d + 1) * static_cast<int64_t>(perDirection_));
    made.xw = inputProduct(part(1, d));
    if (op_.has(3)) {
      NodeId bias = part(3, d), own = c_.slice(bias, 0, 0, gates_ * hidden_),
             state = c_.slice(bias, 0, gates_ * hidden_, 2 * gates_ * hidden_);
      if (cell_ == Cell::Gru && isLinearFirst_) {
        made.stateBias = gates(state, 1, 2);
        NodeId parts[] = {c_.add(gates(own, 1, 0, 2), gates(state, 1, 0, 2)), gates(own, 1, 2)};
        own = c_.concat(parts, 0);
      } else {
        own = c_.add(own, state);
      }
      made.xw = c_.add(made.xw, own);
    }
    if (cell_ == Cell::Lstm && op_.has(7))
      for (int64_t p = 0; p < 3; ++p)
        made.peepholes[p] = gates(part(7, d), 1, p);
    BYCC_TRY(c_.done(NodeId()));
    return made;
  }

  NodeId dense(NodeId x, NodeId weight) {
    return weight ? c_.call("nn.dense", {x, weight}, {{"units", op_.shape(weight)[0].value()}})
                  : NodeId();
  }

  NodeId inputProduct(NodeId w) {
    std::vector<Dim> shape = op_.shape(x_);
    bool isPlain = op_.isStatic(x_) &&
                   std::none_of(shape.begin(), shape.end(), [](Dim dim) { return dim == Dim(0); });
    if (!isPlain)
      return dense(x_, w);
    NodeId rows = c_.reshape(x_, {shape[0].value() * shape[1].value(), shape[2].value()});
    return c_.reshape(dense(rows, w), {shape[0].value(), shape[1].value(), gates_ * hidden_});
  }

  Expected<NodeId> initialState(size_t input, int64_t d) {
    if (op_.has(input))
      return c_.done(part(input, d, layout_));
    if (batch_.isConst())
      return c_.done(c_.zeros({batch_.value(), hidden_}, op_.dtype(x_)));
    NodeId extents[] = {BYCC_TRY(pick(op_, BYCC_TRY(extentsOf(op_, x_)), std::vector<int64_t>{1})),
                        op_.ints({&hidden_, 1})};
    return op_.call("dyn.full", {op_.scalar(op_.dtype(x_), 0), BYCC_TRY(join(op_, extents))},
                    {{"dtype", name(op_.dtype(x_))}});
  }

  Expected<LoopResult> runDirection(int64_t d) {
    Direction direction = BYCC_TRY(prepare(d));
    LoopSpec spec;
    spec.trip = BYCC_TRY(extentOf(op_, x_, 0));
    if (op_.shape(x_)[0].isConst())
      spec.numTurns = op_.shape(x_)[0].value();
    spec.mayUnroll = true;
    spec.states.push_back(BYCC_TRY(initialState(5, d)));
    if (cell_ == Cell::Lstm)
      spec.states.push_back(BYCC_TRY(initialState(6, d)));
    spec.turn = [&](NodeId index, NodeId, std::span<const NodeId> states) {
      return turn(direction, spec.trip, index, states);
    };
    return buildLoop(op_, spec);
  }

  Expected<LoopTurn> turn(const Direction &d, NodeId trip, NodeId index,
                          std::span<const NodeId> states) {
    NodeId at = d.isReversed ? c_.sub(c_.sub(trip, 1), index) : index;
    NodeId x = c_.call("take", {d.xw, at}, {{"axis", 0}});
    LoopTurn turn;
    turn.states = cell_ == Cell::Rnn   ? rnnStep(d, x, states[0])
                  : cell_ == Cell::Gru ? gruStep(d, x, states[0])
                                       : lstmStep(d, x, states[0], states[1]);
    NodeId row = turn.states[0];
    if (op_.has(4)) {
      NodeId lengths = c_.cast(op_.input(4), DType::Int64);
      NodeId isInside = c_.expand(c_.call("less", {at, lengths}), 1);
      for (size_t s = 0; s < states.size(); ++s)
        turn.states[s] = c_.where(isInside, turn.states[s], states[s]);
      row = c_.where(isInside, row, c_.scalar(op_.dtype(x_), 0));
    }
    if (op_.wantsOutput(0))
      turn.rows.push_back({row, d.isReversed});
    BYCC_TRY(c_.done(NodeId()));
    return turn;
  }

  NodeId clipped(NodeId x) {
    return clip_ ? c_.call("clip", {x}, {{"a_min", -*clip_}, {"a_max", *clip_}}) : x;
  }
  NodeId gate(const Activation &f, NodeId x) { return activate(c_, f, clipped(x)); }

  std::vector<NodeId> rnnStep(const Direction &d, NodeId x, NodeId h) {
    return {gate(d.f[0], c_.add(x, dense(h, d.r)))};
  }

  std::vector<NodeId> gruStep(const Direction &d, NodeId x, NodeId h) {
    NodeId state = dense(h, isLinearFirst_ ? d.r : c_.slice(d.r, 0, 0, 2 * hidden_));
    NodeId zr =
        gate(d.f[0], c_.add(gates(x, 2, 0, 2), isLinearFirst_ ? gates(state, 2, 0, 2) : state));
    NodeId z = gates(zr, 2, 0), r = gates(zr, 2, 1), fresh;
    if (isLinearFirst_) {
      NodeId own = gates(state, 2, 2);
      fresh = c_.mul(r, d.stateBias ? c_.add(own, d.stateBias) : own);
    } else {
      fresh = dense(c_.mul(r, h), c_.slice(d.r, 0, 2 * hidden_, 3 * hidden_));
    }
    fresh = gate(d.f[1], c_.add(gates(x, 2, 2), fresh));
    NodeId kept = c_.mul(z, h);
    return {c_.add(c_.mul(c_.sub(c_.scalar(op_.dtype(x_), 1), z), fresh), kept)};
  }

  // Gates i, o, f, c.
  std::vector<NodeId> lstmStep(const Direction &d, NodeId x, NodeId h, NodeId c) {
    NodeId all = c_.add(x, dense(h, d.r));
    auto peeped = [&](int64_t which, NodeId cell) {
      NodeId own = gates(all, 2, which);
      return d.peepholes[which] ? c_.add(own, c_.mul(d.peepholes[which], cell)) : own;
    };
    NodeId i = gate(d.f[0], peeped(0, c));
    NodeId f = isInputForget_ ? c_.sub(c_.scalar(op_.dtype(x_), 1), i) : gate(d.f[0], peeped(2, c));
    NodeId next = c_.add(c_.mul(f, c), c_.mul(i, gate(d.f[1], gates(all, 2, 3))));
    NodeId o = gate(d.f[0], peeped(1, next));
    return {c_.mul(o, activate(c_, d.f[2], next)), next};
  }

  // [sequence, directions, batch, hidden], batch in front in layout 1.
  NodeId allSteps(const std::vector<NodeId> &rows) {
    NodeId y = c_.call("stack", {op_.tuple(rows)}, {{"axis", 1}});
    return layout_ ? c_.transpose(y, {2, 0, 1, 3}) : y;
  }

  OpContext &op_;
  Compose c_;
  Cell cell_;
  NodeId weights_[2];
  int64_t gates_, numDirections_ = 1, hidden_ = 0, layout_ = 0;
  NodeId x_; // [sequence, batch, input]
  Dim batch_;
  bool isReverse_ = false, isLinearFirst_ = false, isInputForget_ = false;
  std::optional<double> clip_;
  size_t perDirection_ = 1;
  std::vector<std::string> activationNames_;
  std::vector<Activation> activations_;
};

// Weights of ONNX Runtime's quantised LSTM as floats: [directions, of, gates], with a scale and a zero
// point for each direction or each column, to [directions, gates, of].
Expected<NodeId> realWeight(OpContext &op, size_t weight, size_t scale) {
  Compose c(op);
  auto perColumn = [&](NodeId x) { return c.expand(x, 1, op.rank(x) == 1 ? 2 : 1); };
  NodeId zero = perColumn(BYCC_TRY(op.cast(op.input(scale + 1), DType::Int32)));
  NodeId whole = c.sub(c.cast(op.input(weight), DType::Int32), zero);
  NodeId real = c.mul(c.cast(whole, DType::Float32), perColumn(op.input(scale)));
  return c.done(c.transpose(real, {0, 2, 1}));
}

} // namespace

// It quantises its inputs at each step; here they stay floats.
Expected<> convertDynamicQuantizeLstm(OpContext &op) {
  for (size_t index = 8; index < 12; ++index)
    if (!op.has(index))
      return op.error() << "input " << index << " is missing";
  NodeId weight = BYCC_TRY(realWeight(op, 1, 8)), state = BYCC_TRY(realWeight(op, 2, 10));
  return Recurrent(op, Cell::Lstm, weight, state).run();
}

Expected<> convertRnn(OpContext &op) { return Recurrent(op, Cell::Rnn).run(); }
Expected<> convertGru(OpContext &op) { return Recurrent(op, Cell::Gru).run(); }
Expected<> convertLstm(OpContext &op) { return Recurrent(op, Cell::Lstm).run(); }

} // namespace bycc::onnx
