// A placement as data: where every operator of a program goes, as
// --save-partition-plan writes it, users edit it and --partition-plan replays it.
// share/schema/partition-plan.schema.json describes the file.
#pragma once

#include "bycc/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bycc {

struct PlanNode {
  std::string name, op;
  uint32_t index = 0;    // among the nodes of this name, in program order
  std::string place;     // vendor or "host"
  int64_t region = -1;   // nodes of one number are one region; -1: on the host
  std::string composite; // "dnnl.conv2d_relu#3", one text for its nodes; "": in none
  // Of vendors that would take the node, why they do not have it.
  std::vector<std::pair<std::string, std::string>> why;
};

struct SavedEstimate { // microseconds
  double us = 0, hostUs = 0, bestSingleUs = 0, boundUs = 0, measuredShare = 0;
};

// What the plan came to when it was saved. For people and plan-diff; a replay that takes
// the same time takes over what was proven of it.
struct PlanTotals {
  int64_t regions = 0, boundaryBytes = 0;
  std::optional<SavedEstimate> estimate;
};

struct PartitionPlan {
  std::string file;                 // for messages
  std::string modelHash;            // of the model file; tells, but does not decide
  std::vector<std::string> vendors; // in use when it was saved
  std::vector<PlanNode> nodes;      // program order, before composites are formed
  std::optional<PlanTotals> totals;
};

// INPUT errors say where in the file something is wrong.
Expected<PartitionPlan> readPlan(std::string_view text, const std::string &file);
std::string planText(const PartitionPlan &plan);

// {"us": .., "host_us": .., ..}
class JsonWriter;
void writeEstimate(JsonWriter &json, const SavedEstimate &estimate);

} // namespace bycc
