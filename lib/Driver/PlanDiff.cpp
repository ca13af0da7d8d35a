// bycc plan-diff: what moved between two saved plans, and what it changes.
//
//   12 nn.conv2d: dnnl -> host: conv_1, conv_2, ... and 4 more
//   2 dnnl.conv2d_relu came apart: conv_1 + relu_1, conv_2 + relu_2
//   ccompiler: 2 regions became 1: (add_1), (mul_3, mul_4) -> (add_1, mul_3, ...)
//   regions: 3 -> 4
//   crosses the boundary: 0.6 MiB -> 1.1 MiB
//   estimated: 3.92 ms -> 4.20 ms (+7.1 %)

#include "bycc/Target/PlanDiff.h"
#include "bycc/Driver/Driver.h"
#include "bycc/Support/File.h"
#include "bycc/Support/Json.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Quantity.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace bycc {
namespace {

constexpr size_t maxNamed = 8;

std::string nameOf(const PlanNode &node) {
  return escaped(node.name) + (node.index > 0 ? "#" + std::to_string(node.index) : "");
}

std::string listed(const std::vector<std::string> &names) {
  std::vector<std::string> shown(
      names.begin(), names.begin() + static_cast<long>(std::min(names.size(), maxNamed)));
  return join(shown, ", ") + (names.size() > maxNamed
                                  ? ", ... and " + std::to_string(names.size() - maxNamed) + " more"
                                  : "");
}

std::vector<std::string> namesOf(const std::vector<const PlanNode *> &nodes) {
  std::vector<std::string> names;
  for (const PlanNode *node : nodes)
    names.push_back(nameOf(*node));
  return names;
}

// Things of one kind, the most frequent kind first.
class Kinds {
public:
  void add(const std::string &kind, std::string what) {
    auto [found, isNew] = numbers_.try_emplace(kind, kinds_.size());
    if (isNew)
      kinds_.push_back({kind, {}});
    kinds_[found->second].second.push_back(std::move(what));
  }
  std::string text() {
    std::ranges::stable_sort(kinds_, std::ranges::greater(),
                             [](const auto &kind) { return kind.second.size(); });
    std::string text;
    for (const auto &[kind, all] : kinds_)
      text += std::to_string(all.size()) + " " + kind + ": " + listed(all) + "\n";
    return text;
  }

private:
  std::vector<std::pair<std::string, std::vector<std::string>>> kinds_;
  std::map<std::string, size_t> numbers_;
};

std::string timeText(double us) {
  char text[64];
  std::snprintf(text, sizeof text, us < 100 ? "%.2f us" : "%.2f ms", us < 100 ? us : us / 1000);
  return text;
}

class PlanDiffReport {
public:
  PlanDiffReport(const PartitionPlan &before, const PartitionPlan &after, const PlanDiff &diff)
      : before_(before), after_(after), diff_(diff) {}

  std::string text() const {
    std::string text;
    if (diff_.isSame())
      text = "the plans are the same\n";
    if (!diff_.isOneProgram())
      text += "the plans are of different programs, nodes are compared by name: " +
              std::to_string(diff_.onlyBefore.size()) + " only in " + escaped(before_.file) + ", " +
              std::to_string(diff_.onlyAfter.size()) + " only in " + escaped(after_.file) + "\n";
    return text + moves() + composites() + regions() + onlyIn(before_, diff_.onlyBefore) +
           onlyIn(after_, diff_.onlyAfter) + totals();
  }

  std::string json() const {
    JsonWriter json;
    json.beginObject()
        .key("same")
        .value(diff_.isSame())
        .key("same_program")
        .value(diff_.isOneProgram());
    json.key("moved").beginArray();
    for (const auto &[from, to] : diff_.moves) {
      json.beginObject().key("name").value(from->name).key("index").value(from->index);
      json.key("op")
          .value(from->op)
          .key("from")
          .value(from->place)
          .key("to")
          .value(to->place)
          .endObject();
    }
    json.endArray().key("composites").beginObject();
    writeComposites(json.key("apart"), diff_.apart);
    writeComposites(json.key("formed"), diff_.formed);
    json.endObject().key("regrouped").beginArray();
    for (const PlanDiff::Regrouped &row : diff_.regrouped) {
      json.beginObject().key("vendor").value(row.vendor);
      writeRegions(json.key("before"), row.before);
      writeRegions(json.key("after"), row.after);
      json.endObject();
    }
    json.endArray();
    writeNodes(json.key("only_before"), diff_.onlyBefore);
    writeNodes(json.key("only_after"), diff_.onlyAfter);
    writeTotals(json.key("before"), before_);
    writeTotals(json.key("after"), after_);
    json.endObject();
    return json.take();
  }

private:
  // --- text

  std::string moves() const {
    Kinds kinds;
    for (const auto &[from, to] : diff_.moves)
      kinds.add(escaped(from->op) + ": " + escaped(from->place) + " -> " + escaped(to->place),
                nameOf(*from));
    return kinds.text();
  }

  std::string composites() const {
    Kinds kinds;
    auto add = [&](const std::vector<PlanDiff::Composite> &all, const char *what) {
      for (const PlanDiff::Composite &composite : all)
        kinds.add(escaped(composite.name) + what, join(namesOf(composite.nodes), " + "));
    };
    add(diff_.apart, " came apart");
    add(diff_.formed, " formed");
    return kinds.text();
  }

  std::string regions() const {
    std::string text;
    for (const PlanDiff::Regrouped &row : diff_.regrouped)
      text += escaped(row.vendor) + ": " +
              counted(static_cast<int64_t>(row.before.size()), "region") + " became " +
              std::to_string(row.after.size()) + ": " + groups(row.before) + " -> " +
              groups(row.after) + "\n";
    return text;
  }
  static std::string groups(const std::vector<std::vector<const PlanNode *>> &regions) {
    std::vector<std::string> texts;
    for (const auto &nodes : regions)
      texts.push_back("(" + listed(namesOf(nodes)) + ")");
    return listed(texts);
  }

  static std::string onlyIn(const PartitionPlan &plan, const std::vector<const PlanNode *> &nodes) {
    Kinds kinds;
    for (const PlanNode *node : nodes)
      kinds.add(escaped(node->op) + " only in " + escaped(plan.file), nameOf(*node));
    return kinds.text();
  }

  // What is as before is told only beside changes.
  std::string totals() const {
    std::string text;
    auto line = [&](const char *what, const std::string &a, const std::string &b,
                    const std::string &more = "") {
      if (a != b || !diff_.isSame())
        text += what + (": " + a) + " -> " + b + more + "\n";
    };
    line("vendors in use", named(before_), named(after_));
    line("regions", std::to_string(regionsOf(before_)), std::to_string(regionsOf(after_)));
    if (before_.totals || after_.totals)
      line("crosses the boundary", bytesOf(before_), bytesOf(after_));
    const SavedEstimate *a = estimateOf(before_), *b = estimateOf(after_);
    if (a || b)
      line("estimated", a ? timeText(a->us) : "not known", b ? timeText(b->us) : "not known",
           a && b ? change(a->us, b->us) : "");
    return text;
  }
  static std::string named(const PartitionPlan &plan) {
    return plan.vendors.empty() ? "none" : escaped(join(plan.vendors, ", "));
  }
  static std::string bytesOf(const PartitionPlan &plan) {
    return plan.totals ? sizeText(static_cast<double>(plan.totals->boundaryBytes)) : "not known";
  }
  static const SavedEstimate *estimateOf(const PartitionPlan &plan) {
    return plan.totals && plan.totals->estimate ? &*plan.totals->estimate : nullptr;
  }
  // Of a plan that was edited, nodes know better than what was saved with it.
  static int64_t regionsOf(const PartitionPlan &plan) { return countRegions(plan); }
  static std::string change(double from, double to) {
    if (!(from > 0))
      return "";
    char text[64];
    std::snprintf(text, sizeof text, " (%+.1f %%)", 100 * (to - from) / from);
    return text;
  }

  // --- JSON

  static void writeNodes(JsonWriter &json, const std::vector<const PlanNode *> &nodes) {
    json.beginArray();
    for (const PlanNode *node : nodes)
      json.beginObject()
          .key("name")
          .value(node->name)
          .key("index")
          .value(node->index)
          .key("op")
          .value(node->op)
          .key("place")
          .value(node->place)
          .endObject();
    json.endArray();
  }
  static void writeComposites(JsonWriter &json, const std::vector<PlanDiff::Composite> &all) {
    json.beginArray();
    for (const PlanDiff::Composite &composite : all) {
      json.beginObject().key("composite").value(composite.name);
      writeNodes(json.key("nodes"), composite.nodes);
      json.endObject();
    }
    json.endArray();
  }
  static void writeRegions(JsonWriter &json,
                           const std::vector<std::vector<const PlanNode *>> &regions) {
    json.beginArray();
    for (const auto &nodes : regions)
      writeNodes(json, nodes);
    json.endArray();
  }
  static void writeTotals(JsonWriter &json, const PartitionPlan &plan) {
    json.beginObject().key("file").value(plan.file).key("vendors").beginArray();
    for (const std::string &vendor : plan.vendors)
      json.value(vendor);
    json.endArray().key("regions").value(regionsOf(plan));
    if (plan.totals)
      json.key("boundary_bytes").value(plan.totals->boundaryBytes);
    if (const SavedEstimate *estimate = estimateOf(plan))
      writeEstimate(json.key("estimate"), *estimate);
    json.endObject();
  }

  const PartitionPlan &before_, &after_;
  const PlanDiff &diff_;
};

Expected<PartitionPlan> readPlanFile(const std::string &path) {
  std::string text = BYCC_TRY(readFile(path));
  return readPlan(text, path);
}

Expected<std::string> planDiff(const Options &options) {
  PartitionPlan before = BYCC_TRY(readPlanFile(options.planDiff.before));
  PartitionPlan after = BYCC_TRY(readPlanFile(options.planDiff.after));
  PlanDiff diff = BYCC_TRY(comparePlans(before, after));
  PlanDiffReport report(before, after, diff);
  return options.json ? report.json() : report.text();
}

} // namespace

int planDiffCommand(const Options &options) {
  auto text = planDiff(options);
  if (!text) {
    std::fputs(text.error().str().c_str(), stderr);
    return exitCode(text.error().status());
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}

} // namespace bycc
