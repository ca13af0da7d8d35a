// Loop and Scan.
#include "OnnxCompose.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"
#include "OnnxLoop.h"

#include <algorithm>

namespace bycc::onnx {
namespace {

constexpr int64_t maxBatch = 256; // of a Scan of version 8, whose batch is unrolled

// The only element of an input of rank 0, or of one element.
Expected<NodeId> scalarOf(OpContext &op, NodeId node, DType dtype, const char *what) {
  if (op.dtype(node) != dtype)
    return op.error() << what << " is " << name(op.dtype(node)) << ", wanted " << name(dtype);
  return op.rank(node) == 0 ? Expected<NodeId>(node) : op.reshape(node, {});
}

Expected<const Graph *> bodyOf(OpContext &op) {
  const Attribute *body = BYCC_TRY(op.attr("body", AttrKind::Graph));
  if (!body)
    return op.error() << "attribute 'body' is missing";
  return body->graph.get();
}

// As the body declares it: some write [1] for a scalar.
Expected<NodeId> asDeclared(OpContext &op, NodeId scalar, const ValueInfo &info) {
  return info.hasShape && info.dims.size() == 1 ? op.call("expand_dims", {scalar}, {{"axis", 0}})
                                                : Expected<NodeId>(scalar);
}

bool isKnownTrue(const Value &value) {
  return value.ints && value.ints->isComplete() && value.ints->all() == std::vector<int64_t>{1};
}

class LoopConverter {
public:
  explicit LoopConverter(OpContext &op) : op_(op), location_(op.module().source(op.sourceId())) {}

  Expected<> run() {
    body_ = BYCC_TRY(bodyOf(op_));
    numStates_ = op_.numInputs() < 2 ? 0 : op_.numInputs() - 2;
    if (body_->outputs.size() < numStates_ + 1 || body_->outputs.size() - 1 < op_.numOutputs())
      return op_.error() << "body has " << body_->outputs.size() << " outputs, wanted "
                         << std::max(numStates_, op_.numOutputs()) + 1 << " or more";
    BYCC_TRY(readBounds());
    LoopResult result = BYCC_TRY(buildLoop(op_, spec_));
    auto state = result.states.begin(), row = result.rows.begin();
    for (size_t i = 0; i < op_.numOutputs(); ++i)
      if (i >= numStates_)
        op_.setOutput(i, *row++);
      else if (!sequences_[i])
        op_.setOutput(i, *state++);
      else
        op_.outputs()[i].sequence =
            isAppended_[i] ? withRows(*sequences_[i], *row++) : sequences_[i];
    return {};
  }

private:
  Expected<> readBounds() {
    if (op_.has(0)) {
      spec_.trip = BYCC_TRY(scalarOf(op_, op_.input(0), DType::Int64, "the trip count"));
      if (const IntTensor *known = op_.knownInts(0);
          known && known->isComplete() && known->values.size() == 1)
        spec_.numTurns = known->all()[0];
    }
    if (op_.has(1)) {
      const Value *given = op_.importer().find(op_.proto().inputs[1]);
      startsTrue_ = isKnownTrue(*given);
      start_ = BYCC_TRY(scalarOf(op_, op_.input(1), DType::Bool, "the condition"));
    } else {
      start_ = op_.scalar(DType::Bool, 1);
    }
    for (size_t i = 0; i < numStates_; ++i) {
      if (!op_.has(i + 2))
        return op_.error() << "input " << i + 2 << " is missing";
      sequences_.push_back(op_.importer().find(op_.proto().inputs[i + 2])->sequence);
      if (!sequences_.back())
        spec_.states.push_back(op_.input(i + 2));
    }
    isAppended_.assign(numStates_, false);
    // A condition that is true before and after each turn is none. That the body hands
    // it on shows when it has been converted with a condition that varies.
    spec_.condition = start_;
    spec_.turn = [this](NodeId i, NodeId go, std::span<const NodeId> states) {
      return turn(i, go, states);
    };
    if (startsTrue_ && BYCC_TRY(staysTrue()))
      spec_.condition = NodeId();
    if (!spec_.trip && !spec_.condition)
      return op_.error(Status::Unsup)
             << "the loop has neither a trip count nor a condition that could end it";
    return {};
  }

  // Converts the body once, into nothing.
  Expected<bool> staysTrue() {
    BYCC_TRY(op_.importer().countLoopBody(op_));
    Builder &builder = op_.importer().builder();
    BlockId here = builder.block();
    auto names = op_.importer().nodeNames();
    builder.setBlock(op_.module().addBlock(here));
    NodeId zero = op_.module().addParam("i", op_.types().tensor(DType::Int64, {}), op_.sourceId());
    NodeId go = op_.module().addParam("go", op_.types().tensor(DType::Bool, {}), op_.sourceId());
    Expected<std::vector<Value>> outputs = convert(zero, go, spec_.states);
    builder.setBlock(here);
    op_.importer().restoreNodeNames(std::move(names));
    Value goesOn = BYCC_TRY(std::move(outputs))[0];
    return goesOn.node == go || isKnownTrue(goesOn);
  }

  Expected<std::vector<Value>> convert(NodeId index, NodeId go, std::span<const NodeId> states) {
    if (body_->inputs.size() != numStates_ + 2)
      return op_.error() << "body has " << body_->inputs.size() << " inputs, wanted "
                         << numStates_ + 2;
    std::vector<Value> inputs{{BYCC_TRY(asDeclared(op_, index, body_->inputs[0]))},
                              {BYCC_TRY(asDeclared(op_, go, body_->inputs[1]))}};
    auto state = states.begin();
    for (const auto &sequence : sequences_)
      inputs.push_back(sequence ? Value{.sequence = std::make_shared<Sequence>(Sequence{{}, true})}
                                : Value{*state++});
    return op_.importer().convertInline(*body_, location_, inputs);
  }

  Expected<LoopTurn> turn(NodeId index, NodeId go, std::span<const NodeId> states) {
    std::vector<Value> outputs =
        BYCC_TRY(convert(index, go ? go : op_.scalar(DType::Bool, 1), states));
    LoopTurn turn;
    op_.importer().builder().setSource(op_.sourceId());
    if (spec_.condition)
      turn.condition =
          BYCC_TRY(scalarOf(op_, outputs[0].node, DType::Bool, "the condition of the body"));
    for (size_t i = 0; i < numStates_; ++i)
      if (sequences_[i])
        BYCC_TRY(addElement(i, outputs[i + 1], turn));
      else
        turn.states.push_back(BYCC_TRY(tensorOf(outputs[i + 1])));
    for (size_t i = numStates_ + 1; i < outputs.size(); ++i)
      turn.rows.push_back({BYCC_TRY(tensorOf(outputs[i])), false});
    return turn;
  }

  Expected<NodeId> tensorOf(const Value &value) {
    return BYCC_TRY(op_.importer().tensorsOf({&value, 1}, location_))[0];
  }

  // What a turn appends to a sequence is a row; these stand in front of the others.
  Expected<> addElement(size_t state, const Value &after, LoopTurn &turn) {
    const Sequence *sequence = after.sequence.get();
    if (!sequence || !sequence->isCarried || sequence->parts.size() > 1 ||
        (!sequence->parts.empty() && sequence->parts[0].isStack))
      return op_.error(Status::Unsup)
             << "a turn does more to sequence " << state << " than to append one element";
    isAppended_[state] = !sequence->parts.empty();
    if (isAppended_[state])
      turn.rows.push_back({sequence->parts[0].node, false});
    return {};
  }

  static std::shared_ptr<const Sequence> withRows(Sequence sequence, NodeId rows) {
    sequence.parts.push_back({rows, true});
    return std::make_shared<Sequence>(std::move(sequence));
  }

  OpContext &op_;
  SourceLocation location_;
  const Graph *body_ = nullptr;
  size_t numStates_ = 0;
  std::vector<std::shared_ptr<const Sequence>> sequences_; // of the states; null: a tensor
  std::vector<bool> isAppended_;
  NodeId start_;
  bool startsTrue_ = true;
  LoopSpec spec_;
};

// Inputs [states.., sequences..], outputs the same.
class ScanConverter {
public:
  explicit ScanConverter(OpContext &op)
      : op_(op), c_(op), location_(op.module().source(op.sourceId())) {}

  Expected<> run() {
    body_ = BYCC_TRY(bodyOf(op_));
    firstState_ = op_.opset() < 9 ? 1 : 0;
    size_t given = op_.numInputs() - std::min(op_.numInputs(), firstState_);
    int64_t count = BYCC_TRY(op_.requiredInt("num_scan_inputs"));
    if (count < 1 || count > static_cast<int64_t>(given))
      return op_.error() << "num_scan_inputs is " << count << ", the node has " << given
                         << " inputs";
    numScans_ = static_cast<size_t>(count);
    numStates_ = given - numScans_;
    if (body_->outputs.size() != op_.numOutputs() || body_->outputs.size() < numStates_)
      return op_.error() << "body has " << body_->outputs.size() << " outputs, the node has "
                         << op_.numOutputs();
    numRows_ = body_->outputs.size() - numStates_;
    for (size_t i = 0; i < given; ++i)
      inputs_.push_back(op_.input(firstState_ + i));
    return firstState_ ? runBatch() : runOne();
  }

private:
  Expected<std::vector<int64_t>> list(const char *name, size_t count) {
    auto values = BYCC_TRY(op_.intsAttr(name));
    if (!values)
      return std::vector<int64_t>(count, 0);
    if (values->size() != count)
      return op_.error() << name << " has " << values->size() << " values, wanted " << count;
    return *values;
  }

  Expected<std::vector<int64_t>> directions(const char *name, size_t count) {
    std::vector<int64_t> values = BYCC_TRY(list(name, count));
    for (int64_t value : values)
      if (value != 0 && value != 1)
        return op_.error() << name << " has the value " << value << ", wanted 0 or 1";
    return values;
  }

  Expected<> runOne() {
    inputDirections_ = BYCC_TRY(directions("scan_input_directions", numScans_));
    outputDirections_ = BYCC_TRY(directions("scan_output_directions", numRows_));
    inputAxes_ = BYCC_TRY(list("scan_input_axes", numScans_));
    for (size_t i = 0; i < numScans_; ++i)
      inputAxes_[i] = BYCC_TRY(op_.normalAxis(inputAxes_[i], op_.rank(inputs_[numStates_ + i])));
    std::vector<int64_t> outputAxes = BYCC_TRY(list("scan_output_axes", numRows_));
    LoopResult result = BYCC_TRY(scan(inputs_, NodeId()));
    for (size_t i = 0; i < numStates_; ++i)
      op_.setOutput(i, result.states[i]);
    for (size_t i = 0; i < numRows_; ++i) {
      NodeId rows = result.rows[i];
      int64_t axis = BYCC_TRY(op_.normalAxis(outputAxes[i], op_.rank(rows)));
      op_.setOutput(numStates_ + i, BYCC_TRY(op_.moveAxis(rows, 0, axis)));
    }
    return {};
  }

  // Version 8: a batch in front of everything, and lengths of its sequences.
  Expected<> runBatch() {
    inputDirections_ = BYCC_TRY(directions("directions", numScans_));
    outputDirections_.assign(numRows_, 0);
    inputAxes_.assign(numScans_, 0);
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (op_.rank(inputs_[i]) < (i < numStates_ ? 1 : 2))
        return op_.error() << "input " << firstState_ + i << " has rank " << op_.rank(inputs_[i])
                           << ", too few for a batch" << (i < numStates_ ? "" : " of sequences");
    Dim batch = op_.shape(inputs_[numStates_])[0];
    if (!batch.isConst() || batch.value() < 1 || batch.value() > maxBatch)
      return op_.error(Status::Unsup) << "the batch must be known and at most " << maxBatch
                                      << ", it is " << op_.types().str(batch);
    std::vector<std::vector<NodeId>> results(numStates_ + numRows_);
    for (int64_t b = 0; b < batch.value(); ++b) {
      auto at = [&](NodeId x) {
        return c_.call("take", {x, op_.scalar(DType::Int64, static_cast<double>(b))},
                       {{"axis", 0}});
      };
      std::vector<NodeId> inputs;
      for (NodeId input : inputs_)
        inputs.push_back(at(input));
      NodeId length = op_.has(0) ? at(op_.input(0)) : NodeId();
      BYCC_TRY(c_.done(inputs[0]));
      LoopResult result = BYCC_TRY(scan(inputs, length));
      for (size_t i = 0; i < results.size(); ++i)
        results[i].push_back(i < numStates_ ? result.states[i] : result.rows[i - numStates_]);
    }
    for (size_t i = 0; i < results.size(); ++i)
      op_.setOutput(i, BYCC_TRY(op_.call("stack", {op_.tuple(results[i])}, {{"axis", 0}})));
    return {};
  }

  // With a length, turns past it leave states alone and give rows of zeros.
  Expected<LoopResult> scan(const std::vector<NodeId> &inputs, NodeId length) {
    LoopSpec spec;
    NodeId first = inputs[numStates_];
    Dim extent = op_.shape(first)[inputAxes_[0]];
    spec.trip = BYCC_TRY(extentOf(op_, first, inputAxes_[0]));
    if (extent.isConst())
      spec.numTurns = extent.value();
    spec.mayUnroll = true;
    spec.states.assign(inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(numStates_));
    spec.turn = [&](NodeId index, NodeId, std::span<const NodeId> states) -> Expected<LoopTurn> {
      std::vector<NodeId> values(states.begin(), states.end());
      for (size_t i = 0; i < numScans_; ++i) {
        NodeId end = length ? length : spec.trip;
        NodeId at = inputDirections_[i] ? c_.sub(c_.sub(end, 1), index) : index;
        values.push_back(c_.call("take", {inputs[numStates_ + i], at}, {{"axis", inputAxes_[i]}}));
      }
      BYCC_TRY(c_.done(NodeId()));
      std::vector<Value> given;
      for (NodeId value : values)
        given.push_back({value});
      std::vector<NodeId> outputs = BYCC_TRY(op_.importer().tensorsOf(
          BYCC_TRY(op_.importer().convertInline(*body_, location_, given)), location_));
      op_.importer().builder().setSource(op_.sourceId());
      LoopTurn turn;
      NodeId isInside = length ? c_.call("less", {index, length}) : NodeId();
      for (size_t i = 0; i < outputs.size(); ++i) {
        NodeId value = outputs[i];
        if (length)
          value = c_.where(isInside, value,
                           i < numStates_ ? states[i] : c_.call("zeros_like", {value}));
        if (i < numStates_)
          turn.states.push_back(value);
        else
          turn.rows.push_back({value, outputDirections_[i - numStates_] == 1});
      }
      BYCC_TRY(c_.done(NodeId()));
      return turn;
    };
    return buildLoop(op_, spec);
  }

  OpContext &op_;
  Compose c_;
  SourceLocation location_;
  const Graph *body_ = nullptr;
  size_t firstState_ = 0, numStates_ = 0, numScans_ = 0, numRows_ = 0;
  std::vector<NodeId> inputs_;
  std::vector<int64_t> inputDirections_, outputDirections_, inputAxes_;
};

} // namespace

Expected<> convertLoop(OpContext &op) { return LoopConverter(op).run(); }
Expected<> convertScan(OpContext &op) { return ScanConverter(op).run(); }

} // namespace bycc::onnx
