// Loops of ONNX operators (Loop, Scan, RNN, GRU, LSTM) as local functions that call
// themselves:
//
//   let %loop = fn (%i, %states.., %rows..) {
//     if (%i < trip && %condition) { turn; %loop(%i + 1, ..) } else { (%states.., %rows..) }
//   };
//
// What a turn gives as a row is stacked along a new first axis: written into a
// tensor made before the loop when its shape is known there, else appended.
#pragma once

#include "OnnxImporter.h"

namespace bycc::onnx {

struct LoopRow {
  NodeId value;
  bool isReversed = false; // the first turn gives the last row
};

// What one turn makes of the states; made in the current block.
struct LoopTurn {
  NodeId condition; // goes on; none: as long as the trip count says
  std::vector<NodeId> states;
  std::vector<LoopRow> rows;
};

struct LoopSpec {
  NodeId trip;                     // int64 scalar; none: until the condition fails
  std::optional<int64_t> numTurns; // the trip count where it is known
  NodeId condition;                // bool scalar; none: true
  std::vector<NodeId> states;
  bool mayUnroll = false; // very short ones
  // Called again when the type of a state turns out to change.
  std::function<Expected<LoopTurn>(NodeId index, NodeId condition, std::span<const NodeId> states)>
      turn;
};

struct LoopResult {
  std::vector<NodeId> states, rows;
};

Expected<LoopResult> buildLoop(OpContext &op, const LoopSpec &spec);

} // namespace bycc::onnx
